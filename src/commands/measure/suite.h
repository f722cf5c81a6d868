#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "commands/measurement/request.h"
#include "commands/terminal/output.h"
#include "measure/config/suite_config.h"
#include "measure/store/suite_state.h"
#include "report/suite/suite.h"

namespace etprof {

struct SuiteOptions : DeviceOptions {
  std::string path;                  // the suite's file, or the folder of a measured suite
  std::vector<std::string> devices;  // devices of the suite to measure on; empty: all
  std::string output_root;
  std::optional<double> max_minutes, max_seconds, max_slowdown;
  bool require_conclusive = false;
  HistoryRequest history;

  static void Describe(auto& v) {
    using O = SuiteOptions;
    v("path", &O::path);
    v("device", &O::devices,
      {.meaning = "Measure only on this device of the suite. May be repeated",
       .or_single = true,
       .value = "DEVICE"});
    DeviceOptions::Describe(v);
    v("output_root", &O::output_root,
      {.meaning = "Folder of the suite (default: the file's, or out_<its name>)", .value = "DIR"});
    v("max_minutes", &O::max_minutes,
      NumberOption("Minutes to measure on each device (default: the file's, or as long as it takes)", 0.01,
                   1e5, "MIN"));
    v("max_seconds", &O::max_seconds,
      NumberOption(
          "Time limit for each pair in seconds, which --max-minutes extends if time is left (default: the "
          "file's, or 60)",
          0.1, 1e6, "S"));
    v("max_slowdown", &O::max_slowdown,
      {.meaning = "Maximum allowed latency increase (default: the file's, or not checked)",
       .min = -1,
       .exclusive = true,
       .percent = true});
    v("require_conclusive", &O::require_conclusive,
      {.meaning = "Fail if a limit is inconclusive (exit code 1 instead of 5)"});
    v.Flat(&O::history);
  }
};

// Reads the suite's file and applies the overrides of `options`. Throws as ReadSuite, and Error (kUsage) for
// a device that is not in the suite.
SuiteConfig LoadSuite(const SuiteOptions& options);
// The devices to measure on, in the order of WorkflowProgress's device indexes.
std::vector<std::string> SelectedDevices(const SuiteConfig& suite, const SuiteOptions& options);

struct SuiteOutcome {
  SuiteReport report;
  bool interrupted = false;                    // the measured cells are stored; there is no report
  std::vector<HistoryUpdate> history_updates;  // one for each measured cell
};

// Exports the missing programs, then measures all unfinished cells. The devices measure in parallel, each in
// its own thread; a device is locked while one of its cells is measured (DeviceLock). If a cell fails, its
// `reason` says why. After all cells had their time, the rest of max_minutes goes to the cells with the
// widest intervals. Then analyzes every run, and writes suite_report.md, .html, and .json next to
// suite_state.json. Cells are added to options.history. If the history already has a cell, since nothing
// changed after an earlier commit, it stays with that commit. Throws Error if the folder cannot be written or
// is in use by another etprof, and as HistoryRecorder.
SuiteOutcome RunSuite(const SuiteConfig& suite, const SuiteOptions& options, WorkflowProgress& progress);

// True if `path` is the folder of a suite.
bool IsSuiteFolder(const std::string& path);
// Reads suite_state.json; returns an empty state if there is none. Throws Error (kBadInput).
SuiteState ReadSuiteState(const std::filesystem::path& folder);
// Reads the results in a suite's folder without measuring or writing. Throws Error (kBadInput) if it is not a
// suite's folder.
SuiteReport ReadSuiteFolder(const SuiteOptions& options, WorkflowProgress& progress);
// Writes suite_report.md, .html, and .json into `out`, a folder, or one of them as the file `out` (the
// extension decides the format, default Markdown; "-": stdout). If `out` is empty, writes into the suite's
// folder. Returns the written files. Throws Error (kDeviceFailed).
std::vector<std::filesystem::path> WriteSuite(const SuiteReport& suite, const std::string& out,
                                              const FileWriter& write = WriteOutputRejectingStdout);

}  // namespace etprof
