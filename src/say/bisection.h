#pragma once

#include "report/bisection.h"
#include "say/document.h"

namespace etprof::say {

Document SayBisection(const Bisection& bisection);

}  // namespace etprof::say
