#include "report/suite/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "core/text/text.h"
#include "measure/store/run_warnings.h"
#include "report/run/pair.h"
#include "report/suite/frontier.h"
#include "stats/ratio/multiple.h"

namespace etprof {
namespace {

constexpr std::size_t kMaxListedOperators = 20;  // listed per cell
constexpr double kVariantConfidence = 0.95;

// Finds the experiment of the unmodified model, which is in all pairs. If there is a single pair whose
// variant masks features, it is the candidate (MakeProfileConfig), else the baseline.
std::size_t FindUnmodifiedExperiment(const Report& report) {
  const std::vector<ComparePair>& pairs = report.run.pairs;
  if (pairs.empty()) return 0;
  const auto is_in_pair = [](const ComparePair& pair, std::size_t e) {
    return pair.baseline == e || pair.candidate == e;
  };
  for (const std::size_t e : {pairs[0].baseline, pairs[0].candidate}) {
    if (pairs.size() > 1 &&
        std::ranges::all_of(pairs, [&](const ComparePair& pair) { return is_in_pair(pair, e); }))
      return e;
  }
  const bool masked = !report.run.experiments[pairs[0].baseline].isa.empty();
  return masked ? pairs[0].candidate : pairs[0].baseline;
}

std::string NoIntervalReason(const TimeComparison& latency) {
  if (latency.verdict == stats::Verdict::kEmulated) return kEmulatedRemark;
  if (latency.verdict == stats::Verdict::kContended) return "contended: too few clean runs";
  return latency.estimate ? "" : "too few launches";
}

// The interval of the median over launches, from their spread around their mean, as that of a latency.
std::optional<LatencyInterval> MakeLoadInterval(const ExperimentData& data, double median_ns) {
  std::vector<double> logs;
  for (const Launch& launch : data.launches) {
    if (const auto load = launch.CleanLoad(); load && *load > 0)
      logs.push_back(std::log(static_cast<double>(*load)));
  }
  const auto estimate =
      logs.size() < kMinStartupLaunches ? std::nullopt : stats::EstimateRatio(logs, kVariantConfidence);
  if (!estimate) return std::nullopt;
  const double factor = 1 + estimate->half_width();
  return LatencyInterval{median_ns / factor, median_ns * factor, kVariantConfidence,
                         static_cast<int>(logs.size())};
}

SuiteSetting MakeSetting(const Report& report, const ReportExperiment& experiment, bool contended) {
  const ExperimentData& data = experiment.Data(report);
  SuiteSetting setting;
  setting.label = experiment.label;
  setting.program = data.model;
  setting.program_sha256 = data.model_sha256;
  if (!contended) {
    setting.latency_ns = experiment.latency.p50;
    setting.interval = experiment.interval;
    setting.launch_medians = data.LaunchLatencies();
  }
  for (const Launch& launch : data.launches) {
    if (launch.status != Launch::Status::kFailed && launch.peak_rss)
      setting.launch_peak_memory.push_back(static_cast<double>(*launch.peak_rss));
  }
  setting.sqnr = experiment.sqnr;
  if (experiment.peak_rss) setting.peak_memory = static_cast<double>(*experiment.peak_rss);
  setting.load_ns = experiment.load;
  if (experiment.load) setting.load_interval = MakeLoadInterval(data, *experiment.load);
  return setting;
}

void AddVariants(SuiteReport& suite) {
  std::vector<std::string> names;
  std::set<std::string> measured_devices;
  for (const SuiteCellReport& cell : suite.cells) {
    for (const SuitePair& pair : cell.pairs) {
      AppendUnique(pair.variant, names);
      measured_devices.insert(cell.device);
    }
  }
  std::vector<std::string> devices;
  for (const std::string& device : suite.devices) {
    if (measured_devices.contains(device)) devices.push_back(device);
  }
  if (devices.size() > 1) devices.emplace_back();
  for (const std::string& name : names) {
    for (const std::string& device : devices) {
      SuiteVariant new_entry;
      new_entry.variant = name;
      new_entry.device = device;
      std::map<std::string, std::map<std::string, std::vector<double>>> logs;  // keyed by model, then device

      for (const SuiteCellReport& cell : suite.cells) {
        if (!device.empty() && cell.device != device) continue;
        for (const SuitePair& pair : cell.pairs) {
          if (pair.variant != name) continue;
          if (new_entry.baseline_label.empty()) {
            new_entry.baseline_label = pair.baseline_label;
            new_entry.candidate_label = pair.candidate_label;
          }
          if (!pair.latency.EstimateUnlessEmulated()) continue;
          logs[cell.model][cell.device].push_back(pair.latency.estimate->log_ratio);
          ++new_entry.ratios;
        }
      }
      if (new_entry.baseline_label.empty()) continue;
      const auto mean = [](const std::vector<double>& values) {
        return std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
      };
      std::vector<double> effects;
      for (const auto& [model, by_device] : logs) {
        std::vector<double> device_means;
        for (const auto& [on, values] : by_device) device_means.push_back(mean(values));
        effects.push_back(mean(device_means));
      }
      new_entry.models = static_cast<int>(effects.size());
      if (!effects.empty()) new_entry.ratio = std::exp(mean(effects));
      new_entry.estimate = stats::EstimateRatio(effects, kVariantConfidence);
      suite.variants.push_back(std::move(new_entry));
    }
  }
}

void AddDtypes(SuiteReport& suite) {
  for (const SuiteCellReport& cell : suite.cells) {
    const auto first = std::ranges::find_if(suite.cells, [&](const SuiteCellReport& other) {
      return other.model == cell.model && other.device == cell.device;
    });
    if (first->dtype == cell.dtype || first->status != SuiteCellStatus::kMeasured ||
        cell.status != SuiteCellStatus::kMeasured)
      continue;
    TimeComparison latency;
    const SuiteSetting &baseline = first->Unmodified(), &candidate = cell.Unmodified();
    latency.baseline_ns = baseline.latency_ns;
    latency.candidate_ns = candidate.latency_ns;
    latency.estimate = stats::EstimateLaunchesWithDrift(baseline.launch_medians, candidate.launch_medians,
                                                        kVariantConfidence, CompareOptions().drift);
    if (first->emulated || cell.emulated) {
      latency.verdict = stats::Verdict::kEmulated;
    } else if (first->IsContended() || cell.IsContended()) {
      latency.verdict = stats::Verdict::kContended;
    }
    suite.dtypes.push_back({cell.model, cell.device, first->dtype, cell.dtype, latency});
  }
}

void DecideSuiteGate(SuiteReport& suite) {
  GateDecision decision = GateDecision::kPass;
  bool any = false;
  for (const SuiteCellReport& cell : suite.cells) {
    any = any || !cell.pairs.empty();
    suite.has_error = suite.has_error || cell.status != SuiteCellStatus::kMeasured || !cell.reason.empty();
    for (const SuitePair& pair : cell.pairs) decision = CombineDecisions(decision, pair.gate.decision);
  }
  for (const SuiteConfirmation& confirmation : suite.confirmations)
    suite.has_error = suite.has_error || confirmation.cell.status != SuiteCellStatus::kMeasured;
  if (suite.limit) suite.decision = any ? decision : GateDecision::kInconclusive;
}

}  // namespace

void FillSuiteCell(const Report& report, const std::vector<std::string>& variants, SuiteCellReport& cell) {
  cell.emulated = report.emulated;
  cell.seconds = report.run.schedule.seconds;
  cell.margin = report.run.schedule.margin;
  cell.interim_confidence = report.run.schedule.interim_confidence;
  for (std::size_t i = 0; i < report.run.pairs.size(); ++i) {
    const ComparePair& pair = report.run.pairs[i];
    const ExperimentData& a = report.run.experiments[pair.baseline];
    const ExperimentData& b = report.run.experiments[pair.candidate];
    SuitePair new_entry;
    new_entry.baseline_label = pair.baseline_label.empty() ? a.label : pair.baseline_label;
    new_entry.candidate_label = pair.candidate_label.empty() ? b.label : pair.candidate_label;
    // A suite without variants measures one variant on devices with SME2 (commands/measurement/measure.h).
    new_entry.variant = i < variants.size() ? variants[i]
                                            : fmt::format("{} against {}", new_entry.candidate_label,
                                                          new_entry.baseline_label);
    const ReportComparison* const comparison = FindComparison(report, pair.baseline, pair.candidate);
    if (comparison != nullptr) {
      new_entry.latency = comparison->comparison.latency;
      new_entry.launches = comparison->comparison.launches;
    }
    new_entry.inconclusive_reason =
        comparison != nullptr ? NoIntervalReason(new_entry.latency) : "a variant has no times";
    cell.pairs.push_back(std::move(new_entry));
  }
  if (report.experiments.empty()) return;
  const ReportExperiment& unmodified =
      report.experiments[std::min(FindUnmodifiedExperiment(report), report.experiments.size() - 1)];
  cell.experiment = unmodified.label;
  cell.has_no_clean_runs = unmodified.LatencyIsDisturbed();
  cell.settings = {MakeSetting(report, unmodified, cell.IsContended())};
  std::vector<const ReportExperiment*> experiments = {&unmodified};
  for (std::size_t i = 0; i < cell.pairs.size(); ++i) {
    const ComparePair& pair = report.run.pairs[i];
    const std::size_t other = pair.baseline == unmodified.index ? pair.candidate : pair.baseline;
    const ReportExperiment& experiment = report.experiments[other];
    experiments.push_back(&experiment);
    cell.settings.push_back(MakeSetting(
        report, experiment,
        experiment.LatencyIsDisturbed() || cell.pairs[i].latency.verdict == stats::Verdict::kContended));
    SuiteSetting& setting = cell.settings.back();
    setting.variant = cell.pairs[i].variant;
    const ExperimentData &data = experiment.Data(report), &unmodified_data = unmodified.Data(report);
    if (data.isa != unmodified_data.isa || data.period != unmodified_data.period)
      setting.frontier_status = FrontierStatus::kExcluded;
  }
  for (std::size_t second = 1; second < experiments.size(); ++second) {
    for (std::size_t first = 0; first < second; ++first) {
      if (cell.settings[first].frontier_status == FrontierStatus::kExcluded ||
          cell.settings[second].frontier_status == FrontierStatus::kExcluded)
        continue;
      const ExperimentPair compared{report.run, *experiments[first], *experiments[second]};
      const Comparison comparison = CompareLatencies(compared);
      cell.setting_pairs.push_back(
          {first, second, comparison.latency,
           CompareStartupCosts(compared, comparison.pairing == Pairing::kLaunches).peak_memory.estimate});
    }
  }

  cell.launches = unmodified.launches;
  if (!unmodified.profile) return;
  for (const OperatorRow& row : unmodified.operators) {
    if (cell.operators.size() == kMaxListedOperators) break;
    cell.operators.push_back({unmodified.profile->operators[row.op].name, row.mean_self_ns, row.share});
  }
}

void DecideSuite(SuiteReport& suite) {
  AddVariants(suite);
  AddDtypes(suite);
  std::vector<stats::JointComparison> comparisons;
  double margin = 0.01, q = suite.false_discovery_rate;
  std::vector<GateClaim> claims;
  for (SuiteCellReport& cell : suite.cells) {
    if (cell.margin > 0) margin = cell.margin;
    // The interim analyses of the stop rule use a part of the error rate (stats/ratio/stop_rule.h).
    if (cell.interim_confidence > 0) q = std::min(q, 1 - cell.interim_confidence);
    for (SuitePair& pair : cell.pairs) {
      claims.push_back({pair.latency.EstimateUnlessEmulated(), suite.limit.value_or(0)});
      if (claims.back().estimate) comparisons.push_back({pair.latency.estimate, pair.latency.verdict});
    }
  }
  for (SuiteVariant& variant : suite.variants) comparisons.push_back({variant.estimate, variant.verdict});
  for (SuiteDtype& dtype : suite.dtypes) {
    if (dtype.latency.EstimateUnlessEmulated())
      comparisons.push_back({dtype.latency.estimate, dtype.latency.verdict});
  }
  stats::UpdateVerdicts(comparisons, q, margin);
  FindFrontier(suite, q, margin);
  for (const SuiteConfirmation& confirmation : suite.confirmations) {
    if (confirmation.cell.interim_confidence > 0) q = std::min(q, 1 - confirmation.cell.interim_confidence);
  }
  DecideConfirmations(suite, q, margin);
  if (suite.limit) {
    const std::vector<GateVerdict> gate_verdicts = DecideClaims(claims, {.false_discovery_rate = q});
    std::size_t next = 0;
    for (SuiteCellReport& cell : suite.cells) {
      for (SuitePair& pair : cell.pairs) pair.gate = gate_verdicts[next++];
    }
  }
  DecideSuiteGate(suite);
}

}  // namespace etprof
