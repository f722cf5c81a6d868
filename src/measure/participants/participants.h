#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>

#include "device/device.h"
#include "measure/config/config.h"
#include "measure/participants/participant.h"
#include "measure/participants/worker_client.h"

namespace etprof {

// The log of all processes of one experiment, for users to read. Appends, and keeps at most 64 MB. Write
// errors are ignored, since a log is not a result.
class ExperimentLog {
 public:
  explicit ExperimentLog(std::filesystem::path path);
  void Write(std::string_view text);
  void Line(const std::string& text);
  bool IsFull() const;  // the rest is omitted

 private:
  std::filesystem::path path_;
  std::ofstream file_;
  std::size_t written_ = 0;
};

// A worker process that several experiments share in a launch. The experiments measure steps of one
// language model, and their other settings are equal.
struct SharedWorker {
  std::unique_ptr<WorkerClient> client;
  protocol::LoadReply load_reply;
  int launch = -1, users = 0;         // `users`: experiments that use the process now
  std::int64_t max_cache_tokens = 0;  // maximum number of tokens in the cache before a step
  std::string reference;              // SHA-256 of a step's logits, right after the load
  // A prompt and its first token, right after the load.
  std::optional<protocol::GenerateTextRequest> cold_request;
  std::optional<protocol::GenerateTextReply> cold_reply;  // the reply to `cold_request`
};

// The settings and resources with which a participant runs one experiment.
struct ParticipantSetup {
  Device* device = nullptr;
  Interruption* interruption = nullptr;
  const ExperimentConfig* config = nullptr;
  std::filesystem::path model;                   // the .pte to run; for a bundled program, the extracted one
  std::optional<protocol::InputSpec> inputs;     // absent: those saved next to the .pte, else seeded random
  const DeviceProperties* properties = nullptr;  // properties of `device`
  int threads = 1;
  double timeout_seconds = 600;
  std::filesystem::path folder;    // the results directory
  std::string stem;                // beginning of the names of the files (Unit::stem)
  ExperimentData* data = nullptr;  // outlives the participant; the first launch adds its static facts
  std::string saved_outputs;       // path for the first launch's outputs; empty: not saved
  std::shared_ptr<SharedWorker> shared = {};  // null: the experiment has a separate process
};

// Makes the command that starts the experiment's runner on the device: the wrapper's words first, the
// experiment's environment, and no arguments. Pushes the files that the runner needs. Throws as
// Device::PutProgram and AndroidRunnerLibraries.
Command MakeRunnerCommand(Device& device, const DeviceProperties& properties,
                          const ExperimentConfig& experiment);

// MakeRunnerCommand with the experiment's CPUs: the command for both workers and whole processes.
Command BaseCommand(const ParticipantSetup& setup);

// BaseCommand with the arguments of a worker, and the worker's load request. Both push the files that they
// name.
Command WorkerCommand(const ParticipantSetup& setup);
protocol::LoadRequest MakeLoadRequest(const ParticipantSetup& setup);

// Makes a participant for etprof-runner: one worker process per launch.
std::unique_ptr<Participant> MakeWorkerParticipant(const ParticipantSetup& setup);

// Makes a participant for any executor_runner, started with its flags: one process per burst. Latencies come
// from its log ("Iteration 3 of 20: 2.39 ms", on stderr of ExecuTorch's own runner, on stdout of other
// runners), else from Method::execute in the ETDump. A crash after the ETDump is complete is a warning.
std::unique_ptr<Participant> MakeThirdPartyParticipant(const ParticipantSetup& setup);

// Makes a kernel-log run: one process with `runs` runs, whose log also goes to `_xnntrace.log`. Throws
// WorkerFailure.
void RunTraceEnabled(const ParticipantSetup& setup);

// The data in a third-party runner's log lines, from one or both streams.
struct ThirdPartyLog {
  std::vector<Nanoseconds> iterations;
  bool nan_in_output = false;
  void AddLine(std::string_view line);
};

// Splits text that arrives in pieces into lines.
class LineSplitter {
 public:
  explicit LineSplitter(std::function<void(std::string_view line)> on_line) : on_line_(std::move(on_line)) {}
  void Add(std::string_view text);
  void End();  // passes on the last line if it has no newline

 private:
  std::function<void(std::string_view line)> on_line_;
  std::string incomplete_line_;
};

}  // namespace etprof
