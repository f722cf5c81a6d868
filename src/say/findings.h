#pragma once

#include <string>
#include <vector>

#include "report/report.h"

namespace etprof::say {

// A finding in words, plain text.
struct FindingWords {
  std::string text;                   // one or two sentences, with its numbers and their units
  std::vector<std::string> evidence;  // "Transpose (ND, X32): 14 operators, 0.62 ms"
  std::string formula;                // how its numbers come about
};

// `insight` is one of the report's.
FindingWords SayFinding(const Report& report, const Insight& insight);

}  // namespace etprof::say
