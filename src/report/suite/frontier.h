#pragma once

#include <vector>

#include "measure/config/suite_config.h"
#include "report/suite/suite.h"

namespace etprof {

// Decides for each setting of the suite whether it is on the Pareto frontier of its model on its device, over
// latency, SQNR, and peak memory. A setting is dominated if another setting is as good or better in
// all three, and measurably better in at least one.
//
// Latency and memory are compared by the intervals of all pairs, adjusted together for the false discovery
// rate: "as good" is an interval within `margin`, "better" one beyond 1. So ties and undecided settings stay
// on the frontier. SQNR has no interval: it is compared input by input, on those that both exports were
// checked with, and differs if it differs by more than 1 dB on all of them. A program equals itself. An
// unknown value is neither as good as any other value nor better.
void FindFrontier(SuiteReport& suite, double false_discovery, double margin);

// The maximum number of settings of a frontier that are measured again: the fastest.
inline constexpr std::size_t kMaxConfirmed = 4;

// Plans one cell per frontier to measure it again: the first of the `cells` of its model and device, with the
// fastest other settings of the frontier as variants. A frontier without other settings has no cell.
std::vector<SuiteCell> PlanConfirmations(const SuiteConfig& suite, const std::vector<SuiteCell>& cells,
                                         const SuiteReport& report);

// Finds the fastest setting of each confirmation, and the settings tied with it, only from the
// launches of the confirmation.
void DecideConfirmations(SuiteReport& suite, double false_discovery, double margin);

}  // namespace etprof
