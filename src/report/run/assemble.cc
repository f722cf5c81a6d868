#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "core/text/text.h"
#include "core/views.h"
#include "format/delegates/delegate.h"
#include "measure/config/config.h"
#include "measure/store/peaks.h"
#include "profile/analysis/operators.h"
#include "profile/timeline/timeline_csv.h"
#include "report/report.h"
#include "report/run/pair.h"
#include "report/run/stored_runs.h"
#include "stats/ratio/launches.h"
#include "stats/ratio/multiple.h"

namespace etprof {
namespace {

// The backend and data type of "<model>_<backend>_<dtype>", the names of export; "" for other names.
std::pair<std::string, std::string> ParseBackendAndType(const std::string& model_id) {
  const std::string suffix = model_id.substr(RemoveBackendSuffix(model_id).size());
  const std::size_t at = suffix.find('_', 1);
  if (at == std::string::npos) return {};
  return {suffix.substr(1, at - 1), suffix.substr(at + 1)};
}

// The resolution of the clock of the latencies in ns: the smallest step between latencies if some of them are
// equal. If none are equal, the clock's step is not visible, and the result is 1, since latencies are whole
// ns. The result is also 1 if the step is longer than that of any CPU counter: Arm counters run at 19.2 MHz
// or more.
double ClockTick(const ExperimentData& data) {
  constexpr Nanoseconds kMaxTick = 100;
  std::vector<Nanoseconds> latencies = data.AllLatencies();
  std::ranges::sort(latencies);
  Nanoseconds tick = kMaxTick + 1;
  bool repeats = false;
  for (std::size_t i = 1; i < latencies.size(); ++i) {
    const Nanoseconds step = latencies[i] - latencies[i - 1];
    repeats = repeats || step == 0;
    if (step > 0) tick = std::min(tick, step);
  }
  return repeats && tick <= kMaxTick ? static_cast<double>(tick) : 1;
}

// The interval of the median over launches: the spread of the launches' medians around their mean (Student's
// t, on logarithms), applied to the median of all runs. These two differ if a few launches are unlike the
// others; the interval is around the median that is shown. It has the level of a stop rule with interim
// analyses, like the interval of a pair, and extends at least one clock tick to either end.
std::optional<LatencyInterval> MakeLatencyInterval(const ExperimentData& data, const ScheduleData& schedule,
                                                   double median_ns) {
  std::vector<double> logs;
  for (const double latency : data.LaunchLatencies()) {
    if (latency > 0) logs.push_back(std::log(latency));
  }
  const auto estimate = stats::EstimateRatio(logs, schedule.IntervalConfidence());
  if (!estimate) return std::nullopt;
  const double factor = 1 + estimate->half_width();
  const double tick = ClockTick(data);
  return LatencyInterval{std::max(0.0, std::min(median_ns / factor, median_ns - tick)),
                         std::max(median_ns * factor, median_ns + tick), schedule.confidence,
                         static_cast<int>(logs.size())};
}

// The start of the run's first burst on the device's clock, ns; 0: not known.
Nanoseconds FirstBurstStart(const RunData& run) {
  Nanoseconds first = 0;
  for (const ExperimentData& data : run.experiments) {
    for (const Launch& launch : data.launches) {
      for (const Burst& burst : launch.bursts) {
        if (burst.start > 0 && (first == 0 || burst.start < first)) first = burst.start;
      }
    }
  }
  return first;
}

void AddBursts(const RunData& run, const ExperimentData& data, ReportExperiment& out) {
  const Nanoseconds first = FirstBurstStart(run);
  std::vector<double> medians;
  for (const Launch& launch : data.launches) {
    if (launch.status == Launch::Status::kFailed) continue;
    ++out.launches;
    for (const Burst& burst : launch.bursts) {
      const auto clean = burst.Median();
      const auto median = clean ? clean : burst.MedianOfAll();
      if (!median) continue;
      BurstPoint point;
      point.launch = launch.index;
      point.round = burst.round;
      point.median = static_cast<double>(*median);
      if (burst.start > 0) point.seconds = static_cast<double>(burst.start - first) / 1e9;
      point.disturbed = !burst.stabilized || !clean;
      if (burst.frequency_khz) point.mhz = static_cast<double>(*burst.frequency_khz) / 1e3;
      point.celsius = burst.temperature_celsius;
      if (const RoundConditions* conditions = FindConditions(run, launch.index, burst)) {
        point.hot_or_capped = conditions->hot || conditions->capped;
        if (!point.celsius) point.celsius = conditions->vitals.HottestCelsius();
      }
      medians.push_back(point.median);
      out.bursts.push_back(point);
    }
  }
  const stats::Fences fences = stats::TukeyFences(medians);
  for (BurstPoint& point : out.bursts) {
    point.disturbed = point.disturbed || !fences.Contains(point.median);
    out.disturbed_bursts += point.disturbed ? 1 : 0;
  }
}

Movement MovementKind(const Operator& op) {
  const auto begins_with = [&](std::initializer_list<const char*> prefixes) {
    return std::ranges::any_of(prefixes, [&](const char* prefix) { return op.type.starts_with(prefix); });
  };
  if (op.category.name == "QUANT") return Movement::kConversion;
  if (op.category.name == "RESHAPE") return Movement::kReshape;
  if (begins_with({"Transpose", "permute", "transpose", "t_copy"})) return Movement::kTranspose;
  if (begins_with({"Copy", "clone", "_clone", "copy"})) return Movement::kCopy;
  return Movement::kOther;
}

void AddOperators(ReportExperiment& out) {
  const Profile& profile = *out.profile;
  std::set<std::string> unknown;
  for (std::size_t i = 0; i < profile.operators.size(); ++i) {
    const Operator& op = profile.operators[i];
    if (op.key.kind == SpanKind::kDelegateCall) ++out.delegate_calls;
    if (!IsOperator(op)) continue;
    OperatorRow row{profile.statistics[i], i};
    row.mean_self_ns = QuotientIfDefined(row.total_self, out.groups.runs).value_or(0);
    row.share = QuotientIfDefined(row.total_self, out.groups.total).value_or(0);
    if (op.portable) ++out.portable_kernels;
    if (!op.category.known) unknown.insert(op.type);
    if (op.category.group == OperatorGroup::kDataMovement) {
      MovementSum& sum = out.movement[MovementKind(op)];
      ++sum.operators;
      sum.ns += row.mean_self_ns;
    }
    out.operators.push_back(std::move(row));
  }
  std::ranges::stable_sort(out.operators, std::ranges::greater(), &OperatorRow::total_self);
  out.unknown_operators.assign(unknown.begin(), unknown.end());
}

// Makes the common set of the runs that are usual in their class. Fences around all runs may leave out those
// of one class.
void MarkCommonSet(const std::vector<RunClass>& classes, Profile& profile) {
  for (ProfiledRun& run : profile.runs) run.in_common_set = false;
  for (const RunClass& run_class : classes)
    for (const std::size_t run : run_class.common_runs) profile.runs[run].in_common_set = true;
  ComputeStatistics(profile, 0);
}

// `trace_enabled`: a kernel-log run, whose times are not latency.
void AddProfile(ReportExperiment& out, bool trace_enabled) {
  const bool has_latency = out.latency.n > 0 || trace_enabled;
  if (!has_latency) out.run_classes = FindRunClasses(*out.profile);
  if (!out.run_classes.empty()) MarkCommonSet(out.run_classes, *out.profile);
  const Profile& profile = *out.profile;
  const auto count = [&](Phase phase) {
    return std::ranges::count(profile.runs, phase, [](const ProfiledRun& run) { return run.label.phase; });
  };
  out.traced_runs = static_cast<std::int64_t>(profile.runs.size());
  out.first_runs = count(Phase::kFirst);
  out.steady_runs = count(Phase::kSteady);
  out.disturbed_runs = count(Phase::kDisturbed);
  out.warmup_runs = out.traced_runs - out.first_runs - out.steady_runs - out.disturbed_runs;
  out.common_runs = static_cast<std::int64_t>(profile.CommonSet().size());
  out.traced = profile.execute_time;
  if (!has_latency) {
    if (out.run_classes.empty()) {
      out.latency = out.traced;
    } else {
      out.latency.n = out.traced.n;
    }
    const std::vector<double> totals = profile.Totals(profile.SteadyOrCommonRuns());
    out.latency_histogram = stats::MakeHistogram(totals);
    out.latency_ecdf = stats::MakeEcdf(totals);
    out.latency_from_trace = true;
  }
  if (!out.first_run) out.first_run = stats::Median(profile.Totals(profile.RunsInPhase(Phase::kFirst)));
  if (!out.load && profile.load_method) out.load = static_cast<double>(*profile.load_method);
  out.groups = ByGroup(profile);
  out.categories = ByCategory(profile);
  out.places = ByDelegation(profile);
  AddOperators(out);
  if (profile.program) {
    out.layers = FindLayers(profile);
    out.attributed_share = AttributedShare(profile);
    out.by_layer = ByNameInOrder(profile, LayerName);
    out.by_source = ByNameInOrder(profile, SourceLineName);
  }
  out.by_delegate = ByNameInOrder(profile, DelegateName);
  out.by_kernel = ByNameInOrder(profile, KernelName);
  if (const auto mean = out.MeanExecute(); mean && out.latency.p50) out.tracer = *out.latency.p50 - *mean;
}

void AddCpuTime(const ExperimentData& data, ReportExperiment& out) {
  const std::vector<Nanoseconds> times = data.CpuTimes();
  out.cpu_time = stats::Median(std::vector<double>(times.begin(), times.end()));
  std::vector<double> busiest;
  for (const Launch& launch : data.launches) {
    for (const Burst& burst : launch.bursts) {
      const std::size_t runs = burst.opening.size() + burst.recorded.size() + burst.traced.size();
      if (!burst.thread_cpu.empty() && runs > 0)
        busiest.push_back(static_cast<double>(burst.thread_cpu.front()) / static_cast<double>(runs));
    }
  }
  out.cpu_of_busiest = stats::Median(busiest);
}

ReportExperiment MakeReportExperiment(const RunData& run, std::size_t index, std::optional<Profile> profile) {
  const ExperimentData& data = run.experiments[index];
  ReportExperiment out;
  out.index = index;
  out.label = data.LabelOrName();
  if (data.threads > 0) out.threads = data.threads;
  out.etdump_name = data.etdump.filename().string();
  out.tracer_always_on = data.tracer_always_on;
  if (!data.trace_enabled) {
    const std::vector<Nanoseconds> all = data.AllLatencies();
    const std::vector<Nanoseconds> recorded = data.CleanOrAllLatencies();
    out.clean_runs = static_cast<std::int64_t>(data.Latencies().size());
    out.latency_of_all = stats::Summarize(std::vector<double>(all.begin(), all.end()));
    const std::vector<double> latencies(recorded.begin(), recorded.end());
    out.latency = stats::Summarize(latencies);
    AddCpuTime(data, out);
    out.period = data.period;
    if (data.period > 0) {
      out.late_runs = std::ranges::count_if(all, [&](Nanoseconds latency) { return latency > data.period; });
    }
    out.latency_histogram = stats::MakeHistogram(latencies);
    out.latency_ecdf = stats::MakeEcdf(latencies);
    if (out.latency.p50) out.interval = MakeLatencyInterval(data, run.schedule, *out.latency.p50);
  }
  if (const auto first = data.MedianFirstRun()) out.first_run = static_cast<double>(*first);
  if (const auto load = data.MedianLoad()) out.load = static_cast<double>(*load);
  out.peak_rss = data.PeakRss();
  AddBursts(run, data, out);
  out.profile = std::move(profile);
  if (out.profile) AddProfile(out, data.trace_enabled);
  if (const PeaksEntry* peaks = run.peaks ? FindPeaks(*run.peaks, out.label) : nullptr;
      peaks != nullptr && out.profile)
    out.roofline = MakeRoofline(*out.profile, *peaks);
  if (run.schedule.sustained_seconds > 0) out.sustained = SummarizeSustained(data);
  return out;
}

// Returns whether the two experiments measured the same configuration.
bool SameConfiguration(const ExperimentData& a, const ExperimentData& b) {
  return !a.model_sha256.empty() && a.model_sha256 == b.model_sha256 && !a.runner_sha256.empty() &&
         a.runner_sha256 == b.runner_sha256 && a.threads == b.threads && a.name != b.name &&
         a.inputs_from == b.inputs_from && !a.configuration_sha256.empty() &&
         a.configuration_sha256 == b.configuration_sha256;
}

void AddComparisons(Report& report) {
  const RunData& run = report.run;
  for (const ComparePair& pair : run.pairs) {
    if (pair.baseline >= report.experiments.size() || pair.candidate >= report.experiments.size()) continue;
    const ExperimentPair variants{run, report.experiments[pair.baseline], report.experiments[pair.candidate]};
    const ReportExperiment &baseline = variants.baseline, &candidate = variants.candidate;
    const std::string reason = NotComparedReason(report, pair.baseline, pair.candidate);
    if (!reason.empty()) {
      report.warnings.push_back("no comparison of " + baseline.label + " and " + candidate.label + ": " +
                                reason);
      continue;
    }
    ReportComparison result;
    result.baseline = pair.baseline;
    result.candidate = pair.candidate;
    result.label = pair.label;
    result.comparison = CompareExperiments(variants, pair.baseline_label, pair.candidate_label);
    result.costs = CompareStartupCosts(variants, result.comparison.pairing == Pairing::kLaunches);
    if (result.comparison.latency.estimate)
      result.half_width = result.comparison.latency.estimate->half_width();
    result.same_configuration = SameConfiguration(variants.BaselineData(), variants.CandidateData());
    if (result.same_configuration && result.half_width) {
      const stats::RatioEstimate& estimate = *result.comparison.latency.estimate;
      // The larger distance of the interval's ends from 1, the true ratio of an A/A pair.
      const double floor =
          std::max(std::abs(std::expm1(estimate.log_low)), std::abs(std::expm1(estimate.log_high)));
      report.noise_floor = std::max(report.noise_floor.value_or(0), floor);
    }
    result.differs_in_release = variants.DifferInRelease();
    result.ran_own_exports = result.differs_in_release && variants.RanOwnExports();
    if (result.ran_own_exports) result.effects = FindReleaseEffects(report, pair.baseline, pair.candidate);
    result.outputs = pair.outputs;
    result.layers = CompareLayers(variants);
    result.by_source = CompareByName(variants, SourceLineName);
    result.by_delegate = CompareByName(variants, DelegateName);
    result.by_kernel = CompareByName(variants, KernelName);
    result.factors = FactorSpeedup(variants, result.comparison);
    if (result.comparison.latency_from_trace &&
        !(baseline.latency_from_trace && candidate.latency_from_trace)) {
      report.warnings.push_back(candidate.label + " and " + baseline.label +
                                " share no rounds, so they are compared by their traced runs");
    }
    std::ranges::copy(result.comparison.warnings, std::back_inserter(report.warnings));
    report.comparisons.push_back(std::move(result));
  }
}

// Decides the latencies of all releases together, with control of the false discovery rate.
void DecideReleases(Report& report) {
  std::vector<stats::JointComparison> latencies;
  const auto add = [&](TimeComparison& latency) {
    if (latency.verdict != stats::Verdict::kEmulated)
      latencies.push_back({latency.estimate, latency.verdict});
  };
  std::set<std::pair<std::size_t, std::size_t>> exports;  // pairs of two exports on one runtime
  for (ReportComparison& pair : report.comparisons) {
    if (!pair.effects) continue;
    exports.emplace(pair.effects->new_runtime, pair.candidate);
    add(pair.effects->exporter);
    add(pair.effects->runtime);
  }
  for (ReportComparison& pair : report.comparisons) {
    if (pair.differs_in_release || exports.contains({pair.baseline, pair.candidate}))
      add(pair.comparison.latency);
  }
  if (latencies.size() < 2) return;
  stats::UpdateVerdicts(latencies, 1 - report.run.schedule.IntervalConfidence(),
                        MakeCompareOptions(report.run).margin);
  for (ReportComparison& pair : report.comparisons) {
    if (pair.comparison.latency.estimate) pair.half_width = pair.comparison.latency.estimate->half_width();
  }
}

void AddWarnings(Report& report) {
  std::vector<std::string>& warnings = report.warnings;
  const auto add_all = [&](const std::vector<std::string>& more) {
    warnings.insert(warnings.end(), more.begin(), more.end());
  };
  add_all(report.run.warnings);
  add_all(report.run.problems);
  if (report.run.device) add_all(report.run.device->warnings);
  for (const ReportExperiment& experiment : report.experiments) {
    const ExperimentData& data = report.run.experiments[experiment.index];
    const auto add = [&](const std::string& text) { warnings.push_back(experiment.label + ": " + text); };
    std::ranges::for_each(data.warnings, add);
    if (!data.error.empty()) add(data.error);
    if (experiment.TablesAreDisturbed()) {
      add("no traced run had a processor whenever it wanted one, so its tables are of disturbed runs. "
          "Measure "
          "again on an idle machine");
    }
    if (data.trace_enabled) add("a kernel-log run: evidence of kernels, its times are not latency");
  }
  const bool has_coarse_clock =
      std::ranges::any_of(report.experiments, [](const ReportExperiment& experiment) {
        return experiment.profile && HasMicrosecondClock(*experiment.profile);
      });
  if (has_coarse_clock) {
    warnings.push_back(
        "the delegate's operators are timed in whole microseconds (XNNPACK's own clock): those below about "
        "10 µs are not resolved");
  }
  // Remove repeated warnings.
  std::set<std::string> seen;
  std::erase_if(warnings, [&](const std::string& warning) { return !seen.insert(warning).second; });
}

// The layouts of the SME2 profiling kit have no pairs, but their experiments are named "..._sme2_off" and
// "..._sme2_on". Experiments whose names differ only in this form a pair.
void PairOffWithOn(RunData& run) {
  if (!run.pairs.empty()) return;
  for (std::size_t i = 0; i < run.experiments.size(); ++i) {
    const std::string& off = run.experiments[i].name;
    const std::size_t at = off.rfind("off");
    if (at == std::string::npos) continue;
    const std::string on = off.substr(0, at) + "on" + off.substr(at + 3);
    for (std::size_t j = 0; j < run.experiments.size(); ++j) {
      if (run.experiments[j].name != on || run.experiments[j].threads != run.experiments[i].threads) continue;
      run.pairs.push_back({.baseline = i, .candidate = j});
    }
  }
}

// The model of timeline CSVs without a manifest, from their rows; "" if it is missing or there are several.
std::string FindTimelineModel(const RunData& run, const std::vector<std::optional<Profile>>& profiles) {
  std::set<std::string> models;
  for (std::size_t i = 0; i < run.experiments.size(); ++i) {
    const ExperimentData& data = run.experiments[i];
    const bool has_no_manifest = IsTimelineCsv(data.etdump) && data.model.empty();
    models.insert(has_no_manifest && profiles[i] ? profiles[i]->model_id : "");
  }
  return models.size() == 1 ? *models.begin() : "";
}

// Finds the matrix kernels of all experiments if an experiment shows that the CPU is an Arm CPU.
void AddMatrixKernels(Report& report) {
  const auto isa = [&](const ReportExperiment& experiment) {
    return report.run.experiments[experiment.index].isa_state;
  };
  const bool is_arm = std::ranges::any_of(report.experiments, [&](const ReportExperiment& experiment) {
    return experiment.profile && RanOnArm(*experiment.profile, isa(experiment));
  });
  for (ReportExperiment& experiment : report.experiments) {
    if (!experiment.profile) continue;
    if (is_arm)
      experiment.matrix_kernels =
          FindMatrixKernels(*experiment.profile, isa(experiment),
                            FindWatchedRows(report.watched, report.run.experiments[experiment.index]));
    experiment.kernel_evidence = ListSmeOperators(*experiment.profile, experiment.matrix_kernels);
  }
}

}  // namespace

Nanoseconds ReportExperiment::NonOperatorTotal() const {
  Nanoseconds non_operator_total = groups.total;
  for (const OperatorRow& row : operators) non_operator_total -= row.total_self;
  return non_operator_total;
}

const ExperimentData& ReportExperiment::Data(const Report& report) const {
  return report.run.experiments[index];
}

double ReportExperiment::GroupMean(OperatorGroup group) const {
  const auto row = static_cast<std::size_t>(group);
  return row < groups.rows.size() ? groups.rows[row].Mean(groups).value_or(0) : 0;
}

std::optional<double> ReportExperiment::MeanExecute() const {
  return QuotientIfDefined(groups.total, groups.runs);
}

const ReportComparison* FindComparison(const Report& report, std::size_t baseline, std::size_t candidate) {
  const auto found = std::ranges::find_if(report.comparisons, [&](const ReportComparison& pair) {
    return pair.baseline == baseline && pair.candidate == candidate;
  });
  return found == report.comparisons.end() ? nullptr : &*found;
}

std::string NotComparedReason(const Report& report, std::size_t baseline, std::size_t candidate) {
  for (const std::size_t index : {baseline, candidate}) {
    const ReportExperiment& experiment = report.experiments[index];
    if (experiment.Data(report).trace_enabled)
      return experiment.label + " is a kernel-log run, whose times are not latency";
    if (experiment.latency.n == 0) return experiment.label + " has no times";
  }
  return SmeNotDifferentReason(report.experiments[baseline].Data(report),
                               report.experiments[candidate].Data(report));
}

bool IsInPair(const Report& report, std::size_t experiment) {
  return std::ranges::any_of(report.comparisons, [&](const ReportComparison& pair) {
    return pair.baseline == experiment || pair.candidate == experiment;
  });
}

std::vector<std::size_t> FindSubjects(const Report& report) {
  std::vector<std::size_t> subjects;
  if (report.ladder) {
    const Ladder& ladder = *report.ladder;
    LadderSetting subject{ladder.Highest(), 0};
    if (ladder.best) subject = ladder.best->setting;
    if (ladder.IsMeasured(subject)) subjects.push_back(*ladder.experiments[subject.threads][subject.level]);
    return subjects;
  }
  for (std::size_t i = 0; i < report.experiments.size(); ++i) {
    const bool is_candidate = std::ranges::any_of(
        report.comparisons, [&](const ReportComparison& pair) { return pair.candidate == i; });
    if (is_candidate || !IsInPair(report, i)) subjects.push_back(i);
  }
  return subjects;
}

Report Assemble(RunData run, std::vector<std::optional<Profile>> profiles) {
  Report report;
  report.run = std::move(run);
  PairOffWithOn(report.run);
  profiles.resize(report.run.experiments.size());
  if (std::string model = FindTimelineModel(report.run, profiles); !model.empty())
    report.run.model_id = std::move(model);
  for (std::size_t i = 0; i < report.run.experiments.size(); ++i) {
    report.emulated = report.emulated || report.run.experiments[i].emulated;
    report.experiments.push_back(MakeReportExperiment(report.run, i, std::move(profiles[i])));
  }
  report.watched = FindWatchedExperiments(report.run);
  AddMatrixKernels(report);
  report.from_bare_etdumps = report.run.status == RunData::Status::kUnknown;
  report.model_id = report.run.model_id;
  std::tie(report.backend, report.dtype) = ParseBackendAndType(ModelId(report.run.model));
  // For several models, the report has only their common properties.
  std::set<std::string> models;
  for (const ExperimentData& data : report.run.experiments) {
    if (data.model.empty()) continue;
    models.insert(ModelId(data.model));
    const auto [backend, dtype] = ParseBackendAndType(ModelId(data.model));
    if (backend != report.backend) report.backend.clear();
    if (dtype != report.dtype) report.dtype.clear();
  }
  if (models.size() > 1) report.common_model_prefix = DropCommonWords({models.begin(), models.end()}).shared;
  if (models.size() == 2 && report.common_model_prefix.empty())
    report.common_model_prefix = *models.begin() + ", " + *models.rbegin();
  AddComparisons(report);
  DecideReleases(report);
  report.ladder = FindLadder(report);
  if (!report.ladder) report.matrices = FindMatrices(report);
  report.level_speedups = FindLevelSpeedups(report);
  report.latency_plots = FindLatencyPlots(report);
  AddWarnings(report);
  report.findings = MakeFindings(report);
  return report;
}

std::string MachineText(const RunData& run) {
  if (!run.device) return run.platform;
  std::string text = run.platform.empty() ? run.device->platform : run.platform;
  if (run.device->cores > 0) text += (text.empty() ? "" : ", ") + CountedText(run.device->cores, "core");
  return text;
}

RunData MakeEtdumpRun(const std::vector<std::filesystem::path>& files,
                      const std::vector<std::string>& labels) {
  RunData run;
  for (std::size_t i = 0; i < files.size(); ++i) {
    ExperimentData data;
    data.name = IsTimelineCsv(files[i]) ? TimelineStem(files[i]) : files[i].stem().string();
    data.label = i < labels.size() && !labels[i].empty() ? labels[i] : data.name;
    data.etdump = files[i];
    data.threads = 0;
    run.experiments.push_back(std::move(data));
  }
  if (!files.empty() && run.experiments.front().name == run.experiments.back().name)
    run.model_id = run.experiments.front().name;
  const std::vector<std::string> names = MapEach(run.experiments, &ExperimentData::name);
  const DistinctNames distinct = DropCommonWords(names);
  if (run.model_id.empty()) run.model_id = CommonModelName(distinct);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (run.experiments[i].label == names[i]) run.experiments[i].label = distinct.names[i];
  }
  if (files.size() == 2) {
    run.pairs.push_back({.baseline = 0, .candidate = 1});
    // Two files in two folders may have the same name, but the labels must differ.
    if (run.experiments[0].label == run.experiments[1].label) {
      run.experiments[0].label += " (A)";
      run.experiments[1].label += " (B)";
    }
  }
  return run;
}

}  // namespace etprof
