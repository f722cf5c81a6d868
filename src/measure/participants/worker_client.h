#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/json/json_members.h"
#include "device/device.h"
#include "measure/participants/participant.h"
#include "protocol/messages.h"

namespace etprof {

// Determines whether the user wants to stop. While `is_suppressed` is set, IsRequested() is false, so that
// workers can still return their results.
struct Interruption {
  std::function<bool()> requested;
  bool is_suppressed = false;
  bool IsRequested() const { return !is_suppressed && requested && requested(); }
  // True if a process with this exit status ended because of an interruption. A signal to both processes (by
  // a service manager or `pkill etprof`) may end the process before etprof receives its own signal, so this
  // waits briefly for that signal.
  bool CausedExit(const std::optional<ExitStatus>& status) const;
};

// The connection to a process of `etprof-runner --worker` (protocol/messages.h). All failures are
// WorkerFailure with a description.
class WorkerClient {
 public:
  // Starts the process and waits for its "ready". Throws Error if it cannot be started.
  WorkerClient(Device& device, const Command& command, Device::Sink log, Interruption& interruption,
               double timeout_seconds);

  const protocol::Ready& ready() const { return ready_; }

  // Sends {"cmd": command, ...request} and waits for the reply, at most `timeout_seconds` (0: the timeout of
  // the constructor).
  nlohmann::json Call(const std::string& command, nlohmann::json request, double timeout_seconds = 0);

  template <typename Reply>
  Reply SendRequest(const std::string& command, nlohmann::json request = nlohmann::json::object(),
                    double timeout_seconds = 0) {
    return Convert<Reply>(Call(command, std::move(request), timeout_seconds));
  }

  // Sends "quit", and kills the process if it does not end.
  void Quit();

 private:
  nlohmann::json ReadReply(const std::string& command, double timeout_seconds);
  [[noreturn]] void ThrowEnded(const std::string& during);
  template <typename Reply>
  static Reply Convert(const nlohmann::json& reply) {
    try {
      return reply.get<Reply>();
    } catch (const std::exception& error) {
      throw WorkerFailure(WorkerFailure::Kind::kInvalidReply,
                          std::string("the worker's answer makes no sense: ") + error.what());
    }
  }

  Device& device_;
  ResourceLimits limits_;  // limits before the process started
  Interruption& interruption_;
  double timeout_seconds_;
  std::unique_ptr<Process> process_;
  protocol::Ready ready_;
};

// Starts the runner once, without the experiment's settings, to find out whether it speaks the worker
// protocol. Returns its "ready"; absent: a third-party runner. Throws Error if it cannot be started.
std::optional<protocol::Ready> ProbeRunner(Device& device, const Command& start, Interruption& interruption,
                                           double timeout_seconds);

// The last nonempty line of a process's stderr, shortened for error messages.
std::string LastError(const Process& process);
// The text after "etprof-runner: ", with which the runner's error messages begin; without it the whole text.
std::string_view RunnerMessage(std::string_view text);

}  // namespace etprof
