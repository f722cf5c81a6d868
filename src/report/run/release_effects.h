#pragma once

#include <cstddef>
#include <optional>

#include "report/report.h"

namespace etprof {

// What the exporter and the runtime of a release change, for a pair of releases that each ran a program of
// their own: the main effects over both programs and both runtimes. Absent if the run does not have the other
// two combinations. `baseline` and `candidate` are indices into `report.experiments`.
std::optional<ReleaseEffects> FindReleaseEffects(const Report& report, std::size_t baseline,
                                                 std::size_t candidate);

}  // namespace etprof
