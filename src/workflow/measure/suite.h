#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "measure/config/suite_config.h"
#include "measure/store/suite_state.h"
#include "report/suite.h"
#include "say/document.h"
#include "workflow/measure/request.h"
#include "workflow/output.h"

namespace etprof {

struct SuiteOptions {
  std::string path;                  // the suite's file, or the folder of one that was measured
  std::vector<std::string> devices;  // of the suite, to measure on now; empty: all
  DeviceUse use;
  std::string output_root;
  std::optional<double> max_minutes, max_seconds, max_slowdown;
  bool require_conclusive = false;
  HistoryRequest history;

  static void Describe(auto& v) {
    using O = SuiteOptions;
    v("path", &O::path);
    v("device", &O::devices,
      {.meaning = "Measure only on this device of the suite. May be repeated",
       .one = true,
       .value = "DEVICE"});
    v.Flat(&O::use);
    v("output_root", &O::output_root,
      {.meaning = "Folder of the suite (default: the file's, or out_<its name>)", .value = "DIR"});
    v("max_minutes", &O::max_minutes,
      {.meaning = "Minutes to measure on each device (default: the file's, or as long as it takes)",
       .least = 0.01,
       .most = 1e5,
       .value = "MIN"});
    v("max_seconds", &O::max_seconds,
      {.meaning =
           "Time limit for each pair in seconds, which --max-minutes extends if time is left (default: the "
           "file's, or 60)",
       .least = 0.1,
       .most = 1e6,
       .value = "S"});
    v("max_slowdown", &O::max_slowdown,
      {.meaning = "Maximum allowed latency increase (default: the file's, or not checked)",
       .least = -1,
       .open = true,
       .percent = true});
    v("require_conclusive", &O::require_conclusive,
      {.meaning = "Fail if a limit is inconclusive (exit code 1 instead of 5)"});
    v.Flat(&O::history);
  }
};

// The suite that the file says, with what `options` say in its place. Throws as ReadSuite, and Error (kUsage)
// for a device that it has not.
SuiteConfig LoadSuite(const SuiteOptions& options);
// The devices that it is measured on now, in the order of WorkflowProgress's places.
std::vector<std::string> DevicesOf(const SuiteConfig& suite, const SuiteOptions& options);

// What a plan says of no cell: its tables.
say::Document EmptyPlan();
// The cells and how long each will take, once every device was asked what it is. Nothing is exported,
// measured, or written.
say::Document PlanSuite(const SuiteConfig& suite, const SuiteOptions& options, WorkflowProgress& progress);

struct SuiteOutcome {
  SuiteReport report;
  bool interrupted = false;         // what was measured is kept; there is no report
  std::vector<KeptInHistory> kept;  // of every cell that is measured
};

// Exports what is missing, then measures all cells that are not finished: the devices side by side, each in a
// thread of its own and used by this suite alone (Device::TakeTurn), cell by cell. What fails is the cell's
// reason. After all cells had their time, what is left of max_minutes goes to the least certain ones. Then
// analyzes every run, and writes suite_report.md, .html, and .json beside suite_state.json. Cells that were
// not in options.history are added there; one that was measured for another commit, and not anew since
// nothing of it changed, stays that one's. Throws Error where the folder cannot be written, or another etprof
// works in it, and as HistoryKeeper.
SuiteOutcome RunSuite(const SuiteConfig& suite, const SuiteOptions& options, WorkflowProgress& progress);

// Whether it is a suite's folder.
bool IsSuiteFolder(const std::string& path);
// Its suite_state.json; empty where there is none. Throws Error (kBadInput).
SuiteState ReadSuiteState(const std::filesystem::path& folder);
// A suite's folder as it is; nothing is measured, and nothing written. Throws Error (kBadInput) where it is
// none.
SuiteReport ReadSuiteFolder(const SuiteOptions& options, WorkflowProgress& progress);
// Writes suite_report.md, .html, and .json into `out`, a folder, or one of them as the file `out` (by its
// extension; else Markdown; "-": stdout). `out` empty: into the suite's folder. Returns what was written.
// Throws Error (kDeviceFailed).
std::vector<std::filesystem::path> WriteSuite(const SuiteReport& suite, const std::string& out,
                                              const Output& write = WriteNamedFile);

}  // namespace etprof
