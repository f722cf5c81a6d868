#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "cli/show_devices.h"
#include "cli/terminal.h"
#include "cli/terminal_progress.h"
#include "core/error.h"
#include "workflow/devices.h"

namespace etprof {
namespace {

int RunDevices(const DevicesOptions& options, bool as_json) {
  TerminalProgress progress;
  const auto [devices, notes] = FindDevices(options, progress);
  if (as_json) {
    PrintJson(DevicesJson(devices, notes));
  } else {
    Print("{}", ForTerminal(DevicesText(devices)));
    for (const std::string& note : notes) progress.Message("warning: " + note);
  }
  const bool failed = std::ranges::any_of(devices, [&](const DeviceSurvey& device) {
    return !device.problem.empty() && std::ranges::find(options.named, device.name) != options.named.end();
  });
  return static_cast<int>(failed ? ExitCode::kDeviceFailed : ExitCode::kDone);
}

}  // namespace

std::function<int()> DevicesCommand(CLI::App& app) {
  struct Parsed {
    DevicesOptions options;
    bool json = false;
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
  app.add_flag("--json", parsed->json, "Show them as JSON");
  return [parsed] { return RunDevices(parsed->options, parsed->json); };
}

}  // namespace etprof
