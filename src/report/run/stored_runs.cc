#include "report/run/stored_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/error.h"
#include "core/text/text.h"
#include "core/units.h"
#include "device/describe.h"
#include "measure/config/config.h"

namespace etprof {
namespace {

std::string DeviceText(const RunData& run) {
  if (!run.device) return "";
  const DeviceProperties& device = *run.device;
  return fmt::format("{} {}, {}", device.platform, device.cpu_model, CountedText(device.cores, "core"));
}

// The model of an experiment: the name of its file; "" if only the names of traces hint at it.
std::string ExperimentModel(const RunData& run, const ExperimentData& data) {
  if (!data.model.empty()) return ModelId(data.model);
  return data.third_party_runner ? "" : run.model_id;
}

// The shapes of the method's inputs, such as "1x3x224x224, 1".
std::string ShapesText(const ExperimentData& data) {
  std::vector<std::string> shapes;
  for (const protocol::TensorInfo& input : data.inputs)
    shapes.push_back(input.shape.empty() ? "scalar" : fmt::format("{}", fmt::join(input.shape, "x")));
  return fmt::format("{}", fmt::join(shapes, ", "));
}

// Returns whether both experiments measured the same step of the same test, or no step.
bool HaveSameStep(const ExperimentData& a, const ExperimentData& b) {
  if (!a.place || !b.place) return a.place.has_value() == b.place.has_value();
  const auto key = [](const protocol::TestStep& place) {
    return std::tie(place.test, place.method, place.tokens, place.position, place.times);
  };
  return key(*a.place) == key(*b.place);
}

// Returns whether an experiment of the run without a match belongs to the same test as `part`.
bool HasUnmatchedPart(const RunData& run, const ExperimentData& part,
                      const std::vector<ExperimentMatch>& matches) {
  if (!part.place) return false;
  return std::ranges::any_of(run.experiments, [&](const ExperimentData& other) {
    return other.place && other.place->test == part.place->test &&
           other.place->variant == part.place->variant && other.threads == part.threads &&
           std::ranges::none_of(matches, [&](const ExperimentMatch& match) {
             return match.first == &other || match.second == &other;
           });
  });
}

}  // namespace

std::string ExperimentNames(const RunData& run) {
  std::vector<std::string> names;
  for (const ExperimentData& data : run.experiments)
    names.push_back(data.threads <= 1 ? data.name : fmt::format("{} ({} threads)", data.name, data.threads));
  return names.empty() ? "no timed experiment" : fmt::format("{}", fmt::join(names, ", "));
}

void RemoveRounds(ExperimentData& data) {
  for (Launch& launch : data.launches) {
    for (Burst& burst : launch.bursts) burst.round = -1;
  }
  for (RunLabel& label : data.etdump_runs) label.round = -1;
}

const std::vector<std::string>& MismatchNames() {
  static const std::vector<std::string> kNames = {"model",   "method", "inputs", "device",   "runner", "isa",
                                                  "threads", "period", "cpus",   "governor", "power"};
  return kNames;
}

std::string DifferenceText(const Mismatch& mismatch) {
  return fmt::format("differ in {} (baseline: {}; candidate: {})", mismatch.name, mismatch.baseline,
                     mismatch.candidate);
}

std::vector<Mismatch> FindMismatches(const RunData& baseline_run, const ExperimentData& baseline,
                                     const RunData& candidate_run, const ExperimentData& candidate) {
  std::vector<Mismatch> found;
  const auto add_mismatch = [&](const char* name, const std::string& a, const std::string& b) {
    found.push_back({name, a.empty() ? kUnknownCondition : a, b.empty() ? kUnknownCondition : b});
  };
  // If the value is missing in both runs, it is not known to be equal.
  const auto add_unless_known_equal = [&](const char* name, const std::string& a, const std::string& b) {
    if (a.empty() || b.empty() || a != b) add_mismatch(name, a, b);
  };
  const auto add_unless_equal = [&](const char* name, const std::string& a, const std::string& b,
                                    const char* empty) {
    if (a != b) add_mismatch(name, a.empty() ? empty : a, b.empty() ? empty : b);
  };
  const std::string model_a = ExperimentModel(baseline_run, baseline);
  const std::string model_b = ExperimentModel(candidate_run, candidate);
  if (!model_a.empty() && !model_b.empty() && RemoveBackendSuffix(model_a) != RemoveBackendSuffix(model_b))
    add_mismatch("model", model_a, model_b);
  if (!baseline.method.empty() && !candidate.method.empty() && baseline.method != candidate.method)
    add_mismatch("method", baseline.method, candidate.method);
  if (!baseline.inputs.empty() && !candidate.inputs.empty() && ShapesText(baseline) != ShapesText(candidate))
    add_mismatch("inputs", ShapesText(baseline), ShapesText(candidate));
  add_unless_known_equal("device", DeviceText(baseline_run), DeviceText(candidate_run));
  if (!baseline.runner_sha256.empty() && !candidate.runner_sha256.empty()) {
    add_unless_known_equal("runner", baseline.runner_sha256.substr(0, 12),
                           candidate.runner_sha256.substr(0, 12));
  } else {
    add_unless_known_equal("runner", baseline.executorch_version, candidate.executorch_version);
  }
  add_unless_equal("isa", baseline.isa, candidate.isa, "all features");
  const auto threads_text = [](const ExperimentData& data) {
    return data.threads > 0 ? fmt::format("{}", data.threads) : "";
  };
  add_unless_equal("threads", threads_text(baseline), threads_text(candidate), kUnknownCondition);
  const auto period_text = [](const ExperimentData& data) {
    return data.period > 0 ? FormatExactDuration(data.period) : "";
  };
  add_unless_equal("period", period_text(baseline), period_text(candidate), "back to back");
  add_unless_equal("cpus", baseline.cpus, candidate.cpus, "any");
  add_unless_equal("governor", GovernorText(baseline_run.device), GovernorText(candidate_run.device),
                   kUnknownCondition);
  add_unless_equal("power", baseline_run.device ? baseline_run.device->power_mode : "",
                   candidate_run.device ? candidate_run.device->power_mode : "", kUnknownCondition);
  return found;
}

std::vector<ExperimentMatch> MatchExperiments(const RunData& baseline, const RunData& candidate) {
  const bool are_single_experiments = baseline.experiments.size() == 1 && candidate.experiments.size() == 1;
  std::vector<ExperimentMatch> found;
  for (const ExperimentData& a : baseline.experiments) {
    for (const ExperimentData& b : candidate.experiments) {
      if (!are_single_experiments && (a.name != b.name || a.threads != b.threads)) continue;
      if (!HaveSameStep(a, b)) continue;
      for (const auto& [other_a, other_b] : found) {
        if ((other_a == &a) == (other_b == &b)) continue;
        throw Error(ExitCode::kBadInput, fmt::format("several experiments are called {}", a.name))
            .Remedy("name the two results directories themselves, not folders above them");
      }
      found.emplace_back(&a, &b);
    }
  }
  // A test is only compared if all of its experiments have a match.
  std::erase_if(found, [&, matches = found](const ExperimentMatch& match) {
    return HasUnmatchedPart(baseline, *match.first, matches) ||
           HasUnmatchedPart(candidate, *match.second, matches);
  });
  return found;
}

RunData JoinStoredRuns(RunData baseline, RunData candidate) {
  const auto full_name = [](const ExperimentData& data) {
    return fmt::format("{} with {}", data.name, CountedText(data.threads, "thread"));
  };
  std::vector<std::string> kernel_log_runs;
  for (RunData* variant_run : {&baseline, &candidate}) {
    for (const ExperimentData& data : variant_run->experiments) {
      if (data.trace_enabled) AppendUnique(full_name(data), kernel_log_runs);
    }
    std::erase_if(variant_run->experiments, [](const ExperimentData& data) { return data.trace_enabled; });
    for (ExperimentData& data : variant_run->experiments)
      if (data.method.empty()) data.method = variant_run->method;
  }
  RunData run;
  run.status = RunData::Status::kComplete;
  run.model_id = candidate.model_id;
  run.model = candidate.model;
  run.method = candidate.method;
  run.platform = candidate.platform;
  run.device = candidate.device;
  run.generated_at = candidate.generated_at;
  if (candidate.schedule.margin > 0) run.schedule.margin = candidate.schedule.margin;
  run.schedule.interim_confidence =
      std::max(baseline.schedule.interim_confidence, candidate.schedule.interim_confidence);
  for (const RunData* variant_run : {&baseline, &candidate}) {
    const std::string prefix = variant_run == &baseline ? "baseline: " : "candidate: ";
    for (const std::string& problem : variant_run->problems) run.problems.push_back(prefix + problem);
    for (const std::string& warning : variant_run->warnings) run.warnings.push_back(prefix + warning);
  }
  const auto measured_at = [](const RunData& variant_run) {
    return variant_run.generated_at.empty() ? std::string("at a time not known") : variant_run.generated_at;
  };
  run.warnings.insert(
      run.warnings.begin(),
      fmt::format(
          "two sessions (baseline {}, candidate {}): the machine drifts between them (temperature, load, "
          "updates); intervals are narrower if both variants are measured in one session",
          measured_at(baseline), measured_at(candidate)));
  const std::vector<ExperimentMatch> matches = MatchExperiments(baseline, candidate);
  for (const auto& [a, b] : matches) {
    ComparePair pair;
    pair.baseline = run.experiments.size();
    pair.candidate = pair.baseline + 1;
    pair.label = b->place ? b->place->variant : b->LabelOrName();
    const std::string model_a = ExperimentModel(baseline, *a);
    const std::string model_b = ExperimentModel(candidate, *b);
    if (model_a != model_b && !model_a.empty() &&
        RemoveBackendSuffix(model_a) == RemoveBackendSuffix(model_b)) {
      run.warnings.push_back(
          fmt::format("{}: both variants are one model in two forms (baseline {}, candidate {})", pair.label,
                      model_a, model_b));
    }
    for (const ExperimentData* variant_run : {a, b}) {
      run.experiments.push_back(*variant_run);
      ExperimentData& data = run.experiments.back();
      if (data.label.empty()) data.label = data.name;
      for (std::string* name : {&data.label, data.place ? &data.place->variant : nullptr})
        if (name != nullptr) *name += variant_run == a ? " (baseline)" : " (candidate)";
      RemoveRounds(data);
    }
    run.pairs.push_back(std::move(pair));
  }
  if (run.pairs.empty()) {
    throw Error(ExitCode::kBadInput,
                fmt::format("nothing to check: the baseline has {}, the candidate has {}",
                            ExperimentNames(baseline), ExperimentNames(candidate)))
        .Remedy("give two results directories with experiments of the same names and threads");
  }
  for (const RunData* variant_run : {&baseline, &candidate}) {
    for (const ExperimentData& data : variant_run->experiments) {
      const auto has_experiment = [&](const ExperimentMatch& match) {
        return match.first == &data || match.second == &data;
      };
      const std::string name = full_name(data);
      if (std::ranges::any_of(matches, has_experiment) ||
          std::ranges::find(kernel_log_runs, name) != kernel_log_runs.end())
        continue;
      run.warnings.push_back(fmt::format("only the {} has {}: not checked",
                                         variant_run == &baseline ? "baseline" : "candidate", name));
    }
  }
  for (const std::string& name : kernel_log_runs)
    run.warnings.push_back(name + " is a kernel-log run: not checked");
  return run;
}

std::string CommonModelName(const DistinctNames& names) {
  return names.shared.substr(0, names.shared.size() - (names.shared.empty() ? 0 : 1));
}

}  // namespace etprof
