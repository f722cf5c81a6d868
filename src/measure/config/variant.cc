#include "measure/config/variant.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/text/duration.h"
#include "core/text/split.h"
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

// The features that a mask hides: "avx512" for "-avx512", "sme2" for "-sme,-sme2" (the kit turns both off as
// "SME2 off"). Empty if the mask does not only hide features.
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
  for (const std::filesystem::path& other : models) ids.insert(ModelId(other));
  const auto place = std::distance(ids.begin(), ids.find(ModelId(model)));
  return DropCommonWords({ids.begin(), ids.end()}).names[static_cast<std::size_t>(place)];
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

Variant ParseVariant(const std::string& spec) {
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
    if (key == "executorch") variant.executorch = AbsoluteRelease(value);
    if (key == "runner") variant.runner = std::filesystem::absolute(value).lexically_normal();
    if (key == "model") variant.model = std::filesystem::absolute(value).lexically_normal();
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
  Variant nothing;
  nothing.label = variant.label;
  if (variant == nothing) {
    throw SpecError(spec, "nothing differs")
        .Remedy("give isa, threads, cpus, period, runner, model, executorch, or env");
  }
  return variant;
}

VariantLabels MakeVariantLabels(const Variant& variant, const ExperimentConfig& as_given,
                                const std::vector<std::filesystem::path>& models) {
  std::vector<std::string> other, given;
  if (variant.isa) {
    const std::string hidden = HiddenFeatures(*variant.isa);
    other.push_back(hidden.empty() ? "isa " + *variant.isa : hidden + " off");
    given.push_back(hidden.empty() ? "default isa" : hidden + " on");
  }
  if (variant.threads) {
    other.push_back(CountedText(*variant.threads, "thread"));
    given.push_back(CountedText(as_given.threads[0], "thread"));
  }
  if (variant.cpus) {
    other.push_back("cpus " + *variant.cpus);
    given.push_back(as_given.cpu_affinity.empty() ? "any cpu" : "cpus " + as_given.cpu_affinity);
  }
  if (variant.period) {
    other.push_back(PaceText(*variant.period));
    given.push_back(PaceText(as_given.period));
  }
  if (variant.executorch) {
    other.push_back("ExecuTorch " + ReleaseName(*variant.executorch));
    given.push_back(as_given.executorch.empty() ? "runner's own"
                                                : "ExecuTorch " + ReleaseName(as_given.executorch));
  }
  if (variant.env) {
    const auto& [name, value] = *variant.env;
    const auto before = as_given.environment.find(name);
    other.push_back(name + "=" + value);
    given.push_back(before == as_given.environment.end() ? "no " + name : name + "=" + before->second);
  }
  if (variant.model) {
    std::vector<std::filesystem::path> all = models;
    all.insert(all.end(), {*variant.model, as_given.model});
    other.push_back(DistinguishingName(*variant.model, all));
    given.push_back(DistinguishingName(as_given.model, all));
  }
  if (variant.runner) {
    // If runners have the same file name, add their folders' names.
    std::string a = variant.runner->filename().string(), b = as_given.runner.filename().string();
    if (a == b)
      a = (variant.runner->parent_path().filename() / a).string(),
      b = (as_given.runner.parent_path().filename() / b).string();
    other.push_back(a);
    given.push_back(b);
  }
  VariantLabels labels{fmt::format("{}", fmt::join(other, ", ")), fmt::format("{}", fmt::join(given, ", "))};
  if (labels.variant == labels.base) labels = {"other " + labels.variant, labels.base};
  if (variant.label) labels.variant = *variant.label;
  return labels;
}

ExperimentConfig ApplyVariant(const ExperimentConfig& as_given, const Variant& variant) {
  ExperimentConfig other = as_given;
  if (variant.isa) other.isa = *variant.isa;
  if (variant.cpus) other.cpu_affinity = *variant.cpus;
  if (variant.threads) other.threads = {*variant.threads};
  if (variant.period) other.period = *variant.period;
  if (variant.runner) other.runner = *variant.runner;
  if (variant.model) other.model = *variant.model;
  if (variant.executorch) other.executorch = *variant.executorch;
  if (variant.env) other.environment[variant.env->first] = variant.env->second;
  return other;
}

Config MakeProfileConfig(const ExperimentConfig& as_given, const std::vector<Variant>& variants) {
  Config config;
  ExperimentConfig given = as_given;
  std::vector<std::filesystem::path> models = {as_given.model};
  for (const Variant& variant : variants) {
    if (variant.model) models.push_back(*variant.model);
  }
  // Label the given model by the setting that all variants change, if it is the same setting; else by its
  // own name, if there are others.
  std::vector<VariantLabels> labels_of;
  std::set<std::string> names_of_given;
  for (const Variant& variant : variants) {
    labels_of.push_back(MakeVariantLabels(variant, as_given, models));
    names_of_given.insert(labels_of.back().base);
  }
  const bool only_isa = as_given.isa.empty() && std::ranges::all_of(variants, [](const Variant& variant) {
                          Variant mask;
                          mask.isa = variant.isa;
                          mask.label = variant.label;
                          return variant.isa && variant == mask;
                        });
  given.label = names_of_given.size() == 1 ? *names_of_given.begin()
                : variants.empty()         ? "as it is"
                : only_isa                 ? "all features"
                : models.size() == 1       ? "default"
                                           : DistinguishingName(as_given.model, models);
  given.name = variants.empty() ? "as_is" : FolderName(given.label);
  std::set<std::string> names = {given.name};
  std::vector<ExperimentConfig> others;
  config.pairs_given = !variants.empty();
  for (std::size_t number = 0; number < variants.size(); ++number) {
    const Variant& variant = variants[number];
    const VariantLabels& labels = labels_of[number];
    ExperimentConfig other = ApplyVariant(as_given, variant);
    other.label = labels.variant;
    other.name = FolderName(labels.variant);
    for (int i = 2; !names.insert(other.name).second; ++i)
      other.name = fmt::format("{}_{}", FolderName(labels.variant), i);
    for (const int threads : as_given.threads) {
      const bool several = as_given.threads.size() > 1;
      PairSideConfig given_side{
          given.name, threads,
          several ? fmt::format("{}, {}", given.label, CountedText(threads, "thread")) : given.label};
      PairSideConfig other_side{other.name, variant.threads.value_or(threads), labels.variant};
      if (several && !variant.threads) other_side.label += ", " + CountedText(threads, "thread");
      const bool masked = variant.isa && !HiddenFeatures(*variant.isa).empty();
      config.pairs.push_back(masked ? PairConfig{other_side, given_side, ""}
                                    : PairConfig{given_side, other_side, ""});
    }
    others.push_back(std::move(other));
  }
  // The tables show the baseline first.
  const bool given_last =
      variants.size() == 1 && variants[0].isa && !HiddenFeatures(*variants[0].isa).empty();
  if (!given_last) config.experiments.push_back(given);
  for (ExperimentConfig& other : others) config.experiments.push_back(std::move(other));
  if (given_last) config.experiments.push_back(given);
  return config;
}

}  // namespace etprof
