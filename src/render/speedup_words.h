#pragma once

#include <string>

#include "report/report.h"

namespace etprof {

// "Of 1.62x in 32 compute-bound operators (68% of avx512 off), 1.86x is peak performance (fp32) and 0.87x is
// worse use of it (55% to 48% of peak).": ReportComparison::factors as a sentence, "" where there are none.
// Plain text: escaping is the renderer's.
std::string FactorsText(const ReportComparison& pair);

}  // namespace etprof
