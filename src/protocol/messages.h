#pragma once

// What etprof and a worker (etprof-runner --worker) say to each other: one JSON object a line, requests on
// the worker's stdin, replies on its stdout. Every request has "cmd" and gets exactly one reply line,
// {"reply": <cmd>, ...} or
// {"error": <message>, "cmd": <cmd>}; after an error the worker goes on. A closed stdin ends it. Anything
// that the model's code prints goes to stderr, never between the lines.
//
// At its start a worker says {"reply": "ready", ...} (struct Ready) before it reads anything.
// All times are integer nanoseconds of the device's CLOCK_MONOTONIC; sizes are bytes.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace etprof::protocol {

inline constexpr int kVersion = 1;

// Which clock gave XNNPACK's operator times (executorch.md): exact nanoseconds, or XNNPACK's own whole
// microseconds.
inline constexpr const char* kExactClock = "exact";
inline constexpr const char* kXnnpackClock = "xnnpack";

// Where waiting times come from (runner/waiting.h): the scheduler's statistics of every thread, or only the
// processor time of the calling thread against the wall clock.
inline constexpr const char* kSchedstat = "schedstat";
inline constexpr const char* kThreadTime = "thread_time";
inline constexpr const char* kOutside = "outside";  // a foreign runner's: read from outside of its process

struct IsaState {
  std::vector<std::string> detected;  // every feature this CPU has, by the names of isa/features.h
  std::vector<std::string> masked;    // cleared by --isa, after closing under dependency
  std::vector<std::string> enabled;   // detected less masked
  bool can_mask = true;               // cpuinfo's structure was verified
  std::string why_not;                // when it was not
};

struct Clocks {  // one moment, read back to back, for aligning with system traces
  std::int64_t monotonic_ns = 0;
  std::int64_t boottime_ns = 0;
  std::int64_t realtime_ns = 0;
};

struct Ready {
  int protocol = kVersion;
  std::string runner_version;
  std::string executorch_version;
  std::string operator_clock;  // kExactClock or kXnnpackClock
  std::string wait_source;     // of waiting times: kSchedstat or kThreadTime; empty: none are told
  int threads = 1;             // of ExecuTorch's thread pool
  std::int64_t pid = 0;
  IsaState isa;
  Clocks clocks;
  std::string cpu_model;
};

// Where a method's inputs come from.
struct InputSpec {
  std::string kind;  // "saved" (an .inputs file), "files" (raw bytes, one a tensor), "ones", "random"
  std::vector<std::string> paths;  // of "saved" (one) and "files"
  std::uint64_t seed = 0;          // of "random"
};

struct LoadRequest {  // {"cmd": "load"}
  std::string model;
  std::string data;  // an external .ptd, or empty
  std::string method = "forward";
  std::optional<InputSpec> inputs;  // absent: `<model>.inputs` where it exists, else seeded random
};

struct TensorInfo {
  std::string dtype;  // as ExecuTorch's ScalarType prints: "Float", "Half", "Long", ...; "int", "double",
                      // "bool", "string", "none" for what is not a tensor
  std::vector<std::int64_t> shape;
};

struct LoadReply {
  std::int64_t load_ns = 0;        // program and method, as one
  std::int64_t load_wait_ns = -1;  // of that: wanted a processor and had none; -1: unknown
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  std::vector<std::string> backends;  // of the method's delegates, each once
  std::string inputs_from;            // "saved FILE", "random, seed 1", ...
  std::vector<std::string> warnings;  // e.g. random integers that may be indices
  std::int64_t rss_bytes = 0;         // after loading
};

// A burst: opening runs, not recorded as latency, until the latency is level (or `max_opening` is reached);
// then untraced runs until both `min_runs` and `target_ns` are reached; then `traced_runs` runs with the
// tracer on, whose blocks are appended to the worker's ETDump. The first burst of a launch opens with the
// launch's first run, which is traced, and with at least `min_opening` runs.
struct BurstRequest {  // {"cmd": "burst"}
  int min_opening = 1;
  int max_opening = 30;
  int min_runs = 3;
  std::int64_t target_ns = 50'000'000;
  int max_runs = 100'000;
  int traced_runs = 0;
  std::int64_t period_ns = 0;  // start runs this far apart (a camera's pace); 0: back to back
};

