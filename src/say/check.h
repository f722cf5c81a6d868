#pragma once

#include <string>
#include <vector>

#include "report/check.h"
#include "say/document.h"

namespace etprof::say {

// A pair is a section: its checks, what moved, why something could not be checked.
Document SayCheck(const CheckReport& check);

// What single results are called, for JUnit, whose cases are the pairs.
std::string ResultText(GateDecision decision);
std::string ResultText(const CheckPair& pair);
// "latency: 4.31 ms -> 4.52 ms, +4.87 % [+4.20, +5.55] %, allowed +2 %: FAIL (why not)"
std::string ItemLine(const CheckItem& item);
// Operators that pass are counted, not listed: they are many.
bool IsListed(const CheckItem& item);
std::string PassingOperators(const CheckPair& pair);  // "12 operators pass"; "": none
// The operators that moved, one a line, then what only one side has.
std::vector<std::string> MovedLines(const CheckPair& pair);
// "10 launches, paired"
std::string PairingText(const CheckPair& pair);
// "FAIL: 1 of 3 comparisons exceeds a limit, 1 of 3 comparisons could not be decided".
std::string Conclusion(const CheckReport& check);
// "+4.87 %", and with its bounds "+4.87 % [+4.20, +5.55] %". Relative.
std::string ChangeText(double change);
std::string ChangeText(double change, double low, double high);

}  // namespace etprof::say
