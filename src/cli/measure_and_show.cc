#include "cli/measure_and_show.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "cli/analyze_run.h"
#include "cli/interruption.h"
#include "cli/progress_line.h"
#include "cli/say.h"
#include "cli/validate_run.h"
#include "core/error.h"
#include "measure/measure.h"

namespace etprof {
namespace {

// As it would be typed here.
std::string FolderOf(const RunData& run) {
  const std::string near = run.folder.lexically_proximate(std::filesystem::current_path()).string();
  return near.starts_with("..") ? run.folder.string() : near;
}

}  // namespace

RunData MeasureWithProgress(const Config& config, Device& device, const MeasureWithProgressOptions& given) {
  const InterruptionScope scope;
  ProgressLine progress;
  MeasureOptions options;
  options.resume = given.resume;
  options.look_at_load = given.look_at_load;
  options.interrupted = Interrupted;
  options.progress = &progress;
  options.etprof_version = ETPROF_VERSION;
  options.look_confidence = given.look_confidence;
  options.wait_for_device_seconds = given.wait_for_device_seconds;
  options.counters = given.counters;
  return Measure(config, device, options);
}

int TellInterruption(const RunData& run, const std::string& resume_command) {
  const std::string folder = FolderOf(run);
  Say("Interrupted. Partial results are in {}.\n  View:    etprof analyze {}\n  Resume:  {}\n", folder,
      folder, resume_command);
  return static_cast<int>(ExitCode::kInterrupted);
}

bool TellFailures(const RunData& run, const std::string& device) {
  bool failed = false;
  for (const ExperimentData& data : run.experiments) {
    if (data.error.empty()) continue;
    Say("error: {}{}Experiment `{}` failed: {}\n", device, device.empty() ? "" : ": ", data.label,
        data.error);
    failed = true;
  }
  return failed;
}

int MeasureAndShow(const Config& config, Device& device, const MeasureAndShowOptions& options) {
  const RunData run = MeasureWithProgress(config, device,
                                          {.resume = options.resume,
                                           .wait_for_device_seconds = options.wait_for_device_seconds,
                                           .counters = options.counters});
  if (run.status == RunData::Status::kInterrupted) return TellInterruption(run, options.resume_command);
  int code = static_cast<int>(ExitCode::kDone);
  if (run.status != RunData::Status::kFailed)
    code = AnalyzeAndShow(FolderOf(run), {.json = options.json, .all = options.all});
  if (TellFailures(run)) code = static_cast<int>(ExitCode::kDeviceFailed);
  if (options.resume && code == static_cast<int>(ExitCode::kDone)) code = ValidateRecovered(FolderOf(run));
  return code;
}

}  // namespace etprof
