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

// What the processes of one experiment say for people, in one file. Appends; keeps at most 64 MB. What could
// not be written is left out: a log is no result.
class ExperimentLog {
 public:
  explicit ExperimentLog(std::filesystem::path path);
  void Write(std::string_view text);
  void Line(const std::string& text);

 private:
  std::filesystem::path path_;
  std::ofstream file_;
  std::size_t written_ = 0;
};

struct ParticipantSetup {
  Device* device = nullptr;
  Interruption* interruption = nullptr;
  const ExperimentConfig* config = nullptr;
  std::filesystem::path model;                   // the .pte to run: of a bundled program, the one taken out
  std::optional<protocol::InputSpec> inputs;     // absent: those saved beside the .pte, else seeded random
  const DeviceProperties* properties = nullptr;  // what `device` is
  int threads = 1;
  double timeout_seconds = 600;
  std::filesystem::path folder;    // the results directory
  std::string stem;                // Unit::stem
  ExperimentData* data = nullptr;  // outlives the participant; static facts are filled in at the first launch
  std::string saved_outputs;       // where the first launch's outputs go, or empty
};

// What starts the experiment's runner on the device, without arguments of its own: its wrapper's words first,
// with the experiment's environment. Pushes what the runner needs. Throws as Device::PutProgram and
// LibrariesForAndroid.
Command StartOfRunner(Device& device, const DeviceProperties& properties, const ExperimentConfig& experiment);

// The words that start a process of this experiment, without what is its own of worker or whole process.
Command BaseCommand(const ParticipantSetup& setup);

// The same with the arguments that start a worker, and what it is then told to load (pushed to the device).
Command WorkerCommand(const ParticipantSetup& setup);
protocol::LoadRequest LoadRequestOf(const ParticipantSetup& setup);

// Experiments of etprof-runner: a warm worker.
std::unique_ptr<Participant> MakeWorkerParticipant(const ParticipantSetup& setup);

// Experiments of any executor_runner: whole processes with its flags. Latencies from its log ("Iteration 3 of
// 20: 2.39 ms", on stderr from ExecuTorch's own, on stdout from others), else from the ETDump's
// Method::execute. A crash after the ETDump is complete is a warning.
std::unique_ptr<Participant> MakeForeignParticipant(const ParticipantSetup& setup);

// A kernel-log run: one process with `runs` runs, whose log goes to `_xnntrace.log` too. Throws
// WorkerFailure.
void RunTraceEnabled(const ParticipantSetup& setup);

// What a foreign runner's log says, of one stream or of both.
struct ForeignLog {
  std::vector<Nanoseconds> iterations;
  bool nan_in_output = false;
  void AddLine(std::string_view line);
};

// Lines of a text that comes in pieces.
class LineSplitter {
 public:
  explicit LineSplitter(std::function<void(std::string_view line)> take) : take_(std::move(take)) {}
  void Add(std::string_view text);
  void End();  // of the text: what is left is a line, too

 private:
  std::function<void(std::string_view line)> take_;
  std::string rest_;
};

}  // namespace etprof
