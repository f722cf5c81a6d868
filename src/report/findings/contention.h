#pragma once

#include <optional>
#include <string>

#include "report/report.h"

namespace etprof {

// "12 of 1,960 runs of avx512 off and 900 of 1,960 of avx512 on had a processor whenever they wanted one".
std::string CleanText(const Comparison& comparison);

// What contention did to a pair, and what processor time says of it, where that is worth saying: a contended
// verdict, and a speedup of the processor time that differs from that of the wall time by more than its
// interval.
std::optional<Insight> FindContended(const Report& report, const ReportComparison& pair);
std::optional<Insight> FindCpuTime(const Report& report, const ReportComparison& pair);

}  // namespace etprof
