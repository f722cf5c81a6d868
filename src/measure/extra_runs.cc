#include "measure/extra_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/file/file.h"
#include "core/json/json.h"
#include "core/json/json_members.h"
#include "core/text/text.h"
#include "format/program/read/program_reader.h"
#include "measure/instructions/instructions.h"
#include "measure/instructions/instrument.h"
#include "measure/schedule/forecast.h"
#include "measure/store/counters.h"
#include "measure/store/peaks.h"
#include "measure/store/run_files.h"
#include "measure/store/watch.h"
#include "measure/values/values.h"

namespace etprof {
namespace {

// A kind of extra runs, such as those of `--counters`.
struct ExtraRuns {
  const char* name;                        // name in warnings and in the log: "counters"
  const char* third_party_runner_warning;  // warning for third-party runners, which do not support these runs
  const char* emulated_warning = nullptr;  // warning for emulated CPUs; null: they support these runs
};

void ReportActivity(const std::string& name, const RunData& run, Progress* progress) {
  if (progress == nullptr) return;
  ProgressUpdate update;
  update.activity = name;
  update.seconds = run.schedule.seconds;
  update.max_seconds = run.schedule.max_seconds;
  progress->Update(update);
}

void Warn(const ExtraRuns& extra_runs, const std::string& text, ExperimentData& data) {
  AppendUnique(fmt::format("{}: {}", extra_runs.name, text), data.warnings);
}

// Starts a worker with `command`, lets it load the model, and returns the result of `send_requests(worker)`.
// With `watch_memory`, the worker watches its memory from before the load.
auto UseWorker(const ExtraRuns& extra_runs, const ParticipantSetup& setup, const Command& command,
               bool watch_memory, const auto& send_requests) {
  ExperimentLog log(setup.folder / (setup.stem + ".log"));
  log.Line(fmt::format("# {}: {}", extra_runs.name, CommandText(command)));
  WorkerClient worker(
      *setup.device, command, [&](std::string_view text) { log.Write(text); }, *setup.interruption,
      setup.timeout_seconds);
  protocol::LoadRequest load = MakeLoadRequest(setup);
  load.watch_memory = watch_memory;
  worker.SendRequest<protocol::LoadReply>("load", load);
  auto result = send_requests(worker);
  worker.Quit();
  return result;
}

// Calls `measure` for each experiment of etprof-runner. `measure` may throw WorkerFailure.
void MeasureEach(const ExtraRuns& extra_runs, const ExtraRunsSetup& setup,
                 const std::function<void(const ParticipantSetup&, ExperimentData&)>& measure) {
  for (std::size_t u = 0; u < setup.plan.units.size(); ++u) {
    ExperimentData& data = setup.run.experiments[u];
    if (data.trace_enabled || !data.error.empty()) continue;
    if (data.third_party_runner || (data.emulated && extra_runs.emulated_warning != nullptr)) {
      Warn(extra_runs,
           data.third_party_runner ? extra_runs.third_party_runner_warning : extra_runs.emulated_warning,
           data);
      continue;
    }
    const ParticipantSetup unit_setup = setup.make_setup(u);
    if (unit_setup.interruption->IsRequested()) return;
    ReportActivity(fmt::format("{}: {}", data.label, extra_runs.name), setup.run, setup.progress);
    bool interrupted = false;
    setup.retry_after_reconnect([&] {
      try {
        measure(unit_setup, data);
      } catch (const WorkerFailure& failure) {
        interrupted = WasInterrupted(failure, *unit_setup.device);
        if (!interrupted) Warn(extra_runs, failure.what(), data);
      }
    });
    if (interrupted) return;
  }
}

constexpr double kMaxPeakSeconds = 60;  // timeout for measuring the peaks, which takes two seconds

}  // namespace

bool WasInterrupted(const WorkerFailure& failure, Device& device) {
  if (failure.kind() == WorkerFailure::Kind::kLost) throw DeviceLost(device.Name(), failure.what());
  return failure.kind() == WorkerFailure::Kind::kInterrupted;
}

void MeasureCounters(const ExtraRunsSetup& setup) {
  const ExtraRuns counters{"counters", "only etprof-runner reads them", "an emulated CPU has none"};
  MeasureEach(counters, setup, [&](const ParticipantSetup& unit_setup, ExperimentData& data) {
    const auto reply =
        UseWorker(counters, unit_setup, WorkerCommand(unit_setup), false, [](WorkerClient& worker) {
          return worker.SendRequest<protocol::CountersReply>("counters", protocol::CountersRequest{});
        });
    for (const std::string& remark : DescribeCounterLimits(reply)) Warn(counters, remark, data);
    if (reply.counters.empty()) return;
    data.counters = MakeCountersRows(reply, unit_setup.config->method);
    WriteFileAtomically(CountersFile(data), [&](std::ostream& out) { WriteCounters(data.counters, out); });
  });
}

namespace {

// Two processes' counts agree up to this relative difference; else a third process counts.
constexpr double kMaxCountDifference = 1e-4;
// Counts also agree up to this number of instructions, because in a small model a single allocation on
// another path exceeds kMaxCountDifference.
constexpr double kMaxInstructionDifference = 16;
constexpr int kMaxProcesses = 4;
constexpr protocol::CountersRequest kCountOnce{.warmup = 1, .runs = 1};

bool CountsAgree(const protocol::CountersReply& a, const protocol::CountersReply& b) {
  const double count_a = MethodInstructionCount(a), count_b = MethodInstructionCount(b);
  return std::abs(count_a - count_b) <= std::max(kMaxInstructionDifference, kMaxCountDifference * count_a);
}

bool CountsInstructions(const protocol::CountersReply& reply) {
  return std::ranges::any_of(reply.counters, [](const protocol::AvailableCounter& counter) {
    return counter.name == protocol::kEmulatorCounters.front() && counter.share >= 1;
  });
}

// Valgrind's simulated processor has no AVX-512.
bool HasAvx512(const DeviceProperties& device) {
  return std::ranges::any_of(device.features,
                             [](const std::string& feature) { return feature.starts_with("avx512"); });
}

constexpr ExtraRuns kInstructions{"instructions", "only etprof-runner counts them"};

// Counts the instructions of an experiment in one process after the other, until two processes agree.
class InstructionCounter {
 public:
  InstructionCounter(ParticipantSetup setup, const std::filesystem::path& plugin)
      : setup_(std::move(setup)), plugin_(plugin) {
    setup_.threads = 1;
    command_ = WorkerCommand(setup_);
  }

