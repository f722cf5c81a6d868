#pragma once

// What etprof and a worker (etprof-runner --worker) say to each other: one JSON object a line, requests on
// the worker's stdin, replies on its stdout. Every request has "cmd" and gets exactly one reply line,
// {"reply": <cmd>, ...} or
// {"error": <message>, "cmd": <cmd>}; after an error the worker goes on. A closed stdin ends it. Anything
// that the model's code prints goes to stderr, never between the lines.
//
// At its start a worker says {"reply": "ready", ...} (struct Ready) before it reads anything.
// All times are integer nanoseconds of the device's CLOCK_MONOTONIC; sizes are bytes.
//
// As JSON: core/json/json_members.h. Unknown keys are ignored (a newer peer), missing keys keep their
// defaults, wrong types and negative counts are errors.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json/describe.h"

namespace etprof::protocol {

inline constexpr int kVersion = 1;

// Which clock gave XNNPACK's operator times (executorch.md): exact nanoseconds, or XNNPACK's own whole
// microseconds.
inline constexpr const char* kExactClock = "exact";
inline constexpr const char* kXnnpackClock = "xnnpack";

// Where waiting times come from (runner/timing/waiting.h): the scheduler's statistics of every thread, or
// only the processor time of the calling thread against the wall clock.
inline constexpr const char* kSchedstat = "schedstat";
inline constexpr const char* kThreadTime = "thread_time";
inline constexpr const char* kOutside = "outside";  // a foreign runner's: read from outside of its process

struct IsaState {
  std::vector<std::string> detected;  // every feature this CPU has, by the names of isa/features.h
  std::vector<std::string> masked;    // cleared by --isa, after closing under dependency
  std::vector<std::string> enabled;   // detected less masked
  bool can_mask = true;               // cpuinfo's structure was verified
  std::string why_not;                // when it was not

  static void Describe(auto& v) {
    v("detected", &IsaState::detected);
    v("masked", &IsaState::masked);
    v("enabled", &IsaState::enabled);
    v("can_mask", &IsaState::can_mask);
    v("why_not", &IsaState::why_not);
  }
};

struct Clocks {  // one moment, read back to back, for aligning with system traces
  std::int64_t monotonic_ns = 0;
  std::int64_t boottime_ns = 0;
  std::int64_t realtime_ns = 0;

  static void Describe(auto& v) {
    v("monotonic_ns", &Clocks::monotonic_ns);
    v("boottime_ns", &Clocks::boottime_ns);
    v("realtime_ns", &Clocks::realtime_ns,
      {.least = kAnyNumber});  // a board without a battery may be before 1970
  }
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

  static void Describe(auto& v) {
    v("protocol", &Ready::protocol);
    v("runner_version", &Ready::runner_version);
    v("executorch_version", &Ready::executorch_version);
    v("operator_clock", &Ready::operator_clock);
    v("wait_source", &Ready::wait_source);
    v("threads", &Ready::threads);
    v("pid", &Ready::pid);
    v("isa", &Ready::isa);
    v("clocks", &Ready::clocks);
    v("cpu_model", &Ready::cpu_model);
  }
};

// Where a method's inputs come from.
struct InputSpec {
  std::string kind;  // "saved" (an .inputs file), "files" (raw bytes, one a tensor), "ones", "random"
  std::vector<std::string> paths;  // of "saved" (one) and "files"
  std::uint64_t seed = 0;          // of "random"

  static void Describe(auto& v) {
    v("kind", &InputSpec::kind);
    v("paths", &InputSpec::paths);
    v("seed", &InputSpec::seed);
  }
};

struct LoadRequest {  // {"cmd": "load"}
  std::string model;
  std::string data;  // an external .ptd, or empty
  std::string method = "forward";
  std::optional<InputSpec> inputs;  // absent: `<model>.inputs` where it exists, else seeded random
  bool watch_memory = false;        // whose memory is whose is told by {"cmd": "watch"}

  static void Describe(auto& v) {
    v("model", &LoadRequest::model);
    v("data", &LoadRequest::data);
    v("method", &LoadRequest::method);
    v("inputs", &LoadRequest::inputs, {.if_any = true});
    v("watch_memory", &LoadRequest::watch_memory);
  }
};

struct TensorInfo {
  std::string dtype;  // as ExecuTorch's ScalarType prints: "Float", "Half", "Long", ...; "int", "double",
                      // "bool", "string", "none" for what is not a tensor
  std::vector<std::int64_t> shape;

  static constexpr const char* kSchemaName = "tensor";
  static void Describe(auto& v) {
    v("dtype", &TensorInfo::dtype);
    v("shape", &TensorInfo::shape);
  }
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

  static void Describe(auto& v) {
    v("load_ns", &LoadReply::load_ns);
    v("load_wait_ns", &LoadReply::load_wait_ns, {.least = -1});
    v("inputs", &LoadReply::inputs);
    v("outputs", &LoadReply::outputs);
    v("backends", &LoadReply::backends);
    v("inputs_from", &LoadReply::inputs_from);
    v("warnings", &LoadReply::warnings);
    v("rss_bytes", &LoadReply::rss_bytes);
  }
};

inline constexpr int kMostRunsOfBurst = 100'000;

// A burst: opening runs, not recorded as latency, until the latency is level (or `max_opening` is reached);
// then untraced runs until both `min_runs` and `target_ns` are reached; then `traced_runs` runs with the
// tracer on, whose blocks are appended to the worker's ETDump. The first burst of a launch opens with the
// launch's first run, which is traced, and with at least `min_opening` runs.
struct BurstRequest {  // {"cmd": "burst"}
  int min_opening = 1;
  int max_opening = 30;
  int min_runs = 3;
  std::int64_t target_ns = 50'000'000;
  int max_runs = kMostRunsOfBurst;
  int traced_runs = 0;
  std::int64_t period_ns = 0;  // start runs this far apart (a camera's pace); 0: back to back

