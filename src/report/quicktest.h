#pragma once

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/json/describe.h"

namespace etprof {

// A step of `etprof quick-test` on the way from a model to a report.
struct QuickTestStep {
  enum class State { kPassed, kFailed, kNotTried };
  std::string name;
  State state = State::kNotTried;
  double seconds = 0;
  std::string message;  // one line: the result, or the problem
  int exit_code = 0;    // if failed: exit code of the command, or 1

  static void Describe(auto& v) {
    v("name", &QuickTestStep::name, {.meaning = "the command"});
    v("state", &QuickTestStep::state, {.meaning = "what became of it"});
    v("seconds", &QuickTestStep::seconds, {.meaning = "that it took", .min = 0});
    v("said", &QuickTestStep::message, {.meaning = "what came of it, or what is wrong"});
  }
};
template <>
inline constexpr const char* kNames<QuickTestStep::State>[] = {"passed", "failed", "not tried"};

struct QuickTestResult {
  std::vector<QuickTestStep> steps;
  std::filesystem::path run;     // the results directory
  std::filesystem::path report;  // the report's HTML page
  std::filesystem::path log;     // log of all steps
  bool interrupted = false;

  // The step that failed; null: no step failed.
  const QuickTestStep* FindFailedStep() const {
    const auto failed = std::ranges::find(steps, QuickTestStep::State::kFailed, &QuickTestStep::state);
    return failed == steps.end() ? nullptr : &*failed;
  }
  bool Passed() const {  // whether all steps so far passed
    return std::ranges::count(steps, QuickTestStep::State::kPassed, &QuickTestStep::state) ==
           std::ssize(steps);
  }
  double Seconds() const {
    double seconds = 0;
    for (const QuickTestStep& step : steps) seconds += step.seconds;
    return seconds;
  }
  int exit_code() const {
    if (interrupted) return static_cast<int>(ExitCode::kInterrupted);
    return FindFailedStep() != nullptr ? FindFailedStep()->exit_code : static_cast<int>(ExitCode::kDone);
  }

  static void Describe(auto& v) {
    using R = QuickTestResult;
    DescribeSchemaVersion(v);
    v("passed", &R::Passed, {.meaning = "every step so far"});
    v("interrupted", &R::interrupted, {.meaning = "by Ctrl-C"});
    v("seconds", &R::Seconds, {.meaning = "of all steps", .min = 0});
    v("run", &R::run, {.meaning = "the results directory"});
    v("report", &R::report, {.meaning = "its page"});
    v("log", &R::log, {.meaning = "of all steps"});
    v("steps", &R::steps, {.meaning = "in order"});
  }
};

}  // namespace etprof
