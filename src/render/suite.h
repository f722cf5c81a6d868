#pragma once

#include <ostream>

#include "report/suite.h"

namespace etprof {

// docs/guides/suites.md; suite_report.json. What is not defined is null.
void RenderSuiteJson(const SuiteReport& suite, std::ostream& out);

}  // namespace etprof
