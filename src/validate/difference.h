#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>

namespace etprof {

// Compares a file with the output of `render`, keeping neither in memory. Returns the first line (from 1)
// that differs; absent if they are equal. Throws Error (kBadInput) if the file cannot be read.
std::optional<std::uint64_t> FirstDifferentLine(const std::filesystem::path& file,
                                                const std::function<void(std::ostream&)>& render);

// Compares a file with the output of `render`. Returns a clause that names the first difference and both
// values: a key in JSON, a row and a column in CSV, a line in other text. Absent if they agree (JSON may be
// formatted differently). Throws Error (kBadInput) if the file cannot be read.
std::optional<std::string> DescribeDifference(const std::filesystem::path& file,
                                              const std::function<void(std::ostream&)>& render);

// As above, for two JSON values: "experiments[1].latency_ms.p50 is 0.5, the data give 0.97".
std::optional<std::string> DescribeDifference(const nlohmann::json& stored, const nlohmann::json& expected);

}  // namespace etprof
