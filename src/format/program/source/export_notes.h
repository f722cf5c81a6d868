#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "format/program/source/source_map.h"

namespace etprof {

// Adds the names of inputs and outputs and the hints of each method from the .pte.json next to a program.
// Adds nothing if the file does not exist, is not JSON, or was written by an older export without them.
void AddExportNotes(const std::filesystem::path& manifest, SourceMap& sources);

// Reads the patterns of `--keep` with which a program was exported from the .pte.json next to it. Empty if
// there were no patterns, or if they are unknown.
std::vector<std::string> ReadKeepPatterns(const std::filesystem::path& pte);

// The lowest signal-to-noise ratio of a method's outputs in dB that the export's check found, by kind of
// inputs ("example", "held-out 1"). Infinite if nothing differs.
using CheckedSqnr = std::map<std::string, double>;
// Reads the ratios from the .pte.json next to a program with this SHA-256. Empty if there is no such file, if
// it belongs to another program, or if the check was left out. Inputs with an output that could not be
// compared are absent.
CheckedSqnr ReadCheckedSqnr(const std::filesystem::path& pte, const std::string& sha256,
                            const std::string& method);

}  // namespace etprof
