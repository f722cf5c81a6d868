#pragma once

#include <string>
#include <vector>

#include "protocol/peaks.h"

namespace etprof {

// As they are for some of a run's experiments.
struct PeaksEntry {
  std::vector<std::string> experiments;  // labels, ExperimentData::label
  protocol::Peaks roofs;                 // `cpus` as configured
};
struct Peaks {
  std::vector<PeaksEntry> entries;
};

}  // namespace etprof
