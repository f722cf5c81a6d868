#pragma once

#include "report/static_check.h"
#include "say/document.h"
#include "say/test_suite.h"

namespace etprof::say {

// A method is a section, and so is what is true of the whole file.
Document SayStaticCheck(const StaticCheck& check);

// A fact is a case: a failure, or skipped where it cannot be decided and the check does not require it.
TestSuite TestSuiteOf(const StaticCheck& check);

}  // namespace etprof::say
