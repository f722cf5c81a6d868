#include "cli/interruption.h"

#include <unistd.h>

#include <atomic>

#include "core/error.h"

namespace etprof {
namespace {

std::atomic<bool> g_interrupted = false;  // set by the signal handler, which can reach nothing else
static_assert(std::atomic<bool>::is_always_lock_free);

void OnSignal(int) {
  // The second time at once: workers end when their stdin closes, or with their parent.
  if (g_interrupted.exchange(true)) ::_exit(static_cast<int>(ExitCode::kInterrupted));
}

}  // namespace

InterruptionScope::InterruptionScope() {
  g_interrupted = false;
  struct sigaction action {};
  action.sa_handler = OnSignal;  // without SA_RESTART: a wait ends at once
  sigemptyset(&action.sa_mask);  // a macro on macOS
  ::sigaction(SIGINT, &action, &old_[0]);
  ::sigaction(SIGTERM, &action, &old_[1]);
  ::sigaction(SIGHUP, &action, &old_[2]);
}

InterruptionScope::~InterruptionScope() {
  ::sigaction(SIGINT, &old_[0], nullptr);
  ::sigaction(SIGTERM, &old_[1], nullptr);
  ::sigaction(SIGHUP, &old_[2], nullptr);
}

bool Interrupted() { return g_interrupted; }

}  // namespace etprof
