#pragma once

#include <string>
#include <string_view>

#include "format/program/program.h"

namespace etprof {

// Returns whether the XNNPACK partitioner of ExecuTorch 1.5 supports an ATen operator with this name in some
// form (data type, shape and attributes permitting). Accepts "add" as well as kernel names: "add.out" or
// "aten::add.Tensor". The list is the partitioner's own,
// executorch.backends.xnnpack.partition.config.ALL_PARTITIONER_CONFIGS;
// python/tests/programs/test_delegable.py compares both.
bool IsSupportedByXnnpack(std::string_view aten_operator);

// The reason why a portable kernel of a method is not in an XNNPACK delegate, as far as the program shows it:
// one clause. "" if the program does not show it, or if the method is delegated only to other backends.
std::string NotDelegatedReason(const Instruction& kernel, const Method& method);

}  // namespace etprof
