#include "commands/measurement/device.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "commands/measurement/locate.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/json/json_members.h"
#include "device/conditions/clusters.h"
#include "device/local/local_properties.h"
#include "device/open_device.h"
#include "device/tool.h"
#include "measure/conditions/check_device.h"
#include "measure/config/config.h"
#include "measure/participants/emulation.h"
#include "measure/participants/participants.h"
#include "measure/store/peaks.h"

namespace etprof {
namespace {

// Identifies this process to other users: "anna@desk, suite nightly (process 12)".
std::string HolderText(const std::string& description) {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  const std::string user = EnvironmentVariable("USER");
  return fmt::format("{}@{}, {} (process {})", user.empty() ? "somebody" : user, host.data(), description,
                     ::getpid());
}

}  // namespace

std::unique_ptr<Device> Open(const std::string& name, const ConnectionOptions& connection,
                             WorkflowProgress& progress, std::size_t device_index) {
  RemoteOptions options;
  options.keep = connection.keep;
  options.notice = [&progress, device_index](const std::string& text) {
    progress.Message(device_index, text);
  };
  options.interrupted = [&progress] { return progress.Interrupted(); };
  return OpenDevice(name, options);
}

std::filesystem::path FindRunner(const Device& device, const DeviceProperties& properties) {
  if (device.Name() == "local" || !EnvironmentVariable("ETPROF_RUNNER").empty()) return DefaultRunner();
  const std::string& target = properties.platform;  // platforms and targets have the same names
  const std::filesystem::path bundle = BundleFolder(target) / "etprof-runner";
  if (Exists(bundle)) return bundle;
  // A device of this machine's platform can run this machine's runner.
  if (properties.platform == ReadLocalProperties().platform) return DefaultRunner();
  throw Error(ExitCode::kBadInput, fmt::format("holds no runner for {} yet", properties.platform))
      .InFile(bundle.string())
      .Remedy(fmt::format("build it: `etprof build --target {}`", target));
}

ConfigContext MakeConfigContext(const Device& device, const DeviceProperties& properties) {
  try {
    return {FindRunner(device, properties)};
  } catch (const Error&) {
    return {};  // ParseConfig reports an experiment without a runner
  }
}

DeviceLock::DeviceLock(Device& device, std::string description, WorkflowProgress& progress,
                       std::size_t device_index, std::string label)
    : device_(device),
      description_(std::move(description)),
      progress_(progress),
      device_index_(device_index),
      label_(std::move(label)) {}

DeviceLock::~DeviceLock() {
  try {
    Release();
  } catch (const std::exception&) {
    // The lock also ends with the connection, or with this process.
  }
}

void DeviceLock::Acquire() {
  if (acquired_) return;
  const double start = MonotonicSeconds();
  bool has_waited = false;
  queued_ = true;
  try {
    device_.AcquireLock(HolderText(description_), [&](const std::string& text) {
      progress_.State(device_index_, label_.empty() ? text : label_ + ": " + text);
      has_waited = true;
    });
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kInterrupted || device_.Name() != "local") {
      waited_seconds_ += MonotonicSeconds() - start;
      throw;
    }
    progress_.Message(
        device_index_,
        fmt::format("warning: The device is not locked, so another etprof may measure at the same time: {}",
                    error.Message()));
  }
  acquired_ = true;
  waited_seconds_ += MonotonicSeconds() - start;
  if (has_waited) progress_.State(device_index_, label_.empty() ? "starting" : label_);
}

void DeviceLock::Release() {
  acquired_ = false;
  if (std::exchange(queued_, false)) device_.ReleaseLock();
}

protocol::Ready QueryRunner(Device& device, const std::string& runner_path, const std::string& exec_wrapper) {
  const std::string runner =
      runner_path.empty() ? FindRunner(device, device.Properties()).string() : runner_path;
  Command command;
  command.arguments = SplitCommand(exec_wrapper);
  for (const std::string& word : device.PutProgram(runner)) command.arguments.push_back(word);
  command.arguments.emplace_back("--isa-info");
  const std::unique_ptr<Process> process = device.Start(command, {});
  process->CloseInput();
  const auto [last_read, text] = ReadOutput(*process, 20);
  if (last_read == Process::ReadResult::kInterrupted) throw Error(ExitCode::kInterrupted, "interrupted");
  if (last_read != Process::ReadResult::kEnd) process->Kill();
  const std::optional<ExitStatus> status = process->Wait(20);
  if (!status || !status->Success()) {
    throw Error(ExitCode::kDeviceFailed, "could not say what this CPU has: " + process->LastErrors())
        .InFile(runner)
        .Remedy("build it again with the etprof of this version");
  }
  try {
    const nlohmann::json info = nlohmann::json::parse(text);
    static_cast<void>(info.at("isa"));  // other programs may print JSON, too
    return info.get<protocol::Ready>();
  } catch (const nlohmann::json::exception&) {
    throw Error(ExitCode::kBadInput,
                "does not say what the CPU has: it is not an etprof-runner of this version")
        .InFile(runner)
        .Remedy("build it again");
  }
}

MeasuredPeaks MeasurePeaks(const PeaksOptions& options, WorkflowProgress& progress) {
  if (!options.cpus.empty()) CheckCpus(options.cpus);
  const std::unique_ptr<Device> device = Open(options.device, options, progress);
  const DeviceProperties properties = device->Properties();
  ExperimentConfig experiment;
  experiment.runner = options.runner;
  if (options.runner.empty()) experiment.runner = FindRunner(*device, properties);
  experiment.exec_wrapper = SplitCommand(options.exec_wrapper);

  Interruption interruption;
  interruption.requested = [&progress] { return progress.Interrupted(); };
  device->SetInterrupted(interruption.requested);
  PeaksRequest request;
  request.start = MakeRunnerCommand(*device, properties, experiment);
  if (!options.cpus.empty()) request.start.cpus = ResolveCpus(options.cpus, properties);
  request.threads = options.threads;
  request.cpus = options.cpus;
  request.isa = options.isa;
  DeviceLock lock(*device, "peaks", progress);
  lock.Acquire();
  Config config;
  config.experiments = {experiment};
  config.experiments[0].threads = {options.threads};
  config.experiments[0].cpu_affinity = options.cpus;
  for (const std::string& warning : ThreadWarnings(config, properties))
    progress.Message("warning: " + warning);
  if (!options.power_mode.empty()) device->SetPowerMode(options.power_mode);
  try {
    return {MeasurePeaksOnDevice(*device, request, interruption, 120), device->Name(),
            IsEmulated(experiment, properties)};
  } catch (const WorkerFailure& failure) {
    if (failure.kind() == WorkerFailure::Kind::kInterrupted)
      throw Error(ExitCode::kInterrupted, "interrupted");
    // The request was refused (an unknown feature, CPUs that do not exist), or the runner is not an
    // etprof-runner.
    const bool is_refused = failure.kind() == WorkerFailure::Kind::kRefused;
    throw Error(is_refused ? ExitCode::kBadInput : ExitCode::kDeviceFailed, failure.what())
        .InFile(experiment.runner.string());
  }
}

}  // namespace etprof
