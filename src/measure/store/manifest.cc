#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/json/json_members.h"
#include "core/units.h"
#include "core/views.h"
#include "device/conditions/other_load.h"
#include "measure/store/run_data.h"
#include "stats/distribution.h"

namespace etprof {

LatencyMetrics::LatencyMetrics(const ExperimentData& data) {
  const std::vector<Nanoseconds> latencies = data.Latencies();
  const stats::Distribution spread =
      stats::Summarize(std::vector<double>(latencies.begin(), latencies.end()));
  const auto ms = [](const std::optional<double>& ns) {
    return ns ? std::optional(*ns / 1e6) : std::nullopt;
  };
  mean_ms = ms(spread.mean);
  median_ms = ms(spread.p50);
  min_ms = ms(spread.min);
  max_ms = ms(spread.max);
  runs = static_cast<std::size_t>(spread.n);
  all_runs = data.AllLatencies().size();
}

std::vector<PhaseRuns> GroupRuns(const std::vector<RunLabel>& runs) {
  std::vector<PhaseRuns> groups;
  for (const RunLabel& run : runs) {
    const bool same_group = !groups.empty() && groups.back().launch == run.launch &&
                            groups.back().round == run.round && groups.back().phase == run.phase;
    if (!same_group) groups.push_back({run.launch, run.round, run.phase, 0});
    ++groups.back().runs;
  }
  return groups;
}

std::vector<RunLabel> ExpandRuns(const std::vector<PhaseRuns>& groups) {
  constexpr std::int64_t kMaxEtdumpRuns = 10'000'000;  // in one ETDump
  std::vector<RunLabel> runs;
  for (const PhaseRuns& entry : groups) {
    if (entry.runs > kMaxEtdumpRuns - static_cast<std::int64_t>(runs.size()))
      throw std::invalid_argument("too many runs");
    runs.insert(runs.end(), static_cast<std::size_t>(entry.runs), {entry.launch, entry.round, entry.phase});
  }
  return runs;
}

void Launch::SetStatus(const std::string& name) {
  status = ParseEnum<Status>(name).value_or(Status::kFailed);
}

void Launch::SetEtdumpPart(const std::string& part) {
  const std::filesystem::path path = part;
  if (path.is_absolute() || std::ranges::find(path, "..") != path.end())
    throw std::invalid_argument("it leads out of the results directory");
  etdump_part = part;
}

std::vector<StoredPair> MakeStoredPairs(const RunData& run) {
  const auto make_variant = [&](std::size_t index, const std::string& label) {
    return StoredPair::Variant{run.experiments[index].name, run.experiments[index].threads, label};
  };
  return MapEach(run.pairs, [&](const ComparePair& pair) {
    return StoredPair{make_variant(pair.baseline, pair.baseline_label),
                      make_variant(pair.candidate, pair.candidate_label), pair.label, pair.outputs};
  });
}

void SetPairs(const std::vector<StoredPair>& pairs, RunData& run) {
  const auto index = [&](const StoredPair::Variant& variant) -> std::optional<std::size_t> {
    const auto found = std::ranges::find_if(run.experiments, [&](const ExperimentData& data) {
      return data.name == variant.experiment && data.threads == variant.threads;
    });
    if (found == run.experiments.end()) return std::nullopt;
    return static_cast<std::size_t>(found - run.experiments.begin());
  };
  for (const StoredPair& pair : pairs) {
    const auto baseline = index(pair.baseline);
    const auto candidate = index(pair.candidate);
    if (baseline && candidate) {
      run.pairs.push_back(
          {*baseline, *candidate, pair.label, pair.baseline.label, pair.candidate.label, pair.outputs});
    } else {
      run.problems.emplace_back("manifest.json: a pair names an experiment that has no results");
    }
  }
}

std::vector<StoredLoad> MakeStoredLoads(const RunData& run) {
  std::vector<StoredLoad> loads;
  if (run.other_load_before) loads.push_back({"before", *run.other_load_before});
  if (run.other_load_during) loads.push_back({"during", *run.other_load_during});
  for (StoredLoad& stored : loads)
    stored.load.processes.resize(std::min(stored.load.processes.size(), kMaxLoadNames));
  return loads;
}

void SetLoads(std::vector<StoredLoad> loads, RunData& run) {
  for (StoredLoad& stored : loads) {
    stored.load.processes.resize(std::min(stored.load.processes.size(), kMaxLoadNames));
    (stored.moment == "before" ? run.other_load_before : run.other_load_during) = std::move(stored.load);
  }
}

void ReadManifest(const nlohmann::json& manifest, RunData& run) {
  const std::int64_t wrong_entries = ReadJsonTolerantly(manifest, run, run.folder);
  if (run.model_id.empty()) run.model_id = run.model.stem().string();
  for (ExperimentData& data : run.experiments) {
    if (data.label.empty()) data.label = data.name;
  }
  if (wrong_entries > 0) {
    run.problems.push_back(fmt::format("manifest.json: {} (of another type, or impossible) and excluded",
                                       CountedText(wrong_entries, "entry is wrong", "entries are wrong")));
  }
  const auto version = manifest.find("schema_version");
  if (version != manifest.end() && version->is_number_integer() && *version > kManifestSchema) {
    run.problems.push_back(
        fmt::format("manifest.json has schema version {}, and this etprof knows {}: what that added or "
                    "changed is not read",
                    version->dump(), kManifestSchema));
  }
}

}  // namespace etprof
