#include "measure/store/foreign/foreign_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/file/file.h"
#include "core/json/json.h"
#include "core/json/json_members.h"
#include "core/text/text.h"
#include "core/units.h"
#include "format/etdump/reader.h"
#include "measure/config/config.h"
#include "measure/participants/participants.h"
#include "measure/store/run_files.h"
#include "stats/stability.h"

namespace etprof {
namespace {

constexpr const char* kTimelineSuffixes[] = {"_exec_all_runs_timeline", "_all_runs_timeline"};

// The file name of a trace without its extension and suffix: "toy_cnn_sme2_on_t1"; empty: not a trace.
std::string TraceStem(const std::filesystem::path& file) {
  const std::string stem = file.stem().string();
  if (HasEtdumpName(file)) return stem;
  if (file.extension() != ".csv") return "";
  for (const std::string suffix : kTimelineSuffixes) {
    if (stem.ends_with(suffix) && stem.size() > suffix.size())
      return stem.substr(0, stem.size() - suffix.size());
  }
  return "";
}

// Traces are searched at most this many folders below a results directory ("mac/sme2_on"), so that the traces
// below a folder of other things, such as "/", are not all analyzed.
constexpr int kMaxFolders = 2;

// The traces below the folder, sorted by path, without those of earlier runs and without parts.
std::vector<std::filesystem::path> FindTraces(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  auto iterator = std::filesystem::recursive_directory_iterator(
      folder, std::filesystem::directory_options::skip_permission_denied, error);
  for (; !error && iterator != std::filesystem::recursive_directory_iterator(); iterator.increment(error)) {
    const std::filesystem::path& path = iterator->path();
    const std::string name = path.filename().string();
    std::error_code ignored;
    if (iterator->is_directory(ignored)) {
      if (name == "previous" || name == "launches" || iterator.depth() >= kMaxFolders)
        iterator.disable_recursion_pending();
    } else if (iterator->is_regular_file(ignored) && !TraceStem(path).empty()) {
      const std::filesystem::path etdump = path.parent_path() / (TraceStem(path) + ".etdump");
      if (HasEtdumpName(path) || !Exists(etdump)) found.push_back(path);
    }
  }
  std::ranges::sort(found);
  return found;
}

// Removes the suffix "_t4" and returns 4; returns 0 (not known) if there is no such suffix.
int TakeThreadsSuffix(std::string& stem) {
  const std::size_t at = stem.rfind("_t");
  if (at == std::string::npos || at + 2 >= stem.size() || stem.size() - at > 5) return 0;
  if (!std::all_of(stem.begin() + static_cast<std::ptrdiff_t>(at) + 2, stem.end(),
                   [](unsigned char c) { return std::isdigit(c) != 0; }))
    return 0;
  const int threads = std::max(1, std::stoi(stem.substr(at + 2)));
  stem.erase(at);
  return threads;
}

// Guesses the model from the names of traces in one folder ("toy_cnn_mac_sme2_off", "toy_cnn_mac_sme2_on"):
// the words that all names begin with, up to the platform, since the SME2 profiling kit names experiments
// "<platform>_...". Without a platform, the last common word belongs to the experiments ("sme2_off", not
// "off"). Empty: the names give no model.
std::string CommonModelName(const std::vector<std::string>& names) {
  const std::set<std::string> distinct(names.begin(), names.end());
  if (distinct.empty()) return "";
  std::vector<std::string_view> shared = SplitAt(*distinct.begin(), '_');
  for (const std::string& name : distinct) {
    const std::vector<std::string_view> words = SplitAt(name, '_');
    std::size_t common = 0;
    while (common < shared.size() && common + 1 < words.size() && shared[common] == words[common]) ++common;
    shared.resize(common);
  }
  const auto platform = std::ranges::find_if(
      shared, [](std::string_view word) { return word == "mac" || word == "android" || word == "linux"; });
  if (platform != shared.end()) {
    shared.erase(platform, shared.end());
  } else if (distinct.size() > 1 && !shared.empty()) {
    shared.pop_back();
  } else {
    return "";
  }
  return fmt::format("{}", fmt::join(shared, "_"));
}

// The model in the name of the only `<model>_pipeline_summary.json`; empty: there is not exactly one such
// file.
std::string SummaryModelName(const std::filesystem::path& folder) {
  std::error_code error;
  std::set<std::string> models;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    constexpr std::string_view kSummarySuffix = "_pipeline_summary.json";
    if (name.size() > kSummarySuffix.size() && name.ends_with(kSummarySuffix))
      models.insert(name.substr(0, name.size() - kSummarySuffix.size()));
  }
  return models.size() == 1 ? *models.begin() : "";
}

// The file with the trace's stem and `suffix` next to a trace; empty: no such file.
std::filesystem::path FindSibling(const std::filesystem::path& trace, const char* suffix) {
  std::filesystem::path file = trace.parent_path() / (TraceStem(trace) + suffix);
  return Exists(file) ? file : std::filesystem::path();
}

class ForeignTraceAdder {
 public:
  explicit ForeignTraceAdder(RunData& run) : run_(run) {}

