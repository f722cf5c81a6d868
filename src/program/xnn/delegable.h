#pragma once

#include <string>
#include <string_view>

#include "program/program.h"

namespace etprof {

// True when the XNNPACK partitioner of ExecuTorch 1.5 can take an ATen operator of this name in some form
// (data type, shape and attributes permitting): "add", and "add.out" or "aten::add.Tensor" as kernels are
// named. The list is the partitioner's own,
// executorch.backends.xnnpack.partition.config.ALL_PARTITIONER_CONFIGS;
// python/tests/programs/test_delegable.py holds this one against it.
bool XnnpackCanTake(std::string_view aten_operator);

// Why a portable kernel of a method is not in an XNNPACK delegate, as far as the program says it: one clause;
// "" where it does not, and where the method is delegated to other backends alone.
std::string WhyNotDelegated(const Instruction& kernel, const Method& method);

}  // namespace etprof
