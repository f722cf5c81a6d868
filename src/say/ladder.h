#pragma once

#include <vector>

#include "report/report.h"
#include "say/document.h"

// Of a report that has a ladder.
namespace etprof::say {

// What its levels change, and which setting is the fastest.
std::vector<Answer> LadderAnswers(const Report& report);

// What a screen shows of it, then every number of threads by itself.
std::vector<Section> SayLadder(const Report& report);

}  // namespace etprof::say
