#pragma once

// The messages between etprof and a worker (etprof-runner --worker): one JSON object per line, requests on
// the worker's stdin, replies on its stdout. Every request has "cmd" and gets exactly one reply line,
// {"reply": <cmd>, ...} or {"error": <message>, "cmd": <cmd>}. After an error the worker continues. When
// stdin is closed, the worker exits. Output of the model's code goes to stderr, never between the lines.
//
// At its start a worker sends {"reply": "ready", ...} (struct Ready) before it reads any request. All times
// are integer nanoseconds of the device's CLOCK_MONOTONIC; sizes are bytes.
//
// The structs are converted by core/json/json_members.h. Unknown keys are ignored (a newer peer), missing
// keys keep their defaults, and wrong types and negative counts are errors.

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "protocol/burst.h"

namespace etprof::protocol {

// The maximum number of tokens of a prompt, of a text, or of one step.
inline constexpr double kMaxTokens = 1 << 24;

inline constexpr int kVersion = 2;

// The clock of XNNPACK's operator times (executorch.md): exact nanoseconds, or XNNPACK's own whole
// microseconds.
inline constexpr const char* kExactClock = "exact";
inline constexpr const char* kXnnpackClock = "xnnpack";

// The source of waiting times (runner/timing/waiting.h): the scheduler's statistics of every thread, or the
// difference between wall clock and CPU time of the calling thread.
inline constexpr const char* kSchedstat = "schedstat";
inline constexpr const char* kThreadTime = "thread_time";
// Waiting times of a third-party runner, read from outside of its process.
inline constexpr const char* kOutsideProcess = "outside";

struct IsaState {
  std::vector<std::string> detected;
  std::vector<std::string> masked;
  std::vector<std::string> enabled;
  bool can_mask = true;
  std::string masking_problem;

  static void Describe(auto& v) {
    v("detected", &IsaState::detected,
      {.meaning = "every feature that this CPU has, as `etprof isa` names them"});
    v("masked", &IsaState::masked, {.meaning = "hidden by --isa, with what needs them"});
    v("enabled", &IsaState::enabled, {.meaning = "`detected` less `masked`"});
    v("can_mask", &IsaState::can_mask, {.meaning = "features of this CPU can be hidden"});
    v("why_not", &IsaState::masking_problem, {.meaning = "why they cannot; empty: they can"});
  }
};

struct Clocks {  // clocks read back to back, for alignment with system traces
  std::int64_t monotonic_ns = 0;
  std::int64_t boottime_ns = 0;
  std::int64_t realtime_ns = 0;
  std::optional<std::int64_t> read_ns = {};

  static void Describe(auto& v) {
    v("monotonic_ns", &Clocks::monotonic_ns, {.meaning = "CLOCK_MONOTONIC"});
    v("boottime_ns", &Clocks::boottime_ns,
      {.meaning = "CLOCK_BOOTTIME, which goes on while the device sleeps"});
    v("realtime_ns", &Clocks::realtime_ns,
      {.meaning = "CLOCK_REALTIME since 1970; a board without a battery may be before that",
       .min = kNoMinimum});
    v("read_ns", &Clocks::read_ns,
      {.meaning = "what a read of CLOCK_MONOTONIC takes, rounded up", .omit_if_empty = true});
  }
};

struct MappedLibrary {
  std::string path;
  std::string build_id;

  static constexpr const char* kSchemaName = "mapped_library";
  static void Describe(auto& v) {
    v("path", &MappedLibrary::path, {.meaning = "on the device"});
    v("build_id", &MappedLibrary::build_id,
      {.meaning = "that its linker wrote, hexadecimal", .pattern = "^[0-9a-f]+$", .or_null = true});
  }
};

struct Ready {
  int protocol = kVersion;
  std::string runner_version;
  std::string executorch_version;
  std::string operator_clock;
  std::string wait_source;
  int threads = 1;
  std::int64_t pid = 0;
  IsaState isa;
  Clocks clocks;
  std::string cpu_model;
  std::vector<MappedLibrary> libraries;

