#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/file/file.h"

namespace etprof::fuzz {

// A .pte with a few fields changed: ranks, sizes, types, lists of arguments, ids, names of operators, planned
// memory, and the nodes and values of XNNPACK's payloads. It is a well-formed FlatBuffer again, so that it
// reaches what follows the reader, where bytes changed at random rarely do. The same seed makes the same
// changes. Absent: `bytes` are no program that can be taken apart.
std::optional<std::vector<std::uint8_t>> MutateProgram(ByteView bytes, unsigned seed);

}  // namespace etprof::fuzz
