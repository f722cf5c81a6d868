#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "measure/measure.h"
#include "measure/store/run_data.h"
#include "report/devices.h"
#include "report/ladder/ladder.h"
#include "workflow/measure/request.h"
#include "workflow/measure/turn.h"

namespace etprof {

// What is to be measured on one device.
struct MeasureJob {
  std::string device;  // as --device takes it
  // The configuration, made when it is known what the device is; of several devices in that device's thread.
  // Its output_root is the results directory; of several devices the folder that holds them.
  std::function<Config(Device&, const DeviceProperties&)> configure;
  // Of a configuration on several devices: that folder, before any device is known.
  std::filesystem::path folder = {};
};
struct MeasureJobs {
  std::vector<MeasureJob> jobs;
  bool several =
      false;  // devices with a results directory of their own each, however few of them are asked for
  std::string what = {};  // as of DeviceTurn
};

// A model, as it is or against variants.
struct ProfileOptions {
  MeasureRequest measure;
  std::string model;
  std::vector<std::string> vs;  // as ParseVariant; empty: on a device with SME2, without it

  static void Describe(auto& v) {
    v("model", &ProfileOptions::model);
    v("vs", &ProfileOptions::vs, {.one = true});
    MeasureRequest::DescribeUsual(v);
    MeasureRequest::DescribePrecision(v);
    MeasureRequest::DescribeModel(v);
    MeasureRequest::DescribeKind(v);
    MeasureRequest::DescribeHistory(v);
  }
};
// The experiments of a configuration file.
struct RunOptions {
  MeasureRequest measure;
  std::string config;             // its file
  std::string text;               // what would stand there, instead of a file
  std::vector<std::string> only;  // experiments; empty: all

  static void Describe(auto& v) {
    v("config", &RunOptions::config);
    v("text", &RunOptions::text);
    v("only", &RunOptions::only, {.meaning = "measure these experiments only", .one = true});
    MeasureRequest::DescribeUsual(v);
    MeasureRequest::DescribeKind(v);
    MeasureRequest::DescribeHistory(v);
  }
};
// A model at every feature level of the CPU.
struct LadderOptions {
  MeasureRequest measure;
  std::string model;

  static void Describe(auto& v) {
    v("model", &LadderOptions::model);
    MeasureRequest::DescribeUsual(v);
    MeasureRequest::DescribePrecision(v);
    MeasureRequest::DescribeModel(v);
    MeasureRequest::DescribeHistory(v);
  }
};
// What they are to measure. Throws Error (kUsage, kBadInput) for what is known to be wrong before there is a
// device.
MeasureJobs JobsOf(const ProfileOptions& options);
MeasureJobs JobsOf(const RunOptions& options);
MeasureJobs JobsOf(const LadderOptions& options);

// How far one device got.
struct Measured {
  std::string device;
  DeviceProperties properties;
  std::string platform;
  Config config;  // its output_root is the results directory
  std::optional<RunData> run;
  std::optional<Error> error;
  bool measured = false;  // there is a results directory of this time
  KeptInHistory kept;     // of a measurement that came to its end

  bool Interrupted() const;
};

// Measures on every device, side by side, each in a thread of its own from the first connection to the last.
// With `dry_run` all is checked and configured, and nothing measured. What fails on one of several devices is
// its `error` and does not stop the others; where none got as far as measuring, and all for one reason, and
// on a single device, it is thrown. After Ctrl-C what was measured is kept on every device. Runs that came to
// their end are added to the history that `request` names. Throws as HistoryKeeper.
std::vector<Measured> MeasureOnDevices(const MeasureJobs& jobs, const MeasureRequest& request, bool dry_run,
                                       WorkflowProgress& progress);

// The results directories that the devices left the last time; of several devices none is reached. A device
// without one has an `error` (kBadInput).
std::vector<Measured> FindMeasured(const MeasureJobs& jobs, const MeasureRequest& request,
                                   WorkflowProgress& progress);

// The results directories of several devices, analyzed, and the report over all of them, which is written
// (WriteDevices).
struct AnalyzedDevices {
  std::optional<DevicesReport> report;  // absent: none could be analyzed
  std::filesystem::path written;
  std::vector<std::pair<const Measured*, Error>> failed;
};
AnalyzedDevices AnalyzeDevices(const std::vector<const Measured*>& devices);

// Whether a ladder has nothing to say. A level that the model cannot run at is part of the answer; the CPU as
// it is is not.
bool FailedAsAWhole(const Ladder& ladder);

// Throws Error (kBadInput) for a program whose weights are in a .ptd that was not given, or is another one.
// It reads the programs: once before something is measured.
void CheckExternalData(const Config& config);

// Measures what `config` says on one device that is open, once it is its turn, which it keeps; `options` but
// for what the others say.
RunData MeasureConfig(const Config& config, DeviceTurn& turn, const MeasureRequest& request,
                      WorkflowProgress& progress, MeasureOptions options);

}  // namespace etprof
