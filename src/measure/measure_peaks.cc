#include "measure/measure_peaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "core/json_members.h"
#include "device/clusters.h"
#include "measure/participants/participants.h"
#include "measure/store/peaks.h"

namespace etprof {
namespace {

constexpr double kMostSeconds = 60;  // it takes two

// Whatever makes one entry differ from another.
using Conditions = std::tuple<std::string, std::vector<std::string>, std::map<std::string, std::string>, int,
                              std::string, std::string>;

}  // namespace

std::vector<std::vector<std::size_t>> GroupByConditions(const Config& config, const Plan& plan,
                                                        const std::vector<std::size_t>& units) {
  std::vector<std::pair<Conditions, std::vector<std::size_t>>> known;
  for (const std::size_t u : units) {
    const ExperimentConfig& experiment = config.experiments[plan.units[u].experiment];
    const Conditions conditions(experiment.runner.string(), experiment.exec_wrapper, experiment.environment,
                                plan.units[u].threads, experiment.isa, experiment.cpu_affinity);
    const auto found = std::ranges::find(known, conditions, [](const auto& group) { return group.first; });
    if (found == known.end()) {
      known.push_back({conditions, {u}});
    } else {
      found->second.push_back(u);
    }
  }
  std::vector<std::vector<std::size_t>> groups;
  for (auto& [conditions, members] : known) groups.push_back(std::move(members));
  return groups;
}

void MeasurePeaks(const Config& config, const Plan& plan, Device& device, Interruption& interruption,
                  Progress* progress, const std::filesystem::path& folder, RunData& run) {
  std::vector<std::size_t> measured;
  for (std::size_t u = 0; u < plan.units.size(); ++u) {
    const ExperimentData& data = run.experiments[u];
    if (!data.foreign && !data.emulated && !data.trace_enabled && data.error.empty()) measured.push_back(u);
  }
  const auto groups = GroupByConditions(config, plan, measured);
  Peaks peaks;
  for (const std::vector<std::size_t>& units : groups) {
    if (interruption.Now()) break;
    if (progress != nullptr) {
      ProgressUpdate update;
      update.what = fmt::format("the machine's roofs, {} of {}", peaks.entries.size() + 1, groups.size());
      update.seconds = run.schedule.seconds;
      update.max_seconds = run.schedule.max_seconds;
      progress->Update(update);
    }
    const Unit& unit = plan.units[units[0]];
    const ExperimentConfig& experiment = config.experiments[unit.experiment];
    PeaksRequest request;
    try {
      request.start = StartOfRunner(device, *run.device, experiment);
      if (!experiment.cpu_affinity.empty()) request.start.cpus = CpusOf(experiment.cpu_affinity, *run.device);
      request.threads = unit.threads;
      request.cpus = experiment.cpu_affinity;
      request.isa = experiment.isa;
      PeaksEntry entry;
      entry.roofs = AskForPeaks(device, request, interruption, kMostSeconds);
      for (const std::size_t u : units) entry.experiments.push_back(plan.units[u].label);
      peaks.entries.push_back(std::move(entry));
    } catch (const WorkerFailure& failure) {
      if (failure.kind() == WorkerFailure::Kind::kInterrupted) break;
      if (failure.kind() == WorkerFailure::Kind::kLost) throw DeviceLost(device.Name(), failure.what());
      const std::string warning =
          fmt::format("the machine's roofs were not measured for {}: {}", unit.label, failure.what());
      if (std::ranges::find(run.warnings, warning) == run.warnings.end()) run.warnings.push_back(warning);
    }
  }
  if (peaks.entries.empty()) return;
  WriteFileAtomically(folder / "peaks.json", JsonText(ToJson(peaks), 1) + "\n");
}

}  // namespace etprof
