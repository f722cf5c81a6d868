#pragma once

#include <signal.h>

namespace etprof {

// While it lives, SIGINT, SIGTERM and SIGHUP make Interrupted() true; the second one ends etprof at once.
class InterruptionScope {
 public:
  InterruptionScope();
  ~InterruptionScope();
  InterruptionScope(const InterruptionScope&) = delete;
  InterruptionScope& operator=(const InterruptionScope&) = delete;

 private:
  struct sigaction old_[3] = {};
};

bool Interrupted();

}  // namespace etprof
