#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/json/describe.h"

namespace etprof {

// The counts of one operator, of a delegate call, or of the whole method: a row of `_counters.csv`
// (docs/guides/bottlenecks.md).
struct CountersRow {
  std::string key;  // as KeyText of the operator in the analysis
  std::string name;
  std::int64_t runs = 0;
  std::map<std::string, double, std::less<>> means;  // per run, by protocol::kCounterNames; absent: closed

  std::optional<double> Mean(std::string_view counter) const;
  // Ratios; absent: one of the two counters is closed, or the divisor is 0.
  std::optional<double> EffectiveFrequency() const;  // Hz: cycles per second of CPU time of all threads
  std::optional<double> InstructionsPerCycle() const;
  std::optional<double> CacheMissesPerThousand() const;   // per 1000 instructions
  std::optional<double> BranchMissesPerThousand() const;  // per 1000 instructions

  static void Describe(auto& v) {
    using C = CountersRow;
    v("key", &C::key, {.meaning = "as `key` of an operator"});
    v("name", &C::name, {.meaning = "as in traces"});
    v("runs", &C::runs, {.meaning = "that it ran in"});
    v("means", &C::means, {.meaning = "of a run, by counter; one that is closed is not there", .least = 0});
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

}  // namespace etprof
