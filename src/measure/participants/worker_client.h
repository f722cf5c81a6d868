#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/json/json_members.h"
#include "device/device.h"
#include "measure/participants/participant.h"
#include "protocol/messages.h"

namespace etprof {

// Whether the user wants to stop. While `wrapping_up` is set the answer is no, so that workers can still be
// asked for what they have.
struct Interruption {
  std::function<bool()> requested;
  bool wrapping_up = false;
  bool Now() const { return !wrapping_up && requested && requested(); }
  // Whether a process that ended so was to end with etprof. A signal to both (of a service manager, `pkill
  // etprof`) may end the process before etprof sees its own: that is waited for, a moment.
  bool Ended(const std::optional<ExitStatus>& status) const;
};

// One process of `etprof-runner --worker` and the talk with it (protocol/messages.h). Everything that goes
// wrong is a WorkerFailure that names what.
class WorkerClient {
 public:
  // Starts it and waits for its "ready". Throws Error where it cannot be started at all.
  WorkerClient(Device& device, const Command& command, Device::Sink log, Interruption& interruption,
               double timeout_seconds);

  const protocol::Ready& ready() const { return ready_; }

  // Sends {"cmd": command, ...request} and waits for its reply, at most `timeout_seconds` (of the constructor
  // when 0).
  nlohmann::json Call(const std::string& command, nlohmann::json request, double timeout_seconds = 0);

  template <typename Reply>
  Reply Ask(const std::string& command, nlohmann::json request = nlohmann::json::object(),
            double timeout_seconds = 0) {
    return Convert<Reply>(Call(command, std::move(request), timeout_seconds));
  }

  // Asks it to quit, and kills it when it does not.
  void Quit();

 private:
  nlohmann::json ReadReply(const std::string& command, double timeout_seconds);
  [[noreturn]] void Gone(const std::string& while_doing);
  template <typename Reply>
  static Reply Convert(const nlohmann::json& reply) {
    try {
      return reply.get<Reply>();
    } catch (const std::exception& error) {
      throw WorkerFailure(WorkerFailure::Kind::kGarbage,
                          std::string("the worker's answer makes no sense: ") + error.what());
    }
  }

  Device& device_;
  ResourceLimits limits_;  // before the process started
  Interruption& interruption_;
  double timeout_seconds_;
  std::unique_ptr<Process> process_;
  protocol::Ready ready_;
};

// Whether the runner that `start` starts speaks the worker protocol. Starts it once, without anything else of
// the experiment. Its "ready" says what the device and it can do; absent: a foreign runner. Throws Error
// where it cannot be started.
std::optional<protocol::Ready> ProbeRunner(Device& device, const Command& start, Interruption& interruption,
                                           double timeout_seconds);

// The last line that says something of a process's stderr, as an error message quotes it.
std::string LastError(const Process& process);

}  // namespace etprof
