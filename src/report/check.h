#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compare/gate.h"
#include "measure/config/config.h"
#include "program/source/source_map.h"
#include "report/report.h"

namespace etprof {

// What `etprof check` says, computed and not yet worded.

// Relative growth that is allowed: 0.02 for +2 %. Absent: not checked.
struct CheckLimits {
  std::optional<double> slowdown = 0.02;     // of the latency
  std::optional<double> operator_slowdown;   // of the self time of every operator that both sides have
  double least_operator_share = 0.01;        // of Method::execute on one side; what takes less is not checked
  std::optional<double> memory_growth;       // of the peak memory of a launch
  std::optional<double> load_slowdown;       // of the time to load program and method
  std::optional<double> instruction_growth;  // of the instructions of a run, which are counted
  double false_discovery = 0.05;
  bool require_conclusive = false;  // a pair that cannot be decided counts as failed
};

// Where an operator comes from in the model, as far as the program that ran says so (its .etrecord).
struct OperatorOrigin {
  std::string layer = {};  // path of the module: "layer1.2"
  std::optional<SourceFrame> frame = {};

  std::string Source() const { return frame ? LineText(*frame) : ""; }

  static void Describe(auto& v) {
    v("layer", &OperatorOrigin::layer,
      {.meaning = "of an operator: path of its module; null: not known", .or_null = true});
    v("source", &OperatorOrigin::Source,
      {.meaning = "of an operator: its line of the model; null: not known", .or_null = true});
  }
};

// One claim, tested.
struct CheckItem {
  enum class Kind { kLatency, kPeakMemory, kLoad, kOperator, kInstructions };
  Kind kind = Kind::kLatency;
  std::string name = {};  // "latency", "peak memory", "load", "instructions", an operator's name
  std::string key = {};   // of an operator: KeyText of its identity on the baseline's side
  OperatorOrigin origin = {};
  // ns, bytes of memory, or instructions: those of the estimate, whose quotient is 1 + the growth
  // (RatioEstimate::baseline). Where there is none, medians over launches; of operators mean self times.
  std::optional<double> baseline = {}, candidate = {};
  double limit = 0;
  GateVerdict verdict = {};
  std::string why_not = {};  // one clause: why it could not be decided, where that is known
  std::optional<stats::RatioEstimate> estimate = {};  // that was tested

  std::string_view Unit() const {
    return kind == Kind::kPeakMemory ? "bytes" : kind == Kind::kInstructions ? "instructions" : "ns";
  }
  // As MayBeDecided in compare/gate.h.
  bool MayBeDecidedWith(double launches) const;

  static constexpr const char* kSchemaName = "check";
  static void Describe(auto& v) {
    v("check", &CheckItem::kind, {.meaning = "what is tested"});
    v("name", &CheckItem::name, {.meaning = "of the operator, else as `check`"});
    v("key", &CheckItem::key, {.meaning = "of an operator", .or_null = true});
    v.Flat(&CheckItem::origin);
    v("unit", &CheckItem::Unit,
      {.meaning = "of `baseline` and `candidate`", .choices = "ns|bytes|instructions"});
    v("baseline", &CheckItem::baseline,
      {.meaning =
           "that the growth is from; without an estimate a median over launches, or an operator's mean"});
    v("candidate", &CheckItem::candidate, {.meaning = "likewise"});
    v.Flat(&CheckItem::verdict);
    v("limit", &CheckItem::limit,
      {.meaning = "growth that is allowed: 0.02 for +2%", .least = -1, .open = true});
    v("why_not", &CheckItem::why_not,
      {.meaning = "why it could not be decided, where that is known", .or_null = true});
  }
};
template <>
inline constexpr NamedValue<CheckItem::Kind> kNames<CheckItem::Kind>[] = {
    {CheckItem::Kind::kLatency, "latency"},
    {CheckItem::Kind::kPeakMemory, "peak memory"},
    {CheckItem::Kind::kLoad, "load"},
    {CheckItem::Kind::kOperator, "operator"},
    {CheckItem::Kind::kInstructions, "instructions"}};

// An operator whose time differs significantly, false discovery controlled over the operators of all pairs.
struct MovedOperator {
  std::string name, key;
  OperatorOrigin origin;
  double baseline_ns = 0, candidate_ns = 0;  // self times, as CheckItem's
  double growth = 0, low = 0, high = 0;      // candidate / baseline - 1, with its adjusted interval

