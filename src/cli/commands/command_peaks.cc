#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "cli/terminal_progress.h"
#include "core/json/json_members.h"
#include "say/subjects.h"
#include "workflow/measure/device.h"

namespace etprof {
namespace {

int RunPeaks(const PeaksOptions& options, const View& view) {
  const MeasuredPeaks measured = WithProgress(MeasurePeaks, options);
  ShowDocument(say::SayPeaks(measured.peaks, measured.device, measured.emulated), view, "",
               [&](std::ostream& out) { WriteJson(measured, 2, out); });
  return 0;
}

}  // namespace

std::function<int()> PeaksCommand(CLI::App& app) {
  const auto parsed = std::make_shared<Parsed<PeaksOptions>>();
  auto& [options, view] = *parsed;
  AddOption(app, "--threads N", options.threads, "Number of threads (default: 1)", CLI::Range(1, 1024));
  AddOption(app, "--isa MASK", options.isa, "Disable these CPU features, as `--vs isa=` takes them");
  AddOption(app, "--cpus CPUS", options.cpus, "Run on these CPUs only: 0,2-3, 0x80, big");
  AddDeviceOptions(app, options.devices, options.use, false);
  AddOption(app, "--runner PATH", options.runner, "Path of the device's etprof-runner", CLI::ExistingFile);
  AddOption(app, "--exec-wrapper \"CMD ..\"", options.exec_wrapper,
            "Command that starts the runner, such as an emulator on the device");
  app.add_flag("--json", view.json, "Show the peaks as JSON");
  AddDocumentOptions(app, view, {say::SayPeaks({}, "", false)});
  return [parsed] { return RunPeaks(parsed->options, parsed->view); };
}

}  // namespace etprof