  static void Describe(auto& v) {
    v("protocol", &Ready::protocol, {.meaning = "kVersion of the runner"});
    v("runner_version", &Ready::runner_version, {.meaning = "of etprof-runner"});
    v("executorch_version", &Ready::executorch_version,
      {.meaning = "of the library that is mapped; empty: not known"});
    v("operator_clock", &Ready::operator_clock,
      {.meaning = "of XNNPACK's operator times: kExactClock or kXnnpackClock"});
    v("wait_source", &Ready::wait_source,
      {.meaning = "of waiting times: kSchedstat or kThreadTime; empty: none are told"});
    v("threads", &Ready::threads, {.meaning = "of ExecuTorch's thread pool"});
    v("pid", &Ready::pid, {.meaning = "of the worker"});
    v("isa", &Ready::isa, {.meaning = "CPU features as it sees them"});
    v("clocks", &Ready::clocks, {.meaning = "at its start"});
    v("cpu_model", &Ready::cpu_model, {.meaning = "as cpuinfo calls it"});
    v("libraries", &Ready::libraries, {.meaning = "of ExecuTorch that are mapped; empty: not known"});
  }
};

// The source of a method's inputs.
struct InputSpec {
  std::string kind;
  std::vector<std::string> paths;
  std::uint64_t seed = 0;

  static void Describe(auto& v) {
    v("kind", &InputSpec::kind,
      {.meaning = "\"saved\" (an .inputs file), \"files\" (raw bytes, one a tensor), \"ones\", \"random\", "
                  "\"tokens\" (of a language model: what \"place\" says)"});
    v("paths", &InputSpec::paths, {.meaning = "of \"saved\" (one) and \"files\""});
    v("seed", &InputSpec::seed, {.meaning = "of \"random\""});
  }
};

// The place of a language model's step in a text: the step takes `tokens` tokens at once, and the first of
// them has position `position`. A step may run several methods (the embedding of the tokens, the decoder),
// and each of these methods has a separate StepPlace.
struct StepPlace {
  std::int64_t tokens = 1;
  std::int64_t position = 0;  // position of the first token: the number of tokens cached before the step
  std::string method = {};    // empty: the method that computes the step's logits
  auto operator<=>(const StepPlace&) const = default;

  static constexpr const char* kSchemaName = "place";
  static void Describe(auto& v) {
    v("tokens", &StepPlace::tokens,
      {.meaning = "that one step takes: 1 decodes, more prefill", .min = 1, .max = kMaxTokens});
    v("at", &StepPlace::position,
      {.meaning = "the position of the first one: so many tokens are in the cache", .max = kMaxTokens});
    v("method", &StepPlace::method,
      {.meaning = "that runs, which gives a step its inputs: the embedding of tokens, or an encoder; absent: "
                  "the one that gives the step's logits",
       .omit_if_empty = true});
  }
};

struct LoadRequest {  // {"cmd": "load"}
  std::string model;
  std::string data;
  std::string method = "forward";
  std::vector<std::string> methods;
  std::optional<InputSpec> inputs;
  std::optional<StepPlace> place;
  bool watch_memory = false;

  static void Describe(auto& v) {
    v("model", &LoadRequest::model, {.meaning = "the .pte"});
    v("data", &LoadRequest::data, {.meaning = "an external .ptd, or empty"});
    v("method", &LoadRequest::method, {.meaning = "to load"});
    v("methods", &LoadRequest::methods, {.meaning = "more of them, for \"select\""});
    v("inputs", &LoadRequest::inputs,
      {.meaning = "absent: `<model>.inputs` where it exists, else seeded random", .omit_if_empty = true});
    v("place", &LoadRequest::place,
      {.meaning = "place in the text at which every run of a language model stands, whose inputs are "
                  "\"tokens\"",
       .omit_if_empty = true});
    v("watch_memory", &LoadRequest::watch_memory,
      {.meaning = "whose memory is whose is told by {\"cmd\": \"watch\"}"});
  }
};

struct TensorInfo {
  std::string dtype;
  std::vector<std::int64_t> shape;

