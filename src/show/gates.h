#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profile/compare/gate.h"
#include "show/document.h"

namespace etprof {
struct Bisection;
struct CheckReport;
struct HistoryReport;
struct StaticCheck;
struct SuiteReport;
}  // namespace etprof

// Documents of gates, and their test suites for CI.
namespace etprof::show {

// The result of a gate as a test suite, which CI servers show.
struct TestSuite {
  enum class Outcome { kPassed, kFailure, kError, kSkipped };
  // A line of the model's source, with the file name as the export recorded it, and a message.
  struct Line {
    std::string file;
    int line = 0;  // from 1
    std::string text;
  };
  struct Case {
    std::string name;
    Outcome outcome = Outcome::kPassed;
    std::string type;              // one word for the reason of a failure or an error
    std::string message;           // the reason, in one line
    std::string details;           // the full explanation, in several lines
    std::vector<Line> lines = {};  // lines of the model that caused the failure
  };
  std::string command = {};    // etprof's command: "check"
  std::string subject = {};    // the model; "": unknown
  std::string timestamp = {};  // UTC, ISO 8601; "": unknown
  double seconds = 0;          // duration of all cases together
  std::vector<std::pair<std::string, std::string>> properties =
      {};  // properties without a value are left out
  std::vector<Case> cases = {};
  std::vector<std::string> notes = {};
};

// One section per pair: its checks, the operators that changed, and why checks are inconclusive.
Document MakeCheckDocument(const CheckReport& check);
// One case per pair. A failed pair is a failure, and a pair that could not be measured is an error. An
// undecided pair is skipped, or a failure if the check requires a decision.
TestSuite MakeTestSuite(const CheckReport& check);

// One section per method, and one for the whole file.
Document MakeStaticCheckDocument(const StaticCheck& check);
// One case per fact: a failure, or skipped if it is undecided and the check does not require a decision.
TestSuite MakeTestSuite(const StaticCheck& check);

Document MakeSuiteDocument(const SuiteReport& suite);
TestSuite MakeTestSuite(const SuiteReport& suite);

// One section per series: its state, its changes, and its runs. `file` is the history's file.
Document MakeHistoryDocument(const HistoryReport& history, const std::string& file);
// The history as a gate: changes, and undecided series.
Document MakeHistoryCheckDocument(const HistoryReport& history, const std::string& file,
                                  bool require_conclusive);
// One case per series. A series without a slowdown is skipped if its noise could hide one.
TestSuite MakeTestSuite(const HistoryReport& history, const std::string& file, bool require_conclusive);

Document MakeBisectionDocument(const Bisection& bisection);

std::string ResultText(GateDecision decision);  // "PASS"
Tone GetTone(GateDecision decision);
inline Cell ResultCell(GateDecision decision) { return {ResultText(decision), GetTone(decision)}; }
// A gate's headline: its result, then `text`: "FAIL: 1 of 3 comparisons exceeds a limit".
Answer Headline(GateDecision decision, bool require_conclusive, bool has_error, const std::string& text);
struct ResultCount {
  std::int64_t count;
  const char *singular, *plural;  // the verb phrase of the result: "fails", "fail"
};
// The counts of the results: "2 of 7 checks fail, 1 of 7 checks could not be decided". The last result is
// mentioned only if all other counts are 0.
std::string CountedResultsText(const std::vector<ResultCount>& results, std::size_t total, const char* noun);
// Sets the outcome and the type of a test case.
void SetCaseResult(GateDecision decision, bool require_conclusive, TestSuite::Case& test_case);
// A relative change: "+4.87%", or with bounds "+4.87% [+4.20%, +5.55%]".
std::string ChangeText(double change);
std::string ChangeText(double change, double low, double high);
// The change as a cell; an absent bound is replaced by the change itself. Nothing if there is no change.
Cell ChangeCell(const std::optional<double>& change, const std::optional<double>& low,
                const std::optional<double>& high);

}  // namespace etprof::show