struct BurstReply {
  std::vector<std::int64_t>
      opening_ns;  // every opening run, in order; of a launch's first burst the first is traced
  std::vector<std::int64_t> untraced_ns;  // the recorded latencies, in order
  std::vector<std::int64_t> traced_ns;    // wall time of the traced runs as the caller sees them
  bool level = true;                      // false: max_opening was reached first
  bool first_run_traced = false;          // this burst began with the launch's first run
  std::int64_t start_ns = 0;              // of the first opening run
  std::int64_t end_ns = 0;
  std::int64_t cpu_time_ns = 0;      // of the process, over the burst
  int cpu_start = -1, cpu_end = -1;  // -1: unknown
  std::int64_t migrations = -1;      // of the main thread; -1: unknown
  std::int64_t involuntary_switches = -1;
  std::int64_t frequency_khz = -1, frequency_cap_khz = -1;  // of cpu_end: scaling_cur_freq, scaling_max_freq
  std::int64_t temperature_millidegrees = -1'000'000;       // the hottest thermal zone; -1'000'000: unknown
  double load_average = -1;                                 // 1 minute
  std::int64_t peak_rss_bytes = 0;

  // Run by run of opening_ns, untraced_ns and traced_ns: for how long since the run before the threads wanted
  // a processor and had none (runner/waiting.h). Empty: the runner does not tell.
  std::vector<std::int64_t> opening_wait_ns, untraced_wait_ns, traced_wait_ns;
  std::vector<std::int64_t> untraced_cpu_ns;  // processor time of all threads, run by run of untraced_ns
  std::vector<std::int64_t> thread_cpu_ns;    // of each thread over the burst, the largest first
  std::int64_t steal_ns = -1;                 // the host took so much of cpu_start away; -1: unknown
  std::int64_t throttled_ns = -1;             // the control group's quota was used up; -1: unknown
  std::int64_t frequency_start_khz = -1;      // of cpu_start before the burst
};

struct OutputDigest {
  TensorInfo info;
  std::string sha256;                    // of the raw bytes
  std::optional<double> min, max, mean;  // over the finite elements; absent where there is none
  std::int64_t nan_count = 0, inf_count = 0;
};

struct OutputsRequest {  // {"cmd": "outputs"}: of the last run
  std::string save_to;   // safetensors file, names "<method>/<i>"; empty: not saved
};
struct OutputsReply {
  std::vector<OutputDigest> outputs;
};

struct EtdumpRequest {  // {"cmd": "etdump"}: writes what was traced since the last such request, and forgets
                        // it
  std::string path;
};
struct EtdumpReply {
  std::int64_t blocks = 0;
  std::int64_t bytes = 0;
};

struct MemoryReply {  // {"cmd": "memory"}
  std::int64_t rss_bytes = 0;
  std::int64_t peak_rss_bytes = 0;
};

// {"cmd": "quit"} -> {"reply": "quit"}, then the worker exits with 0.

// Conversions (messages.cc). FromJson throws nlohmann::json::exception or std::invalid_argument with what is
// wrong: unknown keys are ignored (a newer peer), missing keys keep their defaults, wrong types and negative
// counts are errors.
void to_json(nlohmann::json& json, const IsaState& value);
void from_json(const nlohmann::json& json, IsaState& value);
void to_json(nlohmann::json& json, const Clocks& value);
void from_json(const nlohmann::json& json, Clocks& value);
void to_json(nlohmann::json& json, const Ready& value);
void from_json(const nlohmann::json& json, Ready& value);
void to_json(nlohmann::json& json, const InputSpec& value);
void from_json(const nlohmann::json& json, InputSpec& value);
void to_json(nlohmann::json& json, const LoadRequest& value);
void from_json(const nlohmann::json& json, LoadRequest& value);
void to_json(nlohmann::json& json, const TensorInfo& value);
void from_json(const nlohmann::json& json, TensorInfo& value);
void to_json(nlohmann::json& json, const LoadReply& value);
void from_json(const nlohmann::json& json, LoadReply& value);
void to_json(nlohmann::json& json, const BurstRequest& value);
void from_json(const nlohmann::json& json, BurstRequest& value);
void to_json(nlohmann::json& json, const BurstReply& value);
void from_json(const nlohmann::json& json, BurstReply& value);
void to_json(nlohmann::json& json, const OutputDigest& value);
void from_json(const nlohmann::json& json, OutputDigest& value);
void to_json(nlohmann::json& json, const OutputsRequest& value);
void from_json(const nlohmann::json& json, OutputsRequest& value);
void to_json(nlohmann::json& json, const OutputsReply& value);
void from_json(const nlohmann::json& json, OutputsReply& value);
void to_json(nlohmann::json& json, const EtdumpRequest& value);
void from_json(const nlohmann::json& json, EtdumpRequest& value);
void to_json(nlohmann::json& json, const EtdumpReply& value);
void from_json(const nlohmann::json& json, EtdumpReply& value);
void to_json(nlohmann::json& json, const MemoryReply& value);
void from_json(const nlohmann::json& json, MemoryReply& value);

}  // namespace etprof::protocol
