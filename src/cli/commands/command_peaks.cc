#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/device_option.h"
#include "cli/interruption.h"
#include "cli/say.h"
#include "cli/stdout_terminal.h"
#include "core/error.h"
#include "core/json.h"
#include "core/table.h"
#include "core/units.h"
#include "device/clusters.h"
#include "device/shell.h"
#include "measure/config/config.h"
#include "measure/participants/emulation.h"
#include "measure/participants/participants.h"
#include "measure/store/peaks.h"

namespace etprof {
namespace {

struct PeaksOptions {
  DeviceChoice device;
  std::string isa, cpus, runner, exec_wrapper;
  int threads = 1;
  bool json = false;
};

// How far the middle one of the tries was from the best: what others on the machine took.
std::string Below(const protocol::Rate& rate) {
  return rate.best <= 0 ? "" : fmt::format("{:.0f} %", 100 * (1 - rate.median / rate.best));
}

void ShowTables(const protocol::Peaks& peaks, const Device& device, bool emulated) {
  const std::string header =
      fmt::format("{} · {} thread{}{}{} · clock {:.2f} GHz{}", device.Name(), peaks.threads,
                  peaks.threads == 1 ? "" : "s", peaks.cpus.empty() ? "" : " on CPUs " + peaks.cpus,
                  peaks.isa.empty() ? "" : " · isa " + peaks.isa, peaks.clock_hz / 1e9,
                  emulated ? " · emulated, times mean nothing" : "");
  Print("{}\n", ForTerminal(header));
  using enum Table::Align;
  Table compute{{{"level", kLeft},
                 {"type", kLeft},
                 {"MAC/s", kRight},
                 {"FLOP/s", kRight},
                 {"a cycle", kRight},
                 {"median below", kRight},
                 {"instruction", kLeft}},
                {}};
  for (const protocol::ComputePeak& peak : peaks.compute) {
    const double cycles = peaks.clock_hz * peaks.threads;
    compute.AddRow({peak.level, peak.dtype, FormatAmount(peak.macs.best), FormatAmount(2 * peak.macs.best),
                    cycles > 0 ? fmt::format("{:.1f}", peak.macs.best / cycles) : "", Below(peak.macs),
                    peak.instruction});
  }
  Print("\n{}", compute.ToText(2));
  Table memory{{{"memory", kLeft},
                {"access", kLeft},
                {"B/s", kRight},
                {"working set", kRight},
                {"capacity", kRight},
                {"median below", kRight}},
               {}};
  for (const protocol::MemoryPeak& peak : peaks.memory) {
    memory.AddRow({peak.level, peak.access, FormatAmount(peak.bytes.best),
                   FormatBytes(double(peak.working_set_bytes)),
                   peak.capacity_bytes ? FormatBytes(double(*peak.capacity_bytes)) : "", Below(peak.bytes)});
  }
  Print("\n{}", memory.ToText(2));
}

int ShowPeaks(const PeaksOptions& options) {
  if (!options.cpus.empty()) CheckCpus(options.cpus);
  const std::unique_ptr<Device> device = Open(options.device);
  const DeviceProperties properties = device->Properties();
  if (!options.device.power_mode.empty()) device->SetPowerMode(options.device.power_mode);
  ExperimentConfig experiment;
  experiment.runner = options.runner;
  if (options.runner.empty()) experiment.runner = RunnerFor(*device, properties);
  experiment.exec_wrapper = CommandWords(options.exec_wrapper);
  const bool emulated = IsEmulated(experiment, properties);

  const InterruptionScope scope;
  Interruption interruption;
  interruption.requested = Interrupted;
  device->SetInterrupted(interruption.requested);
  PeaksRequest request;
  request.start = StartOfRunner(*device, properties, experiment);
  if (!options.cpus.empty()) request.start.cpus = CpusOf(options.cpus, properties);
  request.threads = options.threads;
  request.cpus = options.cpus;
  request.isa = options.isa;
  protocol::Peaks peaks;
  try {
    peaks = AskForPeaks(*device, request, interruption, 120);
  } catch (const WorkerFailure& failure) {
    if (failure.kind() == WorkerFailure::Kind::kInterrupted)
      throw Error(ExitCode::kInterrupted, "interrupted");
    // What the runner refuses (a feature, CPUs that are not there) is the command's, or it is no
    // etprof-runner.
    const bool refused = failure.kind() == WorkerFailure::Kind::kRefused;
    throw Error(refused ? ExitCode::kBadInput : ExitCode::kDeviceFailed, failure.what())
        .InFile(experiment.runner.string());
  }
  if (!options.json) {
    ShowTables(peaks, *device, emulated);
    return 0;
  }
  nlohmann::json object = peaks;
  object["schema_version"] = 1;
  object["device"] = device->Name();
  object["emulated"] = emulated;
  Print("{}\n", JsonText(object, 2));
  return 0;
}

}  // namespace

CommandSpec PeaksCommand() {
  return {
      "peaks", "what this machine can do at most: multiply-adds and bytes a second",
      "etprof peaks --threads 2 --isa=-avx2", [](CLI::App& app) {
        const auto options = std::make_shared<PeaksOptions>();
        app.add_option("--threads", options->threads, "threads [1]")
            ->check(CLI::Range(1, 1024))
            ->type_name("N");
        app.add_option("--isa", options->isa, "with these CPU features masked, as `--vs isa=` takes them")
            ->type_name("MASK");
        app.add_option("--cpus", options->cpus, "on these CPUs only: 0,2-3, 0x80, big")->type_name("CPUS");
        AddDeviceOption(app, options->device);
        app.add_option("--runner", options->runner, "the device's etprof-runner")
            ->check(CLI::ExistingFile)
            ->type_name("PATH");
        app.add_option("--exec-wrapper", options->exec_wrapper, "put before the runner: an emulator")
            ->type_name("\"CMD ..\"");
        app.add_flag("--json", options->json, "as JSON (docs/guides/bottlenecks.md)");
        return [options] { return ShowPeaks(*options); };
      }};
}

}  // namespace etprof