  ~InstructionCounter() {
    std::error_code ignored;
    std::filesystem::remove(ProfilePath(), ignored);
  }
  InstructionCounter(InstructionCounter&&) = delete;

  // Warns if instructions cannot be counted. Throws WorkerFailure.
  void Run(ExperimentData& data) {
    if (!data.emulated) Count();
    if (replies_.empty() || !CountsInstructions(replies_.back())) {
      replies_.clear();
      const std::optional<Instrument> instrument = FindCounter(data);
      if (!instrument) return;
      instrument->WrapCommand(command_);
      Count();
      if (!CountsInstructions(replies_.back())) {
        return Warn(kInstructions,
                    "the runner did not find what counts: build it again (`etprof build` for a bundle, "
                    "script/bootstrap for this machine's)",
                    data);
      }
      if (!instrument->valgrind.empty() && HasAvx512(*setup_.properties)) {
        Warn(kInstructions,
             "Valgrind's processor has no AVX-512: kernels that need it are not those that were counted",
             data);
      }
    }
    bool agree = false;
    while (!agree && replies_.size() < kMaxProcesses) {
      if (setup_.interruption->IsRequested()) return;
      Count();
      agree = CountsAgree(replies_[replies_.size() - 2], replies_.back());
    }
    const auto first_merged = agree ? replies_.end() - 2 : replies_.begin();
    data.instructions = MergeInstructions({first_merged, replies_.end()}, setup_.config->method);
    for (const protocol::CountersReply& reply : replies_) {
      if (reply.unmatched_calls > 0) Warn(kInstructions, UnmatchedCallsWarning(reply.unmatched_calls), data);
    }
    WriteFileAtomically(InstructionsFile(data),
                        [&](std::ostream& out) { WriteInstructions(data.instructions, out); });
  }

 private:
  void Count() {
    replies_.push_back(UseWorker(kInstructions, setup_, command_, false, [](WorkerClient& worker) {
      return worker.SendRequest<protocol::CountersReply>("counters", kCountOnce);
    }));
  }

