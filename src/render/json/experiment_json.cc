#include "render/json/experiment_json.h"

#include <fmt/format.h>

namespace etprof {

std::vector<std::string> KeysOf(const Profile& profile, const std::vector<std::size_t>& operators) {
  std::vector<std::string> keys;
  for (const std::size_t op : operators) keys.push_back(KeyText(profile.operators[op].key));
  return keys;
}

std::optional<std::string> SourceJson::Line() const {
  if (Frame() == nullptr) return std::nullopt;
  return fmt::format("{}:{}", Frame()->file, Frame()->line);
}

BreakdownJson TracedJson::Groups() const {
  return {experiment.groups, [&profile = Of()](const std::string& name) -> const stats::Distribution* {
            for (std::size_t i = 0; i < profile.groups.size(); ++i) {
              if (GroupName(kAllGroups[i]) == name) return &profile.groups[i];
            }
            return nullptr;  // "Clipped"
          }};
}

BreakdownJson TracedJson::Categories() const {
  return {experiment.categories, [&profile = Of()](const std::string& name) -> const stats::Distribution* {
            for (const auto& [category, distribution] : profile.categories) {
              if (category == name) return &distribution;
            }
            return nullptr;
          }};
}

RestJson TracedJson::Rest() const {
  RestJson rest;
  rest.total = experiment.groups.total;
  for (const OperatorRow& row : experiment.operators) rest.total -= row.total_self;
  return rest;
}

std::vector<CountersRow> TracedJson::Counters() const {
  const std::string method = Of().operators.empty() ? "" : Of().operators.front().key.method;
  std::vector<CountersRow> rows;
  for (const CountersRow& row : data.counters) {
    if (row.key.starts_with(method + "/")) rows.push_back(row);
  }
  return rows;
}

std::vector<WatchedRow> TracedJson::Watched() const {
  const std::string method = Of().operators.empty() ? "" : Of().operators.front().key.method;
  if (data.watch == nullptr || data.watch->method != method) return {};
  const std::span<const WatchedRow> rows = RowsOf(report.watched, data);
  return {rows.begin(), rows.end()};
}

std::optional<protocol::MemoryReport> TracedJson::Memory() const {
  const WatchedExperiment* const watched = FindWatched(report.watched, data);
  return watched == nullptr ? std::nullopt : watched->memory;
}

}  // namespace etprof
