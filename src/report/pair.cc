#include "report/pair.h"

#include <cmath>
#include <functional>
#include <map>

#include "stats/launches.h"
#include "stats/verdict.h"

namespace etprof {
namespace {

Side SideOf(const RunData& run, const ReportExperiment& experiment, const std::string& label) {
  const ExperimentData& data = run.experiments[experiment.index];
  Side side;
  side.label = label.empty() ? experiment.label : label;
  side.profile = experiment.profile ? &*experiment.profile : nullptr;
  side.bursts = data.Bursts();
  side.waited_share = data.WaitedShare();
  side.emulated = data.emulated;
  side.trace_enabled = data.trace_enabled;
  return side;
}

CompareOptions OptionsOf(const RunData& run) {
  CompareOptions options;
  if (run.schedule.margin > 0) options.margin = run.schedule.margin;
  if (run.schedule.confidence > 0) options.confidence = run.schedule.confidence;
  options.look_confidence = run.schedule.look_confidence;
  options.seed = run.schedule.seed != 0 ? run.schedule.seed : 1;
  return options;
}

constexpr std::size_t kFewestLaunches = 5;

using ValueOfLaunch = std::function<std::optional<std::int64_t>(const Launch&)>;

// By launch: its logarithm.
std::map<int, double> LogsOf(const ExperimentData& data, const ValueOfLaunch& value_of) {
  std::map<int, double> logs;
  for (const Launch& launch : data.launches) {
    const auto value = value_of(launch);
    if (launch.status != Launch::Status::kFailed && value && *value > 0)
      logs[launch.index] = std::log(static_cast<double>(*value));
  }
  return logs;
}

void Judge(const ExperimentData& baseline, const ExperimentData& candidate, const ValueOfLaunch& value_of,
           const CompareOptions& options, SideCost& cost) {
  const std::map<int, double> before = LogsOf(baseline, value_of);
  std::vector<double> effects;
  for (const auto& [launch, log] : LogsOf(candidate, value_of)) {
    if (const auto same = before.find(launch); same != before.end()) effects.push_back(same->second - log);
  }
  // Who starts first finds colder caches. The order is random, which takes some launches to even out.
  const bool emulated = baseline.emulated || candidate.emulated;
  if (emulated) cost.verdict = stats::Verdict::kEmulated;
  if (effects.size() < kFewestLaunches) return;
  cost.estimate = stats::EstimateRatio(effects, options.confidence);
  if (!cost.estimate || emulated) return;
  cost.verdict = stats::Judge(cost.estimate->log_low, cost.estimate->log_high, options.margin);
}

}  // namespace

Comparison CompareExperiments(const RunData& run, const ReportExperiment& baseline,
                              const ReportExperiment& candidate, const std::string& baseline_label,
                              const std::string& candidate_label, const std::vector<MatchedPair>* matches) {
  CompareOptions options = OptionsOf(run);
  options.matches = matches;
  return Compare(SideOf(run, baseline, baseline_label), SideOf(run, candidate, candidate_label), options);
}

Comparison CompareLatencies(const RunData& run, const ReportExperiment& baseline,
                            const ReportExperiment& candidate) {
  Side a = SideOf(run, baseline, "");
  Side b = SideOf(run, candidate, "");
  a.profile = b.profile = nullptr;
  return Compare(a, b, OptionsOf(run));
}

std::vector<DeltaRow> CompareSetsOf(const RunData& run, const ReportExperiment& baseline,
                                    const ReportExperiment& candidate, const std::vector<OperatorSet>& sets) {
  if (sets.empty()) return {};
  return CompareSets(SideOf(run, baseline, ""), SideOf(run, candidate, ""), sets, OptionsOf(run));
}

SideCosts CompareSideCosts(const RunData& run, const ReportExperiment& baseline,
                           const ReportExperiment& candidate, bool paired) {
  SideCosts costs;
  costs.load.baseline = baseline.load;
  costs.load.candidate = candidate.load;
  costs.first_run.baseline = baseline.first_run;
  costs.first_run.candidate = candidate.first_run;
  if (baseline.peak_rss) costs.peak_memory.baseline = static_cast<double>(*baseline.peak_rss);
  if (candidate.peak_rss) costs.peak_memory.candidate = static_cast<double>(*candidate.peak_rss);
  if (!paired) return costs;
  const ExperimentData& a = run.experiments[baseline.index];
  const ExperimentData& b = run.experiments[candidate.index];
  const CompareOptions options = OptionsOf(run);
  Judge(a, b, [](const Launch& launch) { return launch.CleanLoad(); }, options, costs.load);
  Judge(a, b, [](const Launch& launch) { return launch.CleanFirstRun(); }, options, costs.first_run);
  Judge(a, b, [](const Launch& launch) { return launch.peak_rss; }, options, costs.peak_memory);
  return costs;
}

}  // namespace etprof
