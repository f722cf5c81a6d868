#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace etprof {

// The lock of this machine (remote/turns.h has the protocol), acquired by writing a few files. This fast path
// only works if no other run, live or dead, is in the queue; otherwise the scripts of turns.h acquire the
// lock, which takes 20 ms.
class LocalDeviceLock {
 public:
  // Null: another run may be in the queue, or etprof's folder does not exist yet; no files are left behind
  // then. `who` as for Device::AcquireLock.
  static std::unique_ptr<LocalDeviceLock> TryAcquire(const std::string& who);
  ~LocalDeviceLock();  // releases the lock
  LocalDeviceLock(LocalDeviceLock&&) = delete;

 private:
  explicit LocalDeviceLock(std::filesystem::path run) : run_(std::move(run)) {}
  std::filesystem::path run_;
};

}  // namespace etprof
