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
std::string HolderText(const std::string& description) {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  const char* user = std::getenv("USER");
  return fmt::format("{}@{}, {} (process {})", user != nullptr && *user != '\0' ? user : "somebody",
                     host.data(), description, ::getpid());
}

}  // namespace

DeviceLock::DeviceLock(Device& device, std::string description, WorkflowProgress& progress,
                       std::size_t device_index, std::string label)
    : device_(device),
      description_(std::move(description)),
      progress_(progress),
      device_index_(device_index),
      label_(std::move(label)) {}

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
  bool has_waited = false;
  queued_ = true;
  try {
    device_.AcquireLock(HolderText(description_), [&](const std::string& text) {
      progress_.State(device_index_, label_.empty() ? text : label_ + ": " + text);
      has_waited = true;
    });
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kInterrupted || device_.Name() != "local") {
      waited_ += MonotonicSeconds() - start;
      throw;
    }
    progress_.Message(
        device_index_,
        fmt::format("warning: The device is not locked, so another etprof may measure at the same time: {}",
                    error.Message()));
  }
  acquired_ = true;
  waited_ += MonotonicSeconds() - start;
  if (has_waited) progress_.State(device_index_, label_.empty() ? "starting" : label_);
}

void DeviceLock::Release() {
  acquired_ = false;
  if (std::exchange(queued_, false)) device_.ReleaseLock();
}

}  // namespace etprof
