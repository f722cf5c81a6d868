#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>

namespace etprof {

// Holds a file against what `render` writes, without keeping either in memory. Returns the line (counted from
// 1) where they first differ; absent: they are the same. Throws Error (kBadInput) for a file that cannot be
// read.
std::optional<std::uint64_t> FirstDifferentLine(const std::filesystem::path& file,
                                                const std::function<void(std::ostream&)>& render);

// Holds a file against what `render` writes. Returns one clause that names the first difference with what the
// file says and what the data give: of JSON a key, of CSV a row and a column, of other text a line. Absent:
// they say the same (JSON may be laid out differently). Throws Error (kBadInput) for a file that cannot be
// read.
std::optional<std::string> DescribeDifference(const std::filesystem::path& file,
                                              const std::function<void(std::ostream&)>& render);

// The same of two JSON values: "experiments[1].latency_ms.p50 is 0.5, the data give 0.97".
std::optional<std::string> DescribeDifference(const nlohmann::json& said, const nlohmann::json& made);

}  // namespace etprof
