#include "device/conditions/power_mode.h"

#include <fmt/format.h>

#include <sstream>

#include "core/text/text.h"

namespace etprof {
namespace {

PowerMode MakePowerMode(const std::string& name, bool boost) {
  const std::string scale = boost ? "0" : "1";
  // stay_on_while_plugged_in has BatteryManager's BATTERY_PLUGGED_* bits: 1 AC, 2 USB, 4 wireless, 8 dock.
  return {name,
          boost,
          {{"low_power", "0", ""},
           {"stay_on_while_plugged_in", boost ? "15" : "1", ""},
           {"window_animation_scale", scale, ""},
           {"transition_animation_scale", scale, ""},
           {"animator_duration_scale", scale, ""}}};
}

// Compares numerically if possible, since Android returns "1.0" for a setting that was set to "1".
bool SameValue(std::string_view a, std::string_view b) {
  const auto number = AsNumber<double>(a);
  return a == b || (number && number == AsNumber<double>(b));
}

}  // namespace

PowerMode FindPowerMode(const std::string& name) {
  if (name == "unconstrained-boost") return MakePowerMode(name, true);
  if (name == "app-developer") return MakePowerMode(name, false);
  throw Error(ExitCode::kUsage, fmt::format("unknown power mode `{}`", name))
      .Remedy("use unconstrained-boost or app-developer");
}

Error PowerModesUnsupported(const std::string& device) {
  return Error(ExitCode::kUsage, "has no power modes: they are settings of Android")
      .InFile(device)
      .Remedy("leave out --power-mode (power_mode)");
}

std::string SetPowerModeScript(const PowerMode& mode) {
  std::string keys, put_commands;
  for (const PowerSetting& setting : mode.settings) {
    keys += " " + setting.key;
    put_commands += fmt::format("settings put global {} {} </dev/null\n", setting.key, setting.value);
  }
  return fmt::format(R"sh(command -v settings >/dev/null 2>&1 || {{ echo none; exit 0; }}
if [ ! -f settings.before ]; then
  for k in{0}; do
    v=$(settings get global $k </dev/null) || exit 1
    printf '%s %s\n' $k "$v" || exit 1
  done >.settings.before && mv .settings.before settings.before || exit 1
fi
{1}{2}while read -r k v; do
  printf 'setting\t%s\t%s\t%s\n' "$k" "$(settings get global "$k" </dev/null)" "$v"
done <settings.before)sh",
                     keys, mode.keep_awake ? "svc power stayon true </dev/null >/dev/null\n" : "",
                     put_commands);
}

void ReadPowerMode(const std::string& output, const std::string& device, PowerMode& mode) {
  const auto make_error = [&](const std::string& problem) {
    return Error(ExitCode::kDeviceFailed, problem).InFile(device);
  };
  std::istringstream lines(output);
  std::size_t found_settings = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line == "none") throw PowerModesUnsupported(device);
    std::vector<std::string_view> fields = SplitAt(line, '\t');
    fields.resize(4);
    const std::string_view key = fields[1], now = fields[2];
    if (fields[0] != "setting") continue;
    for (PowerSetting& setting : mode.settings) {
      if (setting.key != key) continue;
      if (!SameValue(now, setting.value)) {
        throw make_error(fmt::format("the power mode {} has no effect: {} is {} after it was set to {}",
                                     mode.name, key, now, setting.value))
            .Remedy("measure without --power-mode (power_mode)");
      }
      setting.before = fields[3];
      ++found_settings;
    }
  }
  if (found_settings != mode.settings.size()) {
    throw make_error(
        fmt::format("the power mode {} did not take: the device does not say how it is set", mode.name));
  }
}

}  // namespace etprof
