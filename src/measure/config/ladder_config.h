#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "isa/ladder.h"
#include "measure/config/config.h"

namespace etprof {

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
