#pragma once

#include <vector>

#include "isa/ladder.h"
#include "measure/config/config.h"

namespace etprof {

// The configuration of an ISA ladder: `as_given` at every level, the lowest first, at all of its numbers of
// threads. Compared are neighbors, and the lowest with the highest. An experiment is called as its level.
Config MakeLadderConfig(const ExperimentConfig& as_given, const std::vector<isa::Level>& levels);

// How long to measure a ladder unless told otherwise: as long for each level and number of threads as makes
// ten launches of a small model, at least a minute.
double DefaultLadderSeconds(const Config& config);

}  // namespace etprof