  void Add() {
    std::set<std::filesystem::path> known_traces;
    for (const ExperimentData& experiment : run_.experiments)
      known_traces.insert(experiment.etdump.lexically_normal());
    std::vector<std::filesystem::path> traces = FindTraces(run_.folder);
    std::erase_if(traces, [&](const auto& path) { return known_traces.contains(path.lexically_normal()); });
    FindModel(traces);
    std::vector<ExperimentData> found;
    for (const std::filesystem::path& path : traces) {
      ExperimentData data = MakeExperiment(path);
      // A manifest of another tool may have named the experiment without its file.
      const auto matching = std::ranges::find_if(run_.experiments, [&](const ExperimentData& e) {
        return e.name == data.name && e.threads == data.threads && e.etdump.empty();
      });
      if (matching != run_.experiments.end() && matching->launches.empty()) {
        matching->etdump = path;
        if (matching->log.empty()) matching->log = data.log;
      } else {
        found.push_back(std::move(data));
      }
    }
    AddThreadsToEqualLabels(found);
    for (ExperimentData& data : found) run_.experiments.push_back(std::move(data));
  }

 private:
  void FindModel(const std::vector<std::filesystem::path>& traces) {
    if (run_.model_id.empty()) run_.model_id = SummaryModelName(run_.folder);
    if (!run_.model_id.empty()) return;
    std::vector<std::string> flat_stems;
    for (const std::filesystem::path& path : traces) {
      std::string stem = TraceStem(path);
      TakeThreadsSuffix(stem);
      if (path.parent_path() == run_.folder) {
        flat_stems.push_back(std::move(stem));
      } else {
        const std::string suffix = "_" + path.parent_path().filename().string();
        if (run_.model_id.empty() && stem.size() > suffix.size() && stem.ends_with(suffix))
          run_.model_id = stem.substr(0, stem.size() - suffix.size());
      }
    }
    if (run_.model_id.empty()) run_.model_id = CommonModelName(flat_stems);
  }

  ExperimentData MakeExperiment(const std::filesystem::path& path) const {
    ExperimentData data;
    const std::string file_stem = TraceStem(path);
    std::string stem = file_stem;
    data.threads = TakeThreadsSuffix(stem);
    const std::string folder = path.parent_path().filename().string();
    const bool flat = path.parent_path() == run_.folder;
    if (!flat && (stem == folder || stem.ends_with("_" + folder))) {
      data.name = folder;
    } else if (flat && !run_.model_id.empty() && stem.starts_with(run_.model_id + "_")) {
      data.name = stem.substr(run_.model_id.size() + 1);
    } else {
      data.name = stem;  // several traces in one folder, or a name without the model
    }
    data.label = data.name;
    data.etdump = path;
    data.log = FindSibling(path, "_latency.log");
    if (data.log.empty()) data.log = FindSibling(path, ".log");
    FindTraceLog(data);
    data.third_party_runner = true;
    data.tracer_always_on = true;
    return data;
  }

  static void AddThreadsToEqualLabels(std::vector<ExperimentData>& found) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (found[j].name != found[i].name || found[j].threads == found[i].threads) continue;
        for (const std::size_t k : {i, j}) {
          if (found[k].threads > 0)
            found[k].label = found[k].name + ", " + CountedText(found[k].threads, "thread");
        }
      }
    }
  }

  RunData& run_;
};

// The index of the experiment that `key` of a pair names; absent: no such experiment.
std::optional<std::size_t> FindPairExperiment(const nlohmann::json& pair, const char* key,
                                              const RunData& run) {
  const auto stored = pair.find(key);
  if (stored == pair.end()) return std::nullopt;
  PairVariantConfig variant;
  variant.threads = 1;
  if (stored->is_string()) variant.experiment = stored->get<std::string>();
  if (stored->is_object()) ReadJsonTolerantly(*stored, variant, {});
  for (std::size_t i = 0; i < run.experiments.size(); ++i) {
    const ExperimentData& data = run.experiments[i];
    if (data.name == variant.experiment && (data.threads == variant.threads || data.threads == 0)) return i;
  }
  return std::nullopt;
}

