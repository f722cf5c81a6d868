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
// rate: a setting is as good if the interval lies within `margin`, and better if the interval excludes 1. So
// ties and undecided settings stay on the frontier. SQNR has no interval: it is compared for each input with
// which both exports were checked, and differs if it differs by more than 1 dB for all of these inputs. The
// SQNR of one program is equal in all settings. An unknown value is neither as good as another value nor
// better.
void FindFrontier(SuiteReport& suite, double false_discovery_rate, double margin);

// The maximum number of settings of a frontier that are measured again. The fastest settings are chosen.
inline constexpr std::size_t kMaxConfirmedSettings = 4;

// Makes one cell for each frontier that is measured again. Its baseline is the unmodified model of the first
// of `cells` with this model and device, and its variants are the fastest other settings of the frontier. A
// frontier without other settings gets no cell.
std::vector<SuiteCell> PlanConfirmations(const SuiteConfig& suite, const std::vector<SuiteCell>& cells,
                                         const SuiteReport& report);

// Finds the fastest setting of each confirmation, and the settings tied with it, only from the
// launches of the confirmation.
void DecideConfirmations(SuiteReport& suite, double false_discovery_rate, double margin);

}  // namespace etprof
