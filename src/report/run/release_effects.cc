#include <cmath>
#include <map>
#include <vector>

#include "measure/schedule/schedule.h"
#include "report/run/pair.h"
#include "stats/ratio/launches.h"

namespace etprof {
namespace {

// The experiment that ran the program of one experiment with the runtime of another, in the same settings.
std::optional<std::size_t> FindCombination(const Report& report, const ExperimentData& program,
                                           const ExperimentData& runtime) {
  for (std::size_t i = 0; i < report.experiments.size(); ++i) {
    const ExperimentData& data = report.DataAt(i);
    if (data.model_sha256 == program.model_sha256 && data.executorch_version == runtime.executorch_version &&
        data.Settings() == runtime.Settings())
      return i;
  }
  return std::nullopt;
}

// The comparison of two experiments that differ in one factor, while the other factor is fixed.
struct SimpleEffect {
  std::map<int, double> launches;  // keyed by launch: log(baseline / candidate)
  TimeComparison latency;

  SimpleEffect(const Report& report, std::size_t baseline, std::size_t candidate) {
    const ExperimentPair variants{report.run, report.experiments[baseline], report.experiments[candidate]};
    latency = CompareLatencies(variants).latency;
    for (const auto& [launch, bursts] : PairLaunches(variants.BaselineData(), variants.CandidateData())) {
      if (const auto effect = stats::LaunchEffect(bursts)) launches[launch] = *effect;
    }
  }
};

// The sum of two effects, each times its factor. The unit is the launch, in which all four experiments were
// interleaved.
TimeComparison CombineEffects(const CompareOptions& options, const SimpleEffect& a, double a_factor,
                              const SimpleEffect& b, double b_factor) {
  TimeComparison sum;
  for (const SimpleEffect* effect : {&a, &b}) {
    const stats::Verdict verdict = effect->latency.verdict;
    if (verdict == stats::Verdict::kEmulated || verdict == stats::Verdict::kContended) sum.verdict = verdict;
    if (!effect->latency.estimate) return sum;
  }
  std::vector<double> effects;
  for (const auto& [launch, effect] : a.launches) {
    if (const auto b_effect = b.launches.find(launch); b_effect != b.launches.end())
      effects.push_back(a_factor * effect + b_factor * b_effect->second);
  }
  sum.estimate = stats::EstimateRatio(effects, options.confidence);
  if (!sum.estimate) return sum;
  sum.estimate = stats::WithSystematicError(*sum.estimate,
                                            std::abs(a_factor) * a.latency.estimate->systematic_error +
                                                std::abs(b_factor) * b.latency.estimate->systematic_error);
  if (options.interim_confidence > 0) {
    sum.estimate = stats::WithConfidence(*sum.estimate, options.interim_confidence);
    sum.estimate->confidence = options.confidence;
  }
  if (sum.verdict == stats::Verdict::kInconclusive)
    sum.verdict = stats::DecideVerdict(sum.estimate->log_low, sum.estimate->log_high, options.margin);
  return sum;
}

}  // namespace

std::optional<ReleaseEffects> FindReleaseEffects(const Report& report, std::size_t baseline,
                                                 std::size_t candidate) {
  const ExperimentData& before = report.DataAt(baseline);
  const ExperimentData& after = report.DataAt(candidate);
  if (before.model_sha256 == after.model_sha256) return std::nullopt;
  const auto new_export = FindCombination(report, after, before);
  const auto new_runtime = FindCombination(report, before, after);
  if (!new_export || !new_runtime) return std::nullopt;
  const SimpleEffect exporter_before(report, baseline, *new_export);
  const SimpleEffect exporter_after(report, *new_runtime, candidate);
  const SimpleEffect runtime_before(report, baseline, *new_runtime);
  const SimpleEffect runtime_after(report, *new_export, candidate);
  const CompareOptions options = MakeCompareOptions(report.run);
  return ReleaseEffects{.new_export = *new_export,
                        .new_runtime = *new_runtime,
                        .exporter = CombineEffects(options, exporter_before, 0.5, exporter_after, 0.5),
                        .runtime = CombineEffects(options, runtime_before, 0.5, runtime_after, 0.5),
                        .interaction = CombineEffects(options, runtime_after, 1, runtime_before, -1)};
}

}  // namespace etprof
