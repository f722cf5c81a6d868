#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "core/error.h"
#include "isa/features.h"

namespace etprof::isa {
namespace {

std::string_view Trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

// Levenshtein distance; names are short, so the quadratic table costs nothing.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

const Group* FindGroup(Architecture architecture, std::string_view name) {
  for (const Group& group : Groups(architecture)) {
    if (group.name == name) return &group;
  }
  return nullptr;
}

bool IsBaseline(Architecture architecture, std::string_view name) {
  static const FeatureSet x86 = {"sse", "sse2"};
  static const FeatureSet arm = {"neon", "asimd", "fp"};
  return (architecture == Architecture::kAarch64 ? arm : x86).contains(std::string(name));
}

std::string ListOf(const FeatureSet& features) {
  return features.empty() ? "only its baseline" : fmt::format("{}", fmt::join(features, " "));
}

Error Unknown(Architecture architecture, const FeatureSet& detected, const std::string& name) {
  Error error(ExitCode::kUsage, fmt::format("--isa: there is no CPU feature '{}'", name));
  const Architecture other =
      architecture == Architecture::kAarch64 ? Architecture::kX86_64 : Architecture::kAarch64;
  if (CanonicalName(other, name) || FindGroup(other, name) != nullptr) {
    return Error(ExitCode::kUsage, fmt::format("--isa: '{}' is a feature of {}, and this CPU is {}", name,
                                               Name(other), Name(architecture)));
  }
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  const auto consider = [&](std::string_view candidate) {
    const std::size_t distance = EditDistance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  };
  for (const Feature& feature : Features(architecture)) {
    consider(feature.name);
    for (const std::string_view alias : feature.aliases) consider(alias);
  }
  for (const Group& group : Groups(architecture)) consider(group.name);
  error.Remedy(best.empty() ? fmt::format("this CPU has {}", ListOf(detected))
                            : fmt::format("did you mean '{}'?", best));
  return error;
}

// The detected features that `name` stands for. Never empty: throws instead.
FeatureSet Resolve(Architecture architecture, const FeatureSet& detected, const std::string& name,
                   char sign) {
  const std::string then = sign == '-' ? ": nothing to mask" : "";
  if (const Group* group = FindGroup(architecture, name)) {
    FeatureSet present;
    for (const std::string_view member : group->members) {
      if (detected.contains(std::string(member))) present.emplace(member);
    }
    if (present.empty()) {
      throw Error(ExitCode::kUsage, fmt::format("--isa: this CPU has no {} feature{}", name, then))
          .Remedy(fmt::format("it has {}", ListOf(detected)));
    }
    return present;
  }
  const std::optional<std::string> feature = CanonicalName(architecture, name);
  if (!feature) {
    if (IsBaseline(architecture, name)) {
      throw Error(ExitCode::kUsage, fmt::format("--isa: '{}' is part of every {} CPU and cannot be switched",
                                                name, Name(architecture)))
          .Remedy("say 'none' for the baseline alone");
    }
    throw Unknown(architecture, detected, name);
  }
  if (!detected.contains(*feature)) {
    throw Error(ExitCode::kUsage, fmt::format("--isa: this CPU has no {}{}", *feature, then))
        .Remedy(fmt::format("it has {}", ListOf(detected)));
  }
  return {*feature};
}

}  // namespace

Mask ParseMask(Architecture architecture, const FeatureSet& detected, std::string_view spec) {
  FeatureSet enabled = detected;
  const auto show_only_detected = [&](const FeatureSet& wanted) {
    for (const std::string& feature : WithNeeds(architecture, wanted)) {
      if (detected.contains(feature)) enabled.insert(feature);
    }
  };
  if (!Trim(spec).empty()) {
    for (std::size_t start = 0; start <= spec.size();) {
      const std::size_t comma = std::min(spec.find(',', start), spec.size());
      std::string item(Trim(spec.substr(start, comma - start)));
      std::ranges::transform(item, item.begin(),
                             [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      start = comma + 1;
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
      const std::string name(Trim(std::string_view(item).substr(1)));
      if (name.empty()) throw Error(ExitCode::kUsage, fmt::format("--isa: a feature must follow '{}'", sign));
      const FeatureSet named = Resolve(architecture, detected, name, sign);
      if (sign == '-') {
        for (const std::string& feature : WithDependents(architecture, named)) enabled.erase(feature);
      } else {
        if (sign == '=') enabled.clear();
        show_only_detected(named);
      }
    }
  }
  Mask mask;
  for (const std::string& feature : detected)
    (enabled.contains(feature) ? mask.enabled : mask.masked).insert(feature);
  return mask;
}

}  // namespace etprof::isa
