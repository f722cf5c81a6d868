#include "device/local/local.h"

#include <utility>

#include "core/file/file.h"
#include "device/bundle.h"
#include "device/local/local_process.h"
#include "device/local/local_properties.h"
#include "device/local/local_turn.h"
#include "device/remote/remote.h"

namespace etprof {
namespace {

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
    const std::optional<RunnerBundle> bundle = BundleOf(path);
    return bundle ? bundle->StartWords(bundle->folder.string()) : std::vector<std::string>{path};
  }
  std::string Place(const std::filesystem::path& local) override {
    return std::filesystem::absolute(local).string();
  }
  bool Get(const std::string& remote, const std::filesystem::path&) override { return Exists(remote); }
  void Remove(const std::string& remote) override {
    std::error_code error;
    std::filesystem::remove(remote, error);
  }
  void CleanUp() override {}

  // As others take it who come to this machine by ssh.
  void TakeTurn(const std::string& who, const std::function<void(const std::string&)>& waits) override {
    if (alone_ || queue_) return;
    alone_ = LocalTurn::TakeIfAlone(who);
    if (alone_) return;
    RemoteOptions options;
    options.interrupted = [this] { return interrupted_ && interrupted_(); };
    queue_ = MakeRemoteDevice(MakeLocalConnection(), options);
    try {
      queue_->TakeTurn(who, waits);
    } catch (...) {
      EndTurn();
      throw;
    }
  }
  void EndTurn() override {
    alone_.reset();
    queue_.reset();
  }

  bool WaitUntilBack(double) override { return true; }

  std::unique_ptr<Process> Start(const Command& command, Sink on_stderr) override {
    return StartLocalProcess(command, std::move(on_stderr), interrupted_);
  }
  void SetInterrupted(std::function<bool()> interrupted) override { interrupted_ = std::move(interrupted); }

 private:
  std::function<bool()> interrupted_;
  std::unique_ptr<LocalTurn> alone_;  // the turn, in one of two ways
  std::unique_ptr<Device> queue_;
};

}  // namespace

std::unique_ptr<Device> MakeLocalDevice() { return std::make_unique<LocalDevice>(); }

}  // namespace etprof
