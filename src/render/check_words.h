#pragma once

#include <string>
#include <vector>

#include "report/check.h"

// The words that all forms of a check's result share. Plain text: escaping is the renderer's.
namespace etprof::check {

// "+2 %", "+10.0 %", "-3.21 %".
std::string GrowthText(double growth);
// "[+9.12, +10.9] %"; empty where there is none. A bound that is beyond any number is "∞".
std::string BoundsText(double low, double high);
// "+10.0 % [+9.1, +10.9] %", or "—".
std::string ChangeText(const CheckItem& item);
std::string ValueText(CheckItem::Kind kind, const std::optional<double>& value);  // "1.10 ms", "12.3 MB", "—"

// "pass", "FAIL", "inconclusive", "error".
std::string ResultText(GateDecision decision);
std::string ResultText(const CheckPair& pair);

// Whether it stands in the tables: all but the operators that pass.
bool IsShown(const CheckItem& item);
// "7 operators pass"; empty where none was checked or none passes.
std::string PassingOperators(const CheckPair& pair);

// "Convolution (NHWC, F32) IGEMM #1: 1.00 ms -> 4.00 ms, +300 % [+299, +301] %": at most `most`, then "and 3
// more", then what only one side has.
std::vector<std::string> MovedLines(const CheckPair& pair, std::size_t most);

// "latency: 1.00 ms -> 1.10 ms, +10.0 % [+9.1, +10.9] %, allowed +2 %: FAIL (why not)".
std::string ItemLine(const CheckItem& item);

// One line: "FAIL: 1 of 2 pairs is certainly beyond its limits".
std::string Conclusion(const CheckReport& check);

// How the launches were paired: "10 launches, paired", "not paired".
std::string PairingText(const CheckPair& pair);

}  // namespace etprof::check
