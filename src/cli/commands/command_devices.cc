#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "cli/terminal_progress.h"
#include "core/error.h"
#include "show/subjects.h"
#include "workflow/measure/devices.h"

namespace etprof {
namespace {

int RunDevices(const DevicesOptions& options, const View& view) {
  const DevicesFound found = WithProgress(FindDevices, options);
  ShowDocument(show::MakeDeviceListDocument(found.devices, found.notes), view, found);
  const bool failed = std::ranges::any_of(found.devices, [&](const DeviceSurvey& device) {
    return !device.Reached() && std::ranges::find(options.named, device.name) != options.named.end();
  });
  return static_cast<int>(failed ? ExitCode::kDeviceFailed : ExitCode::kDone);
}

}  // namespace

std::function<int()> DevicesCommand(CLI::App& app) {
  const auto parsed = std::make_shared<Parsed<DevicesOptions>>();
  auto& [options, view] = *parsed;
  AddDescribedOptions(app, options);
  AddDocumentOptions(app, view, "Show the devices as JSON");
  return [parsed] { return RunDevices(parsed->options, parsed->view); };
}

}  // namespace etprof
