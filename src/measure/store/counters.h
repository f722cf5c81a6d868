#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/describe.h"
#include "protocol/counters.h"

namespace etprof {

struct ExperimentData;

// The counts of one operator, of a delegate call, or of the whole method: a row of `_counters.csv`
// (docs/guides/bottlenecks.md).
struct CountersRow {
  std::string key;  // the operator's key in the analysis (KeyText)
  std::string name;
  std::int64_t runs = 0;
  std::map<std::string, double, std::less<>> means;  // per run; without unavailable counters

  std::optional<double> Mean(std::string_view counter) const;
  // Ratios; absent: one of the two counters is unavailable, or the divisor is 0.
  std::optional<double> EffectiveFrequency() const;  // Hz: cycles per second of CPU time of all threads
  std::optional<double> InstructionsPerCycle() const;
  std::optional<double> CacheMissesPerThousand() const;   // per 1000 instructions
  std::optional<double> BranchMissesPerThousand() const;  // per 1000 instructions

  static void Describe(auto& v) {
    using C = CountersRow;
    v("key", &C::key, {.meaning = "as `key` of an operator"});
    v("name", &C::name, {.meaning = "as in traces"});
    v("runs", &C::runs, {.meaning = "that it ran in"});
    v("means", &C::means, {.meaning = "of a run, by counter; one that is closed is not there", .min = 0});
    v("effective_hz", &C::EffectiveFrequency,
      {.meaning = "cycles per second of processor time, of all threads while they ran"});
    v("instructions_per_cycle", &C::InstructionsPerCycle,
      {.meaning = "null: one of the two counters was closed"});
    v("cache_misses_per_1000_instructions", &C::CacheMissesPerThousand,
      {.meaning = "null: one of the two counters was closed"});
    v("branch_misses_per_1000_instructions", &C::BranchMissesPerThousand,
      {.meaning = "null: one of the two counters was closed"});
  }
};

// Makes the rows of a reply. The operators' keys need the name of the method.
std::vector<CountersRow> MakeCountersRows(const protocol::CountersReply& reply, const std::string& method);

// Warnings about a reply, one per line: unavailable counters and how to open them; counters of user space
// only; multiplexed counters; delegate calls whose operators could not be distinguished.
std::vector<std::string> DescribeCounterLimits(const protocol::CountersReply& reply);
// The warning that the operators of this many delegate calls could not be distinguished.
std::string UnmatchedCallsWarning(std::int64_t calls);

// A row of `<stem>_counters.csv`.
struct CountersCsv : CountersRow {
  static constexpr int kDigits = 6;

  static void Describe(auto& v) {
    using C = CountersCsv;
    v("key", &C::key, {.meaning = "as `node_id` of timelines"});
    v("name", &C::name, {.meaning = "as in traces"});
    v("runs", &C::runs, {.meaning = "that it ran in"});
    for (const char* const counter : protocol::kCounterNames) {
      v.Converted(
          counter, [counter](const C& row) { return row.Mean(counter); },
          [counter](C& row, const std::optional<double>& mean) {
            if (mean) row.means[counter] = *mean;
          },
          {.meaning = "mean of a run; empty if closed", .min = 0});
    }
    v("effective_ghz", &C::EffectiveFrequency,
      {.meaning = "cycles per processor time; empty if one of the two is closed", .scale = 1e9});
    const MemberInfo ratio{.meaning = "empty if one of the two counters is closed"};
    v("instructions_per_cycle", &C::InstructionsPerCycle, ratio);
    v("cache_misses_per_1000_instructions", &C::CacheMissesPerThousand, ratio);
    v("branch_misses_per_1000_instructions", &C::BranchMissesPerThousand, ratio);
  }
};

// Writes CSV (RFC 4180). The field of an unavailable counter is empty.
void WriteCounters(const std::vector<CountersRow>& rows, std::ostream& out);
// Throws Error (kBadInput) with file and line.
std::vector<CountersRow> ParseCounters(std::string_view text, const std::string& file_name);

// Reads the counters of an experiment of a results directory; empty: no such file. Throws as ParseCounters.
std::vector<CountersRow> LoadCounters(const ExperimentData& data);
// "<stem>_counters.csv" next to the experiment's log; empty: the experiment has no log.
std::filesystem::path CountersFile(const ExperimentData& data);

}  // namespace etprof
