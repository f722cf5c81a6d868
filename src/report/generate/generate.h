#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "core/units.h"
#include "profile/compare/comparison.h"
#include "report/report.h"
#include "stats/line/line.h"

// The speed of a language model, from a run whose experiments are steps of tests (protocol::TestStep). Times
// are in nanoseconds.

namespace etprof {

// A test of one variant: a prompt, tokens that are generated at a depth, or an encoder. Its time is the sum
// over all of its steps and their methods.
struct GenerationTest {
  std::string name;                        // "pp512", "tg128 @ d1024", "vision_encoder"
  std::int64_t prompt = 0, generated = 0;  // tokens; at least one of them is 0, and both for an encoder
  std::int64_t depth = 0;                  // tokens in the cache before the test
  std::int64_t chunk = 0;                  // tokens per step of a prompt; else 0
  // Indices into Report::experiments: the experiments that measure its steps, a separate one for each method.
  std::vector<std::size_t> parts;
  std::optional<double> ns, low, high;  // absent: too few launches have clean runs
  double confidence = 0.95;
  std::vector<double> samples;  // one per launch with clean runs of all parts

  std::int64_t Tokens() const { return prompt + generated; }
  bool IsEncoder() const { return Tokens() == 0; }
  std::optional<double> TimePerToken() const {
    return ns && !IsEncoder() ? std::optional(*ns / double(Tokens())) : std::nullopt;
  }
  // Tokens per second if the test takes `time` (ns); absent: the time is not known, or for an encoder.
  std::optional<double> Rate(const std::optional<double>& time) const {
    return time && *time > 0 && !IsEncoder() ? std::optional(double(Tokens()) * 1e9 / *time) : std::nullopt;
  }

  static constexpr const char* kSchemaName = "generate_test";
  static void Describe(auto& v) {
    using T = GenerationTest;
    v("test", &T::name,
      {.meaning =
           "`pp512`: a prompt; `tg128 @ d1024`: tokens generated at a depth; or the name of an encoder"});
    v("n_prompt", &T::prompt, {.meaning = "tokens of the prompt"});
    v("n_gen", &T::generated, {.meaning = "tokens that are generated"});
    v("n_depth", &T::depth, {.meaning = "tokens in the cache before"});
    v("chunk", &T::chunk, {.meaning = "tokens of the prompt that one step takes; 0: it generates"});
    v("ms", &T::ns, kMs.WithMeaning("all of its steps together; null: too few launches have clean runs"));
    v("ms_low", &T::low, kMs.WithMeaning("lower bound"));
    v("ms_high", &T::high, kMs.WithMeaning("upper bound"));
    v("ms_per_token", &T::TimePerToken, kMs.WithMeaning("`ms` over its tokens"));
    v("tokens_per_second", [](const T& test) { return test.Rate(test.ns); },
      {.meaning = "tokens over `ms`", .min = 0});
    v("tokens_per_second_low", [](const T& test) { return test.Rate(test.high); },
      {.meaning = "lower bound", .min = 0});
    v("tokens_per_second_high", [](const T& test) { return test.Rate(test.low); },
      {.meaning = "upper bound; null: unbounded", .min = 0, .or_null = true});
    v("confidence", &T::confidence, kShareOfWhole.WithMeaning("of the interval"));
    v("samples_ns", &T::samples, {.meaning = "of each launch", .min = 0});
  }
};

// The time from the prompt to the first token in one process, as parts that add up exactly.
struct FirstToken {
  std::int64_t prompt = 0, steps = 0;
  std::int64_t features = 0;  // positions before the prompt: the encoders' outputs
  Nanoseconds load = 0;       // loading, in a process that has just started; else 0
  Nanoseconds encode = 0, prefill = 0, inputs = 0, argmax = 0, between_steps = 0;
  Nanoseconds total = 0;            // sum of the six times above
  std::optional<double> low, high;  // interval of the total over launches; absent: fewer than two
  int launches = 0;
  std::map<int, double> totals;  // ns, by launch; only of undisturbed processes
  double waited_share = 0;       // ExperimentData::WaitedShare

