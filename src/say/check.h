#pragma once

#include <string>

#include "report/check.h"
#include "say/document.h"
#include "say/test_suite.h"

namespace etprof::say {

// A pair is a section: its checks, what moved, why something could not be checked.
Document SayCheck(const CheckReport& check);

// A pair is a case: one that fails is a failure, one that could not be measured an error, one that could not
// be decided is skipped, or a failure where the check requires a decision.
TestSuite TestSuiteOf(const CheckReport& check);

std::string ResultText(GateDecision decision);  // "PASS"
Tone ToneOf(GateDecision decision);
// A gate's headline, its result before `text`: "FAIL: 1 of 3 comparisons exceeds a limit".
Answer Headline(GateDecision decision, bool require_conclusive, bool error, const std::string& text);
// What a decision makes of a case: its outcome, and its type.
void Judge(GateDecision decision, bool require_conclusive, TestSuite::Case& of);
// "+4.87%", and with its bounds "+4.87% [+4.20%, +5.55%]". Relative.
std::string ChangeText(double change);
std::string ChangeText(double change, double low, double high);

}  // namespace etprof::say
