#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "commands/measurement/device.h"
#include "commands/terminal/progress.h"
#include "report/quicktest.h"

namespace etprof {

struct QuickTestOptions {
  std::string outdir = "out_quick_test", device = "local";
  std::string model;  // empty: export toy_cnn, or use a stored one if PyTorch is not installed

  static void Describe(auto& v) {
    using O = QuickTestOptions;
    v("outdir", &O::outdir, {.meaning = "Folder for everything (default: out_quick_test)", .value = "DIR"});
    v("model", &O::model, {.meaning = "Program to use instead of exporting toy_cnn", .value = "MODEL.pte"});
    v("device", &O::device, {.meaning = kDeviceHelp, .value = "DEVICE"});
  }
};

// Runs the whole workflow with a small model: export, run, analyze, report, validate. Each step is an etprof
// command as a user would type it, and its output files are checked. The first step that fails or is
// interrupted ends the test. Throws Error (kDeviceFailed) if the folder cannot be written.
class QuickTest {
 public:
  QuickTest(QuickTestOptions options, WorkflowProgress& progress);
  // Runs the next step; null: all steps are done.
  const QuickTestStep* Next();
  const QuickTestResult& result() const { return result_; }

 private:
  std::string Export();
  std::string ChooseIsaMask();
  std::string Measure();
  std::string Analyze();
  std::string Report();
  std::string Validate();
  void RunEtprof(std::vector<std::string> arguments);

  const QuickTestOptions options_;
  WorkflowProgress& progress_;
  const std::filesystem::path folder_;
  QuickTestResult result_;
  std::ofstream log_;
  std::filesystem::path model_;
};

}  // namespace etprof
