#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/json/describe.h"

namespace etprof {

// A key of Android's `settings put global`.
struct PowerSetting {
  std::string key;
  std::string value;
  std::string before = "null";  // the value that will be restored; "null": the key was not set

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

// The power modes have the names of the SME2 profiling kit. Their settings keep the screen on, turn the
// battery saver off, and change the speed of animations. They lift no cap on CPU frequencies
// (docs/concepts/power.md).
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

// Returns the mode "unconstrained-boost" or "app-developer". Throws Error (kUsage) for another name.
PowerMode FindPowerMode(const std::string& name);

// The error for a device that is not an Android device.
Error PowerModesUnsupported(const std::string& device);

// The file settings.before in etprof's folder on the device has the original values of the settings. It
// exists as long as they are changed, so a mode's values are never saved as the original ones. Only the
// holder of the device's lock changes settings.

// Shell code that defines `restore_power`. In etprof's folder, `restore_power` restores the values of
// settings.before, and prints "unrestored\t<key>" for each failure. `settings` may read its stdin, so it must
// not inherit the guard's stdin: the guard waits for the end of that stream.
inline constexpr const char* kDefineRestorePower = R"sh(restore_power() {
  [ -f settings.before ] || return 0
  left=
  while read -r key value; do
    if [ "$value" = null ]; then settings delete global "$key"; else settings put global "$key" "$value"; fi \
      </dev/null >/dev/null 2>&1 || { left=1; printf 'unrestored\t%s\n' "$key"; }
  done <settings.before
  [ -n "$left" ] || rm -f settings.before
})sh";

// A script that sets the mode and then prints the settings for ReadPowerMode.
std::string SetPowerModeScript(const PowerMode& mode);

// Checks the output of SetPowerModeScript, and sets PowerSetting::before. Throws Error: kUsage if the device
// has no such settings; kDeviceFailed if a setting did not take its value.
void ReadPowerMode(const std::string& output, const std::string& device, PowerMode& mode);

}  // namespace etprof
