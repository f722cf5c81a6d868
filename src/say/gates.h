#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compare/gate.h"
#include "say/document.h"

namespace etprof {
struct Bisection;
struct CheckReport;
struct HistoryReport;
struct StaticCheck;
struct SuiteReport;
}  // namespace etprof

// What decides: a document, and a suite of tests for CI.
namespace etprof::say {

// What a gate found, as a suite of tests: what CI servers show.
struct TestSuite {
  enum class Outcome { kPassed, kFailure, kError, kSkipped };
  // A line of a model, as the export recorded the file, and what is said of it.
  struct Line {
    std::string file;
    int line = 0;  // from 1
    std::string text;
  };
  struct Case {
    std::string name;
    Outcome outcome = Outcome::kPassed;
    std::string type;              // of a failure or an error: one word for what went wrong
    std::string message;           // what decided, on one line
    std::string details;           // all of it, in lines
    std::vector<Line> lines = {};  // of the model, that made it fail
  };
  std::string command;                                          // of etprof: "check"
  std::string subject;                                          // the model; "": not known
  std::string timestamp;                                        // UTC, ISO 8601; "": not known
  double seconds = 0;                                           // that all cases took together
  std::vector<std::pair<std::string, std::string>> properties;  // those without a value are left out
  std::vector<Case> cases;
  std::vector<std::string> notes;
};

// A pair is a section: its checks, what moved, why something could not be checked.
Document SayCheck(const CheckReport& check);
// A pair is a case: one that fails is a failure, one that could not be measured an error, one that could not
// be decided is skipped, or a failure where the check requires a decision.
TestSuite TestSuiteOf(const CheckReport& check);

// A method is a section, and so is what is true of the whole file.
Document SayStaticCheck(const StaticCheck& check);
// A fact is a case: a failure, or skipped where it cannot be decided and the check does not require it.
TestSuite TestSuiteOf(const StaticCheck& check);

Document SaySuite(const SuiteReport& suite);
TestSuite TestSuiteOf(const SuiteReport& suite);

// A series is a section: where it stands, when it changed, run by run. `file`: the history's.
Document SayHistory(const HistoryReport& history, const std::string& file);
// The same as a gate: what changed, and what cannot be told.
Document SayHistoryCheck(const HistoryReport& history, const std::string& file, bool require_conclusive);
// A series is a case; one that was not slowed down but could not show it is skipped.
TestSuite TestSuiteOf(const HistoryReport& history, const std::string& file, bool require_conclusive);

Document SayBisection(const Bisection& bisection);

std::string ResultText(GateDecision decision);  // "PASS"
Tone ToneOf(GateDecision decision);
inline Cell ResultCell(GateDecision decision) { return {ResultText(decision), ToneOf(decision)}; }
// A gate's headline, its result before `text`: "FAIL: 1 of 3 comparisons exceeds a limit".
Answer Headline(GateDecision decision, bool require_conclusive, bool error, const std::string& text);
// How many of all came to what: "2 of 7 checks fail, 1 of 7 checks could not be decided"; the last result is
// told only where there is no other.
struct ResultCount {
  std::int64_t count;
  const char *one, *several;  // what it is called: "fails", "fail"
};
std::string ResultsText(const std::vector<ResultCount>& results, std::size_t all, const char* what);
// What a decision makes of a case: its outcome, and its type.
void Judge(GateDecision decision, bool require_conclusive, TestSuite::Case& of);
// "+4.87%", and with its bounds "+4.87% [+4.20%, +5.55%]". Relative.
std::string ChangeText(double change);
std::string ChangeText(double change, double low, double high);
// The same as a cell, with the change itself as the bound that is not known; Nothing without a change.
Cell ChangeCell(const std::optional<double>& change, const std::optional<double>& low,
                const std::optional<double>& high);

}  // namespace etprof::say
