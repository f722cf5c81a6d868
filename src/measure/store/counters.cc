#include "measure/store/counters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "core/error.h"
#include "core/file/file.h"
#include "core/text/csv_members.h"
#include "measure/store/run_data.h"
#include "measure/store/run_files.h"

namespace etprof {
namespace {

std::optional<double> Ratio(const std::optional<double>& numerator, const std::optional<double>& denominator,
                            double factor = 1) {
  if (!numerator || !denominator || *denominator <= 0) return std::nullopt;
  return *numerator / *denominator * factor;
}

}  // namespace

std::optional<double> CountersRow::Mean(std::string_view counter) const {
  const auto found = means.find(counter);
  return found == means.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> CountersRow::EffectiveFrequency() const {
  return Ratio(Mean("cycles"), Mean("task_clock_ns"), 1e9);  // cycles per ns to Hz
}

std::optional<double> CountersRow::InstructionsPerCycle() const {
  return Ratio(Mean("instructions"), Mean("cycles"));
}

std::optional<double> CountersRow::CacheMissesPerThousand() const {
  return Ratio(Mean("cache_misses"), Mean("instructions"), 1000);
}

std::optional<double> CountersRow::BranchMissesPerThousand() const {
  return Ratio(Mean("branch_misses"), Mean("instructions"), 1000);
}

std::vector<CountersRow> MakeCountersRows(const protocol::CountersReply& reply, const std::string& method) {
  std::vector<CountersRow> rows;
  for (const protocol::OperatorCounts& counts : reply.operators) {
    CountersRow row;
    row.key = counts.place.KeyText(method);
    row.name = counts.name;
    row.runs = counts.runs;
    for (std::size_t i = 0; i < reply.counters.size(); ++i)
      row.means[reply.counters[i].name] = counts.means[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string UnmatchedCallsWarning(std::int64_t calls) {
  return fmt::format(
      "in {} delegate calls the operators could not be distinguished (without the exact operator clock they "
      "cannot)",
      calls);
}

std::vector<std::string> DescribeCounterLimits(const protocol::CountersReply& reply) {
  std::vector<std::pair<std::string, std::vector<std::string>>> names_by_reason;
  for (const protocol::UnavailableCounter& unavailable : reply.unavailable) {
    auto entry = std::ranges::find(names_by_reason, unavailable.reason,
                                   [](const auto& reason) { return reason.first; });
    if (entry == names_by_reason.end())
      entry = names_by_reason.insert(names_by_reason.end(), {unavailable.reason, {}});
    entry->second.push_back(unavailable.name);
  }
  std::vector<std::string> limits;
  for (const auto& [reason, names] : names_by_reason)
    limits.push_back(fmt::format("not counted: {}: {}", fmt::join(names, ", "), reason));
  std::vector<std::string> user_only, multiplexed;
  for (const protocol::AvailableCounter& counter : reply.counters) {
    if (counter.user_only) user_only.push_back(counter.name);
    if (counter.share < 0.999)
      multiplexed.push_back(fmt::format("{} {:.0f}%", counter.name, 100 * counter.share));
  }
  if (!user_only.empty()) {
    limits.push_back(
        fmt::format("counted in user space only (/proc/sys/kernel/perf_event_paranoid above 1): {}",
                    fmt::join(user_only, ", ")));
  }
  if (!multiplexed.empty()) {
    limits.push_back(fmt::format("counted in turns and scaled, since the processor has too few counters: {}",
                                 fmt::join(multiplexed, ", ")));
  }
  if (reply.unmatched_calls > 0) limits.push_back(UnmatchedCallsWarning(reply.unmatched_calls));
  return limits;
}

void WriteCounters(const std::vector<CountersRow>& rows, std::ostream& out) {
  CsvWriter<CountersCsv> table(out);
  for (const CountersRow& row : rows) table.Row({row});
}

std::vector<CountersRow> ParseCounters(std::string_view text, const std::string& file_name) {
  const std::vector<CountersCsv> rows = ReadCsvFile<CountersCsv>(text, file_name, "counters");
  return {rows.begin(), rows.end()};
}

std::filesystem::path CountersFile(const ExperimentData& data) { return data.PathNextToLog(kCountersSuffix); }

std::vector<CountersRow> LoadCounters(const ExperimentData& data) {
  const std::filesystem::path file = CountersFile(data);
  if (!Exists(file)) return {};
  return ParseCounters(ReadTextFile(file), file.string());
}

}  // namespace etprof
