#include "cli/device_option.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "cli/locate.h"
#include "cli/say.h"
#include "core/error.h"
#include "core/file.h"
#include "device/local/local_properties.h"
#include "device/open_device.h"

namespace etprof {

namespace {

constexpr const char* kWays = "where to measure: local, ssh:HOST, adb, adb:SERIAL, adb:HOST:PORT [local]";

void AddCommonOptions(CLI::App& app, DeviceUse& choice) {
  app.add_option("--wait-for-device", choice.wait_seconds,
                 "how long to wait for a device whose connection broke [60]")
      ->check(CLI::Range(0.0, 1e6))
      ->type_name("S");
  app.add_flag("--keep", choice.keep, "leave the run's own folder on the device");
  app.add_option(
         "--power-mode", choice.power_mode,
         "Android: unconstrained-boost or app-developer, put back at the end (docs/reference/devices.md)")
      ->check(CLI::IsMember({"unconstrained-boost", "app-developer"}))
      ->type_name("MODE");
}

}  // namespace

void AddCoolingOptions(CLI::App& app, DeviceUse& use) {
  app.add_option(
         "--max-temp", use.max_temp,
         "before a round, wait while the hottest CPU or skin sensor is above this, in degrees Celsius")
      ->check(CLI::Range(0.0, 150.0))
      ->type_name("C");
  app.add_option("--max-temp-wait", use.max_temp_wait, "for so long at most, before one round [300]")
      ->check(CLI::Range(0.0, 1e6))
      ->type_name("S");
}

void Apply(const DeviceUse& use, Config& config) {
  if (!use.power_mode.empty()) config.power_mode = use.power_mode;
  if (use.max_temp) config.max_temp = use.max_temp;
  if (use.max_temp_wait) config.max_temp_wait = *use.max_temp_wait;
}

void AddDeviceOption(CLI::App& app, DeviceChoice& choice) {
  app.add_option("--device", choice.name, kWays)->type_name("DEVICE");
  AddCommonOptions(app, choice);
}

void AddDevicesOption(CLI::App& app, DevicesChoice& choice) {
  app.add_option("--device", choice.names,
                 std::string(kWays) + "; may be repeated: several are measured at once")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("DEVICE");
  AddCommonOptions(app, choice);
}

std::unique_ptr<Device> Open(const DeviceChoice& choice) {
  RemoteOptions options;
  options.keep = choice.keep;
  options.notice = [](const std::string& text) { Say("{}\n", text); };
  return OpenDevice(choice.name, options);
}

std::filesystem::path RunnerFor(const Device& device, const DeviceProperties& properties) {
  const char* given = std::getenv("ETPROF_RUNNER");
  if (device.Name() == "local" || (given != nullptr && *given != '\0')) return DefaultRunner();
  const std::string& target = properties.platform;  // they have the same names
  const std::filesystem::path bundle = BundleFolder(target) / "etprof-runner";
  if (Exists(bundle)) return bundle;
  // A machine like this one may run what was built here.
  if (properties.platform == ReadLocalProperties().platform) return DefaultRunner();
  throw Error(ExitCode::kBadInput, fmt::format("holds no runner for {} yet", properties.platform))
      .InFile(bundle.string())
      .Remedy(fmt::format("build it: `etprof build --target {}`", target));
}

ConfigContext ContextFor(const Device& device, const DeviceProperties& properties) {
  try {
    return {RunnerFor(device, properties)};
  } catch (const Error&) {
    return {};  // where an experiment names none either, the configuration's error says so
  }
}

}  // namespace etprof
