#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "report/quicktest.h"
#include "workflow/measure/device.h"
#include "workflow/progress.h"

namespace etprof {

struct QuickTestOptions {
  std::string outdir = "out_quick_test", device = "local";
  std::string model;  // empty: toy_cnn, exported, or stored where PyTorch is not installed

  static void Describe(auto& v) {
    using O = QuickTestOptions;
    v("outdir", &O::outdir, {.meaning = "Folder for everything (default: out_quick_test)", .value = "DIR"});
    v("model", &O::model, {.meaning = "Program to use instead of exporting toy_cnn", .value = "MODEL.pte"});
    v("device", &O::device, {.meaning = kDeviceHelp, .value = "DEVICE"});
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
  const std::filesystem::path folder_;
  QuickTestResult result_;
  std::ofstream log_;
  std::filesystem::path model_;
};

}  // namespace etprof