// Finds `compare_pairs` at the top level, or below `analysis`, `configuration`, or `config`.
const nlohmann::json* FindPairs(const nlohmann::json& object, int depth = 0) {
  if (!object.is_object() || depth > 2) return nullptr;
  if (const auto found = object.find("compare_pairs"); found != object.end() && found->is_array())
    return &*found;
  for (const char* key : {"analysis", "configuration", "config"}) {
    const auto inner = object.find(key);
    if (inner == object.end()) continue;
    if (const nlohmann::json* found = FindPairs(*inner, depth + 1)) return found;
  }
  return nullptr;
}

// Reads the configuration that a manifest names, at its path or as a copy next to the manifest.
nlohmann::json ReadConfiguration(const std::filesystem::path& config, const std::filesystem::path& folder) {
  std::error_code error;
  for (const std::filesystem::path& path :
       {config.is_absolute() ? config : std::filesystem::path(), folder / config, folder / config.filename(),
        folder / kConfigFile}) {
    if (path.empty() || !std::filesystem::is_regular_file(path, error)) continue;
    try {
      nlohmann::json json = ParseJson(ReadTextFile(path));
      if (json.is_object()) return json;
    } catch (const Error&) {  // the configuration is optional
    }
  }
  return {};
}

}  // namespace

void AddForeignTraces(RunData& run) { ForeignTraceAdder(run).Add(); }

void FindTraceLog(ExperimentData& data) {
  if (data.trace_enabled || data.etdump.empty()) return;
  data.xnntrace_log = FindSibling(data.etdump, kKernelLogSuffix);
  if (data.xnntrace_log.empty()) return;
  data.trace_enabled = true;
  data.mode = "xnntrace";
}

void ReadLatencyLog(ExperimentData& data) {
  if (data.log.empty() || !data.launches.empty() || data.trace_enabled) return;
  // A log may have the output of several processes, so collect one list per process.
  std::vector<ThirdPartyLog> processes;
  const MappedFile file = MappedFile::Open(data.log, kMaxTableBytes);
  const ByteView bytes = file.bytes();
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find("Iteration ") == std::string_view::npos) continue;
    if (processes.empty() || line.find("Iteration 1 of ") != std::string_view::npos) processes.emplace_back();
    processes.back().AddLine(line);
  }
  for (const ThirdPartyLog& process : processes) {
    const std::vector<Nanoseconds>& times = process.iterations;
    if (times.empty()) continue;
    Launch launch;
    launch.index = static_cast<int>(data.launches.size());
    launch.first_run = times.front();
    const std::vector<double> values(times.begin(), times.end());
    const std::size_t first_steady = std::max<std::size_t>(1, stats::FirstSteadyRun(values));
    Burst burst;
    burst.round = -1;
    for (std::size_t i = 1; i < times.size(); ++i)
      (i < first_steady ? launch.warmup : burst.recorded).push_back(times[i]);
    if (!burst.recorded.empty()) launch.bursts.push_back(std::move(burst));
    data.launches.push_back(std::move(launch));
  }
}

void PairForeignExperiments(const nlohmann::json& manifest, RunData& run) {
  if (!run.pairs.empty()) return;
  const nlohmann::json* pairs = FindPairs(manifest);
  const nlohmann::json configuration =
      pairs == nullptr && !run.config.empty() ? ReadConfiguration(run.config, run.folder) : nlohmann::json();
  if (pairs == nullptr) pairs = FindPairs(configuration);
  if (pairs != nullptr) {
    for (const nlohmann::json& entry : *pairs) {
      if (!entry.is_object()) continue;
      const auto baseline = FindPairExperiment(entry, "baseline", run);
      const auto candidate = FindPairExperiment(entry, "candidate", run);
      if (!baseline || !candidate || *baseline == *candidate) {
        run.problems.push_back("compare_pairs: a pair names an experiment that has no results");
        continue;
      }
      run.pairs.push_back({.baseline = *baseline, .candidate = *candidate});
      if (const auto label = entry.find("label"); label != entry.end() && label->is_string())
        run.pairs.back().label = label->get<std::string>();
    }
    return;
  }
  std::vector<std::size_t> timed;
  for (std::size_t i = 0; i < run.experiments.size(); ++i) {
    if (!run.experiments[i].trace_enabled && !run.experiments[i].etdump.empty()) timed.push_back(i);
  }
  if (timed.size() == 2 && run.experiments[timed[0]].threads == run.experiments[timed[1]].threads)
    run.pairs.push_back({.baseline = timed[0], .candidate = timed[1]});
}

}  // namespace etprof
