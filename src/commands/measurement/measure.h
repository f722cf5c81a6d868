#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "commands/measurement/request.h"
#include "core/error.h"
#include "device/tool.h"
#include "measure/config/variant.h"
#include "measure/measure.h"
#include "measure/store/run_data.h"
#include "report/devices.h"
#include "report/ladder/ladder.h"
#include "report/report.h"
#include "show/document.h"

namespace etprof {

// A measurement on one device.
struct MeasureJob {
  std::string device;  // as --device takes it
  // Makes the configuration when the device's properties are known; with several devices, in the thread of
  // the device. Its output_root is the results directory, or with several devices the folder that holds them.
  std::function<Config(Device&, const DeviceProperties&)> configure;
  // For a configuration on several devices: the folder of the results directories, known before the
  // devices are opened.
  std::filesystem::path folder = {};
};
struct MeasureJobs {
  std::vector<MeasureJob> jobs;
  bool several_devices = false;  // each device has its own results directory, even if one is selected
  std::string description = {};  // as DeviceLock's `description`
};

// Options of `etprof profile`: a model, as it is or compared with variants.
struct ProfileOptions : MeasureRequest {
  std::string model;
  // Specs for ParseVariant; empty: on a device with SME2, a variant without SME2.
  std::vector<std::string> vs;
  // Relative paths in `vs` that do not exist in the current folder are resolved in this folder.
  std::filesystem::path vs_folder;

  static void Describe(auto& v) {
    v("model", &ProfileOptions::model);
    v("vs", &ProfileOptions::vs, {.or_single = true});
    DescribeBasicOptions(v);
    DescribePrecision(v);
    DescribeModel(v);
    DescribeMeasurementKinds(v);
    DescribeHistory(v);
  }
};
// Options of `etprof run`: the experiments of a configuration file.
struct RunOptions : MeasureRequest {
  std::string config;                         // path of the configuration
  std::string text;                           // contents of the configuration, used instead of the file
  std::vector<std::string> only_experiments;  // names of experiments; empty: all

  static void Describe(auto& v) {
    v("config", &RunOptions::config);
    v("text", &RunOptions::text);
    v("only", &RunOptions::only_experiments,
      {.meaning = "measure these experiments only", .or_single = true});
    DescribeBasicOptions(v);
    DescribeMeasurementKinds(v);
    DescribeHistory(v);
  }
};
// Options of `etprof isa`: a model at every feature level of the CPU.
struct LadderOptions : MeasureRequest {
  std::string model;

  static void Describe(auto& v) {
    v("model", &LadderOptions::model);
    DescribeBasicOptions(v);
    DescribePrecision(v);
    DescribeModel(v);
    DescribeHistory(v);
  }
};
// Options of `etprof versions`: a model with several ExecuTorch releases.
struct VersionsOptions : MeasureRequest {
  std::string model;                          // a .pte, or what `etprof export --model` takes
  std::vector<std::string> versions;          // releases or wheels; empty: VerifiedReleases
  std::string dtype, backend;                 // for the exports; empty: the exporter's default
  std::vector<ReleaseProgram> programs = {};  // the exports by version; empty: the model is a .pte

  std::vector<std::string> Versions() const;
  bool ExportsModel() const;  // each release exports the model, which is not a .pte
  // Throws Error (kUsage) for invalid versions and export options.
  void RequireValid() const;

  static void Describe(auto& v) {
    v("model", &VersionsOptions::model);
    v("dtype", &VersionsOptions::dtype,
      {.meaning = "Data type of the exports, as in `etprof export` (default: fp32)", .value = "TYPE"});
    v("backend", &VersionsOptions::backend,
      {.meaning = "Backend of the exports, as in `etprof export` (default: xnnpack)"});
    v("versions", &VersionsOptions::versions,
      {.meaning =
           "ExecuTorch releases, or wheels (FILE.whl), each compared with the one before it (default: all "
           "releases that were verified)",
       .or_single = true,
       .value = "V,.."});
    DescribeBasicOptions(v);
    DescribePrecision(v);
    DescribeModel(v);
    DescribeMeasurementKinds(v);
    DescribeHistory(v);
  }
};
// Throws Error (kUsage) if a variant is given twice, or has a number of threads besides several
// `numbers_of_threads`, and as ParseVariant.
void RequireValidVariants(const std::vector<std::string>& vs, std::size_t numbers_of_threads);
// The variants of --vs. By default, a device with SME2 is measured with and without it.
std::vector<Variant> MakeVariants(const std::vector<std::string>& vs, const DeviceProperties& device,
                                  const std::filesystem::path& folder = {});

// Runs `etprof export` with these options. Throws Error (kInterrupted, and as RunTool).
ToolResult RunExport(const std::vector<std::string>& options, const WorkflowProgress& progress);
// Returns the reason why an export failed.
std::string ExportFailure(const ToolResult& result);
// Sets `programs` if the model is not a .pte: exports it with each release. Throws Error (kUsage as
// RequireValid, kDeviceFailed for a release that cannot export it, kInterrupted).
void ExportWithReleases(VersionsOptions& options, WorkflowProgress& progress);

// Makes the jobs of a command. Throws Error (kUsage, kBadInput) for options that are invalid on every device.
MeasureJobs MakeJobs(const ProfileOptions& options);
MeasureJobs MakeJobs(const RunOptions& options);
MeasureJobs MakeJobs(const LadderOptions& options);
MeasureJobs MakeJobs(const VersionsOptions& options);

// State and result of the measurement on one device.
struct DeviceMeasurement {
  std::string device;
  DeviceProperties properties;
  Config config;  // its output_root is the results directory
  std::optional<RunData> run;
  std::optional<Error> error;
  bool measured = false;         // this call has written a results directory
  HistoryUpdate history_update;  // the result of adding the finished measurement to a history

