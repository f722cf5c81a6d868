#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace etprof {

// This machine's turn (remote/turns.h has the rules) where nobody else is in its queue: a few files. With
// anybody else there, dead or alive, it is the shell's scripts' to take it, which take 20 ms.
class LocalTurn {
 public:
  // Null: somebody may be there, or etprof's folder is none yet; then nothing was left there. `who` as of
  // Device::TakeTurn.
  static std::unique_ptr<LocalTurn> TakeIfAlone(const std::string& who);
  ~LocalTurn();  // ends it
  LocalTurn(LocalTurn&&) = delete;

 private:
  explicit LocalTurn(std::filesystem::path run) : run_(std::move(run)) {}
  std::filesystem::path run_;
};

}  // namespace etprof
