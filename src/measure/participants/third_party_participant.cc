#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <functional>
#include <optional>

#include "core/error.h"
#include "core/text/text.h"
#include "format/etdump/reader.h"
#include "format/xnnpack/kernel_log.h"
#include "measure/participants/device_log.h"
#include "measure/participants/participants.h"
#include "measure/schedule/clean_runs.h"
#include "measure/store/run_directory.h"
#include "measure/store/run_files.h"

namespace etprof {
namespace {

struct ThirdPartyRun {
  std::vector<Nanoseconds> times;   // latency of every run, from the log or the ETDump
  std::vector<Nanoseconds> traced;  // latency of every run in the ETDump
  ExitStatus status;
  Nanoseconds wall = 0;          // duration of the whole process
  bool has_xnnpack_log = false;  // the output has lines of XNNPACK's log
  bool trace_enabled = false;    // the output has log levels that only a kernel-log build has
};

// Runs one whole process, for at most `max_seconds_for_runs(runs)`, where `runs` is the number of runs that
// the process has reported so far; the result may change while the process runs. Its output goes to `log`,
// and to `second_log` unless that is null.
ThirdPartyRun RunProcess(const ParticipantSetup& setup, int executions,
                         const std::function<double(std::size_t)>& max_seconds_for_runs,
                         const std::filesystem::path& etdump, ExperimentLog& log, ExperimentLog* second_log,
                         const std::string& title) {
  const ExperimentConfig& config = *setup.config;
  Device& device = *setup.device;
  Command command = BaseCommand(setup);
  // Some builds of XNNPACK read their log level at run time.
  if (second_log != nullptr && !config.environment.contains("XNN_LOG_LEVEL"))
    command.environment.emplace_back("XNN_LOG_LEVEL", "5");
  std::vector<std::string>& arguments = command.arguments;
  arguments.push_back("--model_path=" + device.Put(setup.model));
  arguments.push_back(fmt::format("--num_executions={}", executions));
  arguments.push_back(fmt::format("--cpu_threads={}", setup.threads));
  const std::string device_path = device.ReserveOutputPath(etdump);
  arguments.push_back("--etdump_path=" + device_path);
  // Third-party runners have no mask here, since ProbeRunners in measure.cc refuses it.
  if (!config.isa.empty()) arguments.push_back("--isa=" + config.isa);
  for (const std::string& library : config.load) arguments.push_back("--load=" + device.Put(library));
  if (!config.data.empty()) arguments.push_back("--data_path=" + device.Put(config.data));
  if (config.method != "forward") arguments.push_back("--method_name=" + config.method);
  if (config.inputs && config.inputs->kind == "files") {
    std::string list;
    for (const std::string& path : config.inputs->paths) list += (list.empty() ? "" : ",") + device.Put(path);
    arguments.push_back("--inputs=" + list);
  }
  arguments.insert(arguments.end(), config.extra_args.begin(), config.extra_args.end());
  setup.data->command_line = arguments;
  std::filesystem::create_directories(etdump.parent_path());
  std::filesystem::remove(etdump);

  std::string tail;  // end of the output so far, since a marker may be in two pieces of it
  constexpr std::size_t kMaxMarkerBytes = 32;
  ThirdPartyRun run;
  const auto write = [&](std::string_view text) {
    tail += text;
    run.has_xnnpack_log = run.has_xnnpack_log || tail.find("(XNNPACK)") != std::string::npos;
    run.trace_enabled = run.trace_enabled || xnnpack::IsTraceEnabled(tail);
    tail.erase(0, tail.size() - std::min(tail.size(), kMaxMarkerBytes));
    log.Write(text);
    if (second_log != nullptr) second_log->Write(text);
  };
  log.Line(fmt::format("# {}: {}", title, CommandText(command)));
  ThirdPartyLog parsed_log;
  LineSplitter error_lines([&parsed_log](std::string_view line) { parsed_log.AddLine(line); });
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  auto last_output = start;  // last output on either stream
  const ResourceLimits limits = device.Limits();
  const std::unique_ptr<Process> process = device.Start(command, [&](std::string_view text) {
    last_output = Clock::now();
    error_lines.Add(text);
    write(text);
  });
  process->CloseInput();
  std::string line;
  const auto max_seconds = [&] { return max_seconds_for_runs(parsed_log.iterations.size()); };
  const auto seconds_since = [](Clock::time_point time) {
    return std::chrono::duration<double>(Clock::now() - time).count();
  };
  const auto seconds_left = [&] {
    return std::min(setup.timeout_seconds - seconds_since(last_output), max_seconds() - seconds_since(start));
  };
  while (true) {
    const double seconds = seconds_left();
    const Process::ReadResult read = process->ReadLine(line, seconds);
    if (read == Process::ReadResult::kEnd) break;
    if (read == Process::ReadResult::kLine && seconds > 0) {
      last_output = Clock::now();
      parsed_log.AddLine(line);
      write(line + "\n");
      continue;
    }
    if (read == Process::ReadResult::kTimeout && seconds_left() > 0)
      continue;  // there was output on stderr meanwhile
    process->Kill();
    if (read == Process::ReadResult::kInterrupted)
      throw WorkerFailure(WorkerFailure::Kind::kInterrupted, "interrupted");
    if (read == Process::ReadResult::kTooLong)
      throw WorkerFailure(WorkerFailure::Kind::kInvalidReply, "the runner wrote a line without end");
    if (process->ConnectionLost())
      throw WorkerFailure(WorkerFailure::Kind::kLost, "the connection was lost while the runner ran");
    throw WorkerFailure(
        WorkerFailure::Kind::kHung,
        seconds_since(start) >= max_seconds()
            ? fmt::format("the runner wrote output for {:.4g} s and did not end", seconds_since(start))
            : fmt::format("the runner said nothing for {:.4g} s (timeout_seconds)", setup.timeout_seconds));
  }
  const auto output_end = Clock::now();
  std::optional<ExitStatus> status;
  while (!(status = process->Wait(0.2))) {
    if (setup.interruption->IsRequested())
      throw WorkerFailure(WorkerFailure::Kind::kInterrupted, "interrupted");
    if (seconds_since(output_end) >= setup.timeout_seconds || seconds_since(start) >= max_seconds())
      throw WorkerFailure(WorkerFailure::Kind::kHung, "the runner closed its output and does not end");
  }
  error_lines.End();

  if (process->ConnectionLost())
    throw WorkerFailure(WorkerFailure::Kind::kLost, "the connection was lost while the runner ran");
  if (!status->Success() && setup.interruption->CausedExit(status))
    throw WorkerFailure(WorkerFailure::Kind::kInterrupted, "interrupted");

  run.status = *status;
  run.wall = std::chrono::nanoseconds(Clock::now() - start).count();
  if (run.status.run_delay) setup.data->wait_source = protocol::kOutsideProcess;
  std::string etdump_problem =
      "it wrote no ETDump: it was built without the event tracer, or died before its end";
  if (device.Get(device_path, etdump)) {
    try {
      run.traced = ExecuteTimes(ReadEtdumpFile(etdump));
      etdump_problem = run.traced.empty() ? "its ETDump has no run" : "";
    } catch (const Error& error) {
      etdump_problem = error.Message();
    }
  }
  run.times =
      static_cast<int>(parsed_log.iterations.size()) == executions ? parsed_log.iterations : run.traced;
  if (parsed_log.nan_in_output) AppendUnique("its printed outputs have NaN", setup.data->warnings);
  if (!status->Success()) {
    std::string problem = fmt::format("the runner {}", device.EndText(*status, limits));
    const std::string last_error = LastError(*process);
    if (!last_error.empty()) problem += ": " + last_error;
    if (static_cast<int>(run.traced.size()) != executions) {
      const bool exited = status->PossibleSignal() == 0;
      throw WorkerFailure(exited ? WorkerFailure::Kind::kRefused : WorkerFailure::Kind::kDied, problem);
    }
    AppendUnique(problem + "; its ETDump was complete by then, and is used", setup.data->warnings);
  }
  if (run.times.empty())
    throw WorkerFailure(WorkerFailure::Kind::kRefused,
                        "it is not known how long its runs took: " + etdump_problem);
  if (run.traced.empty()) AppendUnique("no operators: " + etdump_problem, setup.data->warnings);
  return run;
}

// Adds the runs of a process to `launch` as a burst; the first `unrecorded_runs` runs are warm-up. `timed`:
// the runs are latency measurements, so their waiting is recorded and at least one recorded run is required.
void AddRuns(const ThirdPartyRun& run, int unrecorded_runs, bool timed, Burst burst, Launch& launch) {
  // The system reports run delay only per process, so distribute it over the runs by their latency.
  const auto run_wait = [&](Nanoseconds latency) -> Nanoseconds {
    if (!run.status.run_delay || run.wall <= 0) return -1;
    return static_cast<Nanoseconds>(static_cast<double>(latency) *
                                    static_cast<double>(*run.status.run_delay) /
                                    static_cast<double>(run.wall));
  };
  for (std::size_t i = 0; i < run.times.size(); ++i) {
    if (i == 0) {
      launch.first_run = run.times[i];
    } else if (static_cast<int>(i) < unrecorded_runs) {
      launch.warmup.push_back(run.times[i]);
    } else {
      burst.recorded.push_back(run.times[i]);
      if (timed) burst.recorded_wait.push_back(run_wait(run.times[i]));
    }
  }
  if (timed && burst.recorded.empty())
    throw WorkerFailure(WorkerFailure::Kind::kInvalidReply, "it ran too few times");
  launch.peak_rss = run.status.peak_rss;
  for (std::size_t i = 0; i < run.traced.size(); ++i) {
    const bool is_warmup = static_cast<int>(i) < unrecorded_runs;
    const bool clean = !timed || IsCleanRun(run.traced[i], run_wait(run.traced[i]));
    const Phase phase = i == 0      ? Phase::kFirst
                        : is_warmup ? Phase::kWarmup
                        : clean     ? Phase::kSteady
                                    : Phase::kDisturbed;
    launch.traced_runs.push_back({launch.index, is_warmup ? -1 : burst.round, phase});
  }
  launch.bursts.push_back(std::move(burst));
}

class ThirdPartyParticipant : public Participant {
 public:
  explicit ThirdPartyParticipant(const ParticipantSetup& setup)
      : setup_(setup), log_(setup.folder / (setup.stem + ".log")) {}

