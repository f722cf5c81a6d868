#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "format/program/source/source_map.h"

namespace etprof {

// Adds what the .pte.json beside a program says of each method: the names of inputs and outputs, and hints.
// Nothing of a file that is not there, is no JSON, or is an older export's.
void AddExportNotes(const std::filesystem::path& manifest, SourceMap& sources);

// The patterns of `--keep` with which a program was exported, from the .pte.json beside it; empty: none, or
// not known.
std::vector<std::string> ReadKeptPatterns(const std::filesystem::path& pte);

// By kind of inputs ("example", "held-out 1"), the lowest signal-to-noise ratio of a method's outputs in dB,
// as the export's check found it; infinite where nothing differs.
using CheckedSqnr = std::map<std::string, double>;
// Reads the .pte.json beside a program with this SHA-256. Empty where there is none, it is another program's,
// or the check was left out. Inputs with an output that could not be compared are absent.
CheckedSqnr ReadCheckedSqnr(const std::filesystem::path& pte, const std::string& sha256,
                            const std::string& method);

}  // namespace etprof