  static constexpr const char* kSchemaName = "first_token";
  static void Describe(auto& v) {
    using F = FirstToken;
    v("n_prompt", &F::prompt, {.meaning = "tokens of the prompt"});
    v("n_features", &F::features,
      {.meaning = "embeddings that the encoders gave, which stand before the prompt as tokens do"});
    v("steps", &F::steps, {.meaning = "that these and the prompt took"});
    v("total_ns", &F::total,
      {.meaning = "of the process whose total is the median: the sum of the six below"});
    v("load_ns", &F::load, {.meaning = "loading the model; 0: it was loaded before"});
    v("encode_ns", &F::encode,
      {.meaning = "giving the encoders their inputs and running them; 0: there are none"});
    v("prefill_ns", &F::prefill, {.meaning = "running the model"});
    v("inputs_ns", &F::inputs, {.meaning = "giving it its inputs"});
    v("argmax_ns", &F::argmax, {.meaning = "choosing the token"});
    v("between_ns", &F::between_steps, {.meaning = "between the steps"});
    v("low_ns", &F::low, {.meaning = "of the interval of the total over the processes"});
    v("high_ns", &F::high, {.meaning = "of the interval of the total over the processes"});
    v("launches", &F::launches, {.meaning = "processes that generated undisturbed"});
  }
};

// The text that the processes generated after a prompt.
struct GeneratedText {
  std::int64_t prompt = 0;
  std::vector<std::int64_t> tokens;  // tokens that the first process generated
  bool same_in_all_launches = true;  // all processes generated the same tokens
  std::int64_t nan_steps = 0;        // number of tokens chosen from logits with NaN, in any process
  int launches = 0, disturbed = 0;   // number of processes, and of those whose threads had to wait
  stats::Distribution step;          // times of the steps after the first token, in undisturbed processes
  // The relative excess of the steps' times over those that the line predicts for their positions. Absent: no
  // line fits, or fewer than two processes were undisturbed.
  std::optional<stats::MeanInterval> excess_over_line;

  static constexpr const char* kSchemaName = "generated_text";
  static void Describe(auto& v) {
    using G = GeneratedText;
    const auto statistic = [](std::optional<double> stats::Distribution::*member) {
      return [member](const G& text) { return text.step.*member; };
    };
    v("n_prompt", &G::prompt, {.meaning = "tokens of the prompt"});
    v("tokens", &G::tokens, {.meaning = "that the first process generated, greedily"});
    v("same_in_all_launches", &G::same_in_all_launches, {.meaning = "all processes generated the same"});
    v("nan_steps", &G::nan_steps,
      {.meaning = "tokens that were chosen among logits with NaN; the largest number of any process"});
    v("launches", &G::launches, {.meaning = "processes"});
    v("disturbed", &G::disturbed, {.meaning = "processes of them whose threads had to wait for a processor"});
    v("step_ms_p50", statistic(&stats::Distribution::p50),
      kMs.WithMeaning("of the steps after the first token"));
    v("step_ms_p90", statistic(&stats::Distribution::p90), kMs.WithMeaning("of these steps"));
    v("step_ms_p99", statistic(&stats::Distribution::p99), kMs.WithMeaning("of these steps"));
    v("step_ms_max", statistic(&stats::Distribution::max), kMs.WithMeaning("of these steps"));
    const auto excess = [](double stats::MeanInterval::*member) {
      return [member](const G& text) {
        return text.excess_over_line ? std::optional((*text.excess_over_line).*member) : std::nullopt;
      };
    };
    v("over_line", excess(&stats::MeanInterval::mean),
      {.meaning = "their time over what the line by position says, less 1"});
    v("over_line_low", excess(&stats::MeanInterval::low), {.meaning = "lower bound"});
    v("over_line_high", excess(&stats::MeanInterval::high), {.meaning = "upper bound"});
  }
};

// Describes the optional line that `get` returns for an object. Keys begin with `prefix`.
void DescribeLine(auto& v, const std::string& prefix, auto get) {
  const auto add = [&](const std::string& key, auto coefficient) {
    const auto bound = [&](const char* suffix, const char* meaning, auto member) {
      v((prefix + key + suffix).c_str(),
        [=](const auto& object) {
          const std::optional<stats::LineEstimate> line = get(object);
          return line ? std::optional(((*line).*coefficient).*member) : std::nullopt;
        },
        {.meaning = meaning, .min = kNoMinimum, .or_null = true});
    };
    bound("", "of the line; null: there is none", &stats::MeanInterval::mean);
    bound("_low", "lower bound", &stats::MeanInterval::low);
    bound("_high", "upper bound", &stats::MeanInterval::high);
  };
  add("intercept_ns", &stats::LineEstimate::intercept);
  add("slope_ns_per_token", &stats::LineEstimate::slope);
}

// The time of a decoding step by position, for the whole step and for the parts that add up to it.
struct DecodeLine {
  struct Part {
    std::string name;           // a category of operators, an operator, or a layer
    std::string key, category;  // for operators; else empty
    std::vector<double> means;  // ns in traced runs, by position
    // Fitted over the same launches as the line of the whole step, so that the lines of the parts add up.
    std::optional<stats::LineEstimate> line;

