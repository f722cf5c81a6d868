#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare/comparison.h"
#include "core/json/describe.h"
#include "core/views.h"

namespace etprof {

struct Report;

// One time, without and with a level of the ISA, at each number of threads.
struct PayoffRow {
  std::string name;
  std::vector<std::optional<Quantity>> gain;  // by number of threads; absent: not on both sides
  // The first number of threads from which on the level is the same or slower, after it was faster at a
  // smaller one. Absent where some verdict from there on is missing, inconclusive, or contended.
  std::optional<int> stops;
  bool never = false;  // the same or slower at each number of threads

  static constexpr const char* kSchemaName = "isa_threads_row";
  static void Describe(auto& v) {
    v("name", &PayoffRow::name, {.meaning = "median latency, or an operator"});
    v("gain",
      [](const PayoffRow& row) {
        return Each(row.gain, [](const auto& one) { return MaybeView<Gain>(one); });
      },
      {.meaning = "by number of threads; null: not in both variants"});
    v("no_longer_from_threads", &PayoffRow::stops,
      {.meaning = "from here on the verdict is same or slower, after it was faster", .least = 1});
    v("never", &PayoffRow::never, {.meaning = "same or slower at each number of threads"});
  }
};

// What a level of the ISA gains over the one below, by the number of threads.
struct Payoff {
  std::string baseline, candidate;  // names of the levels
  std::vector<int> threads;         // rising
  bool interleaved = true;          // all of it: else drift cannot be told from an effect
  PayoffRow latency;
  std::vector<PayoffRow> operators;

  bool Stops() const;  // in any row

  static constexpr const char* kSchemaName = "isa_threads";
  static void Describe(auto& v) {
    v("baseline", &Payoff::baseline, {.meaning = "name of the level below"});
    v("candidate", &Payoff::candidate, {.meaning = "name of the level"});
    v("threads", &Payoff::threads, {.meaning = "numbers of threads, rising", .least = 1, .some = true});
    v("interleaved", &Payoff::interleaved, {.meaning = "false: drift cannot be told from an effect"});
    v("latency", &Payoff::latency, {.meaning = "of medians"});
    v("operators", &Payoff::operators, {.meaning = "that both sides have somewhere, by falling time"});
  }
};

// Of the report's ladder or, where it has none, of all its experiments that differ in nothing but the ISA and
// the number of threads: the levels that were measured at two numbers of threads or more. Empty where the CPU
// was emulated.
std::vector<Payoff> FindPayoffs(const Report& report);

}  // namespace etprof
