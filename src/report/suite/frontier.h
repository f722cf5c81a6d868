#pragma once

#include <vector>

#include "measure/config/suite_config.h"
#include "report/suite/suite.h"

namespace etprof {

// Decides for each setting of the suite whether it is on the Pareto frontier of its model on its device, over
// latency, SQNR, and peak memory. A setting is dominated if another is as good or better in all three, and
// measurably better in one.
//
// Latency and memory are compared by the intervals of all pairs, adjusted together for the false discovery
// rate: "as good" is an interval within `margin`, "better" one beyond 1. So ties and what is not decided stay
// on the frontier. SQNR has no interval: it is compared input by input, on those that both exports were
// checked with, and differs if it differs by more than 1 dB on all of them. A program equals itself. A value
// that is not known is neither as good as another nor better.
void FindFrontier(SuiteReport& suite, double false_discovery, double margin);

// At most so many settings of a frontier are measured again: the fastest.
inline constexpr std::size_t kMaxConfirmed = 4;

// The cells that measure each frontier again, the first of the `cells` of its model and device as it is, and
// the fastest other settings of the frontier as its variants. Nothing for a frontier without others.
std::vector<SuiteCell> PlanConfirmations(const SuiteConfig& suite, const std::vector<SuiteCell>& cells,
                                         const SuiteReport& report);

// Finds the fastest setting of each confirmation, and those tied with it, from its launches alone.
void DecideConfirmations(SuiteReport& suite, double false_discovery, double margin);

}  // namespace etprof
