#pragma once

#include <nanobind/nanobind.h>

namespace etprof {

// Adds `history_add`, `history_trends`, and `history_changes` to the module: what etprof.History is made of.
void BindHistory(nanobind::module_& module);

}  // namespace etprof
