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

// `method` completes the keys.
std::vector<CountersRow> RowsOf(const protocol::CountersReply& reply, const std::string& method);

// What is to be said of the reply, a line each: counters that are closed, with what would open them; those
// that see user space only, or had their turns; delegate calls that could not be told apart.
std::vector<std::string> RemarksOn(const protocol::CountersReply& reply);
// Of so many delegate calls that a reply could not tell apart.
std::string UnmatchedRemark(std::int64_t calls);

// A row of the file.
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
    const About ratio{.meaning = "empty if one of the two counters is closed"};
    v("instructions_per_cycle", &C::InstructionsPerCycle, ratio);
    v("cache_misses_per_1000_instructions", &C::CacheMissesPerThousand, ratio);
    v("branch_misses_per_1000_instructions", &C::BranchMissesPerThousand, ratio);
  }
};

// RFC 4180; an empty field where a counter is closed.
void WriteCounters(const std::vector<CountersRow>& rows, std::ostream& out);
// Throws Error (kBadInput) with file and line.
std::vector<CountersRow> ParseCounters(std::string_view text, const std::string& file_name);

// The counters of an experiment of a results directory; empty where there are none. Throws as ParseCounters.
std::vector<CountersRow> LoadCounters(const ExperimentData& data);
// "<stem>_counters.csv" beside its log; empty: it has no log.
std::filesystem::path CountersFile(const ExperimentData& data);

}  // namespace etprof
