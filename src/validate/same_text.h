#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <ostream>

namespace etprof {

// Holds a file against what `render` writes, without keeping either in memory. Returns the line (counted from
// 1) where they first differ; absent: they are the same. Throws Error (kBadInput) for a file that cannot be
// read.
std::optional<std::uint64_t> FirstDifferentLine(const std::filesystem::path& file,
                                                const std::function<void(std::ostream&)>& render);

}  // namespace etprof
