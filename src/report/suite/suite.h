#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/describe.h"
#include "measure/store/suite_state.h"
#include "profile/compare/comparison.h"
#include "profile/compare/gate.h"
#include "report/report.h"

namespace etprof {

// The results of `etprof suite` as data; show/ contains the texts.

// A variant compared with the unmodified model in one cell.
struct SuitePair {
  std::string variant;
  std::string baseline_label, candidate_label;
  TimeComparison latency;           // interval and verdict are adjusted over all claims of the suite
  int launches = 0;                 // number of paired launches; 0: not paired
  GateVerdict gate;                 // not meaningful if the suite has no limit
  std::string inconclusive_reason;  // one clause: why there is no interval; empty: there is an interval

  static constexpr const char* kSchemaName = "pair";
  static void Describe(auto& v) {
    v("variant", &SuitePair::variant, {.meaning = "as the suite has it: \"isa=-avx2\""});
    v("baseline", &SuitePair::baseline_label, {.meaning = "label of the model as it is"});
    v("candidate", &SuitePair::candidate_label, {.meaning = "label of the variant"});
    v.Flat(&SuitePair::latency);
    v("launches", &SuitePair::launches, {.meaning = "paired ones; 0: it is not paired", .min = 0});
    v.Object("gate", [](auto& within) { within.Flat(&SuitePair::gate); },
             {.meaning = "against the suite's `limit`; without one it says nothing"});
    v("why_not", &SuitePair::inconclusive_reason, {.meaning = "why there is no interval", .or_null = true});
  }
};

// One of the slowest operators of a cell's unmodified model.
struct SuiteOperator {
  std::string name;
  double self_ns = 0;  // mean self time
  double share = 0;    // share of Method::execute

  static constexpr const char* kSchemaName = "operator";
  static void Describe(auto& v) {
    v("name", &SuiteOperator::name, {.meaning = "as ExecuTorch's Inspector shows it"});
    v("self_ms", &SuiteOperator::self_ns, {.meaning = "mean self time of a run", .min = 0, .scale = 1e6});
    v("share", &SuiteOperator::share, kShareOfWhole.WithMeaning("of `Method::execute`"));
  }
};

// The position of a setting relative to the Pareto frontier of its model on its device
// (report/suite/frontier.h).
enum class FrontierStatus {
  kUnknown,  // the setting has no latency, or its CPU was emulated
  kFrontier,
  kDominated,
  kExcluded,  // its CPU features are masked, or it pauses between runs: a user cannot choose such a setting
};
template <>
inline constexpr const char* kNames<FrontierStatus>[] = {"unknown", "yes", "no", "excluded"};

// One way to run a cell's program: as it is, or with a variant's settings.
struct SuiteSetting {
  std::string variant = {};  // as in the suite's file; "": the unmodified model
  std::string label = {};
  std::optional<double> latency_ns = {};  // median; absent if contended
  std::optional<LatencyInterval> interval = {};
  CheckedSqnr sqnr = {};                   // SQNR of the setting's program
  std::optional<double> peak_memory = {};  // bytes; the largest of any launch
  std::optional<double> load_ns = {};      // ns; median over launches
  std::optional<LatencyInterval> load_interval = {};
  std::filesystem::path program = {};
  std::string program_sha256 = {};  // "": not known
  // One value per launch: median latency (ns; empty if contended), and peak memory (bytes).
  std::vector<double> launch_medians = {}, launch_peak_memory = {};
  FrontierStatus frontier_status = FrontierStatus::kUnknown;
  std::string dominated_by = {};  // name of the fastest setting that dominates it

  // The lowest SQNR over all inputs; absent: not known.
  std::optional<double> LowestSqnr() const {
    std::optional<double> lowest;
    for (const auto& [inputs, db] : sqnr) lowest = std::min(lowest.value_or(db), db);
    return lowest;
  }

