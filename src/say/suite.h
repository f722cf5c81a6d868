#pragma once

#include "report/suite.h"
#include "say/document.h"
#include "say/test_suite.h"

namespace etprof::say {

Document SaySuite(const SuiteReport& suite);
TestSuite TestSuiteOf(const SuiteReport& suite);

}  // namespace etprof::say
