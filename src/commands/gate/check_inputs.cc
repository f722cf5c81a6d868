#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "commands/gate/check.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/units.h"
#include "measure/config/device_groups.h"
#include "measure/config/variant.h"
#include "measure/measure.h"
#include "measure/store/run_files.h"

namespace etprof {

namespace {

constexpr NamedValue<InputKind> kInputKinds[] = {{InputKind::kModels, "a model"},
                                                 {InputKind::kFolders, "a folder of models"},
                                                 {InputKind::kConfigs, "a configuration"},
                                                 {InputKind::kRuns, "a results directory"}};

// True if the text is a variant such as "isa=-avx2", and not the name of an existing file.
bool IsVariant(const std::string& text) { return text.find('=') != std::string::npos && !Exists(text); }

// Finds the files in a folder and its subfolders. They are keyed by relative path.
std::map<std::string, std::filesystem::path> FindFilesBeneath(const std::filesystem::path& folder) {
  std::map<std::string, std::filesystem::path> files;
  std::error_code error;
  std::filesystem::recursive_directory_iterator entry(
      folder, std::filesystem::directory_options::skip_permission_denied, error);
  for (; !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
    if (entry->is_regular_file(error))
      files.emplace(entry->path().lexically_relative(folder).generic_string(), entry->path());
  }
  if (error)
    throw Error(ExitCode::kBadInput, "cannot be listed: " + error.message())
        .InFile(folder)
        .Remedy("check its permissions");
  return files;
}

bool IsModel(const std::pair<const std::string, std::filesystem::path>& file) {
  return file.second.extension() == ".pte" || file.second.extension() == ".bpte";
}

std::map<std::string, std::filesystem::path> FindModelsBeneath(const std::filesystem::path& folder) {
  auto files = FindFilesBeneath(folder);
  std::erase_if(files, [](const auto& file) { return !IsModel(file); });
  return files;
}

// True if the folder has models, and no files of a measurement by etprof or the SME2 profiling kit.
bool IsFolderOfModels(const std::filesystem::path& folder) {
  if (Exists(folder / kManifestFile)) return false;
  const auto files = FindFilesBeneath(folder);
  return std::ranges::any_of(files, IsModel) && std::ranges::none_of(files, [](const auto& file) {
           return file.second.extension() == ".etdump" || file.second.extension() == ".csv";
         });
}

InputKind DetectInputKind(const std::string& text) {
  if (IsFolder(text)) return IsFolderOfModels(text) ? InputKind::kFolders : InputKind::kRuns;
  if (IsVariant(text)) return InputKind::kModels;
  if (!Exists(text))
    throw Error(ExitCode::kBadInput, "no such file or folder").InFile(text).Remedy("check the path");
  return text.ends_with(".json") ? InputKind::kConfigs : InputKind::kModels;
}

Config MakeModelsConfig(const CheckInputs& inputs, const MeasureRequest& request, Device& device,
                        const DeviceProperties& properties) {
  ExperimentConfig baseline = MakeExperimentConfig(request, inputs.baseline, device, properties);
  baseline.name = "baseline";
  Variant variant;
  if (IsVariant(inputs.candidate)) {
    variant = ParseVariant(inputs.candidate);
  } else {
    variant.model = std::filesystem::absolute(inputs.candidate).lexically_normal();
  }
  ExperimentConfig candidate = ApplyVariant(baseline, variant);
  candidate.name = "candidate";
  const VariantLabels labels = MakeVariantLabels(variant, baseline);
  const bool same_names =
      !variant.label && variant.model && ModelId(*variant.model) == ModelId(baseline.model);
  baseline.label = same_names ? "baseline" : labels.base;
  candidate.label = same_names ? "candidate" : labels.variant;

  Config config;
  config.pairs_given = true;
  config.pairs.push_back(
      {{baseline.name, baseline.threads[0], ""}, {candidate.name, candidate.threads[0], ""}, ""});
  config.experiments = {std::move(baseline), std::move(candidate)};
  return config;
}

// Pairs the models that are in both folders. Adds a message to `unpaired` for each model that is in only one
// folder.
Config MakeFoldersConfig(const CheckInputs& inputs, const MeasureRequest& request, Device& device,
                         const DeviceProperties& properties, std::vector<std::string>& unpaired) {
  const auto baseline_models = FindModelsBeneath(inputs.baseline),
             candidate_models = FindModelsBeneath(inputs.candidate);
  Config config;
  config.pairs_given = true;
  for (const auto& [name, model] : baseline_models) {
    const auto other = candidate_models.find(name);
    if (other == candidate_models.end()) {
      unpaired.push_back(fmt::format("{} is only in {}", name, ShortestPath(inputs.baseline)));
      continue;
    }
    const std::string label = name.substr(0, name.size() - model.extension().string().size());
    const std::string pair_number = std::to_string(config.pairs.size() + 1);
    ExperimentConfig baseline = MakeExperimentConfig(request, model, device, properties);
    Variant variant;
    variant.model = other->second;
    ExperimentConfig candidate = ApplyVariant(baseline, variant);
    baseline.name = "baseline_" + pair_number;
    candidate.name = "candidate_" + pair_number;
    baseline.label = label + " (baseline)";
    candidate.label = label + " (candidate)";
    config.pairs.push_back(
        {{baseline.name, baseline.threads[0], ""}, {candidate.name, candidate.threads[0], ""}, label});
    config.experiments.push_back(std::move(baseline));
    config.experiments.push_back(std::move(candidate));
  }
  for (const auto& [name, model] : candidate_models) {
    if (!baseline_models.contains(name))
      unpaired.push_back(fmt::format("{} is only in {}", name, ShortestPath(inputs.candidate)));
  }
  if (config.pairs.empty()) {
    throw Error(ExitCode::kBadInput,
                fmt::format("`{}` and `{}` have no model of the same name", ShortestPath(inputs.baseline),
                            ShortestPath(inputs.candidate)))
        .Remedy("give the models to compare the same names");
  }
  config.output_root = DefaultRunDirectory(inputs.candidate, properties.platform);
  return config;
}

Config ReadInputConfig(const std::string& path, const MeasureRequest& request, Device& device,
                       const DeviceProperties& properties) {
  Config config = ReadConfig(path, MakeConfigContext(device, properties));
  if (const std::string option = request.FirstModelOption(); !option.empty())
    throw Error(ExitCode::kUsage, fmt::format("`{}` is for models, and this is a configuration", option))
        .InFile(path)
        .Remedy("set it in the configuration");
  if (config.sustained > 0)
    throw Error(ExitCode::kBadInput, "has `sustained`: such experiments are not compared with each other")
        .InFile(path)
        .Remedy("leave `sustained` out");
  ApplyToExperiments(request, config);
  return config;
}

// The timed experiments of a configuration by name and threads.
std::set<std::pair<std::string, int>> ListTimed(const Config& config) {
  std::set<std::pair<std::string, int>> timed;
  for (const ExperimentConfig& experiment : config.experiments) {
    if (experiment.mode != "timing") continue;
    for (const int threads : experiment.threads) timed.emplace(experiment.name, threads);
  }
  return timed;
}

// Pairs the experiments of the same name and threads in two configurations. Adds a message to `unpaired` for
// each one that is in only one of them.
Config JoinConfigs(const Config& baseline, const Config& candidate, std::vector<std::string>& unpaired) {
  Config config = candidate;
  config.file.clear();
  config.experiments.clear();
  config.pairs.clear();
  config.pairs_given = true;
  const auto timed_baseline = ListTimed(baseline), timed_candidate = ListTimed(candidate);
  const auto add_unpaired = [&](const auto& timed, const auto& other, const std::filesystem::path& file) {
    for (const auto& [name, threads] : timed) {
      if (!other.contains({name, threads}))
        unpaired.push_back(fmt::format("{} with {} is only in {}", name, CountedText(threads, "thread"),
                                       ShortestPath(file)));
    }
  };
  add_unpaired(timed_baseline, timed_candidate, baseline.file);
  add_unpaired(timed_candidate, timed_baseline, candidate.file);
  for (const ExperimentConfig& a : baseline.experiments) {
    for (const ExperimentConfig& b : candidate.experiments) {
      if (a.name != b.name || a.mode != "timing" || b.mode != "timing") continue;
      const std::string label = b.label.empty() ? b.name : b.label;
      ExperimentConfig first = a;
      ExperimentConfig second = b;
      first.name = "baseline_" + a.name;
      second.name = "candidate_" + b.name;
      first.label = label + " (baseline)";
      second.label = label + " (candidate)";
      std::erase_if(first.threads, [&](int threads) { return !timed_candidate.contains({a.name, threads}); });
      if (first.threads.empty()) continue;
      second.threads = first.threads;
      for (const int threads : first.threads) {
        config.pairs.push_back(
            {{first.name, threads, ""},
             {second.name, threads, ""},
             first.threads.size() > 1 ? label + ", " + CountedText(threads, "thread") : label});
      }
      config.experiments.push_back(std::move(first));
      config.experiments.push_back(std::move(second));
    }
  }
  if (config.pairs.empty()) {
    throw Error(ExitCode::kBadInput, fmt::format("{} and {} have no experiment of the same name and threads",
                                                 baseline.file.string(), candidate.file.string()))
        .Remedy("give the experiments to compare the same names");
  }
  return config;
}

}  // namespace

CheckInputs ParseInputs(const CheckOptions& options) {
  CheckInputs inputs;
  std::tie(inputs.baseline, inputs.candidate) = GetInputPaths(options);
  if (inputs.baseline.empty())
    throw Error(ExitCode::kUsage, "nothing to check").Remedy("run `etprof check BASE.pte CANDIDATE.pte`");
  if (IsVariant(inputs.baseline)) {
    throw Error(ExitCode::kUsage, "the baseline must be a model, a configuration, or a results directory")
        .Remedy("give what differs as the candidate: `--candidate isa=-avx2`");
  }
  inputs.kind = DetectInputKind(inputs.baseline);
  if (inputs.candidate.empty()) {
    if (inputs.kind == InputKind::kModels) {
      throw Error(ExitCode::kUsage, "one model has nothing to be compared with")
          .Remedy("pass a second model, or what differs: `--candidate isa=-avx2`");
    }
    if (inputs.kind == InputKind::kFolders) {
      throw Error(ExitCode::kUsage, "one folder of models has nothing to be compared with")
          .Remedy("pass a second folder, with models of the same names");
    }
    return inputs;
  }
  const InputKind candidate_kind = DetectInputKind(inputs.candidate);
  if (candidate_kind != inputs.kind) {
    throw Error(ExitCode::kUsage,
                fmt::format("{} cannot be compared with {}", FindName(kInputKinds, inputs.kind),
                            FindName(kInputKinds, candidate_kind)))
        .Remedy("give two models, two folders of models, two configurations, or two results directories");
  }
  if (inputs.kind == InputKind::kFolders) {
    for (std::string* folder : {&inputs.baseline, &inputs.candidate})
      *folder = std::filesystem::absolute(*folder / std::filesystem::path()).lexically_normal().parent_path();
  }
  return inputs;
}

Config MakeCheckConfig(const CheckInputs& inputs, const MeasureRequest& request, Device& device,
                       std::vector<std::string>& unpaired) {
  const DeviceProperties properties = device.Properties();
  Config config;
  if (inputs.kind == InputKind::kModels) {
    config = MakeModelsConfig(inputs, request, device, properties);
  } else if (inputs.kind == InputKind::kFolders) {
    config = MakeFoldersConfig(inputs, request, device, properties, unpaired);
  } else {
    config = ReadInputConfig(inputs.baseline, request, device, properties);
    if (!inputs.candidate.empty())
      config = JoinConfigs(config, ReadInputConfig(inputs.candidate, request, device, properties), unpaired);
    RequireDevice(config, device.Name());
  }
  Apply(request, config);
  config.peaks = false;  // checks do not use the machine's peaks
  if (config.output_root.empty()) {
    config.output_root = DefaultRunDirectory(config.experiments.back().model, properties.platform);
  }
  if (MakePlan(config).pairs.empty()) {
    throw Error(ExitCode::kBadInput, "has no pair of experiments to check")
        .InFile(inputs.baseline)
        .Remedy("give it a second experiment, or compare_pairs (docs/reference/config.md)");
  }
  return config;
}

}  // namespace etprof
