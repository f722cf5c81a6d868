#pragma once

#include <string>
#include <vector>

#include "measure/store/run_data.h"
#include "report/kernels/watched.h"
#include "say/document.h"

namespace etprof::say {

// An experiment is a section: what computed each operator, by what the runner saw called. Without a watched
// run (--watch) there is none.
std::vector<Section> SayProven(const std::vector<WatchedExperiment>& experiments);

// Why threads make an operator no faster: one clause; "": they do, or it is not known.
std::string CauseText(const ThreadUse& use);

// The same, of how the threads shared the operators: those with the most time first.
std::vector<Section> SayThreads(const std::vector<WatchedExperiment>& experiments);

}  // namespace etprof::say
