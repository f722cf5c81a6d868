#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/json/describe.h"

namespace etprof {

// A setting of Android's `settings ... global`. What is there when it is set may be "null": it was not set.
struct PowerSetting {
  std::string key;
  std::string value;
  std::string before = "null";  // what it was, and will be again

  static void Describe(auto& v) {
    v("key", &PowerSetting::key, {.meaning = "of the setting"});
    v("value", &PowerSetting::value, {.meaning = "while the mode holds"});
    v.Converted(
        "before",
        [](const PowerSetting& setting) {
          return setting.before == "null" ? std::nullopt : std::optional<std::string>(setting.before);
        },
        [](PowerSetting& setting, const std::optional<std::string>& read) {
          setting.before = read.value_or("null");
        },
        {.meaning = "null: it was not set"});
  }
};

// A mode under the profiling kit's names. These settings keep the screen on, end the battery saver and change
// the animations' speed; none of them lifts a cap of the CPUs' clocks (docs/concepts/power.md).
inline constexpr std::string_view kPowerModeNames = "unconstrained-boost|app-developer";

struct PowerMode {
  std::string name;
  bool keep_awake = false;  // `svc power stayon true`, which wakes the screen as well
  std::vector<PowerSetting> settings;

  static void Describe(auto& v) {
    v("name", &PowerMode::name, {.meaning = "as `--power-mode` takes it", .choices = kPowerModeNames});
    v("settings", &PowerMode::settings, {.meaning = "of Android's `settings ... global`"});
  }
};

// "unconstrained-boost", "app-developer". Throws Error (kUsage) for another name.
PowerMode FindPowerMode(const std::string& name);

// What is said of a device that is no Android one.
Error NoPowerModes(const std::string& device);

// On the device the modes live in etprof's folder:
//   runs/<id>/power    the mode that this run needs
//   settings.before    what the settings were before the first of the runs that need one; there as long as
//                      they are changed, so that a mode is never taken for what was there before
//   settings.lock      held while either changes (flock, which goes with its holder)

// Shell code that defines `restore_power`. In etprof's folder it puts back what settings.before says, where
// no run that goes on needs a mode, and prints "unrestored\t<key>" for what could not be. Needs `over`
// (remote.cc).
std::string DefineRestorePower();

// A script that sets the mode for the run and prints how the settings are then, for ReadPowerMode. Needs
// `over`.
std::string SetPowerModeScript(const PowerMode& mode, const std::string& run_id);

// Checks what the script printed; fills PowerSetting::before. Throws Error: kUsage, the device has no such
// settings; kDeviceFailed, another run needs another mode, or a setting did not take its value.
void ReadPowerMode(const std::string& printed, const std::string& device, PowerMode& mode);

}  // namespace etprof