  static constexpr const char* kSchemaName = "setting";
  static void Describe(auto& v) {
    using S = SuiteSetting;
    v("variant", &S::variant, {.meaning = "as the suite has it; null: as it is", .or_null = true});
    v("label", &S::label, {.meaning = "its name in reports"});
    v("latency_ms", &S::latency_ns, {.meaning = "median; null: contended", .min = 0, .scale = 1e6});
    v("interval", &S::interval, {.meaning = "of the latency"});
    v("sqnr_db", &S::LowestSqnr,
      {.meaning = "of its program against the model in fp32, the lowest of the export's check; null: not "
                  "known, or nothing differs",
       .min = kNoMinimum,
       .or_null = true});
    v("peak_memory_bytes", &S::peak_memory, {.meaning = "of a process: the largest of any launch", .min = 0});
    v("load_ms", &S::load_ns,
      {.meaning = "of program and method, median over launches", .min = 0, .scale = 1e6});
    v("load_interval", &S::load_interval, {.meaning = "of the load; null: fewer than five launches"});
    v("frontier", &S::frontier_status,
      {.meaning = "whether no other setting of the model on the device is as good or better in latency, "
                  "SQNR, and peak memory, and measurably better in one"});
    v("dominated_by", &S::dominated_by, {.meaning = "a setting that is; null: none", .or_null = true});
  }
};

// A comparison of two interleaved settings of a cell. A ratio above 1 means that the second setting is faster
// or uses less memory.
struct SettingPair {
  std::size_t first = 0, second = 0;  // indices into SuiteCellReport::settings
  TimeComparison latency = {};
  std::optional<stats::RatioEstimate> memory = {};  // absent: fewer than five launches
};

// "int8, 2 threads"
inline std::string SuiteSettingName(const std::string& dtype, const SuiteSetting& setting) {
  return dtype.empty() ? setting.label : dtype + ", " + setting.label;
}

struct SuiteCellReport {
  std::string model, dtype, device;  // dtype "": the model is a single program
  std::string folder;                // results directory, relative to the suite's folder
  SuiteCellStatus status = SuiteCellStatus::kPending;
  std::string reason;  // why the cell failed or was skipped; if measured, which part failed
  bool emulated = false;
  std::string experiment;          // experiment of the unmodified model
  bool has_no_clean_runs = false;  // no untraced run of `experiment` was clean
  int launches = 0;                // launches of `experiment`

  double seconds = 0;                         // duration of the measurement
  double margin = 0, interim_confidence = 0;  // as in ScheduleData
  std::vector<SuitePair> pairs;
  std::vector<SuiteSetting> settings;      // the model as it is, then in the order of the pairs
  std::vector<SettingPair> setting_pairs;  // pairs of settings that may be on a frontier
  std::vector<SuiteOperator> operators;    // by decreasing time

  // The unmodified model; an empty setting if it was not measured.
  const SuiteSetting& Unmodified() const {
    static const SuiteSetting kNotMeasured;
    return settings.empty() ? kNotMeasured : settings.front();
  }

  // Returns whether all pairs have too few clean runs, or the only experiment has none.
  bool IsContended() const {
    if (pairs.empty()) return has_no_clean_runs;
    return std::ranges::all_of(
        pairs, [](const SuitePair& pair) { return pair.latency.verdict == stats::Verdict::kContended; });
  }

  static constexpr const char* kSchemaName = "cell";
  static void Describe(auto& v) {
    using C = SuiteCellReport;
    v("model", &C::model, {.meaning = "its name in the suite"});
    v("dtype", &C::dtype, {.meaning = "null: the model is one program", .or_null = true});
    v("device", &C::device, {.meaning = "as `--device` takes it"});
    v("run_directory", &C::folder, {.meaning = "relative to the suite's folder"});
    v("status", &C::status, {.meaning = "`skipped`: the suite's time was over before it"});
    v("reason", &C::reason,
      {.meaning = "why it failed or was skipped; of a measured one what of it failed", .or_null = true});
    v("emulated", &C::emulated, {.meaning = "the CPU was emulated: times are not meaningful"});
    v("experiment", &C::experiment, {.meaning = "that the latency is of", .or_null = true});
    v("latency_ms", [](const C& cell) { return cell.Unmodified().latency_ns; },
      {.meaning = "median of the model as it is; null: contended", .min = 0, .scale = 1e6});
    v("interval", [](const C& cell) { return cell.Unmodified().interval; }, {.meaning = "of the latency"});
    v("launches", &C::launches, {.meaning = "of that experiment", .min = 0});
    v("seconds", &C::seconds, {.meaning = "that measuring took", .min = 0});
    v("pairs", &C::pairs, {.meaning = "variants against the model as it is"});
    v("settings", &C::settings, {.meaning = "the model as it is, then each variant"});
    v("operators", &C::operators, {.meaning = "the slowest of the model as it is"});
  }
};

// The effect of a variant over all models: the geometric mean of their ratios.
struct SuiteVariant {
  std::string variant;
  std::string baseline_label, candidate_label;  // labels of the first pair
  std::string device;                           // "": all devices together
  // Numbers of models with a ratio, and of ratios. The ratios of one model (over its data types and devices)
  // are averaged first, since they are not independent samples.
  int models = 0, ratios = 0;
  std::optional<double> ratio;  // absent: no ratios
  // Student's t over the models: the expected average for another model of this kind, not the precision of
  // the measurements. Absent for fewer than two models.
  std::optional<stats::RatioEstimate> estimate;
  stats::Verdict verdict = stats::Verdict::kInconclusive;

