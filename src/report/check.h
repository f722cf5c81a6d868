#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/program/source/source_map.h"
#include "measure/config/config.h"
#include "profile/compare/gate.h"
#include "report/report.h"

namespace etprof {

// The results of `etprof check` as data; show/ contains the texts.

// Allowed relative growth: 0.02 for +2 %. Absent: not checked.
struct CheckLimits {
  std::optional<double> slowdown = 0.02;    // latency
  std::optional<double> operator_slowdown;  // self time of each operator that both variants have
  // Operators with a smaller share of Method::execute in both variants are not checked.
  double min_operator_share = 0.01;
  std::optional<double> first_token_slowdown;  // time to a language model's first token; absent: `slowdown`
  std::optional<double> cache_growth = 0;      // size of a language model's cache
  std::optional<double> memory_growth;         // peak memory of a launch
  std::optional<double> load_slowdown;         // time to load program and method
  std::optional<double> instruction_growth;    // counted instructions of a run
  double false_discovery_rate = 0.05;
  bool require_conclusive = false;  // an inconclusive pair counts as failed

  std::optional<double> FirstTokenSlowdown() const {
    return first_token_slowdown ? first_token_slowdown : slowdown;
  }
};

// The place of an operator in the model, as far as the .etrecord of the program contains it.
struct OperatorOrigin {
  std::string test = {};   // test of a language model that ran the operator: "pp512"
  std::string layer = {};  // path of the module: "layer1.2"
  std::optional<SourceFrame> frame = {};

  std::string Source() const { return frame ? FormatLocation(*frame) : ""; }

  static void Describe(auto& v) {
    v("test", &OperatorOrigin::test,
      {.meaning = "of a language model's operator: the test that ran it", .omit_if_empty = true});
    v("layer", &OperatorOrigin::layer,
      {.meaning = "of an operator: path of its module; null: not known", .or_null = true});
    v("source", &OperatorOrigin::Source,
      {.meaning = "of an operator: its line of the model; null: not known", .or_null = true});
  }
};

// A claim about a pair that is tested against a limit.
struct CheckItem {
  enum class Kind {
    kLatency,
    kPrefill,
    kDecode,
    kFirstToken,
    kCache,
    kPeakMemory,
    kLoad,
    kOperator,
    kInstructions
  };
  Kind kind = Kind::kLatency;
  std::string name = {};  // "latency", "pp512", "peak memory", "load", "instructions", an operator's name
  std::string key = {};   // for operators: KeyText of the baseline's operator
  OperatorOrigin origin = {};
  // ns, bytes of memory, or instructions. The quotient of both values is 1 + the growth of the estimate
  // (RatioEstimate::baseline). Without an estimate, medians over launches; for operators mean self times.
  std::optional<double> baseline = {}, candidate = {};
  double limit = 0;
  GateVerdict verdict = {};
  // The reason why the claim is inconclusive, as one clause; "": not known.
  std::string inconclusive_reason = {};
  std::optional<stats::RatioEstimate> estimate = {};  // the tested estimate

  std::string_view Unit() const {
    return IsMemory() ? "bytes" : kind == Kind::kInstructions ? "instructions" : "ns";
  }
  bool IsMemory() const { return kind == Kind::kPeakMemory || kind == Kind::kCache; }

  // Returns whether bounds decide the item instead of a test, since counts are exact.
  bool IsCounted() const { return kind == Kind::kInstructions || kind == Kind::kCache; }
  // Returns whether a total of `launches` may decide the claim (profile/compare/gate.h).
  bool MayBeDecidedByLaunches(double launches) const;

  static constexpr const char* kSchemaName = "check";
  static void Describe(auto& v) {
    using C = CheckItem;
    v("check", &C::kind, {.meaning = "what is tested"});
    v("name", &C::name, {.meaning = "of the operator, or of a language model's test; else as `check`"});
    v("key", &C::key, {.meaning = "of an operator", .or_null = true});
    v.Flat(&C::origin);
    v("unit", &C::Unit, {.meaning = "of `baseline` and `candidate`", .choices = "ns|bytes|instructions"});
    v("baseline", &C::baseline,
      {.meaning =
           "that the growth is from; without an estimate a median over launches, or an operator's mean"});
    v("candidate", &C::candidate, {.meaning = "likewise"});
    v.Flat(&C::verdict);
    v("limit", &C::limit, {.meaning = "growth that is allowed: 0.02 for +2%", .min = -1, .exclusive = true});
    v("why_not", &C::inconclusive_reason,
      {.meaning = "why it could not be decided, where that is known", .or_null = true});
  }
};
template <>
inline constexpr const char* kNames<CheckItem::Kind>[] = {"latency",     "prefill",  "decode",
                                                          "first token", "cache",    "peak memory",
                                                          "load",        "operator", "instructions"};

// An operator whose time differs significantly; the false discovery rate is controlled over the operators of
// all pairs.
struct OperatorTimeChange {
  std::string name, key;
  OperatorOrigin origin;
  double baseline_ns = 0, candidate_ns = 0;  // self times, as in CheckItem
  double growth = 0, low = 0, high = 0;      // candidate / baseline - 1, with its adjusted interval

