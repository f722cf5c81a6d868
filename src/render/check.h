#pragma once

#include <ostream>

#include "report/check.h"

namespace etprof {

// docs/guides/ci.md has the keys. What is not defined is null.
void RenderCheckJson(const CheckReport& check, std::ostream& out);

}  // namespace etprof
