#include "cli/measure_and_show.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "cli/analyze_run.h"
#include "cli/progress_line.h"
#include "core/error.h"
#include "measure/measure.h"

namespace etprof {
namespace {

std::atomic<bool> g_interrupted = false;  // set by the signal handler, which can reach nothing else
static_assert(std::atomic<bool>::is_always_lock_free);

void OnSignal(int) {
  // The second time at once: workers end when their stdin closes, or with their parent.
  if (g_interrupted.exchange(true)) ::_exit(static_cast<int>(ExitCode::kInterrupted));
}

// While it lives, SIGINT, SIGTERM and SIGHUP ask the measurement to end.
class InterruptionScope {
 public:
  InterruptionScope() {
    g_interrupted = false;
    struct sigaction action {};
    action.sa_handler = OnSignal;  // without SA_RESTART: a wait ends at once
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGINT, &action, &old_[0]);
    ::sigaction(SIGTERM, &action, &old_[1]);
    ::sigaction(SIGHUP, &action, &old_[2]);
    ::signal(SIGXFSZ, SIG_IGN);  // a file size limit is an error of the write, not the end of etprof
  }
  ~InterruptionScope() {
    ::sigaction(SIGINT, &old_[0], nullptr);
    ::sigaction(SIGTERM, &old_[1], nullptr);
    ::sigaction(SIGHUP, &old_[2], nullptr);
  }
  InterruptionScope(const InterruptionScope&) = delete;
  InterruptionScope& operator=(const InterruptionScope&) = delete;

 private:
  struct sigaction old_[3] = {};
};

std::string FolderOf(const RunData& run) {
  return run.folder.lexically_proximate(std::filesystem::current_path()).string();
}

}  // namespace

RunData MeasureWithProgress(const Config& config, Device& device, const MeasureWithProgressOptions& given) {
  const InterruptionScope scope;
  ProgressLine progress;
  MeasureOptions options;
  options.resume = given.resume;
  options.interrupted = [] { return g_interrupted.load(); };
  options.progress = &progress;
  options.etprof_version = ETPROF_VERSION;
  options.look_confidence = given.look_confidence;
  options.wait_for_device_seconds = given.wait_for_device_seconds;
  return Measure(config, device, options);
}

int TellInterruption(const RunData& run, const std::string& resume_command) {
  const std::string folder = FolderOf(run);
  fmt::print(stderr,
             "etprof: interrupted; what was measured is kept in {} (see it: etprof analyze {}; go on: {})\n",
             folder, folder, resume_command);
  return static_cast<int>(ExitCode::kInterrupted);
}

bool TellFailures(const RunData& run) {
  bool failed = false;
  for (const ExperimentData& data : run.experiments) {
    if (data.error.empty()) continue;
    fmt::print(stderr, "etprof: experiment \"{}\" failed: {}\n", data.label,
               Error(ExitCode::kDeviceFailed, data.error).Message());
    failed = true;
  }
  return failed;
}

int MeasureAndShow(const Config& config, Device& device, const MeasureAndShowOptions& options) {
  const RunData run = MeasureWithProgress(
      config, device, {.resume = options.resume, .wait_for_device_seconds = options.wait_for_device_seconds});
  if (run.status == RunData::Status::kInterrupted) return TellInterruption(run, options.resume_command);
  int code = static_cast<int>(ExitCode::kDone);
  if (run.status != RunData::Status::kFailed) code = AnalyzeAndShow(run.folder, {.json = options.json});
  if (TellFailures(run)) code = static_cast<int>(ExitCode::kDeviceFailed);
  return code;
}

}  // namespace etprof
