#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/commands.h"
#include "cli/interruption.h"
#include "cli/say.h"
#include "cli/show_devices.h"
#include "cli/stdout_terminal.h"
#include "core/error.h"
#include "core/json.h"
#include "core/text.h"
#include "device/adb/adb_devices.h"
#include "device/open_device.h"
#include "device/survey.h"

namespace etprof {
namespace {

struct DevicesOptions {
  std::vector<std::string> named;
  double answer_seconds = 10;
  bool clean = false, json = false;
};

struct Wanted {
  std::vector<std::string> names;      // to be asked
  std::vector<DeviceSurvey> unusable;  // adb lists them, and says why they cannot be asked
  std::vector<std::string> notes;
};

void AddListedByAdb(const DevicesOptions& options, Wanted& wanted) {
  try {
    for (const AdbListing& listed : ListAdbDevices(options.answer_seconds, Interrupted)) {
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

Wanted WhatToAsk(const DevicesOptions& options) {
  Wanted wanted;
  // What is removed is what was named.
  if (!options.clean || options.named.empty()) {
    wanted.names.emplace_back("local");
    AddListedByAdb(options, wanted);
  }
  const bool adb_lists_any = std::any_of(wanted.names.begin(), wanted.names.end(),
                                         [](const std::string& name) { return name.starts_with("adb:"); });
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
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < names.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        devices[i] = SurveyDevice(names[i], options);
      } catch (const std::exception& error) {
        devices[i].name = names[i];
        devices[i].problem = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return devices;
}

int ShowDevices(const DevicesOptions& options) {
  for (const std::string& name : options.named) CheckDeviceName(name);
  const InterruptionScope interruption;
  Wanted wanted = WhatToAsk(options);
  std::vector<DeviceSurvey> devices = Ask(wanted.names, {options.answer_seconds, options.clean, Interrupted});
  if (Interrupted()) throw Error(ExitCode::kInterrupted, "interrupted");
  std::move(wanted.unusable.begin(), wanted.unusable.end(), std::back_inserter(devices));
  if (options.json) {
    Print("{}\n", JsonText(DevicesJson(devices, wanted.notes), 2));
  } else {
    Print("{}", ForTerminal(DevicesText(devices)));
    for (const std::string& note : wanted.notes) Say("warning: {}\n", note);
  }
  const bool failed = std::any_of(devices.begin(), devices.end(), [&](const DeviceSurvey& device) {
    return !device.problem.empty() &&
           std::find(options.named.begin(), options.named.end(), device.name) != options.named.end();
  });
  return static_cast<int>(failed ? ExitCode::kDeviceFailed : ExitCode::kDone);
}

}  // namespace

CommandSpec DevicesCommand() {
  return {"devices", "which devices can be reached, what they are and how they are",
          "etprof devices --device ssh:pi5", [](CLI::App& app) {
            const auto options = std::make_shared<DevicesOptions>();
            app.add_option("--device", options->named,
                           "also this one: ssh:HOST, adb:SERIAL, adb:HOST:PORT; may be repeated")
                ->allow_extra_args(false)
                ->type_name("DEVICE");
            app.add_flag("--clean", options->clean,
                         "remove what etprof left on the devices named, or on all that can be reached");
            app.add_option("--timeout", options->answer_seconds,
                           "a device that does not answer for so long cannot be reached [10]")
                ->check(CLI::Range(0.1, 3600.0))
                ->type_name("S");
            app.add_flag("--json", options->json, "as JSON");
            return [options] { return ShowDevices(*options); };
          }};
}

}  // namespace etprof
