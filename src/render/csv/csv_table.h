#pragma once

#include <optional>
#include <string_view>

#include "core/json/describe.h"
#include "core/units.h"

// What columns of several tables say.
namespace etprof {

inline constexpr About kSelfTotal{.meaning = "self time over the common set", .scale = 1e6};
inline constexpr std::string_view kOfMethod = "of `Method::execute`; adds up to 100";
inline constexpr std::string_view kAsNodeId = "as `node_id` of timelines";
inline constexpr std::string_view kRunsOfCommonSet = "size of the common set";
inline constexpr std::string_view kMeaningOfCv = "standard deviation over mean";

// Absent for no runs.
inline std::optional<double> MaybeMean(Nanoseconds total, std::int64_t runs) {
  return runs > 0 ? std::optional(static_cast<double>(total) / static_cast<double>(runs)) : std::nullopt;
}
// 100 part / whole; absent for a whole of 0.
inline std::optional<double> MaybePercent(Nanoseconds part, Nanoseconds whole) {
  return whole > 0 ? std::optional(100.0 * static_cast<double>(part) / static_cast<double>(whole))
                   : std::nullopt;
}

}  // namespace etprof