  bool IsWholeProcess() const override { return true; }
  void Begin(Launch&) override {}
  std::optional<Nanoseconds> WarmUp(Launch&, int, int) override { return std::nullopt; }

  void RunBurst(Launch& launch, int round, int order, const protocol::BurstRequest& request) override {
    const std::string part = EtdumpPart(setup_.stem, launch.index);
    // Android's log is checked only in the first burst, since the runner does not change.
    std::optional<DeviceLog> device_log;
    if (!checked_device_log_) device_log.emplace(*setup_.device, *setup_.properties);
    const int unrecorded_runs = 1 + std::max(0, request.min_opening);
    const int executions = unrecorded_runs + std::max(request.min_runs, std::min(request.max_runs, 100'000));
    ParticipantSetup setup = setup_;
    setup.timeout_seconds = RequestTimeout(setup_.timeout_seconds);
    // A process of unknown duration that writes more than the log takes has no time beyond the limit.
    const auto max_seconds = [&](std::size_t) {
      return ProcessTimeout(log_.IsFull() ? 0 : setup_.timeout_seconds);
    };
    const ThirdPartyRun run = RunProcess(setup, executions, max_seconds, setup_.folder / part, log_, nullptr,
                                         fmt::format("launch {}", launch.index + 1));
    if (run.trace_enabled || (device_log && HasTraceInLog(*device_log))) {
      throw WorkerFailure(
          WorkerFailure::Kind::kRefused,
          "its runner writes XNNPACK's log, which takes time, so its times are not latency; give the "
          "experiment \"mode\": \"xnntrace\", or a runner that was built without that log");
    }
    checked_device_log_ = true;
    Burst burst;
    burst.round = round;
    burst.order = order;
    burst.cpu_time = run.status.cpu_time;
    AddRuns(run, unrecorded_runs, /*timed=*/true, std::move(burst), launch);
    if (!run.traced.empty()) launch.etdump_part = part;
  }

  void End(Launch&, bool) override {}
  void Abandon() override {}

 private:
  static bool HasTraceInLog(const DeviceLog& device_log) {
    try {
      return xnnpack::IsTraceEnabled(device_log.Lines());
    } catch (const Error&) {  // not known
      return false;
    }
  }

  ParticipantSetup setup_;
  ExperimentLog log_;
  bool checked_device_log_ = false;  // whether Android's log was checked
};

// Adds Android's log to `xnntrace`, since an XNNPACK for Android writes to that log.
void AddDeviceLog(const ParticipantSetup& setup, const DeviceLog& device_log, ExperimentLog& xnntrace) {
  try {
    xnntrace.Write(device_log.Lines());
  } catch (const Error& error) {
    AppendUnique("Android's log could not be read: " + error.Message(), setup.data->warnings);
  }
}

}  // namespace

void ThirdPartyLog::AddLine(std::string_view line) {
  // ExecuTorch's log: "I 00:00:00.021 executorch:executor_runner.cpp:513] Iteration 18 of 20: 2.396789 ms".
  const std::size_t at = line.find("Iteration ");
  const std::size_t colon = at == std::string_view::npos ? at : line.find(": ", at);
  if (colon != std::string_view::npos && line.ends_with(" ms")) {
    const std::string_view digits = line.substr(colon + 2, line.size() - 3 - (colon + 2));
    const auto milliseconds = AsNumber<double>(digits);
    if (milliseconds && *milliseconds >= 0 && *milliseconds < 1e9)
      iterations.push_back(static_cast<Nanoseconds>(std::llround(*milliseconds * 1e6)));
  }
  for (std::size_t i = 0; i + 3 <= line.size(); ++i) {
    const auto lower_case = [&](std::size_t index) {
      return std::tolower(static_cast<unsigned char>(line[index]));
    };
    const auto is_word_character = [&](std::size_t index) {
      return std::isalnum(static_cast<unsigned char>(line[index])) != 0 || line[index] == '_';
    };
    if (lower_case(i) != 'n' || lower_case(i + 1) != 'a' || lower_case(i + 2) != 'n') continue;
    if ((i == 0 || !is_word_character(i - 1)) && (i + 3 == line.size() || !is_word_character(i + 3)))
      nan_in_output = true;
  }
}

void LineSplitter::Add(std::string_view text) {
  incomplete_line_ += text;
  std::size_t start = 0;
  for (std::size_t end = incomplete_line_.find('\n'); end != std::string::npos;
       end = incomplete_line_.find('\n', start)) {
    on_line_(std::string_view(incomplete_line_).substr(start, end - start));
    start = end + 1;
  }
  incomplete_line_.erase(0, start);
  constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20U;  // longer text is not a line of a log
  if (incomplete_line_.size() > kMaxLineBytes) incomplete_line_.clear();
}

void LineSplitter::End() {
  if (!incomplete_line_.empty()) on_line_(incomplete_line_);
  incomplete_line_.clear();
}

std::unique_ptr<Participant> MakeThirdPartyParticipant(const ParticipantSetup& setup) {
  return std::make_unique<ThirdPartyParticipant>(setup);
}

void RunTraceEnabled(const ParticipantSetup& setup) {
  const DeviceLog device_log(*setup.device, *setup.properties);
  const std::filesystem::path log_path = setup.folder / (setup.stem + ".log");
  const std::filesystem::path xnntrace_path = setup.folder / (setup.stem + kKernelLogSuffix);
  // Remove the logs of an interrupted attempt, whose calls would be counted, too.
  for (const auto& path : {log_path, xnntrace_path}) std::filesystem::remove(path);
  ExperimentLog log(log_path);
  ExperimentLog xnntrace(xnntrace_path);
  Launch launch;
  const std::string part = EtdumpPart(setup.stem, 0);
  const int unrecorded_runs = 1 + setup.config->warmup.value_or(0);
  const int executions = unrecorded_runs + setup.config->runs;
  // Each reported run may take timeout_seconds, since the log slows a runner down by an unknown factor.
  const auto max_seconds = [&](std::size_t runs) {
    const auto expected_runs = std::min(runs, static_cast<std::size_t>(executions));
    return setup.timeout_seconds * static_cast<double>(1 + expected_runs);
  };
  const ThirdPartyRun run =
      RunProcess(setup, executions, max_seconds, setup.folder / part, log, &xnntrace, "kernel-log run");
  if (!run.has_xnnpack_log) AddDeviceLog(setup, device_log, xnntrace);
  AddRuns(run, unrecorded_runs, /*timed=*/false, Burst(), launch);
  if (!run.traced.empty()) launch.etdump_part = part;
  setup.data->launches.push_back(launch);
}

}  // namespace etprof