  static constexpr const char* kSchemaName = "moved";
  static void Describe(auto& v) {
    using M = OperatorTimeChange;
    v("name", &M::name, {.meaning = "as ExecuTorch's Inspector shows it"});
    v("key", &M::key, {.meaning = "as `key` of an operator in analysis_summary.json"});
    v.Flat(&M::origin);
    v("baseline_ns", &M::baseline_ns, {.meaning = "self time"});
    v("candidate_ns", &M::candidate_ns, {.meaning = "self time"});
    v("growth", &M::growth, {.meaning = "candidate / baseline - 1", .or_null = true});
    v("growth_low", &M::low, {.meaning = "of its adjusted interval; null: unbounded", .or_null = true});
    v("growth_high", &M::high, {.meaning = "of its adjusted interval; null: unbounded", .or_null = true});
  }
};

// An operator whose numbers of instructions differ by more than the counts vary.
struct OperatorCountChange {
  std::string name, key;
  OperatorOrigin origin;
  double baseline = 0, candidate = 0;  // instructions of one run

  static constexpr const char* kSchemaName = "counted";
  static void Describe(auto& v) {
    v("name", &OperatorCountChange::name, {.meaning = "as ExecuTorch's Inspector shows it"});
    v("key", &OperatorCountChange::key, {.meaning = "as `key` of an operator in analysis_summary.json"});
    v.Flat(&OperatorCountChange::origin);
    v("baseline", &OperatorCountChange::baseline, {.meaning = "instructions of one run", .min = 0});
    v("candidate", &OperatorCountChange::candidate, {.meaning = "instructions of one run", .min = 0});
  }
};

// The code that computed an operator in both variants, as observed by the runner (--watch).
struct ObservedOperator {
  struct ExecutedCode {
    std::string code;    // WatchedRow::code: "AVX-512", "SME2"
    std::string kernel;  // name of the KleidiAI kernel; "": a kernel of XNNPACK
    bool operator==(const ExecutedCode&) const = default;

    static constexpr const char* kSchemaName = "proven_side";
    static void Describe(auto& v) {
      v("code", &ExecutedCode::code, {.meaning = "the highest class of instructions"});
      v("kernel", &ExecutedCode::kernel, {.meaning = "KleidiAI's; null: XNNPACK's own", .or_null = true});
    }
  };
  std::string name, key;
  std::string test;  // test of a language model that ran the operator: "pp512"; else empty
  ExecutedCode baseline, candidate;

  static constexpr const char* kSchemaName = "proven";
  static void Describe(auto& v) {
    v("name", &ObservedOperator::name, {.meaning = "as ExecuTorch's Inspector shows it"});
    v("key", &ObservedOperator::key, {.meaning = "as `key` of an operator in analysis_summary.json"});
    v("test", &ObservedOperator::test,
      {.meaning = "of a language model's operator: the test that ran it", .omit_if_empty = true});
    v("baseline", &ObservedOperator::baseline, {.meaning = "what computed it"});
    v("candidate", &ObservedOperator::candidate, {.meaning = "what computed it"});
  }
};

struct CheckPair {
  std::string name;
  std::string baseline_label, candidate_label;
  int threads = 1;
  Pairing pairing = Pairing::kNone;
  int launches = 0;  // number of launches of the latency's estimate; 0: not paired
  GateDecision decision = GateDecision::kInconclusive;
  // Why the pair could not be measured, so that `decision` is meaningless; empty: measured.
  std::string error;
  std::vector<CheckItem> items;
  std::vector<OperatorTimeChange> time_changes;    // by decreasing difference in time
  std::vector<OperatorCountChange> count_changes;  // by decreasing difference
  // Operators that the other variant lacks, with their time, by decreasing time.
  std::vector<std::string> only_baseline, only_candidate;
  std::vector<ObservedOperator> observed;  // operators that were watched in both variants