  std::optional<Instrument> FindCounter(ExperimentData& data) {
    try {
      if (setup_.device->Name() != "local") {
        throw Error(ExitCode::kBadInput, "the processor's counters are closed there")
            .Remedy("open them (docs/guides/troubleshooting.md), or count in QEMU on this machine");
      }
      return FindInstrument(command_, data.emulated, plugin_, ProfilePath());
    } catch (const Error& error) {
      Warn(kInstructions, error.Message(), data);
      return std::nullopt;
    }
  }

  std::filesystem::path ProfilePath() const { return setup_.folder / (setup_.stem + ".callgrind"); }

  ParticipantSetup setup_;
  const std::filesystem::path& plugin_;
  Command command_;  // starts a process that counts
  std::vector<protocol::CountersReply> replies_;
};

}  // namespace

void MeasureInstructions(const ExtraRunsSetup& setup, const std::filesystem::path& plugin) {
  MeasureEach(kInstructions, setup, [&](const ParticipantSetup& unit_setup, ExperimentData& data) {
    InstructionCounter(unit_setup, plugin).Run(data);
  });
}

void MeasureWatch(const ExtraRunsSetup& setup) {
  const ExtraRuns watch{"watch", "only etprof-runner watches XNNPACK's calls"};
  MeasureEach(watch, setup, [&](const ParticipantSetup& unit_setup, ExperimentData& data) {
    const bool watch_memory = !data.emulated;  // the pages of an emulated process belong to the emulator
    auto reply =
        UseWorker(watch, unit_setup, WorkerCommand(unit_setup), watch_memory, [](WorkerClient& worker) {
          return worker.SendRequest<protocol::WatchReply>("watch", protocol::WatchRequest{});
        });
    if (!reply.problem.empty()) return Warn(watch, reply.problem, data);
    if (reply.unmatched_calls > 0) Warn(watch, UnmatchedCallsWarning(reply.unmatched_calls), data);
    if (reply.memory && !reply.memory->problem.empty()) {
      Warn(watch, "memory by owner: " + reply.memory->problem, data);
      reply.memory.reset();
    }
    data.watch = std::make_shared<const WatchData>(WatchData{unit_setup.config->method, std::move(reply)});
    WriteFileAtomically(WatchFile(data), nlohmann::json(*data.watch).dump(1) + "\n");
  });
}

namespace {

// Reads the values of one variant. Absent: they cannot be read, and `data` has a warning. Throws
// WorkerFailure, and Error if the program cannot be read.
std::optional<VariantValues> ReadVariantValues(const ExtraRuns& extra_runs,
                                               const ParticipantSetup& unit_setup, ExperimentData& data) {
  const std::filesystem::path file = unit_setup.folder / (unit_setup.stem + kReadValuesSuffix);
  const std::string device_path = unit_setup.device->ReserveOutputPath(file);
  VariantValues variant;
  variant.method = unit_setup.config->method;
  const auto read_values = [&](WorkerClient& worker) {
    auto reply = worker.SendRequest<protocol::ValuesReply>("values", protocol::ValuesRequest{});
    if (!reply.problem.empty()) return reply;
    variant.values = DescribeValues(reply, ReadProgramFile(unit_setup.model), variant.method);
    reply = worker.SendRequest<protocol::ValuesReply>(
        "values", protocol::ValuesRequest{device_path, MakeValueSizes(variant.values)});
    if (reply.problem.empty() && !unit_setup.device->Get(device_path, file))
      reply.problem = "the runner left no values";
    return reply;
  };
  auto reply = UseWorker(extra_runs, unit_setup, WorkerCommand(unit_setup), false, read_values);
  if (reply.problem.empty()) {
    const auto is_read = [](const protocol::OperatorValue& value) {
      return value.bytes > 0 && value.place.kind == "backend";
    };
    if (reply.checked == 0 && std::ranges::any_of(reply.values, is_read))
      reply.problem = "no value was found where the program takes it, so none can be trusted";
  }
  if (!reply.problem.empty()) {
    Warn(extra_runs, reply.problem, data);
    return std::nullopt;
  }
  if (!reply.outputs_compared)
    Warn(extra_runs, "the outputs of any two runs differ, so it is not known whether reading changes them",
         data);
  UpdateValues(reply, variant.values);
  ReadElements(file, variant);
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  return variant;
}

}  // namespace

void MeasureValues(const ExtraRunsSetup& setup) {
  const ExtraRuns values{"values", "only etprof-runner reads them"};
  std::map<const ExperimentData*, VariantValues> values_by_experiment;
  MeasureEach(values, setup, [&](const ParticipantSetup& unit_setup, ExperimentData& data) {
    try {
      auto variant = ReadVariantValues(values, unit_setup, data);
      if (variant && setup.run.pairs.empty()) SaveValues(*variant, data.PathNextToLog(kReadValuesSuffix));
      if (variant) values_by_experiment.insert_or_assign(&data, std::move(*variant));
    } catch (const WorkerFailure&) {
      throw;
    } catch (const std::exception& error) {
      Warn(values, error.what(), data);
    }
  });
  setup.run.values.clear();
  for (const ComparePair& pair : setup.run.pairs) {
    const ExperimentData &baseline_data = setup.run.experiments[pair.baseline],
                         &candidate_data = setup.run.experiments[pair.candidate];
    const auto baseline = values_by_experiment.find(&baseline_data),
               candidate = values_by_experiment.find(&candidate_data);
    if (baseline == values_by_experiment.end() || candidate == values_by_experiment.end()) continue;
    for (ValuesRow& row : CompareValues(baseline->second, candidate->second)) {
      row.baseline = baseline_data.label;
      row.candidate = candidate_data.label;
      setup.run.values.push_back(std::move(row));
    }
  }
  if (!setup.run.values.empty())
    WriteFileAtomically(setup.run.folder / kValuesFile,
                        [&](std::ostream& out) { WriteValues(setup.run.values, out); });
}

std::vector<std::vector<std::size_t>> GroupByConditions(const Config& config, const Plan& plan,
                                                        const std::vector<std::size_t>& units) {
  // The conditions on which the peaks depend.
  const auto conditions = [&](std::size_t u) {
    const Unit& unit = plan.units[u];
    const ExperimentConfig& experiment = config.experiments[unit.experiment];
    return std::tie(experiment.runner, experiment.exec_wrapper, experiment.environment, unit.threads,
                    experiment.isa, experiment.cpu_affinity);
  };
  std::vector<std::vector<std::size_t>> groups;
  for (const std::size_t u : units) {
    const auto group = std::ranges::find_if(
        groups, [&](const auto& members) { return conditions(members.front()) == conditions(u); });
    (group == groups.end() ? groups.emplace_back() : *group).push_back(u);
  }
  return groups;
}

void MeasurePeaks(const ExtraRunsSetup& setup, const Config& config,
                  const std::function<double()>& seconds_left) {
  RunData& run = setup.run;
  std::vector<std::size_t> measured_units;
  for (std::size_t u = 0; u < setup.plan.units.size(); ++u) {
    const ExperimentData& data = run.experiments[u];
    if (!data.third_party_runner && !data.emulated && !data.trace_enabled && data.error.empty())
      measured_units.push_back(u);
  }
  const auto groups = GroupByConditions(config, setup.plan, measured_units);
  Peaks peaks;
  for (const std::vector<std::size_t>& units : groups) {
    const ParticipantSetup unit_setup = setup.make_setup(units[0]);
    if (unit_setup.interruption->IsRequested()) break;
    ReportActivity(fmt::format("the machine's peaks, {} of {}", peaks.entries.size() + 1, groups.size()), run,
                   setup.progress);
    if (seconds_left() < kSecondsPerPeaks) {
      AppendUnique("the time limit left no time to measure the machine's peaks", run.warnings);
      break;
    }
    const ExperimentConfig& experiment = *unit_setup.config;
    try {
      const PeaksRequest request{BaseCommand(unit_setup), unit_setup.threads, experiment.cpu_affinity,
                                 experiment.isa};
      PeaksEntry entry;
      entry.peaks =
          MeasurePeaksOnDevice(*unit_setup.device, request, *unit_setup.interruption, kMaxPeakSeconds);
      for (const std::size_t u : units) entry.experiments.push_back(setup.plan.units[u].label);
      peaks.entries.push_back(std::move(entry));
    } catch (const WorkerFailure& failure) {
      if (WasInterrupted(failure, *unit_setup.device)) break;
      AppendUnique(fmt::format("the machine's peaks were not measured for {}: {}",
                               setup.plan.units[units[0]].label, failure.what()),
                   run.warnings);
    }
  }
  if (peaks.entries.empty()) return;
  WriteFileAtomically(run.folder / kPeaksFile, JsonText(ToJson(peaks), 1) + "\n");
}

}  // namespace etprof
