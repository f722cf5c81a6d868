#pragma once

// The machine's roofs, as `etprof-runner --measure-peaks` prints them on stdout and peaks.json stores them
// (docs/peaks.md). Units stand in the names of the JSON's keys.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "protocol/messages.h"

namespace etprof::protocol {

// The rate of one kernel over several short tries, of all threads together.
struct Rate {
  double best = 0;    // per second; the roof
  double median = 0;  // of the tries: with `worst`, how far from steady the machine was
  double worst = 0;
  int tries = 0;
};

// Multiply-adds on registers alone.
struct ComputePeak {
  std::string level;        // the feature of isa/features.h that it needs; "sse2", "neon": the baseline
  std::string dtype;        // of the operands, as models are called: "fp32", "fp16", "bf16", "int8"
  std::string instruction;  // what was timed
  Rate macs;                // multiply-adds per second
};

// Bytes moved between registers and memory of one working set, which is passed through again and again.
struct MemoryPeak {
  std::string level;   // "L1", "L2", "L3", "DRAM"; "sweep" where the system does not tell its caches
  std::string access;  // "read", "write", "copy"
  Rate bytes;          // bytes per second; of a copy those read and those written together
  std::int64_t working_set_bytes = 0;            // of all threads together
  std::optional<std::int64_t> capacity_bytes{};  // of this level, for all threads together; absent: the last
};

struct Peaks {
  int threads = 1;
  std::string cpus;     // --cpus as given; empty: any
  std::string isa;      // --isa as given
  IsaState isa_state;   // what it left
  double clock_hz = 0;  // of the fastest thread while all run: a chain of instructions of one cycle each
  std::int64_t took_ns = 0;
  std::vector<ComputePeak> compute;
  std::vector<MemoryPeak> memory;
};

// As in messages.h: FromJson throws nlohmann::json::exception or std::invalid_argument; unknown keys are
// ignored, and here every key must be there.
void to_json(nlohmann::json& json, const ComputePeak& value);
void from_json(const nlohmann::json& json, ComputePeak& value);
void to_json(nlohmann::json& json, const MemoryPeak& value);
void from_json(const nlohmann::json& json, MemoryPeak& value);
void to_json(nlohmann::json& json, const Peaks& value);
void from_json(const nlohmann::json& json, Peaks& value);

}  // namespace etprof::protocol
