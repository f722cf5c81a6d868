#pragma once

#include <filesystem>

#include "format/program/source/source_map.h"

namespace etprof {

// Reads the source locations of instructions from a .pte.etrecord (executorch/devtools/etrecord): a zip with
// debug_handle_map and edge_dialect_exported_program/<method>, both JSON. Weights in it are not read. Throws
// Error (kBadInput) if the file is not an ETRecord, is truncated, or exceeds a limit when unpacked: 256 MiB
// of edge programs, 16 MiB of debug_handle_map, a million nodes. The time is linear in the unpacked size.
SourceMap ReadEtrecord(const std::filesystem::path& path);

}  // namespace etprof
