#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "cli/terminal_progress.h"
#include "say/peaks.h"
#include "workflow/device.h"

namespace etprof {
namespace {

int RunPeaks(const PeaksOptions& options, const View& view) {
  TerminalProgress progress;
  const MeasuredPeaks measured = MeasurePeaks(options, progress);
  ShowDocument(say::SayPeaks(measured.peaks, measured.device, measured.emulated), view, "",
               [&](std::ostream& out) {
                 nlohmann::json object = measured.peaks;
                 object["schema_version"] = 1;
                 object["device"] = measured.device;
                 object["emulated"] = measured.emulated;
                 out << JsonText(object, 2) << '\n';
               });
  return 0;
}

}  // namespace

std::function<int()> PeaksCommand(CLI::App& app) {
  struct Parsed {
    PeaksOptions options;
    View view;
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
  app.add_flag("--json", parsed->view.json, "Show them as JSON (docs/guides/bottlenecks.md)");
  AddDocumentOptions(app, parsed->view, {"compute", "memory"});
  return [parsed] { return RunPeaks(parsed->options, parsed->view); };
}

}  // namespace etprof
