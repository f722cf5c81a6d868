#include "device/local/local.h"

#include <utility>

#include "core/file/file.h"
#include "device/bundle.h"
#include "device/local/local_properties.h"
#include "device/remote/connection.h"
#include "device/tool.h"

namespace etprof {
namespace {

class LocalConnection : public Connection {
 public:
  std::string Name() const override { return "local"; }
  std::string DefaultFolder() const override { return kHomeFolder; }
  void Open() override {}
  void Close() override {}
  std::vector<std::string> Shell(const std::string& script) const override {
    return {"/bin/sh", "-c", script};
  }
  bool Push(const std::filesystem::path&, const std::string&, std::string&) override { return false; }
  bool Pull(const std::string&, const std::filesystem::path&, Bytes, std::string&) override { return false; }
};

class LocalDevice : public Device {
 public:
  std::string Name() const override { return "local"; }
  DeviceProperties Properties() override { return ReadLocalProperties(); }
  ResourceLimits Limits() override { return ReadResourceLimits(); }
  std::optional<Bytes> AvailableMemory() override { return ReadAvailableMemory(); }

  std::string Put(const std::filesystem::path& local) override {
    return std::filesystem::absolute(local).string();
  }
  std::vector<std::string> PutProgram(const std::filesystem::path& local,
                                      const std::vector<std::filesystem::path>&) override {
    const std::string path = Put(local);
    const std::optional<RunnerBundle> bundle = FindBundle(path);
    return bundle ? bundle->StartCommand(bundle->folder.string()) : std::vector<std::string>{path};
  }
  std::string ReserveOutputPath(const std::filesystem::path& local) override {
    return std::filesystem::absolute(local).string();
  }
  bool Get(const std::string& remote, const std::filesystem::path&) override { return Exists(remote); }
  void CleanUp() override {}

  // Uses the same lock as etprof processes that reach this machine by ssh.
  void AcquireLock(const std::string& owner,
                   const std::function<void(const std::string&)>& on_wait) override {
    if (lock_) return;
    RemoteOptions options;
    options.interrupted = [this] { return interrupted_ && interrupted_(); };
    lock_ = MakeRemoteDevice(MakeLocalConnection(), options);
    try {
      lock_->AcquireLock(owner, on_wait);
    } catch (...) {
      ReleaseLock();
      throw;
    }
  }
  void ReleaseLock() override { lock_.reset(); }

  bool WaitUntilBack(double) override { return true; }

  std::unique_ptr<Process> Start(const Command& command, Sink on_stderr) override {
    return StartLocalProcess(command, std::move(on_stderr), interrupted_);
  }
  void SetInterrupted(std::function<bool()> interrupted) override { interrupted_ = std::move(interrupted); }

 private:
  std::function<bool()> interrupted_;
  std::unique_ptr<Device> lock_;  // holds the lock of this machine; null: it is not locked
};

}  // namespace

std::unique_ptr<Connection> MakeLocalConnection() { return std::make_unique<LocalConnection>(); }

std::unique_ptr<Device> MakeLocalDevice() { return std::make_unique<LocalDevice>(); }

std::filesystem::path LocalDeviceFolder() {
  if (const std::string device_folder = EnvironmentVariable("ETPROF_DEVICE_DIR"); !device_folder.empty())
    return std::filesystem::path(device_folder) / "etprof";
  if (const std::string cache = EnvironmentVariable("XDG_CACHE_HOME"); !cache.empty())
    return std::filesystem::path(cache) / "etprof";
  const std::string home = EnvironmentVariable("HOME");
  return home.empty() ? std::filesystem::path() : std::filesystem::path(home) / ".cache" / "etprof";
}

}  // namespace etprof
