#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "program/program.h"
#include "program/source/source_map.h"

namespace etprof {

// Why `sources` are not of this program: it has none of the program's methods, speaks of instructions that a
// method has not, or calls a convolution or matrix product something else. Absent: nothing speaks against it.
// A record has no hash of its program, so that two models of the same structure cannot be told apart.
std::optional<std::string> Misfit(const Program& program, const SourceMap& sources);

// ReadEtrecord (etrecord.h) of `path`, compared with the program. Throws Error (kBadInput) where it does not
// fit, too.
SourceMap ReadEtrecordOf(const Program& program, const std::filesystem::path& path);

}  // namespace etprof
