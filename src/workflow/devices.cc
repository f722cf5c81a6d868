#include "workflow/devices.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "core/error.h"
#include "core/parallel.h"
#include "core/text.h"
#include "device/adb/adb_devices.h"
#include "device/open_device.h"

namespace etprof {
namespace {

struct Wanted {
  std::vector<std::string> names;      // to be asked
  std::vector<DeviceSurvey> unusable;  // adb lists them, and says why they cannot be asked
  std::vector<std::string> notes;
};

void AddListedByAdb(const DevicesOptions& options, const std::function<bool()>& interrupted, Wanted& wanted) {
  try {
    for (const AdbListing& listed : ListAdbDevices(options.answer_seconds, interrupted)) {
      const std::string name = "adb:" + listed.serial;
      if (listed.state == "device") {
        AddOnce(name, wanted.names);
        continue;
      }
      DeviceSurvey device;
      device.name = name;
      device.problem = listed.state;
      device.remedy = listed.remedy;
      wanted.unusable.push_back(std::move(device));
    }
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kInterrupted) throw;
    wanted.notes.push_back("devices behind adb are not listed: " + error.Message());
  }
}

Wanted WhatToAsk(const DevicesOptions& options, const std::function<bool()>& interrupted) {
  Wanted wanted;
  // What is removed is what was named.
  if (!options.clean || options.named.empty()) {
    wanted.names.emplace_back("local");
    AddListedByAdb(options, interrupted, wanted);
  }
  const bool adb_lists_any =
      std::ranges::any_of(wanted.names, [](const std::string& name) { return name.starts_with("adb:"); });
  for (const std::string& name : options.named) {
    if (name == "adb" && adb_lists_any) continue;
    // One that adb lists as offline may come back when it is connected to.
    std::erase_if(wanted.unusable, [&](const DeviceSurvey& device) { return device.name == name; });
    AddOnce(name, wanted.names);
  }
  return wanted;
}

std::vector<DeviceSurvey> Ask(const std::vector<std::string>& names, const SurveyOptions& options) {
  std::vector<DeviceSurvey> devices(names.size());
  Threads threads;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto ask = [&, i] {
      try {
        devices[i] = SurveyDevice(names[i], options);
      } catch (const std::exception& error) {
        devices[i].name = names[i];
        devices[i].problem = error.what();
      }
    };
    if (!threads.Start(ask)) ask();
  }
  threads.Join();
  return devices;
}

}  // namespace

DevicesFound FindDevices(const DevicesOptions& options, WorkflowProgress& progress) {
  for (const std::string& name : options.named) CheckDeviceName(name);
  const auto interrupted = [&progress] { return progress.Interrupted(); };
  Wanted wanted = WhatToAsk(options, interrupted);
  DevicesFound found{Ask(wanted.names, {options.answer_seconds, options.clean, interrupted}),
                     std::move(wanted.notes)};
  progress.StopWhenInterrupted();
  std::ranges::move(wanted.unusable, std::back_inserter(found.devices));
  return found;
}

}  // namespace etprof
