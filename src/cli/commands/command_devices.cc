#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "cli/show_devices.h"
#include "cli/terminal_progress.h"
#include "core/error.h"
#include "core/json.h"
#include "say/device_list.h"
#include "workflow/devices.h"

namespace etprof {
namespace {

int RunDevices(const DevicesOptions& options, const View& view) {
  const DevicesFound found = [&] {
    TerminalProgress progress;
    return FindDevices(options, progress);
  }();
  const auto& [devices, notes] = found;
  ShowDocument(say::SayDeviceList(devices, notes), view, "", [&](std::ostream& out) {
    out << JsonText(DevicesJson(found.devices, found.notes), 2) << '\n';
  });
  const bool failed = std::ranges::any_of(devices, [&](const DeviceSurvey& device) {
    return !device.problem.empty() && std::ranges::find(options.named, device.name) != options.named.end();
  });
  return static_cast<int>(failed ? ExitCode::kDeviceFailed : ExitCode::kDone);
}

}  // namespace

std::function<int()> DevicesCommand(CLI::App& app) {
  struct Parsed {
    DevicesOptions options;
    View view;
  };
  const auto parsed = std::make_shared<Parsed>();
  DevicesOptions& options = parsed->options;
  app.add_option("--device", options.named,
                 "Show this one, too: ssh:HOST, adb:SERIAL, adb:HOST:PORT; may be repeated")
      ->allow_extra_args(false)
      ->type_name("DEVICE");
  app.add_flag("--clean", options.clean,
               "Remove what etprof left on the named devices, or on all that can be reached");
  app.add_option("--timeout", options.answer_seconds,
                 "Seconds after which a device that does not answer is unreachable (default: 10)")
      ->check(CLI::Range(0.1, 3600.0))
      ->type_name("S");
  app.add_flag("--json", parsed->view.json, "Show them as JSON");
  AddDocumentOptions(app, parsed->view);
  return [parsed] { return RunDevices(parsed->options, parsed->view); };
}

}  // namespace etprof