  bool Interrupted() const;
};

// Measures on all devices in parallel, each in its own thread from the first connection to the last. With
// `dry_run` everything is checked and configured, but nothing is measured. If one of several devices fails,
// its `error` is set and the others go on; the error is thrown if there is only one device, or if all devices
// fail for the same reason before measuring. After Ctrl-C every device keeps what was measured. Completed
// runs are added to the history that `request` names. Throws as HistoryRecorder.
std::vector<DeviceMeasurement> MeasureOnDevices(const MeasureJobs& jobs, const MeasureRequest& request,
                                                bool dry_run, WorkflowProgress& progress);

// The plan of a measurement on the devices that could be configured (MeasureOnDevices with dry_run): what
// would be measured, and how long it takes. As a document, and as JSON (docs/schema/dry_run.schema.json).
show::Document MakePlanDocument(const std::vector<DeviceMeasurement>& devices, const MeasureRequest& request);
nlohmann::ordered_json PlanJson(const std::vector<DeviceMeasurement>& devices, const MeasureRequest& request);
nlohmann::ordered_json DryRunSchema();

// Finds the results directories of the last measurement. If there are several devices, no device is
// contacted. A device without a results directory has an `error` (kBadInput).
std::vector<DeviceMeasurement> FindStoredRuns(const MeasureJobs& jobs, const MeasureRequest& request,
                                              WorkflowProgress& progress);

// Throws Error (kBadInput) for a program with external weights if no .ptd is given, or if the .ptd lacks
// these weights. Reads the programs, so call it once before measuring.
void CheckExternalData(const Config& config);

// Measures `config` on an open device after acquiring `lock`, which stays acquired. First sets the libraries
// of ExecuTorch releases in `config`, unless they are set. `config`, `request`, and `progress` override the
// corresponding members of `options`.
RunData MeasureConfig(Config& config, DeviceLock& lock, const MeasureRequest& request,
                      WorkflowProgress& progress, MeasureOptions options);

// A problem of a measurement on a device.
struct DeviceProblem {
  std::string device;  // "" if the measurement has a single device
  Error error;
};

// The result of a command that measures, for the command line and for Python.
struct FinishedMeasurement {
  std::optional<Report> report;                 // report of a single device; absent: nothing was measured
  std::optional<DevicesReport> devices_report;  // report of several devices; absent: no run could be analyzed
  std::filesystem::path devices_folder;         // the folder of devices_report
  std::vector<DeviceProblem> problems;

  // Returns kDone without problems, the exit code of the problems if all have the same, else kDeviceFailed.
  ExitCode exit_code() const;
};

// Returns an error for each experiment of `run` that failed, or whose sustained run ended early.
std::vector<Error> FindFailedExperiments(const RunData& run);

// Returns the devices that could not be measured, and the experiments that failed. `several_devices` is
// MeasureJobs::several_devices.
std::vector<DeviceProblem> FindProblems(const std::vector<DeviceMeasurement>& devices, bool several_devices);

// Analyzes the results directories of a measurement that was not interrupted (or of FindStoredRuns), and
// writes the reports. A run that was resumed is also validated. Failed lower levels are part of the result
// of a ladder, not a problem. Throws as AnalyzeRunDirectory if there is a single device.
FinishedMeasurement FinishMeasurement(const std::vector<DeviceMeasurement>& devices, bool several_devices,
                                      bool resumed);

}  // namespace etprof
