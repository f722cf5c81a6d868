#include "render/csv/csv_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "say/wording.h"

namespace etprof {

std::vector<std::size_t> ByFallingTime(const Profile& profile) {
  std::vector<std::size_t> order(profile.operators.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return profile.statistics[a].total_self > profile.statistics[b].total_self;
  });
  return order;
}

std::optional<double> MaybeMean(Nanoseconds total, std::int64_t runs) {
  return runs == 0 ? std::nullopt : std::optional(MeanOf(total, runs));
}

std::string NumberCell(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? fmt::format("{}", *value) : "";
}
std::string IntegerCell(const std::optional<std::int64_t>& value) {
  return value ? std::to_string(*value) : "";
}
std::string MsCell(const std::optional<double>& ns) { return ns ? NumberCell(*ns / 1e6) : ""; }
std::string MeanMsCell(Nanoseconds total, std::int64_t count) {
  return count > 0 ? NumberCell(static_cast<double>(total) / static_cast<double>(count) / 1e6) : "";
}
std::string PercentCell(Nanoseconds part, Nanoseconds whole) {
  return whole > 0 ? NumberCell(100.0 * static_cast<double>(part) / static_cast<double>(whole)) : "";
}

}  // namespace etprof
