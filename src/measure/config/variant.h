#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "isa/ladder.h"
#include "measure/config/config.h"

namespace etprof {

// A variant of a model as in `etprof profile --vs SPEC`: the settings that differ from those of the base
// experiment. Example: "isa=-avx2,-fma,threads=2". The keys are isa, threads, cpus, period, runner, model,
// executorch, env, and label. A comma separates keys if a key follows; otherwise it belongs to the value, so
// that masks and CPU lists need no quotes.
struct Variant {
  std::optional<std::string> isa, cpus, executorch, label;
  std::optional<int> threads;
  std::optional<Nanoseconds> period;
  std::optional<std::filesystem::path> runner, model;
  std::optional<std::pair<std::string, std::string>> env;  // an environment variable of the runner

  bool operator==(const Variant&) const = default;
};
// Relative paths are resolved as by ResolvePath with `folder`. Throws Error (kUsage) for an unknown key (with
// a suggestion), a key without a value, or an invalid value.
Variant ParseVariant(const std::string& spec, const std::filesystem::path& folder = {});

// The labels of the variant and of the base experiment: {"avx512 off", "avx512 on"}, {"2 threads", "1
// thread"}. Models are named by what distinguishes them among all `models` of the comparison (empty: the two
// models).
struct VariantLabels {
  std::string variant, base;
};
VariantLabels MakeVariantLabels(const Variant& variant, const ExperimentConfig& base_experiment,
                                const std::vector<std::filesystem::path>& models = {});

// Applies the variant to `base_experiment`, except for its name and label.
ExperimentConfig ApplyVariant(const ExperimentConfig& base_experiment, const Variant& variant);

// Makes the configuration of a profile: `base_experiment` and one experiment for each variant, paired. A
// variant that masks features is the baseline (off compared with on); other variants are candidates. The
// label of `base_experiment` is the setting that all variants change ("avx512 on", "1 thread"); if they
// change different settings, it is "all features" (if all only have masks) or "default".
Config MakeProfileConfig(const ExperimentConfig& base_experiment, const std::vector<Variant>& variants);

// Makes the configuration of an ISA ladder: `base_experiment` at every level, lowest first, with all its
// numbers of threads. Pairs are neighboring levels, and the lowest with the highest level. Experiments have
// the names of their levels.
Config MakeLadderConfig(const ExperimentConfig& base_experiment, const std::vector<isa::Level>& levels);

// A program that an ExecuTorch release exported.
struct ReleaseProgram {
  std::filesystem::path path;
  std::string sha256;
};

// Makes the configuration that compares ExecuTorch releases: `base_experiment` with the libraries of each
// release, with all its numbers of threads. Pairs are releases that follow each other in `versions`.
//
// With `programs`, which are the exports of these releases, each release runs its own export. If the exports
// of two consecutive releases differ, each of the two also runs the export of the other, and both of these
// runs are compared with the newer release on its own export.
Config MakeVersionsConfig(const ExperimentConfig& base_experiment, const std::vector<std::string>& versions,
                          const std::vector<ReleaseProgram>& programs = {});

// The default time limit for a ladder: for each level and number of threads, the time of ten launches of a
// small model; at least a minute.
double DefaultLadderSeconds(const Config& config);

}  // namespace etprof
