#pragma once

// The machine's peaks, as printed by `etprof-runner --measure-peaks` on stdout and stored in peaks.json
// (docs/guides/bottlenecks.md). The JSON keys contain the units.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "protocol/messages.h"

namespace etprof::protocol {

// The rate of one kernel in several short tries, all threads together.
struct Rate {
  double best = 0;    // per second; used as the roofline ceiling
  double median = 0;  // over the tries; compared with `best`, it shows how steady the machine was
  double worst = 0;
  int tries = 0;
};

// The rate of multiply-adds on registers alone.
struct ComputePeak {
  std::string level;  // the feature in isa/features.h that it needs; "sse2", "neon": the baseline
  std::string dtype;  // type of the operands: "fp32", "fp16", "bf16", "int8"
  std::string instruction;
  Rate macs;  // multiply-adds per second

  static void Describe(auto& v) {
    v("level", &ComputePeak::level,
      {.meaning = "the CPU feature that it needs; sse2 and neon are the baseline"});
    v("dtype", &ComputePeak::dtype, {.meaning = "of the operands", .choices = "fp32|fp16|bf16|int8"});
    v("instruction", &ComputePeak::instruction, {.meaning = "what was timed"});
    v("macs_per_s", [](auto& peak) -> auto& { return peak.macs.best; },
      {.meaning = "multiply-adds per second of all threads together, the best try", .min = 0});
    v("median_macs_per_s", [](auto& peak) -> auto& { return peak.macs.median; },
      {.meaning = "of the tries", .min = 0});
    v("worst_macs_per_s", [](auto& peak) -> auto& { return peak.macs.worst; },
      {.meaning = "the slowest try", .min = 0});
    v("tries", [](auto& peak) -> auto& { return peak.macs.tries; },
      {.meaning = "how often it was timed", .min = 1});
  }
};

// The rate of bytes moved between registers and one working set in memory, which is traversed repeatedly.
struct MemoryPeak {
  std::string level;   // "L1", "L2", "L3", "DRAM"; "sweep": the system does not report its caches
  std::string access;  // "read", "write", "copy"
  Rate bytes;          // bytes per second; a copy counts bytes read and bytes written
  std::int64_t working_set_bytes = 0;            // working sets of all threads together
  std::optional<std::int64_t> capacity_bytes{};  // size of the level for all threads; absent: last level

  static void Describe(auto& v) {
    v("level", &MemoryPeak::level,
      {.meaning = "L1, L2, L3, ..., DRAM; sweep where the system does not tell its caches"});
    v("access", &MemoryPeak::access,
      {.meaning = "of a copy, both directions count", .choices = "read|write|copy"});
    v("working_set_bytes", &MemoryPeak::working_set_bytes, {.meaning = "of all threads together", .min = 1});
    v("capacity_bytes", &MemoryPeak::capacity_bytes,
      {.meaning = "of the level, for all threads together; null: the last one", .min = 1});
    v("bytes_per_s", [](auto& peak) -> auto& { return peak.bytes.best; },
      {.meaning = "the best try; of a copy, those read and those written", .min = 0});
    v("median_bytes_per_s", [](auto& peak) -> auto& { return peak.bytes.median; },
      {.meaning = "of the tries", .min = 0});
    v("worst_bytes_per_s", [](auto& peak) -> auto& { return peak.bytes.worst; },
      {.meaning = "the slowest try", .min = 0});
    v("tries", [](auto& peak) -> auto& { return peak.bytes.tries; },
      {.meaning = "how often it was timed", .min = 1});
  }
};

struct Peaks {
  int threads = 1;
  std::string cpus;     // --cpus as given; empty: any
  std::string isa;      // --isa as given
  IsaState isa_state;   // features after applying `isa`
  double clock_hz = 0;  // fastest thread's clock while all run, measured by a chain of 1-cycle instructions
  std::int64_t elapsed_ns = 0;
  std::vector<ComputePeak> compute;
  std::vector<MemoryPeak> memory;

  static constexpr bool kRequiresAllKeys = true;
  static void Describe(auto& v) {
    v("threads", &Peaks::threads, {.meaning = "that worked at the same time", .min = 1});
    v("cpus", &Peaks::cpus, {.meaning = "as configured; empty: any"});
    v("isa", &Peaks::isa, {.meaning = "the mask as configured"});
    v("isa_state", &Peaks::isa_state, {.meaning = "what the mask left of the CPU's features"});
    v("clock_hz", &Peaks::clock_hz,
      {.meaning = "of the fastest thread while all run: a chain of instructions of one cycle each",
       .min = 0});
    v("took_ns", &Peaks::elapsed_ns, {.meaning = "all of the measurement"});
    v("compute", &Peaks::compute, {.meaning = "multiply-adds on registers alone", .non_empty = true});
    v("memory", &Peaks::memory,
      {.meaning = "bytes between registers and one working set, level by level", .non_empty = true});
  }
};

}  // namespace etprof::protocol
