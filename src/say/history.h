#pragma once

#include <string>

#include "history/trends.h"
#include "say/document.h"
#include "say/test_suite.h"

namespace etprof::say {

// A series is a section: where it stands, when it changed, run by run. `file`: the history's.
Document SayHistory(const HistoryReport& history, const std::string& file);
// The same as a gate: what changed, and what cannot be told.
Document SayHistoryCheck(const HistoryReport& history, const std::string& file, bool require_conclusive);
// A series is a case; one that was not slowed down but could not show it is skipped.
TestSuite TestSuiteOf(const HistoryReport& history, const std::string& file, bool require_conclusive);

}  // namespace etprof::say
