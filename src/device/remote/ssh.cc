#include <fmt/format.h>
#include <unistd.h>

#include <thread>

#include "core/file/file.h"
#include "core/file/process_folder.h"
#include "core/text/text.h"
#include "device/local/local_process.h"
#include "device/remote/connection.h"
#include "device/tool.h"

namespace etprof {
namespace {

constexpr double kConnectSeconds = 20;
constexpr const char* kFolderStart = "etprof-ssh";  // of the folder of a control socket

// Removes the folders of those who were killed: of this user, with nothing but a socket in them.
void RemoveStaleFolders() {
  namespace fs = std::filesystem;
  for (const fs::path& folder : AbandonedFolders(kFolderStart)) {
    std::error_code ignored;
    for (const auto& file : fs::directory_iterator(folder, ignored)) {
      if (file.symlink_status(ignored).type() == fs::file_type::socket) fs::remove(file.path(), ignored);
    }
    fs::remove(folder, ignored);
  }
}

// One connection that lives as long as this object; all else goes through its control socket, which spares
// the handshake and makes a lost connection end everything at once.
class SshConnection : public Connection {
 public:
  explicit SshConnection(std::string host)
      : host_(std::move(host)), client_(ClientWords("ETPROF_SSH", "ssh")) {}
  ~SshConnection() override { SshConnection::Close(); }
  SshConnection(SshConnection&&) = delete;

  std::string Name() const override { return "ssh:" + host_; }
  std::string DefaultFolder() const override { return kHomeFolder; }

  void Open() override {
    Close();
    // The path of a socket is short, so it is not below a folder of the user's.
    RemoveStaleFolders();
    folder_ = MakeTemporaryFolder(fmt::format("{}-{}", kFolderStart, ::getpid()),
                                  "a folder for ssh's control socket");
    std::vector<std::string> words = Client();
    // Three unanswered messages, one every five seconds, and the connection counts as lost.
    for (const char* option : {"ControlMaster=yes", "ServerAliveInterval=5", "ServerAliveCountMax=3"})
      words.insert(words.end(), {"-o", option});
    words.insert(words.end(),
                 {"-o", fmt::format("ConnectTimeout={:.0f}", kConnectSeconds), "-N", "--", host_});
    master_ = StartLocalProcess({words, {}, {}}, {}, interrupted_);
    master_->CloseInput();
    for (double waited = 0; waited < 2 * kConnectSeconds; waited += 0.02) {
      if (master_->Wait(0)) break;
      if (Exists(folder_ / "c") && RunTool(Control("check"), {.timeout_seconds = 5}).Success()) return;
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
    if (!folder_.empty()) {
      std::error_code ignored;
      std::filesystem::remove_all(folder_, ignored);
      folder_.clear();
    }
  }

  std::vector<std::string> Shell(const std::string& script) const override {
    std::vector<std::string> words = Client();
    // The login shell may be any; `sh` reads the script. A session that finds no master fails, and does not
    // connect anew: that is Open's.
    words.insert(words.end(), {"-T", "-o", "ControlMaster=no", "-o", "ProxyCommand=false", "--", host_,
                               "exec sh -c " + ShellQuoted(script)});
    return words;
  }

  bool Push(const std::filesystem::path& local, const std::string& remote, std::string& why) override {
    const auto size = static_cast<Bytes>(std::filesystem::file_size(local));
    return Copied(
        RunTool(Shell("cat >" + ShellQuoted(remote)),
                {.input = local, .timeout_seconds = CopySeconds(size), .interrupted = interrupted_}),
        why);
  }
  bool Pull(const std::string& remote, const std::filesystem::path& local, Bytes size,
            std::string& why) override {
    return Copied(RunTool(Shell("cat " + ShellQuoted(remote)), {.output = local,
                                                                .timeout_seconds = CopySeconds(size),
                                                                .max_file = size,
                                                                .interrupted = interrupted_}),
                  why);
  }

 private:
  std::vector<std::string> Client() const {
    std::vector<std::string> words = client_;
    words.insert(words.end(), {"-o", "BatchMode=yes", "-o", "ControlPath=" + (folder_ / "c").string()});
    return words;
  }
  std::vector<std::string> Control(const std::string& command) const {
    std::vector<std::string> words = Client();
    words.insert(words.end(), {"-O", command, "--", host_});
    return words;
  }
  static bool Copied(const ToolResult& result, std::string& why) {
    if (result.Success()) return true;
    why = result.timed_out ? "it took too long" : LastLine(result.errors);
    return false;
  }

  std::string host_;
  std::vector<std::string> client_;
  std::filesystem::path folder_;  // of the control socket
  std::unique_ptr<Process> master_;
};

}  // namespace

std::unique_ptr<Connection> MakeSshConnection(const std::string& host) {
  return std::make_unique<SshConnection>(host);
}

}  // namespace etprof
