#include "report/run/pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/units.h"
#include "core/views.h"
#include "stats/compensated_sum.h"
#include "stats/ratio/launches.h"
#include "stats/ratio/unpaired.h"
#include "stats/ratio/verdict.h"

namespace etprof {
namespace {

ComparedVariant MakeComparedVariant(const RunData& run, const ReportExperiment& experiment,
                                    const std::string& label) {
  const ExperimentData& data = run.experiments[experiment.index];
  ComparedVariant variant;
  variant.label = label.empty() ? experiment.label : label;
  variant.profile = experiment.profile ? &*experiment.profile : nullptr;
  variant.bursts = data.Bursts();
  variant.settings = data.Settings();
  variant.executorch = data.executorch_version;
  variant.tracer_added = std::ranges::any_of(data.executorch_libraries, [](const auto& library) {
    return library.path.find("/_portable_lib") != std::string::npos;
  });
  for (const Launch& launch : data.launches) {
    if (!launch.clocks || !launch.clocks->read_ns) continue;
    variant.clock_read_ns =
        std::max(variant.clock_read_ns.value_or(0), static_cast<double>(*launch.clocks->read_ns));
  }
  variant.sustained_seconds = data.sustained_seconds;
  variant.waited_share = data.WaitedShare();
  variant.emulated = data.emulated;
  variant.trace_enabled = data.trace_enabled;
  variant.has_mixed_runs = !experiment.run_classes.empty();
  return variant;
}

LaunchValues CollectCosts(const ExperimentData& data, const auto& get_value) {
  LaunchValues costs;
  for (const Launch& launch : data.launches) {
    const std::optional<std::int64_t> value = std::invoke(get_value, launch);
    if (launch.status != Launch::Status::kFailed && value && *value > 0)
      costs[launch.index] = static_cast<double>(*value);
  }
  return costs;
}

void CompareCost(const ExperimentPair& variants, const auto& get_value, StartupCost& cost) {
  const ExperimentData &baseline = variants.BaselineData(), &candidate = variants.CandidateData();
  const LaunchValues all_before = CollectCosts(baseline, get_value);
  std::vector<double> before, after, effects;  // logarithms, of the launches that both variants have
  for (const auto& [launch, value] : CollectCosts(candidate, get_value)) {
    const auto baseline_value = all_before.find(launch);
    if (baseline_value == all_before.end()) continue;
    before.push_back(std::log(baseline_value->second));
    after.push_back(std::log(value));
    effects.push_back(before.back() - after.back());
  }
  const bool emulated = baseline.emulated || candidate.emulated;
  if (emulated) cost.verdict = stats::Verdict::kEmulated;
  if (effects.size() < kMinStartupLaunches) return;
  const CompareOptions options = MakeCompareOptions(variants.run);
  cost.estimate = stats::EstimateRatio(effects, options.confidence);
  if (!cost.estimate) return;
  cost.baseline = std::exp(stats::CompensatedMean(before));
  cost.candidate = std::exp(stats::CompensatedMean(after));
  if (emulated) return;
  cost.verdict = stats::DecideVerdict(cost.estimate->log_low, cost.estimate->log_high, options.margin);
}

}  // namespace

bool ExperimentPair::DifferInRelease() const {
  const ExperimentData &a = BaselineData(), &b = CandidateData();
  return !a.executorch_version.empty() && !b.executorch_version.empty() &&
         a.executorch_version != b.executorch_version && a.Settings() == b.Settings() &&
         (a.model_sha256 == b.model_sha256 || RanOwnExports());
}

bool ExperimentPair::RanOwnExports() const {
  const auto ran_own_export = [](const ExperimentData& data) {
    return !data.export_executorch_version.empty() &&
           PublicVersion(data.export_executorch_version) == PublicVersion(data.executorch_version);
  };
  return ran_own_export(BaselineData()) && ran_own_export(CandidateData());
}

bool HaveSeveralLaunches(const RunData& run) {
  return std::ranges::all_of(run.experiments, [](const ExperimentData& data) {
    return data.Bursts().size() >= std::size_t{stats::kMinLaunches};
  });
}

CompareOptions MakeCompareOptions(const RunData& run) {
  CompareOptions options;
  if (run.schedule.margin > 0) options.margin = run.schedule.margin;
  if (run.schedule.confidence > 0) options.confidence = run.schedule.confidence;
  options.interim_confidence = run.schedule.interim_confidence;
  // A measurement interleaves its experiments, even if the launches of a trace's runs are not known.
  const bool is_one_measurement = run.schedule.launches > 0;
  if (run.schedule.drift) {
    // The given drift does not include the effect of each process, which a single launch cannot show.
    options.drift =
        HaveSeveralLaunches(run) ? *run.schedule.drift : std::max(*run.schedule.drift, options.drift);
  } else if (is_one_measurement) {
    options.drift = 0;
  }
  options.seed = run.schedule.seed != 0 ? run.schedule.seed : 1;
  return options;
}

Comparison CompareExperiments(const ExperimentPair& variants, const std::string& baseline_label,
                              const std::string& candidate_label, const std::vector<NodePair>* matches) {
  CompareOptions options = MakeCompareOptions(variants.run);
  options.matches = matches;
  return Compare(MakeComparedVariant(variants.run, variants.baseline, baseline_label),
                 MakeComparedVariant(variants.run, variants.candidate, candidate_label), options);
}

std::string CleanRunsText(const Comparison& comparison) {
  const auto count = [](const auto& runs) {
    return fmt::format("{} of {}", FormatCount(runs.clean), CountedText(runs.all, "run"));
  };
  return fmt::format("{} of {} and {} of {} had a processor whenever they wanted one",
                     count(comparison.baseline_clean), comparison.baseline_label,
                     count(comparison.candidate_clean), comparison.candidate_label);
}

std::optional<stats::RatioEstimate> EstimateLaunches(const LaunchValues& baseline,
                                                     const LaunchValues& candidate, bool paired,
                                                     double confidence, double drift) {
  if (!paired)
    return stats::EstimateLaunchesWithDrift(MapValues(baseline), MapValues(candidate), confidence, drift);
  std::vector<stats::LaunchBursts> launches;
  for (const auto& [index, value] : baseline) {
    if (const auto other = candidate.find(index); other != candidate.end())
      launches.push_back({{value}, {other->second}});
  }
  return stats::EstimateRatio(launches, confidence);
}

Comparison CompareLatencies(const ExperimentPair& variants) {
  ComparedVariant a = MakeComparedVariant(variants.run, variants.baseline, ""),
                  b = MakeComparedVariant(variants.run, variants.candidate, "");
  a.profile = b.profile = nullptr;
  return Compare(a, b, MakeCompareOptions(variants.run));
}

std::vector<DeltaRow> CompareExperimentSets(const ExperimentPair& variants,
                                            const std::vector<OperatorSet>& sets) {
  if (sets.empty()) return {};
  return CompareSets(MakeComparedVariant(variants.run, variants.baseline, ""),
                     MakeComparedVariant(variants.run, variants.candidate, ""), sets,
                     MakeCompareOptions(variants.run));
}

StartupCosts CompareStartupCosts(const ExperimentPair& variants, bool paired) {
  const ReportExperiment &baseline = variants.baseline, &candidate = variants.candidate;
  StartupCosts costs;
  costs.load = {baseline.load, candidate.load};
  costs.first_run = {baseline.first_run, candidate.first_run};
  // Libraries of two releases differ in size, so exclude them from the memory of the model.
  const bool differ_in_release = variants.DifferInRelease();
  const auto peak = [&](const ReportExperiment& experiment,
                        const ExperimentData& data) -> std::optional<double> {
    const std::optional<Bytes> bytes = differ_in_release ? data.PeakSinceLoad() : experiment.peak_rss;
    return bytes ? std::optional(static_cast<double>(*bytes)) : std::nullopt;
  };
  costs.peak_memory.baseline = peak(baseline, variants.BaselineData());
  costs.peak_memory.candidate = peak(candidate, variants.CandidateData());
  if (!paired) return costs;
  CompareCost(variants, &Launch::CleanLoad, costs.load);
  CompareCost(variants, &Launch::CleanFirstRun, costs.first_run);
  CompareCost(
      variants,
      [&](const Launch& launch) { return differ_in_release ? launch.PeakSinceLoad() : launch.peak_rss; },
      costs.peak_memory);
  return costs;
}

}  // namespace etprof