  static void Describe(auto& v) {
    v("min_opening", &BurstRequest::min_opening);
    v("max_opening", &BurstRequest::max_opening);
    v("min_runs", &BurstRequest::min_runs);
    v("target_ns", &BurstRequest::target_ns);
    v("max_runs", &BurstRequest::max_runs);
    v("traced_runs", &BurstRequest::traced_runs);
    v("period_ns", &BurstRequest::period_ns);
  }
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
  // a processor and had none (runner/timing/waiting.h). Empty: the runner does not tell.
  std::vector<std::int64_t> opening_wait_ns, untraced_wait_ns, traced_wait_ns;
  std::vector<std::int64_t> untraced_cpu_ns;  // processor time of all threads, run by run of untraced_ns
  std::vector<std::int64_t> thread_cpu_ns;    // of each thread over the burst, the largest first
  std::int64_t steal_ns = -1;                 // the host took so much of cpu_start away; -1: unknown
  std::int64_t throttled_ns = -1;             // the control group's quota was used up; -1: unknown
  std::int64_t frequency_start_khz = -1;      // of cpu_start before the burst

  static void Describe(auto& v) {
    v("opening_ns", &BurstReply::opening_ns);
    v("untraced_ns", &BurstReply::untraced_ns);
    v("traced_ns", &BurstReply::traced_ns);
    v("level", &BurstReply::level);
    v("first_run_traced", &BurstReply::first_run_traced);
    v("start_ns", &BurstReply::start_ns);
    v("end_ns", &BurstReply::end_ns);
    v("cpu_time_ns", &BurstReply::cpu_time_ns);
    v("cpu_start", &BurstReply::cpu_start, {.least = -1});
    v("cpu_end", &BurstReply::cpu_end, {.least = -1});
    v("migrations", &BurstReply::migrations, {.least = -1});
    v("involuntary_switches", &BurstReply::involuntary_switches, {.least = -1});
    v("frequency_khz", &BurstReply::frequency_khz, {.least = -1});
    v("frequency_cap_khz", &BurstReply::frequency_cap_khz, {.least = -1});
    v("temperature_millidegrees", &BurstReply::temperature_millidegrees, {.least = kAnyNumber});
    v("load_average", &BurstReply::load_average);
    v("peak_rss_bytes", &BurstReply::peak_rss_bytes);
    v("opening_wait_ns", &BurstReply::opening_wait_ns);
    v("untraced_wait_ns", &BurstReply::untraced_wait_ns);
    v("traced_wait_ns", &BurstReply::traced_wait_ns);
    v("untraced_cpu_ns", &BurstReply::untraced_cpu_ns);
    v("thread_cpu_ns", &BurstReply::thread_cpu_ns);
    v("steal_ns", &BurstReply::steal_ns, {.least = -1});
    v("throttled_ns", &BurstReply::throttled_ns, {.least = -1});
    v("frequency_start_khz", &BurstReply::frequency_start_khz, {.least = -1});
  }
};

struct OutputDigest {
  TensorInfo info;
  std::string sha256;                    // of the raw bytes
  std::optional<double> min, max, mean;  // over the finite elements; absent where there is none
  std::int64_t nan_count = 0, inf_count = 0;

  static void Describe(auto& v) {
    v("info", &OutputDigest::info);
    v("sha256", &OutputDigest::sha256, {.pattern = kSha256Pattern});
    v("min", &OutputDigest::min);
    v("max", &OutputDigest::max);
    v("mean", &OutputDigest::mean);
    v("nan_count", &OutputDigest::nan_count);
    v("inf_count", &OutputDigest::inf_count);
  }
};

struct OutputsRequest {  // {"cmd": "outputs"}: of the last run
  std::string save_to;   // safetensors file, names "<method>/<i>"; empty: not saved

  static void Describe(auto& v) { v("save_to", &OutputsRequest::save_to); }
};
struct OutputsReply {
  std::vector<OutputDigest> outputs;

  static void Describe(auto& v) { v("outputs", &OutputsReply::outputs); }
};

struct EtdumpRequest {  // {"cmd": "etdump"}: writes what was traced since the last such request, and forgets
                        // it
  std::string path;

  static void Describe(auto& v) { v("path", &EtdumpRequest::path); }
};
struct EtdumpReply {
  std::int64_t blocks = 0;
  std::int64_t bytes = 0;

  static void Describe(auto& v) {
    v("blocks", &EtdumpReply::blocks);
    v("bytes", &EtdumpReply::bytes);
  }
};

struct MemoryReply {  // {"cmd": "memory"}
  std::int64_t rss_bytes = 0;
  std::int64_t peak_rss_bytes = 0;

  static void Describe(auto& v) {
    v("rss_bytes", &MemoryReply::rss_bytes);
    v("peak_rss_bytes", &MemoryReply::peak_rss_bytes);
  }
};

// {"cmd": "quit"} -> {"reply": "quit"}, then the worker exits with 0.

}  // namespace etprof::protocol
