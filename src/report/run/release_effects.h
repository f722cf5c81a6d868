#pragma once

#include <cstddef>
#include <optional>

#include "report/report.h"

namespace etprof {

// Finds the effects of the exporter and of the runtime for a pair of releases that each ran its own export:
// the main effects over both programs and both runtimes. Absent if the run does not have the other two
// combinations. `baseline` and `candidate` are indices into `report.experiments`.
std::optional<ReleaseEffects> FindReleaseEffects(const Report& report, std::size_t baseline,
                                                 std::size_t candidate);

}  // namespace etprof
