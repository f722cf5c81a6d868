#pragma once

#include <filesystem>

#include "program/source/source_map.h"

namespace etprof {

// Adds what the .pte.json beside a program says of each method: the names of inputs and outputs, and hints.
// Nothing of a file that is not there, is no JSON, or is an older export's.
void AddExportNotes(const std::filesystem::path& manifest, SourceMap& sources);

}  // namespace etprof