  static constexpr const char* kSchemaName = "moved";
  static void Describe(auto& v) {
    v("name", &MovedOperator::name, {.meaning = "as ExecuTorch's Inspector shows it"});
    v("key", &MovedOperator::key, {.meaning = "as `key` of an operator in analysis_summary.json"});
    v.Flat(&MovedOperator::origin);
    v("baseline_ns", &MovedOperator::baseline_ns, {.meaning = "self time"});
    v("candidate_ns", &MovedOperator::candidate_ns, {.meaning = "self time"});
    v("growth", &MovedOperator::growth, {.meaning = "candidate / baseline - 1", .or_null = true});
    v("growth_low", &MovedOperator::low,
      {.meaning = "of its adjusted interval; null: unbounded", .or_null = true});
    v("growth_high", &MovedOperator::high,
      {.meaning = "of its adjusted interval; null: unbounded", .or_null = true});
  }
};

// An operator that executes another number of instructions on each side, by more than counts repeat to.
struct CountedOperator {
  std::string name, key;
  OperatorOrigin origin;
  double baseline = 0, candidate = 0;  // instructions of one run

  static constexpr const char* kSchemaName = "counted";
  static void Describe(auto& v) {
    v("name", &CountedOperator::name, {.meaning = "as ExecuTorch's Inspector shows it"});
    v("key", &CountedOperator::key, {.meaning = "as `key` of an operator in analysis_summary.json"});
    v.Flat(&CountedOperator::origin);
    v("baseline", &CountedOperator::baseline, {.meaning = "instructions of one run", .least = 0});
    v("candidate", &CountedOperator::candidate, {.meaning = "instructions of one run", .least = 0});
  }
};

// What computed an operator on both sides, as the runner saw it (--watch).
struct ProvenOperator {
  struct Side {
    std::string code;    // WatchedRow::code: "AVX-512", "SME2"
    std::string kernel;  // KleidiAI's by name; "": XNNPACK's own
    bool operator==(const Side&) const = default;

    static constexpr const char* kSchemaName = "proven_side";
    static void Describe(auto& v) {
      v("code", &Side::code, {.meaning = "the highest class of instructions"});
      v("kernel", &Side::kernel, {.meaning = "KleidiAI's; null: XNNPACK's own", .or_null = true});
    }
  };
  std::string name, key;
  Side baseline, candidate;

  static constexpr const char* kSchemaName = "proven";
  static void Describe(auto& v) {
    v("name", &ProvenOperator::name, {.meaning = "as ExecuTorch's Inspector shows it"});
    v("key", &ProvenOperator::key, {.meaning = "as `key` of an operator in analysis_summary.json"});
    v("baseline", &ProvenOperator::baseline, {.meaning = "what computed it"});
    v("candidate", &ProvenOperator::candidate, {.meaning = "what computed it"});
  }
};

struct CheckPair {
  std::string name;
  std::string baseline_label, candidate_label;
  int threads = 1;
  Pairing pairing = Pairing::kNone;
  int launches = 0;  // that the latency's estimate is from; 0: it is not paired
  GateDecision decision = GateDecision::kInconclusive;
  std::string error;  // why it could not be measured; empty: it was. Then the decision means nothing
  std::vector<CheckItem> items;
  std::vector<MovedOperator> moved;        // by falling difference in time
  std::vector<CountedOperator> counted;    // by falling difference
  std::vector<std::string> only_baseline;  // operators that the other side lacks, with their time, by falling
  std::vector<std::string> only_candidate;  // time
  std::vector<ProvenOperator> proven;       // of operators that were watched on both sides

  std::string_view Result() const { return error.empty() ? NameOf(decision) : "error"; }