    static constexpr const char* kSchemaName = "line_part";
    static void Describe(auto& v) {
      v("name", &Part::name, {.meaning = "of the category, operator, or layer"});
      v("key", &Part::key,
        {.meaning = "of an operator: method, instruction, kind, place in the call",
         .or_null = true,
         .omit_if_empty = true});
      v("category", &Part::category,
        {.meaning = "of an operator: what it computes", .or_null = true, .omit_if_empty = true});
      v("mean_ns", &Part::means,
        {.meaning = "self time in a traced run at each position", .min = kNoMinimum});
      DescribeLine(v, "", [](const Part& part) { return part.line; });
    }
  };
  std::vector<std::int64_t> positions;    // rising
  std::vector<std::optional<double>> ns;  // time of an untraced step, by position
  // Time to read the weights and the cache at the measured bandwidth, by position; absent: not known.
  std::vector<std::optional<double>> memory_ns;
  std::map<int, stats::Line> launch_lines;  // keyed by launch
  std::optional<stats::LineEstimate> line;
  bool fits = false;  // whether no position lies farther from the line than kMaxMisfit
  // The parts by category, by operator, and by layer of the model (its outermost numbered module). Each list
  // adds up to the traced step. Empty unless all positions were traced; layers also need an .etrecord.
  std::vector<Part> parts, operators, layers;
  std::optional<stats::LineEstimate> traced;  // line of Method::execute, the sum of the parts' lines

  static constexpr double kMaxMisfit = 0.05;  // distance from the line / mean time

  static constexpr const char* kSchemaName = "decode_line";
  static void Describe(auto& v) {
    using Decode = DecodeLine;
    v("at", &Decode::positions, {.meaning = "positions"});
    v("ns", &Decode::ns, {.meaning = "of an untraced step at each", .min = 0});
    v("memory_ns", &Decode::memory_ns,
      {.meaning = "that reading its weights and the cache takes at the measured bandwidth; null: not known",
       .min = 0});
    v("fits", &Decode::fits, {.meaning = "a line describes them: else there is none"});
    v("misfit", [](const Decode& decode) { return decode.line ? decode.line->misfit : std::nullopt; },
      {.meaning =
           "distance of the position that lies furthest from the line, over the mean; null: two positions",
       .min = 0});
    DescribeLine(v, "", [](const Decode& decode) { return decode.fits ? decode.line : std::nullopt; });
    DescribeLine(v, "traced_", [](const Decode& decode) { return decode.traced; });
    v("parts", &Decode::parts, {.meaning = "by category; they add up to the traced line"});
    v("operators", &Decode::operators, {.meaning = "by operator; likewise"});
    v("layers", &Decode::layers,
      {.meaning = "by the model's outermost numbered module; likewise; none: no .etrecord tells them"});
  }
};

// A kernel that computed matrix products of a step in a watched run (--watch).
struct StepKernel {
  std::string method;       // an encoder, or the token embedding; empty: the method of the step's logits
  std::int64_t tokens = 1;  // number of tokens of the step
  std::string kernel;       // KleidiAI's function; empty: XNNPACK's own
  std::string code;
  std::int64_t operators = 0;

  static constexpr const char* kSchemaName = "step_kernel";
  static void Describe(auto& v) {
    v("tokens", &StepKernel::tokens, {.meaning = "that a step takes: 1 decodes, more are prefill", .min = 1});
    v("method", &StepKernel::method,
      {.meaning = "an encoder, or the embedding of tokens; null: the one that gives the step's logits",
       .or_null = true});
    v("kernel", &StepKernel::kernel,
      {.meaning = "KleidiAI's function that computed; null: XNNPACK's own", .or_null = true});
    v("code", &StepKernel::code, {.meaning = "the highest class of its instructions"});
    v("operators", &StepKernel::operators, {.meaning = "matrix products that ran it", .min = 1});
  }
};

struct GenerationVariant {
  std::string name;
  int threads = 1;
  std::string model, model_file;  // name and path of the .pte
  std::string isa;                // masked CPU features
  std::vector<std::string> backends;
  std::vector<GenerationTest> tests;
  std::optional<FirstToken> first_token;       // in processes that had run the model before
  std::optional<FirstToken> cold_first_token;  // in processes that had just started
  std::optional<GeneratedText> text;
  std::optional<DecodeLine> line;
  std::vector<StepKernel> kernels;  // by decreasing number of tokens
  std::optional<Bytes> peak_rss, cache;

