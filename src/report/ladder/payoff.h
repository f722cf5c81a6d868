#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "core/views.h"
#include "profile/compare/comparison.h"

namespace etprof {

struct Report;

// A time without and with a level of the ISA, at each number of threads.
struct PayoffRow {
  std::string name;
  std::vector<std::optional<Quantity>> speedups;  // by number of threads; absent: not in both variants
  // The first number of threads from which on the level is the same or slower, after it was faster at a
  // smaller number. Absent if a verdict from there on is missing, inconclusive, or contended.
  std::optional<int> stops;
  bool never = false;  // the same or slower at each number of threads

  static constexpr const char* kSchemaName = "isa_threads_row";
  static void Describe(auto& v) {
    v("name", &PayoffRow::name, {.meaning = "median latency, or an operator"});
    v("gain",
      [](const PayoffRow& row) {
        return MapEach(row.speedups, [](const auto& one) { return MakeOptionalView<RatioAndVerdict>(one); });
      },
      {.meaning = "by number of threads; null: not in both variants"});
    v("no_longer_from_threads", &PayoffRow::stops,
      {.meaning = "from here on the verdict is same or slower, after it was faster", .least = 1});
    v("never", &PayoffRow::never, {.meaning = "same or slower at each number of threads"});
  }
};

// The speedup of an ISA level over the level below, by the number of threads.
struct Payoff {
  std::string baseline, candidate;  // names of the levels
  std::vector<int> threads;         // ascending
  bool interleaved = true;          // all were interleaved; else drift cannot be distinguished from an effect
  PayoffRow latency;
  std::vector<PayoffRow> operators;

  bool Stops() const;  // in any row

  static constexpr const char* kSchemaName = "isa_threads";
  static void Describe(auto& v) {
    v("baseline", &Payoff::baseline, {.meaning = "name of the level below"});
    v("candidate", &Payoff::candidate, {.meaning = "name of the level"});
    v("threads", &Payoff::threads, {.meaning = "numbers of threads, rising", .least = 1, .non_empty = true});
    v("interleaved", &Payoff::interleaved, {.meaning = "false: drift cannot be told from an effect"});
    v("latency", &Payoff::latency, {.meaning = "of medians"});
    v("operators", &Payoff::operators, {.meaning = "that both sides have somewhere, by falling time"});
  }
};

// Finds the payoffs of the report's ladder or, without a ladder, of all experiments that differ only in the
// ISA and the number of threads: of the levels that were measured with at least two numbers of threads. Empty
// if the CPU was emulated.
std::vector<Payoff> FindPayoffs(const Report& report);

}  // namespace etprof
