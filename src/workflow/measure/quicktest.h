#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "report/quicktest.h"
#include "workflow/progress.h"

namespace etprof {

struct QuickTestOptions {
  std::filesystem::path folder;  // everything is left there
  std::string device = "local";  // as --device takes it
  std::filesystem::path model;   // empty: toy_cnn, exported, or stored where PyTorch is not installed
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
