#pragma once

#include <nanobind/nanobind.h>

namespace etprof {

// Adds `arrow_stream` to the module: columns of NumPy arrays as an Arrow C stream, not copied.
void BindArrow(nanobind::module_& module);

}  // namespace etprof
