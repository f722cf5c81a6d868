#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/file/file.h"

namespace etprof::fuzz {

// Changes a few fields of a .pte: ranks, sizes, types, lists of arguments, ids, names of operators, planned
// memory, and the nodes and values of XNNPACK's payloads. The result is a well-formed FlatBuffer, so that it
// tests the code after the reader, which programs with random changes of bytes rarely reach. Equal seeds make
// equal changes. Absent: `bytes` are not a valid program.
std::optional<std::vector<std::uint8_t>> MutateProgram(ByteView bytes, unsigned seed);

}  // namespace etprof::fuzz
