#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "measure/config/config.h"

namespace etprof {

// What `etprof profile --vs SPEC` says: the other side of a comparison, as what differs from the model as it
// is given. "isa=-avx2,-fma,threads=2": keys isa, threads, cpus, period, runner, model, executorch, label; a
// comma separates keys where a key follows it, and belongs to the value where none does (so that masks and
// CPU lists need no quoting).
struct Variant {
  std::optional<std::string> isa, cpus, executorch, label;
  std::optional<int> threads;
  std::optional<Nanoseconds> period;
  std::optional<std::filesystem::path> runner, model;
};
// Throws Error (kUsage) for an unknown key (with a suggestion), a key without value, or a value that is none.
Variant ParseVariant(const std::string& spec);

// The names of the two sides: {"avx512 off", "avx512 on"}, {"2 threads", "1 thread"}. Models are called by
// what tells them apart from all `models` of the comparison (two where none are given).
struct VariantLabels {
  std::string variant, as_given;
};
VariantLabels LabelsOf(const Variant& variant, const ExperimentConfig& as_given,
                       const std::vector<std::filesystem::path>& models = {});

// The experiment that differs from `as_given` in what the variant says, but for its name and label.
ExperimentConfig Changed(const ExperimentConfig& as_given, const Variant& variant);

// The configuration of a profile: `as_given` and one experiment for each variant, paired. A variant that
// masks features is the baseline (off against on); any other is the candidate. The label of `as_given` is
// what all variants change ("avx512 on", "1 thread"); where they change different things, it is "all
// features" (of masks alone) or "default".
Config MakeProfileConfig(const ExperimentConfig& as_given, const std::vector<Variant>& variants);

}  // namespace etprof
