#pragma once

#include <ostream>

#include "report/check.h"
#include "report/static_check.h"

namespace etprof {

// docs/guides/ci.md has the keys. What is not defined is null.
void RenderCheckJson(const CheckReport& check, std::ostream& out);
void RenderStaticCheckJson(const StaticCheck& check, std::ostream& out);

}  // namespace etprof
