#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "format/program/program.h"
#include "format/program/source/source_map.h"

namespace etprof {

// The reason why `sources` cannot belong to this program: it has none of the program's methods, has
// instructions that a method does not have, or has another operator for a convolution or matrix product.
// Absent if there is no contradiction. A record has no hash of its program, so two models with the same
// structure cannot be distinguished.
std::optional<std::string> FindMismatch(const Program& program, const SourceMap& sources);

// Reads the ETRecord at `path` (etrecord.h) and compares it with the program. Throws Error (kBadInput) as
// ReadEtrecord, and if they do not match.
SourceMap ReadMatchingEtrecord(const Program& program, const std::filesystem::path& path);

}  // namespace etprof
