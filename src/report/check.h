#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compare/gate.h"
#include "report/report.h"

namespace etprof {

// What `etprof check` says, computed and not yet worded.

// Relative growth that is allowed: 0.02 for +2 %. Absent: not checked.
struct CheckLimits {
  std::optional<double> slowdown = 0.02;    // of the latency
  std::optional<double> operator_slowdown;  // of the self time of every operator that both sides have
  double least_operator_share = 0.01;       // of Method::execute on one side; what takes less is not checked
  std::optional<double> memory_growth;      // of the peak memory of a launch
  std::optional<double> load_slowdown;      // of the time to load program and method
  double false_discovery = 0.05;
  bool require_conclusive = false;  // a pair that cannot be decided counts as failed
};

// One claim, tested.
struct CheckItem {
  enum class Kind { kLatency, kPeakMemory, kLoad, kOperator };
  Kind kind = Kind::kLatency;
  std::string name;  // "latency", "peak memory", "load", an operator's name
  std::string key;   // of an operator: KeyText of its identity on the baseline's side
  // ns, or bytes of memory: those of the estimate, whose quotient is 1 + the growth
  // (RatioEstimate::baseline). Where there is none, medians over launches; of operators mean self times.
  std::optional<double> baseline, candidate;
  double limit = 0;
  GateVerdict verdict;
  std::string why_not;  // one clause: why nothing could be tested; empty: it was

  static constexpr const char* kSchemaName = "check";
  static void Describe(auto& v) {
    v("check", &CheckItem::kind);
    v("name", &CheckItem::name);
    v("key", &CheckItem::key, {.meaning = "of an operator", .or_null = true});
    v("unit", [](const CheckItem& item) { return item.kind == Kind::kPeakMemory ? "bytes" : "ns"; },
      {.choices = "ns|bytes"});
    v("baseline", &CheckItem::baseline);
    v("candidate", &CheckItem::candidate);
    v.Flat(&CheckItem::verdict);
    v("limit", &CheckItem::limit, {.least = -1, .open = true});
    v("why_not", &CheckItem::why_not, {.meaning = "why nothing could be tested", .or_null = true});
  }
};
template <>
inline constexpr NamedValue<CheckItem::Kind> kNames<CheckItem::Kind>[] = {
    {CheckItem::Kind::kLatency, "latency"},
    {CheckItem::Kind::kPeakMemory, "peak memory"},
    {CheckItem::Kind::kLoad, "load"},
    {CheckItem::Kind::kOperator, "operator"}};

// An operator whose time differs significantly, false discovery controlled over the operators of all pairs.
struct MovedOperator {
  std::string name, key;
  double baseline_ns = 0, candidate_ns = 0;  // self times, as CheckItem's
  double growth = 0, low = 0, high = 0;      // candidate / baseline - 1, with its adjusted interval

  static constexpr const char* kSchemaName = "moved";
  static void Describe(auto& v) {
    v("name", &MovedOperator::name);
    v("key", &MovedOperator::key);
    v("baseline_ns", &MovedOperator::baseline_ns);
    v("candidate_ns", &MovedOperator::candidate_ns);
    v("growth", &MovedOperator::growth, {.or_null = true});
    v("growth_low", &MovedOperator::low, {.or_null = true});
    v("growth_high", &MovedOperator::high, {.or_null = true});
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
    v("name", &ProvenOperator::name);
    v("key", &ProvenOperator::key);
    v("baseline", &ProvenOperator::baseline);
    v("candidate", &ProvenOperator::candidate);
  }
};

struct CheckPair {
  std::string name;  // unique among the pairs: "base against candidate"
  std::string baseline_label, candidate_label;
  int threads = 1;  // of the candidate
  Pairing pairing = Pairing::kNone;
  int launches = 0;  // that the latency's estimate is from; 0: it is not paired
  GateDecision decision = GateDecision::kInconclusive;
  std::string error;  // why it could not be measured; empty: it was. Then the decision means nothing
  std::vector<CheckItem> items;
  std::vector<MovedOperator> moved;        // by falling difference in time
  std::vector<std::string> only_baseline;  // operators that the other side lacks, with their time, by falling
  std::vector<std::string> only_candidate;  // time
  std::vector<ProvenOperator> proven;       // of operators that were watched on both sides

  std::string_view Result() const { return error.empty() ? NameOf(decision) : "error"; }

  static constexpr const char* kSchemaName = "pair";
  static void Describe(auto& v) {
    v("name", &CheckPair::name);
    v("baseline", &CheckPair::baseline_label);
    v("candidate", &CheckPair::candidate_label);
    v("threads", &CheckPair::threads, {.least = 1});
    v("pairing", &CheckPair::pairing);
    v("launches", &CheckPair::launches,
      {.meaning = "that the latency's estimate is from; 0: it is not paired"});
    v("result", &CheckPair::Result, {.choices = kGateResults});
    v("error", &CheckPair::error, {.meaning = "why it could not be measured", .or_null = true});
    v("checks", &CheckPair::items);
    v("moved_operators", &CheckPair::moved,
      {.meaning = "whose time differs significantly, by falling difference"});
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
  std::vector<std::string> notes;  // what the reader has to know to trust this
  double false_discovery = 0.05;
  bool require_conclusive = false;

  std::string_view Result() const { return ResultName(decision, error); }

  static void Describe(auto& v) {
    v.Constant("schema_version", 1);
    v("result", &CheckReport::Result, {.choices = kGateResults});
    v("model_id", &CheckReport::model_id, {.or_null = true});
    v("generated_at", &CheckReport::generated_at, {.or_null = true});
    v("run_directory", &CheckReport::folder,
      {.meaning = "null: two stored runs were compared", .or_null = true});
    v("seconds", &CheckReport::seconds,
      {.meaning = "that measuring took; 0 where it is not known", .least = 0});
    v("false_discovery", &CheckReport::false_discovery, {.least = 0, .most = 1, .open = true});
    v("require_conclusive", &CheckReport::require_conclusive);
    v("pairs", &CheckReport::pairs);
    v("notes", &CheckReport::notes);
  }
};

// Tests all that `limits` names for every pair of the report's run, false discovery controlled over
// everything together (compare/gate.h). Paired launches give the paired estimate; of sides that share no
// rounds, one value a launch gives Welch's, and bare traces the comparison's own.
CheckReport AssembleCheck(const Report& report, const CheckLimits& limits);

}  // namespace etprof