  std::string_view Result() const { return error.empty() ? GetName(decision) : "error"; }

  static constexpr const char* kSchemaName = "pair";
  static void Describe(auto& v) {
    using C = CheckPair;
    v("name", &C::name, {.meaning = "unique among the pairs: \"base against candidate\""});
    v("baseline", &C::baseline_label, {.meaning = "label of the variant that the other is compared with"});
    v("candidate", &C::candidate_label,
      {.meaning = "label of the variant that is compared with the baseline"});
    v("threads", &C::threads, {.meaning = "of the candidate", .min = 1});
    v("pairing", &C::pairing,
      {.meaning =
           "`launches`: interleaved; `unpaired`: measured apart, with usual drift; `none`: no interval"});
    v("launches", &C::launches, {.meaning = "that the latency's estimate is from; 0: it is not paired"});
    v("result", &C::Result,
      {.meaning = "of all its checks; `error`: it could not be measured", .choices = kGateResults});
    v("error", &C::error, {.meaning = "why it could not be measured", .or_null = true});
    v("checks", &C::items, {.meaning = "one for each claim"});
    v("moved_operators", &C::time_changes,
      {.meaning = "whose time differs significantly, by falling difference"});
    v("counted_operators", &C::count_changes,
      {.meaning = "whose number of instructions differs (--instructions), by falling difference",
       .omit_if_empty = true});
    v("only_in_baseline", &C::only_baseline,
      {.meaning = "operators that the other side lacks, with their time"});
    v("only_in_candidate", &C::only_candidate,
      {.meaning = "operators that the other side lacks, with their time"});
    v("proven_kernels", &C::observed,
      {.meaning = "of operators that were watched on both sides (--watch)", .omit_if_empty = true});
  }
};

struct CheckReport {
  std::string model_id;
  std::string machine;       // "linux-x86_64, 2 cores"; empty: not known
  std::string folder;        // the results directory; empty: two stored runs were compared
  std::string generated_at;  // time of the measurement, UTC, ISO 8601; empty: not known
  double seconds = 0;        // duration of the measurement; 0: not known
  // kFail if any pair failed, else kInconclusive if any pair is inconclusive.
  GateDecision decision = GateDecision::kInconclusive;
  bool has_error = false;  // a pair could not be measured
  std::vector<CheckPair> pairs;
  std::vector<std::string> notes;
  double false_discovery_rate = 0.05;
  bool require_conclusive = false;

  std::string_view Result() const { return ResultName(decision, has_error); }

  static void Describe(auto& v) {
    using C = CheckReport;
    DescribeSchemaVersion(v);
    v("result", &C::Result,
      {.meaning = "of all pairs; `error`: one could not be measured, and none failed",
       .choices = kGateResults});
    v("model_id", &C::model_id,
      {.meaning = "file name without .pte; null: not known, or several", .or_null = true});
    v("generated_at", &C::generated_at,
      {.meaning = "when the measurement began, UTC; null: not known", .or_null = true});
    v("run_directory", &C::folder, {.meaning = "null: two stored runs were compared", .or_null = true});
    v("seconds", &C::seconds, {.meaning = "that measuring took; 0 where it is not known", .min = 0});
    v("false_discovery", &C::false_discovery_rate,
      {.meaning = "rate that is controlled over all checks together", .min = 0, .max = 1, .exclusive = true});
    v("require_conclusive", &C::require_conclusive, {.meaning = "what cannot be decided counts as failed"});
    v("pairs", &C::pairs, {.meaning = "baselines with candidates"});
    v("notes", &C::notes, {.meaning = "what the reader has to know to trust this"});
  }
};

// Tests all limits for all pairs of the report's run and controls the false discovery rate over all claims
// together (profile/compare/gate.h). Interleaved launches give the paired estimate. Variants without common
// rounds give Welch's estimate of the values of launches, and plain traces the estimate of the comparison.
CheckReport AssembleCheck(const Report& report, const CheckLimits& limits);

// Makes the result for a pair whose variants have the same program, runner, and settings, so that nothing has
// to be measured: the growth is 0, compared with each limit. `generate`: the checks are those of a language
// model.
CheckPair MakeEqualPair(const ComparePair& pair, int threads, const CheckLimits& limits, bool generate);
// Adds pairs from MakeEqualPair, which take part in the decision.
void AddEqualPairs(std::vector<CheckPair> pairs, CheckReport& check);

}  // namespace etprof
