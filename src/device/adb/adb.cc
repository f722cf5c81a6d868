#include <fmt/format.h>

#include <mutex>

#include "core/text/text.h"
#include "device/adb/adb_devices.h"
#include "device/remote/connection.h"
#include "device/tool.h"

namespace etprof {
namespace {

constexpr double kAdbSeconds = 20;
constexpr double kProbeSeconds = 10;

class AdbConnection : public Connection {
 public:
  explicit AdbConnection(std::string serial) : serial_(std::move(serial)), client_(AdbWords()) {}

  std::string Name() const override { return serial_.empty() ? "adb" : "adb:" + serial_; }
  std::string DefaultFolder() const override { return "/data/local/tmp/etprof"; }

  void Open() override {
    StartServer();
    // Of a connection that is lost adb may still think that it stands. One that stands may be another
    // etprof's, too: it is left alone.
    if (serial_.find(':') != std::string::npos && !Adb({"shell", "-T", "true"}, kProbeSeconds).Success()) {
      Client({"disconnect", serial_});
      Client({"connect", serial_});  // what it says is no better than what get-state says
    }
    ToolResult answer = Adb({"get-state"});
    if (answer.Success() && Trimmed(answer.output) == "device") {
      // An old phone is a device, too, but its shell reports no exit codes.
      answer = Adb({"shell", "-T", "true"});
      if (answer.Success()) return;
    }
    std::string problem = answer.timed_out ? "adb's daemon does not answer" : AdbProblem(answer.errors);
    if (problem.empty()) problem = fmt::format("it is in the state \"{}\"", Trimmed(answer.output));
    throw Error(ExitCode::kDeviceFailed, "cannot be reached: " + problem)
        .InFile(Name())
        .Remedy(AdbRemedy(problem));
  }
  void Close() override {}

  std::string Problem(const std::string& errors) const override { return AdbProblem(errors); }

  std::vector<std::string> Shell(const std::string& script) const override {
    return Words({"shell", "-T", script});
  }

  bool Push(const std::filesystem::path& local, const std::string& remote, std::string& why) override {
    const auto size = static_cast<Bytes>(std::filesystem::file_size(local));
    return Copied(Adb({"push", local.string(), remote}, CopySeconds(size)), why);
  }
  bool Pull(const std::string& remote, const std::filesystem::path& local, Bytes size,
            std::string& why) override {
    return Copied(
        RunTool(Words({"pull", remote, local.string()}),
                {.timeout_seconds = CopySeconds(size), .max_file = size, .interrupted = interrupted_}),
        why);
  }

 private:
  // Two clients at once that find no server start two, of which one fails, and its client with it.
  void StartServer() const {
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    Client({"start-server"});  // where it fails, get-state says why
  }
  std::vector<std::string> Words(const std::vector<std::string>& arguments) const {
    std::vector<std::string> words = client_;
    if (!serial_.empty()) words.insert(words.end(), {"-s", serial_});
    words.insert(words.end(), arguments.begin(), arguments.end());
    return words;
  }
  // Without a serial number: to adb itself.
  ToolResult Client(const std::vector<std::string>& arguments) const {
    std::vector<std::string> words = client_;
    words.insert(words.end(), arguments.begin(), arguments.end());
    return RunTool(words, {.timeout_seconds = kAdbSeconds, .interrupted = interrupted_});
  }
  ToolResult Adb(const std::vector<std::string>& arguments, double timeout_seconds = kAdbSeconds) const {
    return RunTool(Words(arguments), {.timeout_seconds = timeout_seconds, .interrupted = interrupted_});
  }
  static bool Copied(const ToolResult& result, std::string& why) {
    if (result.Success()) return true;
    why = result.timed_out ? "it took too long" : AdbProblem(result.output + "\n" + result.errors);
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