  static constexpr const char* kSchemaName = "tensor";
  static void Describe(auto& v) {
    v("dtype", &TensorInfo::dtype,
      {.meaning = "as ExecuTorch prints it: \"Float\", \"Half\", \"Long\", ...; of what is no tensor "
                  "\"int\", \"double\", \"bool\", \"string\", or \"none\""});
    v("shape", &TensorInfo::shape, {.meaning = "elements of each dimension"});
  }
};

// The inputs and outputs of a method.
struct MethodReply {
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  std::string inputs_from;
  std::vector<std::string> warnings;

  static void Describe(auto& v) {
    v("inputs", &MethodReply::inputs, {.meaning = "of the method"});
    v("outputs", &MethodReply::outputs, {.meaning = "of the method"});
    v("inputs_from", &MethodReply::inputs_from, {.meaning = "\"saved FILE\", \"random, seed 1\", ..."});
    v("warnings", &MethodReply::warnings, {.meaning = "e.g. random integers that may be indices"});
  }
};

struct LoadReply : MethodReply {
  std::int64_t load_ns = 0;
  std::optional<std::int64_t> load_wait_ns;
  std::vector<std::string> backends;
  std::optional<std::int64_t> rss_before_bytes;
  std::int64_t rss_bytes = 0;

  static void Describe(auto& v) {
    v("load_ns", &LoadReply::load_ns, {.meaning = "program and method, as one"});
    v("load_wait_ns", &LoadReply::load_wait_ns,
      {.meaning = "of that: wanted a processor and had none; null: not known"});
    MethodReply::Describe(v);
    v("backends", &LoadReply::backends, {.meaning = "of the method's delegates, each once"});
    v("rss_before_bytes", &LoadReply::rss_before_bytes,
      {.meaning = "resident memory before loading: above all the libraries"});
    v("rss_bytes", &LoadReply::rss_bytes, {.meaning = "after loading"});
  }
};

inline constexpr int kMaxBurstRuns = 100'000;
// Limits beyond which a burst would block the worker for hours or exhaust its memory.
inline constexpr MemberInfo kOpeningRuns{.max = 100'000};
inline constexpr MemberInfo kRecordedRuns{.max = 10'000'000};

// Requests a burst. It begins with opening runs, which are not recorded as latency, until the latency
// stabilizes (or `max_opening` is reached). Untraced runs follow until both `min_runs` and `target_ns` are
// reached. Then come `traced_runs` runs with the tracer on, whose blocks are appended to the worker's ETDump.
// The first burst of a launch begins with the launch's first run, which is traced, and has at least
// `min_opening` opening runs.
struct BurstRequest {  // {"cmd": "burst"}
  int min_opening = 1;
  int max_opening = 30;
  int min_runs = 3;
  std::int64_t target_ns = 50'000'000;
  int max_runs = kMaxBurstRuns;
  int traced_runs = 0;
  std::int64_t period_ns = 0;
  std::optional<StepPlace> place;

  static void Describe(auto& v) {
    v("min_opening", &BurstRequest::min_opening,
      kOpeningRuns.WithMeaning("least number of opening runs of a launch's first burst"));
    v("max_opening", &BurstRequest::max_opening,
      kOpeningRuns.WithMeaning("runs before the recorded ones, at most"));
    v("min_runs", &BurstRequest::min_runs, kRecordedRuns.WithMeaning("untraced runs, at least"));
    v("target_ns", &BurstRequest::target_ns,
      {.meaning = "untraced runs take so long, at least", .max = 3.6e12});
    v("max_runs", &BurstRequest::max_runs, kRecordedRuns.WithMeaning("untraced runs, at most"));
    // 73 bytes per event: large models fill gigabytes before this limit.
    v("traced_runs", &BurstRequest::traced_runs, {.meaning = "runs with the tracer on", .max = 100'000});
    v("period_ns", &BurstRequest::period_ns,
      {.meaning = "start runs this far apart (a camera's pace); 0: back to back", .max = 60e9});
    v("place", &BurstRequest::place,
      {.meaning = "place in the text at which these and later runs stand; each place has traces and a first "
                  "run of its own",
       .omit_if_empty = true});
  }
  static void Check(const BurstRequest& request) {
    if (request.min_opening > request.max_opening)
      throw std::invalid_argument("\"min_opening\" is above \"max_opening\"");
    if (request.min_runs > request.max_runs)
      throw std::invalid_argument("\"min_runs\" is above \"max_runs\"");
  }
};

struct BurstReply : BurstRuns, BurstConditions {
  bool first_run_traced = false;
  std::int64_t peak_rss_bytes = 0;

  static void Describe(auto& v) {
    BurstRuns::Describe(v);
    BurstConditions::Describe(v);
    v("first_run_traced", &BurstReply::first_run_traced,
      {.meaning = "this burst began with the launch's first run"});
    v("peak_rss_bytes", &BurstReply::peak_rss_bytes, {.meaning = "of the process, so far"});
  }
};

// {"cmd": "select"}: selects another loaded method, or the method of a step (StepPlace), for the following
// runs. The reply is a MethodReply.
struct SelectRequest {
  std::string method;
  std::optional<StepPlace> place;

  static void Describe(auto& v) {
    v("method", &SelectRequest::method, {.meaning = "that runs from now on; empty: that of the place"});
    v("place", &SelectRequest::place,
      {.meaning = "of a language model, where it stands from now on", .omit_if_empty = true});
  }
};

// {"cmd": "fill"}: runs `tokens` tokens at the positions from 0 on, which fills the cache as a text would.
// {"cmd": "reference"}: does the same, and then runs the next step twice, to compare the logits of both.
struct FillRequest {
  std::int64_t tokens = 0;
  std::int64_t chunk = 1;

  static void Describe(auto& v) {
    v("upto", &FillRequest::tokens, {.meaning = "the number of tokens", .max = kMaxTokens});
    v("chunk", &FillRequest::chunk, {.meaning = "tokens at once, at most", .min = 1, .max = kMaxTokens});
  }
};
struct FillReply {
  std::int64_t steps = 0;
  std::int64_t ns = 0;

  static void Describe(auto& v) {
    v("steps", &FillReply::steps, {.meaning = "that it took"});
    v("ns", &FillReply::ns, {.meaning = "that they took"});
  }
};
struct ReferenceReply {
  std::string first, repeated;
  bool restored = false;

  static void Describe(auto& v) {
    v("first", &ReferenceReply::first, {.meaning = "SHA-256 of the step's logits"});
    v("again", &ReferenceReply::repeated, {.meaning = "the same of the repeated step"});
    v("restored", &ReferenceReply::restored,
      {.meaning = "the model's state accumulates: it was loaded again, and every run from now on begins with "
                  "the state after the last fill"});
  }
};

// {"cmd": "walk"}: generates a text. Each generated token is the token with the largest logit.
struct GenerateTextRequest {
  std::int64_t prompt = 0, generate = 0;
  std::int64_t chunk = 1;

  static constexpr const char* kSchemaName = "walk";
  static void Describe(auto& v) {
    v("prompt", &GenerateTextRequest::prompt,
      {.meaning = "tokens before the generated ones", .min = 1, .max = kMaxTokens});
    v("generate", &GenerateTextRequest::generate,
      {.meaning = "tokens that it generates", .min = 1, .max = kMaxTokens});
    v("chunk", &GenerateTextRequest::chunk,
      {.meaning = "tokens of the prompt that one step takes", .min = 1, .max = kMaxTokens});
  }
};
// The step of a language model that an experiment measures, and the test ("pp512", "tg128 @ d1024") that the
// step is a part of.
struct TestStep : StepPlace {
  std::string variant, test;
  std::int64_t times = 1;
  std::int64_t chunk = 1;
  std::int64_t cache_bytes = 0, read_bytes = 0;
  std::vector<std::string> methods;
  std::optional<GenerateTextRequest> generate_text;

  static constexpr const char* kSchemaName = "place_of_test";
  static void Describe(auto& v) {
    using P = TestStep;
    const auto optional_count = [](std::string_view meaning, double min) {
      return MemberInfo{
          .meaning = meaning, .min = min, .max = kMaxTokens, .or_null = true, .omit_if_empty = true};
    };
    v("tokens", &P::tokens, optional_count("that a run takes at once: 1 decodes, more are prefill", 1));
    v("at", &P::position,
      optional_count("the position of the first one: so many tokens are in the cache", 0));
    v("method", &P::method,
      {.meaning = "that runs, if it is not the one that gives the step's logits: the embedding of tokens, an "
                  "encoder",
       .or_null = true,
       .omit_if_empty = true});
    v("variant", &P::variant,
      {.meaning = "what it has in common with its other places", .or_null = true, .omit_if_empty = true});
    v("test", &P::test,
      {.meaning = "that it is a part of: `pp512`, `tg128 @ d1024`", .or_null = true, .omit_if_empty = true});
    v("times", &P::times, optional_count("how many such steps the test has", 1));
    v("chunk", &P::chunk, optional_count("tokens at once that fill the cache before, at most", 1));
    v("cache_bytes", &P::cache_bytes,
      {.meaning = "bytes that the model keeps between steps; 0: not known",
       .min = 0,
       .or_null = true,
       .omit_if_empty = true});
    v("read_bytes", &P::read_bytes,
      {.meaning = "bytes of weights and cache that a run reads at least; 0: not known",
       .min = 0,
       .or_null = true,
       .omit_if_empty = true});
    v("methods", &P::methods,
      {.meaning = "more methods that are steps of the model", .or_null = true, .omit_if_empty = true});
    v("walk", &P::generate_text,
      {.meaning = "a text that each process generates at its end", .or_null = true, .omit_if_empty = true});
  }
};
// The steps of a generation, in order. Every nanosecond of `total_ns` is in `encode_ns` or in one of the four
// columns `inputs_ns`, `execute_ns`, `argmax_ns`, and `between_ns`, which have one time per step.
struct GenerateTextReply {
  std::int64_t total_ns = 0;
  std::vector<std::int64_t> prompt, generated;
  std::vector<std::int64_t> tokens, positions;
  std::vector<std::int64_t> inputs_ns, execute_ns, argmax_ns, between_ns, wait_ns;
  std::optional<std::int64_t> encode_ns, features, nan_steps;

  static constexpr const char* kSchemaName = "walked";
  static void Describe(auto& v) {
    v("total_ns", &GenerateTextReply::total_ns,
      {.meaning = "the sum of the four columns of times, and of what the encoders took"});
    v("encode_ns", &GenerateTextReply::encode_ns,
      {.meaning =
           "giving the encoders their inputs and running them, before the first step; absent: there are "
           "none",
       .omit_if_empty = true});
    v("features", &GenerateTextReply::features,
      {.meaning = "how many embeddings the encoders gave, which stand before the prompt as tokens do",
       .omit_if_empty = true});
    v("prompt", &GenerateTextReply::prompt, {.meaning = "tokens that were given"});
    v("generated", &GenerateTextReply::generated, {.meaning = "tokens, each the one with the largest logit"});
    v("nan_steps", &GenerateTextReply::nan_steps,
      {.meaning = "generated tokens that were chosen among logits with NaN; absent: none",
       .min = 1,
       .omit_if_empty = true});
    v("tokens", &GenerateTextReply::tokens, {.meaning = "of each step"});
    v("at", &GenerateTextReply::positions, {.meaning = "the position of its first token"});
    v("inputs_ns", &GenerateTextReply::inputs_ns, {.meaning = "giving it its inputs"});
    v("execute_ns", &GenerateTextReply::execute_ns, {.meaning = "running it, all of its methods"});
    v("argmax_ns", &GenerateTextReply::argmax_ns, {.meaning = "choosing the token, where one is chosen"});
    v("between_ns", &GenerateTextReply::between_ns, {.meaning = "until the next step"});
    v("wait_ns", &GenerateTextReply::wait_ns,
      {.meaning = "for which its threads wanted a processor and had none", .min = -1});
  }
};

struct OutputDigest {
  TensorInfo info;
  std::string sha256;
  std::optional<double> min, max, mean;  // statistics of the finite elements; absent: no such elements
  std::int64_t nan_count = 0, inf_count = 0;

  static void Describe(auto& v) {
    v("info", &OutputDigest::info, {.meaning = "data type and shape"});
    v("sha256", &OutputDigest::sha256, {.meaning = "of the raw bytes", .pattern = kSha256Pattern});
    v("min", &OutputDigest::min, {.meaning = "over the finite elements; null: there are none"});
    v("max", &OutputDigest::max, {.meaning = "over the finite elements; null: there are none"});
    v("mean", &OutputDigest::mean, {.meaning = "over the finite elements; null: there are none"});
    v("nan_count", &OutputDigest::nan_count, {.meaning = "elements that are NaN"});
    v("inf_count", &OutputDigest::inf_count, {.meaning = "elements that are infinite"});
  }
};

struct OutputsRequest {  // {"cmd": "outputs"}: outputs of the last run
  std::string save_to;   // safetensors file with names "<method>/<i>"; empty: not saved
  std::optional<StepPlace> place;

  static void Describe(auto& v) {
    v("save_to", &OutputsRequest::save_to,
      {.meaning = "safetensors file, names \"<method>/<i>\"; empty: not saved"});
    v("place", &OutputsRequest::place,
      {.meaning = "of a run there, which is made for that, not of the last one", .omit_if_empty = true});
  }
};
struct OutputsReply {
  std::vector<OutputDigest> outputs;

  static void Describe(auto& v) { v("outputs", &OutputsReply::outputs, {.meaning = "of the last run"}); }
};

// {"cmd": "etdump"}: writes the runs traced since the last such request to a file, and discards them.
struct EtdumpRequest {
  std::string path;
  std::optional<StepPlace> place;

  static void Describe(auto& v) {
    v("path", &EtdumpRequest::path, {.meaning = "to write to"});
    v("place", &EtdumpRequest::place, {.meaning = "whose traces are written", .omit_if_empty = true});
  }
};
struct EtdumpReply {
  std::int64_t blocks = 0;
  std::int64_t bytes = 0;

  static void Describe(auto& v) {
    v("blocks", &EtdumpReply::blocks,
      {.meaning =
           "of the ETDump; 0: this ExecuTorch was built without event tracing, and no file is written"});
    v("bytes", &EtdumpReply::bytes, {.meaning = "that were written"});
  }
};

struct MemoryReply {  // {"cmd": "memory"}
  std::int64_t rss_bytes = 0;
  std::int64_t peak_rss_bytes = 0;

  static void Describe(auto& v) {
    v("rss_bytes", &MemoryReply::rss_bytes, {.meaning = "now"});
    v("peak_rss_bytes", &MemoryReply::peak_rss_bytes, {.meaning = "so far"});
  }
};

// {"cmd": "quit"} -> {"reply": "quit"}, then the worker exits with 0.

}  // namespace etprof::protocol
