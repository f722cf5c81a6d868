#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace etprof {

// The lock of this machine (remote/turns.h has the protocol), acquired by writing a few files. This fast path
// only works if no other run, live or dead, is in the queue; otherwise the scripts of turns.h acquire the
// lock, which takes 20 ms.
class LocalTurn {
 public:
  // Null: another run may be in the queue, or etprof's folder does not exist yet; no files are left behind
  // then. `who` as for Device::TakeTurn.
  static std::unique_ptr<LocalTurn> TakeIfAlone(const std::string& who);
  ~LocalTurn();  // releases the lock
  LocalTurn(LocalTurn&&) = delete;

 private:
  explicit LocalTurn(std::filesystem::path run) : run_(std::move(run)) {}
  std::filesystem::path run_;
};

}  // namespace etprof
