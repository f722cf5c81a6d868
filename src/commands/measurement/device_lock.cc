#include "commands/measurement/device_lock.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>

#include "core/clock.h"
#include "core/error.h"

namespace etprof {
namespace {

// Identifies this process to other users: "anna@desk, suite nightly (process 12)".
std::string HolderText(const std::string& what) {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  const char* user = std::getenv("USER");
  return fmt::format("{}@{}, {} (process {})", user != nullptr && *user != '\0' ? user : "somebody",
                     host.data(), what, ::getpid());
}

}  // namespace

DeviceLock::DeviceLock(Device& device, std::string what, WorkflowProgress& progress, std::size_t place,
                       std::string label)
    : device_(device), what_(std::move(what)), progress_(progress), place_(place), label_(std::move(label)) {}

DeviceLock::~DeviceLock() {
  try {
    Release();
  } catch (const std::exception&) {
    // The lock also ends with the connection, or with this process.
  }
}

void DeviceLock::Acquire() {
  if (acquired_) return;
  const double start = MonotonicSeconds();
  bool waits = false;
  queued_ = true;
  try {
    device_.AcquireLock(HolderText(what_), [&](const std::string& text) {
      progress_.State(place_, label_.empty() ? text : label_ + ": " + text);
      waits = true;
    });
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kInterrupted || device_.Name() != "local") {
      waited_ += MonotonicSeconds() - start;
      throw;
    }
    progress_.Message(
        place_,
        fmt::format("warning: The device is not locked, so another etprof may measure at the same time: {}",
                    error.Message()));
  }
  acquired_ = true;
  waited_ += MonotonicSeconds() - start;
  if (waits) progress_.State(place_, label_.empty() ? "starting" : label_);
}

void DeviceLock::Release() {
  acquired_ = false;
  if (std::exchange(queued_, false)) device_.ReleaseLock();
}

}  // namespace etprof
