#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "cli/terminal_progress.h"
#include "say/subjects.h"
#include "workflow/measure/device.h"

namespace etprof {
namespace {

int RunPeaks(const PeaksOptions& options, const View& view) {
  const MeasuredPeaks measured = WithProgress(MeasurePeaks, options);
  ShowDocument(say::SayPeaks(measured.peaks, measured.device, measured.emulated), view, measured);
  return 0;
}

}  // namespace

std::function<int()> PeaksCommand(CLI::App& app) {
  const auto parsed = std::make_shared<Parsed<PeaksOptions>>();
  auto& [options, view] = *parsed;
  AddOption(app, "--threads N", options.threads, "Number of threads (default: 1)");
  AddOption(app, "--isa MASK", options.isa, "Disable these CPU features, as `--vs isa=` takes them");
  AddOption(app, "--cpus CPUS", options.cpus, "Run on these CPUs only: 0,2-3, 0x80, big");
  AddDeviceOptions(app, options.devices, options.use, false);
  AddOption(app, "--runner PATH", options.runner, "Path of the device's etprof-runner", CLI::ExistingFile);
  AddOption(app, "--exec-wrapper \"CMD ..\"", options.exec_wrapper,
            "Command that starts the runner, such as an emulator on the device");
  AddDocumentOptions(app, view, "Show the peaks as JSON", {say::SayPeaks({}, "", false)});
  CheckAsDescribed<PeaksOptions>(app);
  return [parsed] { return RunPeaks(parsed->options, parsed->view); };
}

}  // namespace etprof
