#include "measure/participants/worker_client.h"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "core/json/json.h"
#include "core/json/json_members.h"
#include "core/text/text.h"

namespace etprof {
namespace {

// Time for a burst to end after Ctrl-C, or for Ctrl-C to arrive after a process ended.
constexpr double kGraceSeconds = 3;
constexpr double kExitTimeoutSeconds =
    5;  // time for a process to end after it closed its stdout or received "quit"
constexpr std::size_t kMaxQuotedBytes = 300;  // of a process's output

}  // namespace

bool Interruption::CausedExit(const std::optional<ExitStatus>& status) const {
  if (!requested) return false;
  const int signal = status ? status->PossibleSignal() : 0;
  const bool may_be_interruption = signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
  for (double waited = 0; may_be_interruption && !requested() && waited < kGraceSeconds; waited += 0.01)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return requested();
}

std::string LastError(const Process& process) {
  return Shorten(LastLine(process.LastErrors()), kMaxQuotedBytes);
}

std::string_view RunnerMessage(std::string_view text) {
  constexpr std::string_view kPrefix = "etprof-runner: ";
  const std::size_t at = text.find(kPrefix);
  return at == std::string_view::npos ? text : text.substr(at + kPrefix.size());
}

WorkerClient::WorkerClient(Device& device, const Command& command, Device::Sink log,
                           Interruption& interruption, double timeout_seconds)
    : device_(device),
      limits_(device.Limits()),
      interruption_(interruption),
      timeout_seconds_(timeout_seconds),
      process_(device.Start(command, std::move(log))) {
  ready_ = Convert<protocol::Ready>(ReadReply("ready", timeout_seconds));
  if (ready_.protocol != protocol::kVersion) {
    throw WorkerFailure(
        WorkerFailure::Kind::kVersion,
        fmt::format("the runner speaks version {} of the worker protocol, this etprof version {}: build both "
                    "from the same checkout",
                    ready_.protocol, protocol::kVersion));
  }
}

void WorkerClient::ThrowEnded(const std::string& during) {
  const auto status = process_->Wait(kExitTimeoutSeconds);
  if (process_->ConnectionLost())
    throw WorkerFailure(WorkerFailure::Kind::kLost, "the connection was lost " + during);
  if (interruption_.CausedExit(status))
    throw WorkerFailure(WorkerFailure::Kind::kInterrupted, "interrupted " + during);
  std::string text = fmt::format("the worker {} {}",
                                 status ? device_.EndText(*status, limits_) : "closed its output", during);
  const std::string last_error = LastError(*process_);
  if (!last_error.empty()) text += ": " + last_error;
  const bool exited_at_start = status && status->PossibleSignal() == 0 && during == "at its start";
  throw WorkerFailure(exited_at_start ? WorkerFailure::Kind::kRefused : WorkerFailure::Kind::kDied, text);
}

nlohmann::json WorkerClient::Call(const std::string& command, nlohmann::json request,
                                  double timeout_seconds) {
  request["cmd"] = command;
  const double limit = timeout_seconds > 0 ? timeout_seconds : timeout_seconds_;
  if (!process_->Send(request.dump(), limit)) ThrowEnded(fmt::format("before \"{}\"", command));
  return ReadReply(command, limit);
}

nlohmann::json WorkerClient::ReadReply(const std::string& command, double timeout_seconds) {
  const std::string during = command == "ready" ? "at its start" : fmt::format("during \"{}\"", command);
  std::string line;
  Process::ReadResult read = process_->ReadLine(line, timeout_seconds);
  if (read == Process::ReadResult::kInterrupted) {
    interruption_.is_suppressed = true;
    read = process_->ReadLine(line, kGraceSeconds);
    interruption_.is_suppressed = false;
    if (read == Process::ReadResult::kTimeout) read = Process::ReadResult::kInterrupted;
  }
  if (read == Process::ReadResult::kEnd) ThrowEnded(during);
  if (read == Process::ReadResult::kTimeout) {
    // A connection that broke silently looks like a worker that hangs.
    process_->Kill();
    if (process_->ConnectionLost())
      throw WorkerFailure(WorkerFailure::Kind::kLost, "the connection was lost " + during);
    throw WorkerFailure(WorkerFailure::Kind::kHung,
                        fmt::format("the worker did not answer within {:.4g} s {} (timeout_seconds)",
                                    timeout_seconds, during));
  }
  if (read == Process::ReadResult::kTooLong)
    throw WorkerFailure(WorkerFailure::Kind::kInvalidReply, "the worker wrote a line without end " + during);
  if (read == Process::ReadResult::kInterrupted)
    throw WorkerFailure(WorkerFailure::Kind::kInterrupted, "interrupted " + during);
  nlohmann::json reply = ParseJson(line);
  if (!reply.is_object()) {
    throw WorkerFailure(WorkerFailure::Kind::kInvalidReply,
                        fmt::format("the worker answered with something that is not a JSON object {}: {}",
                                    during, Shorten(line, kMaxQuotedBytes)));
  }
  if (const auto error = reply.find("error"); error != reply.end()) {
    throw WorkerFailure(WorkerFailure::Kind::kRefused,
                        error->is_string() ? error->get<std::string>() : error->dump());
  }
  const auto kind = reply.find("reply");
  if (kind == reply.end() || *kind != command) {
    throw WorkerFailure(
        WorkerFailure::Kind::kInvalidReply,
        fmt::format("the worker answered something else {}: {}", during, Shorten(line, kMaxQuotedBytes)));
  }
  return reply;
}

void WorkerClient::Quit() {
  if (process_->Send(R"({"cmd": "quit"})", kExitTimeoutSeconds)) {
    process_->CloseInput();
    std::string line;
    for (int i = 0; i < 3 && process_->ReadLine(line, kExitTimeoutSeconds) == Process::ReadResult::kLine;
         ++i) {
    }
    if (process_->Wait(kExitTimeoutSeconds)) return;
  }
  process_->Kill();
  process_->Wait(kExitTimeoutSeconds);
}

std::optional<protocol::Ready> ProbeRunner(Device& device, const Command& start, Interruption& interruption,
                                           double timeout_seconds) {
  Command command = start;
  command.arguments.emplace_back("--worker");
  try {
    WorkerClient client(device, command, {}, interruption, timeout_seconds);
    const protocol::Ready ready = client.ready();
    client.Quit();
    return ready;
  } catch (const WorkerFailure& failure) {
    const WorkerFailure::Kind kind = failure.kind();
    if (kind != WorkerFailure::Kind::kRefused && kind != WorkerFailure::Kind::kDied &&
        kind != WorkerFailure::Kind::kInvalidReply)
      throw;
    return std::nullopt;  // the runner does not know --worker
  }
}

}  // namespace etprof