  static constexpr const char* kSchemaName = "pair";
  static void Describe(auto& v) {
    v("name", &CheckPair::name, {.meaning = "unique among the pairs: \"base against candidate\""});
    v("baseline", &CheckPair::baseline_label,
      {.meaning = "label of the variant that the other is compared with"});
    v("candidate", &CheckPair::candidate_label,
      {.meaning = "label of the variant that is compared with the baseline"});
    v("threads", &CheckPair::threads, {.meaning = "of the candidate", .least = 1});
    v("pairing", &CheckPair::pairing,
      {.meaning =
           "`launches`: interleaved; `unpaired`: measured apart, with usual drift; `none`: no interval"});
    v("launches", &CheckPair::launches,
      {.meaning = "that the latency's estimate is from; 0: it is not paired"});
    v("result", &CheckPair::Result,
      {.meaning = "of all its checks; `error`: it could not be measured", .choices = kGateResults});
    v("error", &CheckPair::error, {.meaning = "why it could not be measured", .or_null = true});
    v("checks", &CheckPair::items, {.meaning = "one for each claim"});
    v("moved_operators", &CheckPair::moved,
      {.meaning = "whose time differs significantly, by falling difference"});
    v("counted_operators", &CheckPair::counted,
      {.meaning = "whose number of instructions differs (--instructions), by falling difference",
       .if_any = true});
    v("only_in_baseline", &CheckPair::only_baseline,
      {.meaning = "operators that the other side lacks, with their time"});
    v("only_in_candidate", &CheckPair::only_candidate,
      {.meaning = "operators that the other side lacks, with their time"});
    v("proven_kernels", &CheckPair::proven,
      {.meaning = "of operators that were watched on both sides (--watch)", .if_any = true});
  }
};

struct CheckReport {
  std::string model_id;
  std::string where;         // "linux-x86_64, 2 cores"; empty: not known
  std::string folder;        // the results directory; empty: two stored runs were compared
  std::string generated_at;  // of the measurement, UTC, ISO 8601; empty: not known
  double seconds = 0;        // that measuring took; 0: not known
  GateDecision decision = GateDecision::kInconclusive;  // fail before inconclusive before pass
  bool error = false;                                   // of any pair
  std::vector<CheckPair> pairs;
  std::vector<std::string> notes;
  double false_discovery = 0.05;
  bool require_conclusive = false;

  std::string_view Result() const { return ResultName(decision, error); }

  static void Describe(auto& v) {
    DescribeSchemaVersion(v);
    v("result", &CheckReport::Result,
      {.meaning = "of all pairs; `error`: one could not be measured, and none failed",
       .choices = kGateResults});
    v("model_id", &CheckReport::model_id,
      {.meaning = "file name without .pte; null: not known, or several", .or_null = true});
    v("generated_at", &CheckReport::generated_at,
      {.meaning = "when the measurement began, UTC; null: not known", .or_null = true});
    v("run_directory", &CheckReport::folder,
      {.meaning = "null: two stored runs were compared", .or_null = true});
    v("seconds", &CheckReport::seconds,
      {.meaning = "that measuring took; 0 where it is not known", .least = 0});
    v("false_discovery", &CheckReport::false_discovery,
      {.meaning = "rate that is controlled over all checks together", .least = 0, .most = 1, .open = true});
    v("require_conclusive", &CheckReport::require_conclusive,
      {.meaning = "what cannot be decided counts as failed"});
    v("pairs", &CheckReport::pairs, {.meaning = "baselines with candidates"});
    v("notes", &CheckReport::notes, {.meaning = "what the reader has to know to trust this"});
  }
};

// Tests all that `limits` names for every pair of the report's run, false discovery controlled over
// everything together (compare/gate.h). Paired launches give the paired estimate; of sides that share no
// rounds, one value a launch gives Welch's, and bare traces the comparison's own.
CheckReport AssembleCheck(const Report& report, const CheckLimits& limits);

// Of a pair whose sides are the same program, runner, and settings, of which nothing has to be measured: no
// growth, held against each limit.
CheckPair EqualPair(const UnitPair& pair, int threads, const CheckLimits& limits);
// Adds such pairs, which decide with the others.
void AddEqualPairs(std::vector<CheckPair> pairs, CheckReport& check);

}  // namespace etprof
