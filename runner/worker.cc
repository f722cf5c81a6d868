#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/file/descriptor.h"
#include "core/json/json.h"
#include "core/json/json_members.h"
#include "inference/model.h"
#include "inference/outputs.h"
#include "llm/steps.h"
#include "machine/conditions.h"
#include "modes.h"
#include "platform.h"
#include "timing/burst.h"
#include "timing/waiting.h"
#include "worker_commands.h"

namespace etprof::runner {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxLineBytes = 1 << 20;

// Reads the lines of stdin. A line that is too long is truncated, so that it is not JSON and gets an error
// reply.
class LineReader {
 public:
  std::optional<std::string> Next() {
    std::string line;
    while (true) {
      const std::size_t end = buffer_.find('\n');
      const std::size_t take = end == std::string::npos ? buffer_.size() : end;
      if (line.size() < kMaxLineBytes) line.append(buffer_, 0, std::min(take, kMaxLineBytes - line.size()));
      buffer_.erase(0, end == std::string::npos ? take : end + 1);
      if (end != std::string::npos) return line;
      char chunk[65536];
      const ssize_t count = ::read(STDIN_FILENO, chunk, sizeof(chunk));
      if (count < 0 && errno == EINTR) continue;
      // The last line may have no newline.
      if (count <= 0) return line.empty() ? std::nullopt : std::optional(line);
      buffer_.assign(chunk, static_cast<std::size_t>(count));
    }
  }