  static constexpr const char* kSchemaName = "variant";
  static void Describe(auto& v) {
    using V = SuiteVariant;
    v("variant", &V::variant, {.meaning = "as the suite has it: \"isa=-avx2\""});
    v("baseline", &V::baseline_label, {.meaning = "label of the model as it is"});
    v("candidate", &V::candidate_label, {.meaning = "label of the variant"});
    v("device", &V::device, {.meaning = "null: all devices together", .or_null = true});
    v("models", &V::models, {.meaning = "the unit of the interval", .min = 0});
    v("ratios", &V::ratios,
      {.meaning = "of their data types and devices, averaged within a model first", .min = 0});
    v("geometric_mean", &V::ratio, {.meaning = "baseline / candidate: above 1, the candidate is faster"});
    v("ratio_low",
      [](const V& value) { return value.estimate ? std::optional(value.estimate->low()) : std::nullopt; },
      {.meaning = "what the next such model may expect on average; null: fewer than two models"});
    v("ratio_high",
      [](const V& value) { return value.estimate ? std::optional(value.estimate->high()) : std::nullopt; },
      {.meaning = "what the next such model may expect on average; null: fewer than two models"});
    v("verdict", &V::verdict, {.meaning = "of the interval, on the candidate"});
  }
};

// A data type of a model compared with the first data type of the model in the suite, on one device. The two
// are separate cells, so the estimate is that of unpaired launches with drift.
struct SuiteDtype {
  std::string model, device;
  std::string baseline, candidate;  // data types
  TimeComparison latency;           // adjusted over all claims of the suite

  static constexpr const char* kSchemaName = "dtype";
  static void Describe(auto& v) {
    using D = SuiteDtype;
    v("model", &D::model, {.meaning = "its name in the suite"});
    v("device", &D::device, {.meaning = "as `--device` takes it"});
    v("baseline", &D::baseline, {.meaning = "the first data type of the model"});
    v("candidate", &D::candidate, {.meaning = "another one"});
    v.Flat(&D::latency);
  }
};

// A frontier that was measured again: the model as it is and the fastest settings, interleaved, in new
// launches, since the launches that selected the settings favor them.
struct SuiteConfirmation {
  SuiteCellReport cell;
  std::string fastest = {};  // label of a setting; "": none is measurably faster than the model as it is
  std::vector<std::string> tied = {};  // labels of settings that are not measurably slower than `fastest`

  static constexpr const char* kSchemaName = "confirmation";
  static void Describe(auto& v) {
    using C = SuiteConfirmation;
    v.Flat(&C::cell);
    v("fastest", &C::fastest,
      {.meaning = "label of the setting; null: none is measurably faster than the model as it is",
       .or_null = true});
    v("tied", &C::tied, {.meaning = "labels of settings that are not measurably slower than that"});
  }
};

struct SuiteReport {
  std::string name;    // name of the suite's file without extension
  std::string folder;  // absolute
  std::vector<std::string> devices;
  std::vector<SuiteCellReport> cells;
  std::vector<SuiteVariant> variants;
  std::vector<SuiteDtype> dtypes;
  std::vector<SuiteConfirmation> confirmations;
  std::optional<double> limit;  // allowed growth of the latency; absent: no limit
  double false_discovery_rate = 0.05;
  bool require_conclusive = false;
  GateDecision decision = GateDecision::kPass;  // decision over the pairs; kPass without a limit
  bool has_error = false;                       // a cell failed or was skipped

  std::string_view Result() const { return ResultName(decision, has_error); }
  std::size_t Count(SuiteCellStatus status) const {
    return static_cast<std::size_t>(std::ranges::count(cells, status, &SuiteCellReport::status));
  }

  static void Describe(auto& v) {
    using S = SuiteReport;
    DescribeSchemaVersion(v);
    v("suite", &S::name, {.meaning = "name of its file without the ending"});
    v("result", &S::Result,
      {.meaning = "of all pairs; `error`: a cell is missing, and no pair failed", .choices = kGateResults});
    v("devices", &S::devices, {.meaning = "as `--device` takes them"});
    v("limit", &S::limit,
      {.meaning = "allowed growth of the latency; null: none", .min = -1, .exclusive = true});
    v("false_discovery", &S::false_discovery_rate,
      {.meaning = "over all pairs and variants together", .min = 0, .max = 1, .exclusive = true});
    v("require_conclusive", &S::require_conclusive, {.meaning = "what cannot be decided counts as failed"});
    v("cells", &S::cells, {.meaning = "each model in each data type on each device"});
    v("variants", &S::variants, {.meaning = "what each is worth, over all models"});
    v("dtypes", &S::dtypes, {.meaning = "each model in its other data types against the first, by device"});
    v("confirmations", &S::confirmations,
      {.meaning = "frontiers that were measured again; `dtype` is that of the model as it is"});
  }
};

// Fills a cell from its run. `variants`: the variants of the cell in the order of the run's pairs.
void FillSuiteCell(const Report& report, const std::vector<std::string>& variants, SuiteCellReport& cell);

// Decides all cells of `suite` together after their runs are added: fills the verdicts of pairs, the
// variants, and the decision.
void DecideSuite(SuiteReport& suite);

}  // namespace etprof
