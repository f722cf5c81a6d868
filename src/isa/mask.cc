#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/text/suggest.h"
#include "core/text/text.h"
#include "isa/features.h"

namespace etprof::isa {
namespace {

const FeatureGroup* FindFeatureGroup(Architecture architecture, std::string_view name) {
  for (const FeatureGroup& group : FeatureGroups(architecture)) {
    if (group.name == name) return &group;
  }
  return nullptr;
}

bool IsBaseline(Architecture architecture, std::string_view name) {
  static const FeatureSet x86 = {"sse", "sse2"};
  static const FeatureSet arm = {"neon", "asimd", "fp"};
  return (architecture == Architecture::kAarch64 ? arm : x86).contains(std::string(name));
}

std::string FormatFeatures(const FeatureSet& features) {
  return features.empty() ? "only its baseline" : fmt::format("{}", fmt::join(features, " "));
}

Error UnknownFeature(Architecture architecture, const FeatureSet& detected, const std::string& name) {
  Error error(ExitCode::kUsage, fmt::format("--isa: unknown CPU feature '{}'", name));
  const Architecture other =
      architecture == Architecture::kAarch64 ? Architecture::kX86_64 : Architecture::kAarch64;
  if (CanonicalName(other, name) || FindFeatureGroup(other, name) != nullptr) {
    return Error(ExitCode::kUsage, fmt::format("--isa: '{}' is a feature of {}, and this CPU is {}", name,
                                               ArchitectureName(other), ArchitectureName(architecture)))
        .Remedy(fmt::format("it has {}", FormatFeatures(detected)));
  }
  std::vector<std::string_view> known;
  for (const Feature& feature : Features(architecture)) {
    known.push_back(feature.name);
    known.insert(known.end(), feature.aliases.begin(), feature.aliases.end());
  }
  for (const FeatureGroup& group : FeatureGroups(architecture)) known.push_back(group.name);
  const std::string best = FindClosest(name, known);
  error.Remedy(best.empty() ? fmt::format("this CPU has {}", FormatFeatures(detected))
                            : fmt::format("did you mean '{}'?", best));
  return error;
}

// The detected features that `name` stands for. Throws Error (kUsage) if this CPU has none of them.
FeatureSet Resolve(Architecture architecture, const FeatureSet& detected, const std::string& name,
                   char sign) {
  const std::string consequence = sign == '-' ? ": nothing to mask" : "";
  if (const FeatureGroup* group = FindFeatureGroup(architecture, name)) {
    FeatureSet present;
    for (const std::string_view member : group->members) {
      if (detected.contains(std::string(member))) present.emplace(member);
    }
    if (present.empty()) {
      throw Error(ExitCode::kUsage, fmt::format("--isa: this CPU has no {} feature{}", name, consequence))
          .Remedy(fmt::format("it has {}", FormatFeatures(detected)));
    }
    return present;
  }
  const std::optional<std::string> feature = CanonicalName(architecture, name);
  if (!feature) {
    if (IsBaseline(architecture, name)) {
      throw Error(ExitCode::kUsage, fmt::format("--isa: '{}' is part of every {} CPU and cannot be switched",
                                                name, ArchitectureName(architecture)))
          .Remedy("say 'none' for the baseline alone");
    }
    throw UnknownFeature(architecture, detected, name);
  }
  if (!detected.contains(*feature)) {
    throw Error(ExitCode::kUsage, fmt::format("--isa: this CPU has no {}{}", *feature, consequence))
        .Remedy(fmt::format("it has {}", FormatFeatures(detected)));
  }
  return {*feature};
}

}  // namespace

Mask ParseMask(Architecture architecture, const FeatureSet& detected, std::string_view spec) {
  FeatureSet enabled = detected;
  if (!Trimmed(spec).empty()) {
    for (const std::string_view part : SplitAt(spec, ',')) {
      const std::string item = Lower(Trimmed(part));
      if (item.empty()) {
        throw Error(ExitCode::kUsage, fmt::format("--isa: '{}' has an empty entry", spec))
            .Remedy("for example -sme2 or =avx2");
      }
      if (item == "all") {
        enabled = detected;
        continue;
      }
      if (item == "none") {
        enabled.clear();
        continue;
      }
      const char sign = item.front();
      if (sign != '-' && sign != '+' && sign != '=') {
        throw Error(ExitCode::kUsage, fmt::format("--isa: '{}' says neither on nor off", item))
            .Remedy(fmt::format(
                "write -{0} to mask it, +{0} to show it again, ={0} for that level and nothing above", item));
      }
      const std::string name(Trimmed(std::string_view(item).substr(1)));
      if (name.empty()) {
        throw Error(ExitCode::kUsage, fmt::format("--isa: a feature must follow '{}'", sign))
            .Remedy(fmt::format("this CPU has {}", FormatFeatures(detected)));
      }
      const FeatureSet features = Resolve(architecture, detected, name, sign);
      if (sign == '-') {
        for (const std::string& feature : WithDependents(architecture, features)) enabled.erase(feature);
      } else {
        if (sign == '=') enabled.clear();
        for (const std::string& feature : WithDependencies(architecture, features)) {
          if (detected.contains(feature)) enabled.insert(feature);
        }
      }
    }
  }
  Mask mask;
  for (const std::string& feature : detected)
    (enabled.contains(feature) ? mask.enabled : mask.masked).insert(feature);
  return mask;
}

}  // namespace etprof::isa
