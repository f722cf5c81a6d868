#pragma once

#include <filesystem>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "measure/store/counters_row.h"
#include "measure/store/run_data.h"
#include "protocol/counters.h"

namespace etprof {

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
          {.meaning = "mean of a run; empty if closed", .least = 0});
    }
    v("effective_ghz", &C::EffectiveFrequency,
      {.meaning = "cycles per processor time; empty if one of the two is closed", .scale = 1e9});
    const MemberInfo ratio{.meaning = "empty if one of the two counters is closed"};
    v("instructions_per_cycle", &C::InstructionsPerCycle, ratio);
    v("cache_misses_per_1000_instructions", &C::CacheMissesPerThousand, ratio);
    v("branch_misses_per_1000_instructions", &C::BranchMissesPerThousand, ratio);
  }
};

// Writes CSV (RFC 4180). The field of a closed counter is empty.
void WriteCounters(const std::vector<CountersRow>& rows, std::ostream& out);
// Throws Error (kBadInput) with file and line.
std::vector<CountersRow> ParseCounters(std::string_view text, const std::string& file_name);

// Reads the counters of an experiment of a results directory; empty: no such file. Throws as ParseCounters.
std::vector<CountersRow> LoadCounters(const ExperimentData& data);
// "<stem>_counters.csv" next to the experiment's log; empty: the experiment has no log.
std::filesystem::path CountersFile(const ExperimentData& data);

}  // namespace etprof