 private:
  std::string buffer_;
};

// Returns false if the reader has closed the pipe.
bool WriteLine(int descriptor, const json& reply) {
  // Error texts may contain bytes of hostile files: JsonText replaces invalid UTF-8.
  return WriteAll(descriptor, JsonText(reply) + "\n") == 0;
}

// True if the other end of stdin is closed. (Always false for a regular file or /dev/null.)
bool StdinHungUp() {
  pollfd descriptor{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  return ::poll(&descriptor, 1, 0) > 0 && (descriptor.revents & (POLLHUP | POLLERR)) != 0 &&
         (descriptor.revents & POLLIN) == 0;
}

json Reply(const char* command, json body = json::object()) {
  body["reply"] = command;
  return body;
}

// The reply to a command that failed. `command` is absent if the line has none.
json FailureReply(const std::string& error, const std::optional<std::string>& command, ExitCode exit_code) {
  return {{"error", error},
          {"cmd", command ? json(*command) : json()},
          {"exit_code", static_cast<int>(exit_code)}};
}

class Worker {
 public:
  json Answer(const json& request) {
    const std::string command = request.at("cmd").get<std::string>();
    if (command == "load") return Load(request.get<protocol::LoadRequest>());
    if (command == "burst") return Burst(request.get<protocol::BurstRequest>());
    if (command == "select") return Select(request.get<protocol::SelectRequest>());
    if (command == "fill") return RunSteps("fill", Fill, request.get<protocol::FillRequest>());
    if (command == "reference") return Reference(request.get<protocol::FillRequest>());
    if (command == "walk")
      return RunSteps("walk", GenerateText, request.get<protocol::GenerateTextRequest>());
    if (command == "outputs") return Outputs(request.get<protocol::OutputsRequest>());
    if (command == "etdump") return Etdump(request.get<protocol::EtdumpRequest>());
    if (command == "counters") {
      return Run("counters", [&](Model& model) {
        return CountOperators(model, request.get<protocol::CountersRequest>(), &StdinHungUp);
      });
    }
    if (command == "watch") return WatchCalls(request.get<protocol::WatchRequest>());
    if (command == "values") {
      return Run("values",
                 [&](Model& model) { return ReadValues(model, request.get<protocol::ValuesRequest>()); });
    }
    if (command == "memory") {
      return Reply("memory", protocol::MemoryReply{ResidentBytes(), PeakResidentBytes()});
    }
    throw std::invalid_argument(fmt::format(
        "there is no command '{}' (load, select, burst, fill, reference, walk, outputs, etdump, counters, "
        "watch, values, memory, quit)",
        command));
  }

 private:
  json Load(const protocol::LoadRequest& request) {
    if (request.model.empty()) throw std::invalid_argument("\"model\" is missing");
    model_.reset();  // free the old model first, so that two models never use memory at the same time
    bursts_.clear();
    memory_.reset();
    loaded_memory_ = {};
    if (request.watch_memory) {
      try {
        memory_ = std::make_unique<MemoryWatch>();
      } catch (const Error& error) {
        loaded_memory_.problem = error.what();
      }
    }
    model_ = std::make_unique<Model>(request);
    if (memory_ != nullptr) {
      try {
        loaded_memory_.load = memory_->ReadLoadTimes(*model_);
        loaded_memory_.snapshots = {memory_->TakeSnapshot("loaded", *model_)};
        loaded_memory_.operators = memory_->CreatedOperators();
      } catch (const Error& error) {
        memory_.reset();
        loaded_memory_.problem = error.what();
      }
    }
    load_request_ = request;
    place_.reset();
    MoveTo(request.place);
    protocol::LoadReply reply = model_->description();
    reply.inputs = model_->DescribeSelectedMethod().inputs;
    return Reply("load", reply);
  }

  json Select(const protocol::SelectRequest& request) {
    if (!request.method.empty()) RequireModel().Select(request.method);
    if (request.place) MoveTo(request.place);
    return Reply("select", RequireModel().DescribeSelectedMethod());
  }

  // Calls `run` with the model, and returns the reply to the command.
  json Run(const char* command, const auto& run) {
    Model& model = RequireModel();
    const CrashContext during("running '" + model.method_name() + "'");
    return Reply(command, run(model));
  }

  // Runs steps of a language model, and then prepares the model for the step at its last place again.
  template <typename Request, typename Result>
  json RunSteps(const char* command, Result (*run)(Model&, const Request&), const Request& request) {
    const json reply = Run(command, [&](Model& model) { return run(model, request); });
    MoveTo(std::nullopt);
    return reply;
  }

  // Runs the reference step. If its two runs differ, loads the model again to save its state before the first
  // run, and repeats the reference with that state restored.
  json Reference(const protocol::FillRequest& request) {
    json reply = RunSteps("reference", RunReference, request);
    if (reply["first"] == reply["again"] || model_->state() != nullptr) return reply;
    Load(protocol::LoadRequest(load_request_));
    model_->SaveState();
    return RunSteps("reference", RunReference, request);
  }

  // Moves a language model to `place` (the tokens of the next step, and their position in the text) or, if
  // that is absent, back to the last place. Does nothing to other models.
  void MoveTo(const std::optional<protocol::StepPlace>& place) {
    if (place) place_ = place;
    if (!place_) return;
    PrepareStep(RequireModel(), *place_);
    RequireModel().SelectTracer(*place_);
  }

  json Burst(const protocol::BurstRequest& request) {
    MoveTo(request.place);
    return Run("burst",
               [&](Model& model) { return RunBurst(model, request, bursts_[place_]++ == 0, &StdinHungUp); });
  }

  json WatchCalls(const protocol::WatchRequest& request) {
    return Run("watch", [&](Model& model) {
      return WatchOperators(model, request, std::move(memory_), std::exchange(loaded_memory_, {}),
                            &StdinHungUp);
    });
  }

  json Outputs(const protocol::OutputsRequest& request) {
    Model& model = RequireModel();
    if (request.place) {
      MoveTo(request.place);
      model.SetInputs();
      model.Run();
    }
    if (!model.has_run()) throw std::invalid_argument("the method has not run: there are no outputs yet");
    if (!request.save_to.empty()) SaveOutputs(model.method(), request.save_to);
    return Reply("outputs", protocol::OutputsReply{DigestOutputs(model.method())});
  }

  json Etdump(const protocol::EtdumpRequest& request) {
    if (request.path.empty()) throw std::invalid_argument("\"path\" is missing");
    if (request.place) MoveTo(request.place);
    // A load begins a block, unless this ExecuTorch was built without event tracing (wheels before 1.5).
    if (RequireModel().tracer().block_began_ns() == 0) return Reply("etdump", protocol::EtdumpReply{});
    return Reply("etdump", RequireModel().tracer().WriteAndClear(request.path));
  }

  Model& RequireModel() {
    if (model_ == nullptr) throw std::invalid_argument("no model is loaded");
    return *model_;
  }

  std::unique_ptr<Model> model_;
  protocol::LoadRequest load_request_;   // the request that loaded the model
  std::unique_ptr<MemoryWatch> memory_;  // from a load with watch_memory until the "watch" command reports it
  protocol::MemoryReport loaded_memory_;
  std::map<std::optional<protocol::StepPlace>, int> bursts_;
  std::optional<protocol::StepPlace> place_;
};

}  // namespace

int RedirectStdout() {
  const int reply_descriptor = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (reply_descriptor < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    throw Error(ExitCode::kDeviceFailed,
                fmt::format("--worker needs stdout and stderr: {}", std::strerror(errno)));
  }
  return reply_descriptor;
}

int ServeWorker(int reply_descriptor, const protocol::Ready& ready) {
  ::signal(SIGPIPE, SIG_IGN);
  // Ctrl-C reaches every process of the terminal, but etprof decides when its workers end, by closing their
  // stdin.
  if (::isatty(STDIN_FILENO) == 0) ::signal(SIGINT, SIG_IGN);
  CountStops();
  if (!WriteLine(reply_descriptor, Reply("ready", ready))) return static_cast<int>(ExitCode::kDeviceFailed);

  Worker worker;
  LineReader lines;
  while (const std::optional<std::string> line = lines.Next()) {
    if (line->find_first_not_of(" \t\r") == std::string::npos) continue;
    json answer;
    std::optional<std::string> command;
    try {
      const json request = json::parse(*line, nullptr, /*allow_exceptions=*/false);
      if (request.is_discarded()) throw std::invalid_argument("is not JSON");
      if (!request.is_object()) throw std::invalid_argument("is not a JSON object");
      const auto found = request.find("cmd");
      if (found == request.end() || !found->is_string()) throw std::invalid_argument("has no \"cmd\"");
      command = found->get<std::string>();
      if (command == "quit") {
        WriteLine(reply_descriptor, Reply("quit"));
        return 0;
      }
      answer = worker.Answer(request);
    } catch (const Error& error) {
      answer = FailureReply(error.Message(), command, error.exit_code());
    } catch (const std::bad_alloc&) {
      answer = FailureReply("out of memory", command, ExitCode::kDeviceFailed);
    } catch (const std::exception& error) {
      answer =
          FailureReply((command ? "" : "the line ") + std::string(error.what()), command, ExitCode::kUsage);
    }
    if (!WriteLine(reply_descriptor, answer)) return 0;
  }
  return 0;
}

}  // namespace etprof::runner
