#include <fmt/format.h>

#include <mutex>
#include <sstream>

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
    const ToolResult state = Adb({"get-state"});
    if (state.Success() && Trimmed(state.output) == "device") return;
    std::string reason = state.timed_out ? "adb does not answer" : LastLine(Trimmed(state.errors));
    if (reason.starts_with("error: ")) reason = reason.substr(7);
    if (reason.empty()) reason = fmt::format("it is in the state \"{}\"", Trimmed(state.output));
    const bool unauthorized = reason.find("unauthorized") != std::string::npos;
    const bool several = reason.find("more than one") != std::string::npos;
    throw Error(ExitCode::kDeviceFailed, "cannot be reached: " + reason)
        .InFile(Name())
        .Remedy(unauthorized ? "allow USB debugging on the device's screen"
                : several    ? "name one with `--device adb:SERIAL` (`etprof devices` lists them)"
                             : "check that `adb devices` lists it and that USB debugging is on");
  }
  void Close() override {}

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
    // Beside what is wrong it says how fast it was.
    std::istringstream lines(result.errors + "\n" + result.output);
    why = result.timed_out ? "it took too long" : "";
    for (std::string line; why.empty() && std::getline(lines, line);) {
      const std::size_t at = line.find("error: ");
      if (at != std::string::npos) why = Trimmed(line.substr(at + 7));
    }
    if (why.empty()) why = LastLine(Trimmed(result.errors + "\n" + result.output));
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
