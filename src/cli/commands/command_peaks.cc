#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "cli/terminal.h"
#include "cli/terminal_progress.h"
#include "core/table.h"
#include "core/units.h"
#include "workflow/device.h"

namespace etprof {
namespace {

// How far the middle one of the tries was from the best: what others on the machine took.
std::string Below(const protocol::Rate& rate) {
  return rate.best <= 0 ? "" : fmt::format("{:.0f}%", 100 * (1 - rate.median / rate.best));
}

void ShowTables(const MeasuredPeaks& measured) {
  const auto& [peaks, device, emulated] = measured;
  const std::string header = fmt::format(
      "{} · {}{}{} · clock {:.2f} GHz{}", device, ThreadsText(peaks.threads),
      peaks.cpus.empty() ? "" : " on CPUs " + peaks.cpus, peaks.isa.empty() ? "" : " · isa " + peaks.isa,
      peaks.clock_hz / 1e9, emulated ? " · emulated CPU: timings not meaningful" : "");
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

int RunPeaks(const PeaksOptions& options, bool as_json) {
  TerminalProgress progress;
  const MeasuredPeaks measured = MeasurePeaks(options, progress);
  if (!as_json) {
    ShowTables(measured);
    return 0;
  }
  nlohmann::json object = measured.peaks;
  object["schema_version"] = 1;
  object["device"] = measured.device;
  object["emulated"] = measured.emulated;
  Print("{}\n", JsonText(object, 2));
  return 0;
}

}  // namespace

std::function<int()> PeaksCommand(CLI::App& app) {
  struct Parsed {
    PeaksOptions options;
    bool json = false;
  };
  const auto parsed = std::make_shared<Parsed>();
  PeaksOptions& options = parsed->options;
  app.add_option("--threads", options.threads, "Number of threads (default: 1)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  app.add_option("--isa", options.isa, "Disable these CPU features, as `--vs isa=` takes them")
      ->type_name("MASK");
  app.add_option("--cpus", options.cpus, "Run on these CPUs only: 0,2-3, 0x80, big")->type_name("CPUS");
  AddDeviceOptions(app, options.devices, options.use, false);
  app.add_option("--runner", options.runner, "Path of the device's etprof-runner")
      ->check(CLI::ExistingFile)
      ->type_name("PATH");
  app.add_option("--exec-wrapper", options.exec_wrapper, "Command to put before the runner: an emulator")
      ->type_name("\"CMD ..\"");
  app.add_flag("--json", parsed->json, "Show them as JSON (docs/guides/bottlenecks.md)");
  return [parsed] { return RunPeaks(parsed->options, parsed->json); };
}

}  // namespace etprof
