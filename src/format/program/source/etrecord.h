#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "format/program/program.h"
#include "format/program/source/source_map.h"

namespace etprof {

// Reads the source locations of instructions from a .pte.etrecord (executorch/devtools/etrecord): a zip with
// debug_handle_map and edge_dialect_exported_program/<method>, both JSON. Weights in it are not read. Throws
// Error (kBadInput) if the file is not an ETRecord, is truncated, or exceeds a limit when unpacked: 256 MiB
// of edge programs, 16 MiB of debug_handle_map, a million nodes. The time is linear in the unpacked size.
SourceMap ReadEtrecord(const std::filesystem::path& path);

// The reason why `sources` cannot belong to this program: it has none of the program's methods, has
// instructions that a method does not have, or has another operator for a convolution or matrix product.
// Absent if there is no contradiction. A record has no hash of its program, so two models with the same
// structure cannot be distinguished.
std::optional<std::string> FindMismatch(const Program& program, const SourceMap& sources);

// Reads the ETRecord at `path` and compares it with the program. Throws Error (kBadInput) as
// ReadEtrecord, and if they do not match.
SourceMap ReadMatchingEtrecord(const Program& program, const std::filesystem::path& path);

}  // namespace etprof