  static constexpr const char* kSchemaName = "generate_side";
  static void Describe(auto& v) {
    using S = GenerationVariant;
    v("variant", &S::name, {.meaning = "its name"});
    v("threads", &S::threads, {.meaning = "of the runner's thread pool", .min = 1});
    v("model", &S::model_file, {.meaning = "the .pte"});
    v("isa", &S::isa, {.meaning = "CPU features that are masked", .or_null = true});
    v("peak_rss_bytes", &S::peak_rss, {.meaning = "the largest resident memory of a process"});
    v("cache_bytes", &S::cache, {.meaning = "that the model keeps between steps; null: not known"});
    v("tests", &S::tests, {.meaning = "prompts, tokens by depth, and encoders"});
    v("first_token", &S::first_token, {.meaning = "time to the first token; null: not measured undisturbed"});
    v("cold_first_token", &S::cold_first_token,
      {.meaning = "the same of a process that has just begun, with loading; null: likewise"});
    v("text", &S::text, {.meaning = "what it generated; null: nothing"});
    v("kernels", &S::kernels, {.meaning = "of matrix products, by step; none: not watched"});
    v("decode", &S::line, {.meaning = "its steps of one token by position; null: fewer than two positions"});
  }
};

// The name of the time to the first token in tables of tests.
inline constexpr const char* kFirstTokenTest = "first token";

// A comparison of two variants, test by test.
struct GenerationPair {
  std::size_t baseline = 0, candidate = 0;  // indices into GenerationReport::variants
  struct Row {
    std::string test;
    TimeComparison time_comparison;

    static constexpr const char* kSchemaName = "generate_row";
    static void Describe(auto& v) {
      v("test", &Row::test, {.meaning = "as in `tests`"});
      v.Flat(&Row::time_comparison);
    }
  };
  std::vector<Row> rows;
  std::optional<Row> first_token;                // time to the first token; absent: not after the same prompt
  std::optional<std::int64_t> first_difference;  // token at which the texts differ; absent: they are the same
  bool texts_compared = false;  // both variants generated a text without NaN after the same prompt

  static constexpr const char* kSchemaName = "generate_pair";
  static void Describe(auto& v);
};

struct GenerationReport {
  const Report* report = nullptr;
  std::vector<GenerationVariant> variants;
  std::vector<GenerationPair> pairs;

  // Describes `etprof generate --json`.
  static void Describe(auto& v) {
    using G = GenerationReport;
    DescribeSchemaVersion(v);
    v("folder", [](const G& generation) { return generation.report->run.folder.string(); },
      {.meaning = "the results directory"});
    v("launches", [](const G& generation) { return generation.report->run.schedule.launches; },
      {.meaning = "processes of each variant"});
    v("variants", &G::variants, {.meaning = "what was measured"});
    v("pairs", &G::pairs, {.meaning = "variants that are compared"});
    v("warnings", [](const G& generation) -> const auto& { return generation.report->warnings; },
      {.meaning = "of the measurement"});
  }
};

void GenerationPair::Describe(auto& v) {
  using P = GenerationPair;
  const auto variant = [](std::size_t P::*member) {
    return [member](const P& pair, const GenerationReport& report) {
      return report.variants[pair.*member].name;
    };
  };
  v("baseline", variant(&P::baseline), {.meaning = "a variant"});
  v("candidate", variant(&P::candidate), {.meaning = "another one"});
  v("tests", &P::rows, {.meaning = "test by test"});
  v("first_token", &P::first_token, {.meaning = "the time to it; null: not measured after the same prompt"});
  v("texts_compared", &P::texts_compared, {.meaning = "both generated after the same prompt, without NaN"});
  v("first_different_token", &P::first_difference,
    {.meaning = "of the generated texts, from 0; null: there is none"});
}

// Finds the pair that compares these experiments (indices into Report::experiments); null: there is none.
const GenerationPair* FindGenerationPair(const GenerationReport& generation, std::size_t baseline,
                                         std::size_t candidate);

// Absent if no experiment of the run measures a step of a test. The result refers to the report.
std::optional<GenerationReport> MakeGenerationReport(const Report& report);

}  // namespace etprof
