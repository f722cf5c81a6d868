#pragma once

#include <filesystem>

#include "program/source/source_map.h"

namespace etprof {

// Reads what a .pte.etrecord (executorch/devtools/etrecord) says of where instructions come from: a zip with
// debug_handle_map and edge_dialect_exported_program/<method>, both JSON. Weights that are in it are not
// read. Throws Error (kBadInput) where it is no such file, is cut short, or unpacks to more than is read: 256
// MiB of edge programs, 16 MiB of debug_handle_map, a million nodes. The time is linear in what is unpacked.
SourceMap ReadEtrecord(const std::filesystem::path& path);

}  // namespace etprof
