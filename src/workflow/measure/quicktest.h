#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "workflow/progress.h"

namespace etprof {

struct QuickTestOptions {
  std::filesystem::path folder;  // everything is left there
  std::string device = "local";  // as --device takes it
  std::filesystem::path model;   // empty: toy_cnn, exported, or stored where PyTorch is not installed
};

// One step of the way from a model to a report.
struct QuickTestStep {
  enum class State { kPassed, kFailed, kNotTried };
  std::string name;
  State state = State::kNotTried;
  double seconds = 0;
  std::string said;   // one line: what came of it, or what is wrong
  int exit_code = 0;  // where it failed: that of its command, or 1

  static void Describe(auto& v) {
    v("name", &QuickTestStep::name);
    v("state", &QuickTestStep::state);
    v("seconds", &QuickTestStep::seconds, {.least = 0});
    v("said", &QuickTestStep::said, {.meaning = "what came of it, or what is wrong"});
  }
};
template <>
inline constexpr NamedValue<QuickTestStep::State> kNames<QuickTestStep::State>[] = {
    {QuickTestStep::State::kPassed, "passed"},
    {QuickTestStep::State::kFailed, "failed"},
    {QuickTestStep::State::kNotTried, "not tried"}};

struct QuickTestResult {
  std::vector<QuickTestStep> steps;
  std::filesystem::path run;     // the results directory
  std::filesystem::path report;  // its page
  std::filesystem::path log;     // of all steps
  bool interrupted = false;
  bool Passed() const;  // every step so far
  double Seconds() const;
  int exit_code() const;

  static void Describe(auto& v) {
    using R = QuickTestResult;
    v.Constant("schema_version", 1);
    v("passed", &R::Passed);
    v("interrupted", &R::interrupted);
    v("seconds", &R::Seconds, {.least = 0});
    v("run", &R::run, {.meaning = "the results directory"});
    v("report", &R::report, {.meaning = "its page"});
    v("log", &R::log, {.meaning = "of all steps"});
    v("steps", &R::steps);
  }
};

// Takes a small model the whole way: export, run, analyze, report, validate, each by its own etprof as a user
// would type it, and looks at what each leaves. The first step that fails, or is interrupted in good order,
// ends it. Throws Error (kDeviceFailed) where the folder cannot be written.
class QuickTest {
 public:
  QuickTest(QuickTestOptions options, WorkflowProgress& progress);
  // Takes the next step; null: there is none.
  const QuickTestStep* Next();
  const QuickTestResult& result() const { return result_; }

 private:
  std::string Export();
  std::string Mask();
  std::string Measure();
  std::string Analyze();
  std::string Report();
  std::string Validate();
  void Etprof(std::vector<std::string> words);
  void Say(const std::string& line);

  const QuickTestOptions options_;
  WorkflowProgress& progress_;
  QuickTestResult result_;
  std::ofstream log_;
  std::filesystem::path model_;
};

}  // namespace etprof
