#include <fmt/format.h>
#include <unistd.h>

#include <thread>

#include "core/file/file.h"
#include "core/file/process_folder.h"
#include "core/text/text.h"
#include "device/local/local.h"
#include "device/remote/connection.h"
#include "device/tool.h"

namespace etprof {
namespace {

constexpr double kConnectTimeoutSeconds = 20;
constexpr const char* kSocketFolderPrefix = "etprof-ssh";

// Removes control socket folders that killed etprof processes of this user left. Folders with other files
// stay.
void RemoveStaleSocketFolders() {
  namespace fs = std::filesystem;
  for (const fs::path& folder : FindAbandonedFolders(kSocketFolderPrefix)) {
    std::error_code ignored;
    for (const auto& file : fs::directory_iterator(folder, ignored)) {
      if (file.symlink_status(ignored).type() == fs::file_type::socket) fs::remove(file.path(), ignored);
    }
    fs::remove(folder, ignored);
  }
}

// An ssh master connection that lives as long as this object. All scripts and copies go through its control
// socket, which saves the handshake and makes a lost connection end all of them at once.
class SshConnection : public Connection {
 public:
  explicit SshConnection(std::string host)
      : host_(std::move(host)), client_(ClientCommand("ETPROF_SSH", "ssh")) {}
  ~SshConnection() override { SshConnection::Close(); }
  SshConnection(SshConnection&&) = delete;

  std::string Name() const override { return "ssh:" + host_; }
  std::string DefaultFolder() const override { return kHomeFolder; }

  void Open() override {
    Close();
    // The path of a socket has a small length limit, so the socket is in the folder for temporary files.
    RemoveStaleSocketFolders();
    socket_folder_ = MakeTemporaryFolder(fmt::format("{}-{}", kSocketFolderPrefix, ::getpid()),
                                         "a folder for ssh's control socket");
    std::vector<std::string> command = ClientWithSocket();
    // The connection counts as lost after three unanswered messages, sent every five seconds.
    for (const char* option : {"ControlMaster=yes", "ServerAliveInterval=5", "ServerAliveCountMax=3"})
      command.insert(command.end(), {"-o", option});
    command.insert(command.end(),
                   {"-o", fmt::format("ConnectTimeout={:.0f}", kConnectTimeoutSeconds), "-N", "--", host_});
    master_ = StartLocalProcess({command, {}, {}}, {}, interrupted_);
    master_->CloseInput();
    std::vector<std::string> check = ClientWithSocket();
    check.insert(check.end(), {"-O", "check", "--", host_});
    for (double waited_seconds = 0; waited_seconds < 2 * kConnectTimeoutSeconds; waited_seconds += 0.02) {
      if (master_->Wait(0)) break;
      if (Exists(socket_folder_ / "c") && RunTool(check, {.timeout_seconds = 5}).Success()) return;
      if (interrupted_ && interrupted_()) throw Error(ExitCode::kInterrupted, "interrupted");
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    const std::string reason = LastLine(master_->LastErrors());
    Close();
    throw Error(
        ExitCode::kDeviceFailed,
        "cannot be reached: " + (reason.empty() ? std::string("ssh did not connect in time") : reason))
        .InFile(Name())
        .Remedy(fmt::format("`{} {}` has to work without a password (a key, an agent)",
                            fmt::join(client_, " "), host_));
  }

  void Close() override {
    if (master_) master_->Kill();
    master_.reset();
    if (!socket_folder_.empty()) {
      std::error_code ignored;
      std::filesystem::remove_all(socket_folder_, ignored);
      socket_folder_.clear();
    }
  }

  std::vector<std::string> Shell(const std::string& script) const override {
    std::vector<std::string> command = ClientWithSocket();
    // The login shell may be any shell, so `sh` reads the script. Without a master connection the session
    // fails (ProxyCommand=false): only Open() connects.
    command.insert(command.end(), {"-T", "-o", "ControlMaster=no", "-o", "ProxyCommand=false", "--", host_,
                                   "exec sh -c " + ShellQuoted(script)});
    return command;
  }

  bool Push(const std::filesystem::path& local, const std::string& remote, std::string& reason) override {
    const auto size = static_cast<Bytes>(std::filesystem::file_size(local));
    return CheckCopy(
        RunTool(Shell("cat >" + ShellQuoted(remote)),
                {.input = local, .timeout_seconds = CopySeconds(size), .interrupted = interrupted_}),
        reason);
  }
  bool Pull(const std::string& remote, const std::filesystem::path& local, Bytes size,
            std::string& reason) override {
    return CheckCopy(RunTool(Shell("cat " + ShellQuoted(remote)), {.output = local,
                                                                   .timeout_seconds = CopySeconds(size),
                                                                   .max_file = size,
                                                                   .interrupted = interrupted_}),
                     reason);
  }

 private:
  std::vector<std::string> ClientWithSocket() const {
    std::vector<std::string> command = client_;
    command.insert(command.end(),
                   {"-o", "BatchMode=yes", "-o", "ControlPath=" + (socket_folder_ / "c").string()});
    return command;
  }
  static bool CheckCopy(const ToolResult& result, std::string& reason) {
    if (result.Success()) return true;
    reason = result.timed_out ? "it took too long" : LastLine(result.errors);
    return false;
  }

  std::string host_;
  std::vector<std::string> client_;
  std::filesystem::path socket_folder_;
  std::unique_ptr<Process> master_;
};

}  // namespace

std::unique_ptr<Connection> MakeSshConnection(const std::string& host) {
  return std::make_unique<SshConnection>(host);
}

}  // namespace etprof
