#pragma once

// {"cmd": "counters"}: runs in which the runner reads counters of the processor and the kernel at every
// operator boundary (docs/guides/bottlenecks.md). Reading them takes longer than many operators, so these
// runs report no times.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "protocol/operator_place.h"

namespace etprof::protocol {

enum class CounterSourceKind { kProcessor, kCallgrind, kEmulator };

// The environment variable with which etprof passes Callgrind's --callgrind-out-file to the runner.
inline constexpr const char* kCallgrindFileVariable = "ETPROF_CALLGRIND_FILE";

// All processor counters that a runner may report, in this order: hardware, then software. The counters of an
// emulator are in emulator_counts.h.
inline constexpr const char* kCounterNames[] = {"cycles",
                                                "instructions",
                                                "cache_references",
                                                "cache_misses",
                                                "branch_misses",
                                                "stalled_cycles_frontend",
                                                "stalled_cycles_backend",
                                                "task_clock_ns",
                                                "page_faults",
                                                "context_switches",
                                                "cpu_migrations"};

struct CountersRequest {
  int warmup = 3;
  int runs = 20;

  static void Describe(auto& v) {
    v("warmup", &CountersRequest::warmup, {.meaning = "runs before, not counted", .max = 10'000});
    v("runs", &CountersRequest::runs, {.meaning = "that count", .max = 10'000});
  }
};

struct AvailableCounter {
  std::string name;
  bool user_only = false;
  double share = 1;

  static void Describe(auto& v) {
    v("name", &AvailableCounter::name, {.meaning = "one of kCounterNames or kEmulatorCounters"});
    v("user_only", &AvailableCounter::user_only,
      {.meaning = "what the kernel does for the process is not in it"});
    v("share", &AvailableCounter::share,
      {.meaning = "of the time in which it counted (others took its place else); it is scaled up"});
  }
};

struct UnavailableCounter {
  std::string name;
  std::string reason;

  static void Describe(auto& v) {
    v("name", &UnavailableCounter::name, {.meaning = "one of kCounterNames or kEmulatorCounters"});
    v("why", &UnavailableCounter::reason, {.meaning = "and what would open it"});
  }
};

// Counts of one operator, or of the whole method.
struct OperatorCounts {
  OperatorPlace place;
  std::string name;
  std::int64_t runs = 0;
  std::vector<double> means;

  static void Describe(auto& v) {
    v.Flat(&OperatorCounts::place);
    v("name", &OperatorCounts::name, {.meaning = "as in traces"});
    v("runs", &OperatorCounts::runs, {.meaning = "that it ran in"});
    v("means", &OperatorCounts::means, {.meaning = "a run's, in the order of the reply's `counters`"});
  }
};

struct CountersReply {
  CounterSourceKind source = CounterSourceKind::kProcessor;
  int runs = 0;
  int threads = 0;
  std::vector<AvailableCounter> counters;
  std::vector<UnavailableCounter> unavailable;
  std::int64_t unmatched_calls = 0;
  std::vector<OperatorCounts> operators;

  static constexpr bool kRequiresAllKeys = true;
  static void Describe(auto& v) {
    v("source", &CountersReply::source, {.meaning = "what counted"});
    v("runs", &CountersReply::runs, {.meaning = "that count"});
    v("threads", &CountersReply::threads, {.meaning = "that were counted: the caller and those of the pool"});
    v("counters", &CountersReply::counters, {.meaning = "that could be read"});
    v("closed", &CountersReply::unavailable, {.meaning = "that could not"});
    v("unmatched_calls", &CountersReply::unmatched_calls,
      {.meaning = "delegate calls whose operators and boundaries are not equally many"});
    v("operators", &CountersReply::operators, {.meaning = "and the whole method"});
  }
  static void Check(const CountersReply& reply) {
    for (const OperatorCounts& counts : reply.operators) {
      if (counts.means.size() != reply.counters.size())
        throw std::invalid_argument("an operator has not as many means as there are counters");
    }
  }
};

}  // namespace etprof::protocol

namespace etprof {
template <>
inline constexpr const char* kNames<protocol::CounterSourceKind>[] = {"processor", "callgrind", "emulator"};
}  // namespace etprof
