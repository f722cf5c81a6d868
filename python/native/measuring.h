#pragma once

#include <nanobind/nanobind.h>

namespace etprof {

// What measures, or starts other programs: measure(name, options, progress), and options(name).
void BindMeasuring(nanobind::module_& module);

}  // namespace etprof
