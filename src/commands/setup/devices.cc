#include "commands/setup/devices.h"

#include <algorithm>
#include <functional>
#include <memory>

#include "commands/terminal/show.h"
#include "commands/terminal/terminal_progress.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/text/text.h"
#include "device/adb/adb_devices.h"
#include "device/open_device.h"
#include "show/subjects.h"

namespace etprof {

namespace {

// Adds the devices that adb lists to `names`, or to `unusable` if their state does not allow a survey.
void AddAdbDevices(const DevicesOptions& options, const std::function<bool()>& interrupted,
                   std::vector<std::string>& names, DeviceList& unusable) {
  try {
    for (const AdbListing& listing : ListAdbDevices(options.timeout_seconds, interrupted)) {
      const std::string name = "adb:" + listing.serial;
      if (listing.state == "device") {
        AppendUnique(name, names);
        continue;
      }
      DeviceSurvey device;
      device.name = name;
      device.problem = listing.state;
      device.remedy = listing.remedy;
      unusable.devices.push_back(std::move(device));
    }
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kInterrupted) throw;
    unusable.notes.push_back("devices behind adb are not listed: " + error.Message());
  }
}

std::vector<std::string> SelectDevices(const DevicesOptions& options,
                                       const std::function<bool()>& interrupted, DeviceList& unusable) {
  std::vector<std::string> names;
  // With --clean and named devices, only the named devices are cleaned.
  if (!options.clean || options.device_names.empty()) {
    names.emplace_back("local");
    AddAdbDevices(options, interrupted, names, unusable);
  }
  const bool has_adb_devices =
      std::ranges::any_of(names, [](const std::string& name) { return name.starts_with("adb:"); });
  for (const std::string& name : options.device_names) {
    if (name == "adb" && has_adb_devices) continue;
    // A device that adb lists as offline may reconnect when it is asked.
    std::erase_if(unusable.devices, [&](const DeviceSurvey& device) { return device.name == name; });
    AppendUnique(name, names);
  }
  return names;
}

std::vector<DeviceSurvey> SurveyAll(const std::vector<std::string>& names, const SurveyOptions& options) {
  std::vector<DeviceSurvey> devices(names.size());
  ThreadGroup threads;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto survey = [&, i] {
      try {
        devices[i] = SurveyDevice(names[i], options);
      } catch (const std::exception& error) {
        devices[i].name = names[i];
        devices[i].problem = error.what();
      }
    };
    if (!threads.Start(survey)) survey();
  }
  threads.Join();
  return devices;
}

}  // namespace

DeviceList FindDevices(const DevicesOptions& options, WorkflowProgress& progress) {
  for (const std::string& name : options.device_names) CheckDeviceName(name);
  const auto interrupted = [&progress] { return progress.Interrupted(); };
  DeviceList result;
  const std::vector<std::string> names = SelectDevices(options, interrupted, result);
  std::vector<DeviceSurvey> surveys = SurveyAll(names, {options.timeout_seconds, options.clean, interrupted});
  progress.StopWhenInterrupted();
  result.devices.insert(result.devices.begin(), surveys.begin(), surveys.end());
  return result;
}

namespace {

int RunDevices(const DevicesOptions& options, const View& view) {
  const DeviceList result = WithProgress(FindDevices, options);
  ShowDocument(show::MakeDeviceListDocument(result.devices, result.notes), view, result);
  const bool failed = std::ranges::any_of(result.devices, [&](const DeviceSurvey& device) {
    return !device.IsReachable() &&
           std::ranges::find(options.device_names, device.name) != options.device_names.end();
  });
  return static_cast<int>(failed ? ExitCode::kDeviceFailed : ExitCode::kDone);
}

}  // namespace

std::function<int()> DevicesCommand(CLI::App& app) {
  const auto parsed = std::make_shared<ParsedArguments<DevicesOptions>>();
  auto& [options, view] = *parsed;
  AddDescribedOptions(app, options);
  AddDocumentOptions(app, view, "Show the devices as JSON");
  return [parsed] { return RunDevices(parsed->options, parsed->view); };
}

}  // namespace etprof
