#include "measure/config/variant.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/text/suggest.h"
#include "core/text/text.h"
#include "core/units.h"
#include "device/conditions/clusters.h"
#include "device/device.h"
#include "measure/config/json_fields.h"
#include "measure/config/release.h"

namespace etprof {
namespace {

const std::set<std::string> kKeys = {"isa",   "threads",    "cpus", "period", "runner",
                                     "model", "executorch", "env",  "label"};

Error SpecError(const std::string& spec, const std::string& problem) {
  return Error(ExitCode::kUsage, fmt::format("`--vs {}`: {}", spec, problem))
      .Remedy("see `etprof profile --help`");
}

// The features that a mask hides: "avx512" for "-avx512", "sme2" for "-sme,-sme2" (the mask for "SME2 off" in
// the SME2 profiling kit). Empty if the mask does not only hide features.
std::string HiddenFeatures(const std::string& isa) {
  std::vector<std::string> names;
  for (const std::string_view item : SplitAt(isa, ',')) {
    if (item.size() < 2 || item[0] != '-') return "";
    names.emplace_back(item.substr(1));
  }
  if (std::ranges::find(names, "sme2") != names.end()) std::erase(names, "sme");
  return fmt::format("{}", fmt::join(names, "+"));
}

std::string PaceText(Nanoseconds period) {
  return period == 0 ? "back to back" : "every " + FormatExactDuration(period);
}

// The part of a model's name that distinguishes it from others: "fp16" for net_xnnpack_fp16.pte and
// net_xnnpack_fp32.pte.
std::string DistinguishingName(const std::filesystem::path& model,
                               const std::vector<std::filesystem::path>& models) {
  std::set<std::string> ids = {ModelId(model)};
  for (const std::filesystem::path& other_model : models) ids.insert(ModelId(other_model));
  const auto index = std::distance(ids.begin(), ids.find(ModelId(model)));
  return DropCommonWords({ids.begin(), ids.end()}).names[static_cast<std::size_t>(index)];
}

// Turns a label into the name of a folder.
std::string FolderName(const std::string& label) {
  std::string name;
  for (const char c : label) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-') {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  while (!name.empty() && (name[0] == '.' || name[0] == '-')) name.erase(0, 1);
  return name.empty() ? "variant" : name.substr(0, 60);
}

}  // namespace

Variant ParseVariant(const std::string& spec, const std::filesystem::path& folder) {
  // Split "key=value,key=value"; a comma ends a value only if "key=" follows.
  std::vector<std::pair<std::string, std::string>> pairs;
  std::size_t start = 0;
  while (start <= spec.size()) {
    const std::size_t comma = std::min(spec.find(',', start), spec.size());
    const std::string item = spec.substr(start, comma - start);
    const std::size_t equals = item.find('=');
    const std::string key = item.substr(0, equals);
    const bool looks_like_key =
        equals != std::string::npos && !key.empty() &&
        std::ranges::all_of(key, [](unsigned char c) { return std::isalpha(c) != 0; });
    if (looks_like_key) {
      pairs.emplace_back(key, item.substr(equals + 1));
    } else if (!pairs.empty()) {
      pairs.back().second += "," + item;
    } else {
      throw SpecError(spec, fmt::format("\"{}\" is not KEY=VALUE", item))
          .Remedy("give one such as isa=-avx2, threads=2, or model=OTHER.pte");
    }
    start = comma + 1;
  }
  Variant variant;
  std::set<std::string> seen;
  for (const auto& [key, value] : pairs) {
    if (!kKeys.contains(key)) {
      throw SpecError(spec, fmt::format("unknown key \"{}\"", key))
          .Remedy(DidYouMean(
              key, kKeys, "the keys are isa, threads, cpus, period, runner, model, executorch, env, label"));
    }
    if (!seen.insert(key).second) throw SpecError(spec, fmt::format("\"{}\" is there twice", key));
    if (value.empty()) throw SpecError(spec, fmt::format("\"{}\" has no value", key));
    if (key == "isa") variant.isa = value;
    if (key == "label") variant.label = value;
    if (key == "executorch") variant.executorch = ResolveWheelPath(value, folder);
    if (key == "runner") variant.runner = ResolvePath(value, folder);
    if (key == "model") variant.model = ResolvePath(value, folder);
    if (key == "env") {
      const std::size_t end = value.find('=');
      if (end == std::string::npos || !IsVariableName(value.substr(0, end)))
        throw SpecError(spec, fmt::format("\"{}\" is not NAME=VALUE", value));
      variant.env.emplace(value.substr(0, end), value.substr(end + 1));
    }
    if (key == "cpus") {
      CheckCpus(value);
      variant.cpus = value;
    }
    if (key == "period") {
      variant.period = ParsePeriod(value);
      if (!variant.period)
        throw SpecError(spec, fmt::format("\"{}\" is not a duration", value)).Remedy(kPeriodRemedy);
    }
    if (key == "threads") {
      const auto threads = AsNumber<int>(value);
      if (!threads || *threads < 1 || *threads > 1024) {
        throw SpecError(spec, fmt::format("\"{}\" is not a number of threads from 1 to 1024", value));
      }
      variant.threads = threads;
    }
  }
  Variant label_only;
  label_only.label = variant.label;
  if (variant == label_only) {
    throw SpecError(spec, "nothing differs")
        .Remedy("give isa, threads, cpus, period, runner, model, executorch, or env");
  }
  return variant;
}

VariantLabels MakeVariantLabels(const Variant& variant, const ExperimentConfig& base_experiment,
                                const std::vector<std::filesystem::path>& models) {
  std::vector<std::string> variant_parts, base_parts;
  const auto add = [&](std::string variant_part, std::string base_part) {
    variant_parts.push_back(std::move(variant_part));
    base_parts.push_back(std::move(base_part));
  };
  if (variant.isa) {
    const std::string hidden = HiddenFeatures(*variant.isa);
    add(hidden.empty() ? "isa " + *variant.isa : hidden + " off",
        hidden.empty() ? "default isa" : hidden + " on");
  }
  if (variant.threads)
    add(CountedText(*variant.threads, "thread"), CountedText(base_experiment.threads[0], "thread"));
  if (variant.cpus) {
    const std::string& base_cpus = base_experiment.cpu_affinity;
    add("cpus " + *variant.cpus, base_cpus.empty() ? "any cpu" : "cpus " + base_cpus);
  }
  if (variant.period) add(PaceText(*variant.period), PaceText(base_experiment.period));
  if (variant.executorch) {
    const std::string& base_release = base_experiment.executorch;
    add("ExecuTorch " + ReleaseName(*variant.executorch),
        base_release.empty() ? "runner's own" : "ExecuTorch " + ReleaseName(base_release));
  }
  if (variant.env) {
    const auto& [name, value] = *variant.env;
    const auto base_value = base_experiment.environment.find(name);
    add(name + "=" + value,
        base_value == base_experiment.environment.end() ? "no " + name : name + "=" + base_value->second);
  }
  if (variant.model) {
    std::vector<std::filesystem::path> all_models = models;
    all_models.insert(all_models.end(), {*variant.model, base_experiment.model});
    add(DistinguishingName(*variant.model, all_models),
        DistinguishingName(base_experiment.model, all_models));
  }
  if (variant.runner) {
    // If runners have the same file name, add their folders' names.
    std::filesystem::path a = variant.runner->filename(), b = base_experiment.runner.filename();
    if (a == b) {
      a = variant.runner->parent_path().filename() / a;
      b = base_experiment.runner.parent_path().filename() / b;
    }
    add(a.string(), b.string());
  }
  VariantLabels labels{fmt::format("{}", fmt::join(variant_parts, ", ")),
                       fmt::format("{}", fmt::join(base_parts, ", "))};
  if (labels.variant == labels.base) labels = {"other " + labels.variant, labels.base};
  if (variant.label) labels.variant = *variant.label;
  return labels;
}

ExperimentConfig ApplyVariant(const ExperimentConfig& base_experiment, const Variant& variant) {
  ExperimentConfig experiment = base_experiment;
  if (variant.isa) experiment.isa = *variant.isa;
  if (variant.cpus) experiment.cpu_affinity = *variant.cpus;
  if (variant.threads) experiment.threads = {*variant.threads};
  if (variant.period) experiment.period = *variant.period;
  if (variant.runner) experiment.runner = *variant.runner;
  if (variant.model) experiment.model = *variant.model;
  if (variant.executorch) experiment.executorch = *variant.executorch;
  if (variant.env) experiment.environment[variant.env->first] = variant.env->second;
  return experiment;
}

Config MakeProfileConfig(const ExperimentConfig& base_experiment, const std::vector<Variant>& variants) {
  Config config;
  ExperimentConfig labeled_base = base_experiment;
  std::vector<std::filesystem::path> models = {base_experiment.model};
  for (const Variant& variant : variants) {
    if (variant.model) models.push_back(*variant.model);
  }
  // Label the base experiment by the setting that all variants change, if they change the same setting; else
  // by its model's name, if there are several models.
  std::vector<VariantLabels> variant_labels;
  std::set<std::string> base_labels;
  for (const Variant& variant : variants) {
    variant_labels.push_back(MakeVariantLabels(variant, base_experiment, models));
    base_labels.insert(variant_labels.back().base);
  }
  const bool only_isa =
      base_experiment.isa.empty() && std::ranges::all_of(variants, [](const Variant& variant) {
        Variant mask;
        mask.isa = variant.isa;
        mask.label = variant.label;
        return variant.isa && variant == mask;
      });
  labeled_base.label = base_labels.size() == 1 ? *base_labels.begin()
                       : variants.empty()      ? "as it is"
                       : only_isa              ? "all features"
                       : models.size() == 1    ? "default"
                                               : DistinguishingName(base_experiment.model, models);
  labeled_base.name = variants.empty() ? "as_is" : FolderName(labeled_base.label);
  std::set<std::string> names = {labeled_base.name};
  std::vector<ExperimentConfig> variant_experiments;
  config.pairs_given = !variants.empty();
  for (std::size_t number = 0; number < variants.size(); ++number) {
    const Variant& variant = variants[number];
    const VariantLabels& labels = variant_labels[number];
    ExperimentConfig experiment = ApplyVariant(base_experiment, variant);
    experiment.label = labels.variant;
    experiment.name = FolderName(labels.variant);
    for (int i = 2; !names.insert(experiment.name).second; ++i)
      experiment.name = fmt::format("{}_{}", FolderName(labels.variant), i);
    for (const int threads : base_experiment.threads) {
      const bool several_threads = base_experiment.threads.size() > 1;
      PairVariantConfig base_config{
          labeled_base.name, threads,
          several_threads ? fmt::format("{}, {}", labeled_base.label, CountedText(threads, "thread"))
                          : labeled_base.label};
      PairVariantConfig variant_config{experiment.name, variant.threads.value_or(threads), labels.variant};
      if (several_threads && !variant.threads) variant_config.label += ", " + CountedText(threads, "thread");
      const bool masked = variant.isa && !HiddenFeatures(*variant.isa).empty();
      config.pairs.push_back(masked ? PairConfig{variant_config, base_config, ""}
                                    : PairConfig{base_config, variant_config, ""});
    }
    variant_experiments.push_back(std::move(experiment));
  }
  // The tables show the baseline first.
  const bool is_base_last =
      variants.size() == 1 && variants[0].isa && !HiddenFeatures(*variants[0].isa).empty();
  if (!is_base_last) config.experiments.push_back(labeled_base);
  for (ExperimentConfig& experiment : variant_experiments)
    config.experiments.push_back(std::move(experiment));
  if (is_base_last) config.experiments.push_back(labeled_base);
  return config;
}

Config MakeLadderConfig(const ExperimentConfig& base_experiment, const std::vector<isa::Level>& levels) {
  Config config;
  config.pairs_given = true;
  for (const isa::Level& level : levels) {
    ExperimentConfig experiment = base_experiment;
    experiment.name = level.name;
    experiment.label = level.name;
    experiment.isa = level.mask;
    config.experiments.push_back(std::move(experiment));
  }
  const auto compare = [&](std::size_t baseline, std::size_t candidate, int threads) {
    config.pairs.push_back({{levels[baseline].name, threads, ""}, {levels[candidate].name, threads, ""}, ""});
  };
  for (const int threads : base_experiment.threads) {
    for (std::size_t level = 1; level < levels.size(); ++level) compare(level - 1, level, threads);
    if (levels.size() > 2) compare(0, levels.size() - 1, threads);
  }
  return config;
}

Config MakeVersionsConfig(const ExperimentConfig& base_experiment, const std::vector<std::string>& versions,
                          const std::vector<ReleaseProgram>& programs) {
  Config config;
  config.pairs_given = true;
  std::vector<std::string> names;
  std::ranges::transform(versions, std::back_inserter(names), ReleaseName);
  const auto add_experiment = [&](std::size_t release, std::size_t exporter) {
    ExperimentConfig experiment = base_experiment;
    experiment.name = "executorch_" + names[release];
    experiment.label = "ExecuTorch " + names[release];
    experiment.executorch = versions[release];
    if (!programs.empty()) experiment.model = programs[exporter].path;
    if (exporter != release) {
      experiment.name += "_export_" + names[exporter];
      experiment.label += ", exported by " + names[exporter];
    }
    config.experiments.push_back(experiment);
    return experiment.name;
  };
  const auto compare = [&](const std::string& baseline, const std::string& candidate) {
    for (const int threads : base_experiment.threads)
      config.pairs.push_back({{baseline, threads, ""}, {candidate, threads, ""}, ""});
  };
  std::string previous_name = add_experiment(0, 0);
  for (std::size_t i = 1; i < versions.size(); ++i) {
    const std::string name = add_experiment(i, i);
    compare(previous_name, name);
    previous_name = name;
    if (programs.empty() || programs[i - 1].sha256 == programs[i].sha256) continue;
    compare(add_experiment(i - 1, i), name);
    compare(add_experiment(i, i - 1), name);
  }
  return config;
}

double DefaultLadderSeconds(const Config& config) {
  constexpr double kSecondsPerSetting = 15;
  std::size_t settings = 0;
  for (const ExperimentConfig& experiment : config.experiments) settings += experiment.threads.size();
  return std::max(60.0, kSecondsPerSetting * static_cast<double>(settings));
}

}  // namespace etprof
