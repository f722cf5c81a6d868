#include <fmt/format.h>

#include <mutex>

#include "core/text/text.h"
#include "device/adb/adb_devices.h"
#include "device/remote/connection.h"
#include "device/tool.h"

namespace etprof {
namespace {

constexpr double kAdbTimeoutSeconds = 20;
constexpr double kProbeTimeoutSeconds = 10;

class AdbConnection : public Connection {
 public:
  explicit AdbConnection(std::string serial) : serial_(std::move(serial)), client_(AdbCommand()) {}

  std::string Name() const override { return serial_.empty() ? "adb" : "adb:" + serial_; }
  std::string DefaultFolder() const override { return "/data/local/tmp/etprof"; }

  void Open() override {
    StartServer();
    // adb may list a lost network connection as connected, so probe it before reconnecting. A working
    // connection stays, since another etprof process may use it.
    if (serial_.find(':') != std::string::npos &&
        !RunForDevice({"shell", "-T", "true"}, kProbeTimeoutSeconds).Success()) {
      RunClient({"disconnect", serial_});
      RunClient({"connect", serial_});  // if this fails, get-state reports the cause as well
    }
    ToolResult answer = RunForDevice({"get-state"});
    if (answer.Success() && Trimmed(answer.output) == "device") {
      // The shell of an old phone reports no exit codes, which fails here.
      answer = RunForDevice({"shell", "-T", "true"});
      if (answer.Success()) return;
    }
    std::string problem = answer.timed_out ? "adb's daemon does not answer" : AdbProblem(answer.errors);
    if (problem.empty()) problem = fmt::format("it is in the state \"{}\"", Trimmed(answer.output));
    throw Error(ExitCode::kDeviceFailed, "cannot be reached: " + problem)
        .InFile(Name())
        .Remedy(AdbRemedy(problem));
  }
  void Close() override {}

  std::string FindProblem(const std::string& errors) const override { return AdbProblem(errors); }

  std::vector<std::string> Shell(const std::string& script) const override {
    return DeviceCommand({"shell", "-T", script});
  }

  bool Push(const std::filesystem::path& local, const std::string& remote, std::string& reason) override {
    const auto size = static_cast<Bytes>(std::filesystem::file_size(local));
    return CheckCopy(RunForDevice({"push", local.string(), remote}, CopySeconds(size)), reason);
  }
  bool Pull(const std::string& remote, const std::filesystem::path& local, Bytes size,
            std::string& reason) override {
    return CheckCopy(
        RunTool(DeviceCommand({"pull", remote, local.string()}),
                {.timeout_seconds = CopySeconds(size), .max_file = size, .interrupted = interrupted_}),
        reason);
  }

 private:
  // The mutex prevents that two concurrent clients each start a server: one of the servers would fail, and
  // its client with it.
  void StartServer() const {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    RunClient({"start-server"});  // if this fails, get-state reports the cause
  }
  std::vector<std::string> DeviceCommand(const std::vector<std::string>& arguments) const {
    std::vector<std::string> command = client_;
    if (!serial_.empty()) command.insert(command.end(), {"-s", serial_});
    command.insert(command.end(), arguments.begin(), arguments.end());
    return command;
  }
  // Runs an adb command that takes no serial number.
  ToolResult RunClient(const std::vector<std::string>& arguments) const {
    std::vector<std::string> command = client_;
    command.insert(command.end(), arguments.begin(), arguments.end());
    return RunTool(command, {.timeout_seconds = kAdbTimeoutSeconds, .interrupted = interrupted_});
  }
  ToolResult RunForDevice(const std::vector<std::string>& arguments,
                          double timeout_seconds = kAdbTimeoutSeconds) const {
    return RunTool(DeviceCommand(arguments),
                   {.timeout_seconds = timeout_seconds, .interrupted = interrupted_});
  }
  static bool CheckCopy(const ToolResult& result, std::string& reason) {
    if (result.Success()) return true;
    reason = result.timed_out ? "it took too long" : AdbProblem(result.output + "\n" + result.errors);
    return false;
  }

  std::string serial_;
  std::vector<std::string> client_;
};

}  // namespace

std::unique_ptr<Connection> MakeAdbConnection(const std::string& serial) {
  return std::make_unique<AdbConnection>(serial);
}

}  // namespace etprof
