#include "measure/config/device_groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/file/file.h"
#include "core/json/json.h"
#include "core/text/escape.h"
#include "device/open_device.h"
#include "measure/store/run_files.h"

namespace etprof {
namespace {

const std::vector<std::string> kThisMachine = {"local"};

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

const std::vector<std::string>& SelectDevices(const ExperimentConfig& experiment,
                                              const std::vector<std::string>& device_options) {
  if (!device_options.empty()) return device_options;
  return experiment.devices.empty() ? kThisMachine : experiment.devices;
}

// Throws Error (kUsage) for a pair without a common device: pairs are compared launch by launch, and launches
// are on one device.
void RequireCommonDevice(const Config& config, const PairConfig& pair,
                         const std::vector<std::string>& device_options) {
  const auto variant_devices = [&](const PairVariantConfig& variant) -> const std::vector<std::string>& {
    for (const ExperimentConfig& experiment : config.experiments) {
      if (experiment.name == variant.experiment) return SelectDevices(experiment, device_options);
    }
    return kThisMachine;  // MakePlan reports the unknown name
  };
  const std::vector<std::string>& baseline = variant_devices(pair.baseline);
  const std::vector<std::string>& candidate = variant_devices(pair.candidate);
  if (std::ranges::any_of(baseline, [&](const std::string& device) { return Contains(candidate, device); }))
    return;
  throw Error(ExitCode::kUsage,
              fmt::format("a compare pair holds \"{}\" on {} against \"{}\" on {}, but no two devices share "
                          "their clock and conditions, so there is no paired comparison of them",
                          pair.baseline.experiment, fmt::join(baseline, ", "), pair.candidate.experiment,
                          fmt::join(candidate, ", ")))
      .InFile(config.file.string())
      .Remedy("leave the pair out: the report over several devices shows them side by side");
}

// The device's name without its connection type: "pi5", "R5CT", "local".
std::string ShortName(const std::string& device) {
  const std::size_t colon = device.find(':');
  return colon == std::string::npos ? device : device.substr(colon + 1);
}

std::string ToFolderName(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) == 0 && c != '.' && c != '-' && byte < 0x80) c = '_';
  }
  return SafeFileName(text);
}

// The device and time in the manifest.json of a results directory.
struct StoredDevice {
  std::string name, generated_at;
};

std::optional<StoredDevice> ReadStoredDevice(const std::filesystem::path& folder) {
  try {
    const nlohmann::json manifest = ParseJson(ReadTextFile(folder / kManifestFile));
    return StoredDevice{manifest.at("device").at("name").get<std::string>(),
                        manifest.at("generated_at").get<std::string>()};
  } catch (const std::exception&) {
    return std::nullopt;  // there is no manifest, or it does not name a device
  }
}

}  // namespace

void CheckDeviceNames(const std::vector<std::string>& devices) {
  std::set<std::string> seen;
  for (const std::string& device : devices) {
    CheckDeviceName(device);
    if (!seen.insert(device).second)
      throw Error(ExitCode::kUsage, fmt::format("the device `{}` is named twice", device))
          .Remedy("name each device once");
  }
  // adb accepts the name "adb" only if it lists a single device.
  const auto serial_device =
      std::ranges::find_if(devices, [](const std::string& device) { return device.starts_with("adb:"); });
  if (seen.contains("adb") && serial_device != devices.end()) {
    throw Error(ExitCode::kUsage,
                fmt::format("adb is the only device behind adb, and so is {}", *serial_device))
        .Remedy("name each by its serial number (`etprof devices` lists them)");
  }
}

std::vector<DeviceGroup> GroupByDevice(const Config& config, const std::vector<std::string>& device_options) {
  std::vector<std::string> devices = device_options;
  for (const ExperimentConfig& experiment : config.experiments) {
    for (const std::string& device : SelectDevices(experiment, device_options)) {
      if (!Contains(devices, device)) devices.push_back(device);
    }
  }
  CheckDeviceNames(devices);
  for (const PairConfig& pair : config.pairs) RequireCommonDevice(config, pair, device_options);
  std::vector<DeviceGroup> groups;
  for (const std::string& device : devices) {
    DeviceGroup group{device, config};
    std::vector<std::string> names;
    for (const ExperimentConfig& experiment : config.experiments) {
      if (Contains(SelectDevices(experiment, device_options), device)) names.push_back(experiment.name);
    }
    KeepExperiments(group.config, names);
    for (ExperimentConfig& experiment : group.config.experiments) experiment.devices = {device};
    groups.push_back(std::move(group));
  }
  return groups;
}

void RequireDevice(const Config& config, const std::string& device) {
  for (const ExperimentConfig& experiment : config.experiments) {
    if (experiment.devices.empty() || experiment.devices == std::vector<std::string>{device}) continue;
    throw Error(ExitCode::kUsage, fmt::format("experiment \"{}\" is for {}, and this measures on {}",
                                              experiment.name, fmt::join(experiment.devices, ", "), device))
        .InFile(config.file.string())
        .Remedy("name that device with `--device`. `etprof run` measures several at once");
  }
}

std::vector<std::string> DeviceFolders(const std::vector<DevicePlatform>& devices) {
  std::map<std::string, int> platforms, short_names;
  const auto short_folder = [](const DevicePlatform& device) {
    return ToFolderName(device.platform + "-" + ShortName(device.device));
  };
  for (const DevicePlatform& device : devices) {
    ++platforms[device.platform];
    ++short_names[short_folder(device)];
  }
  std::vector<std::string> folders;
  std::set<std::string> taken;
  for (const DevicePlatform& device : devices) {
    std::string folder = ToFolderName(device.platform);
    if (platforms[device.platform] > 1) folder = short_folder(device);
    // ssh:10.0.0.2 and adb:10.0.0.2 may be different devices.
    if (platforms[device.platform] > 1 && short_names[folder] > 1)
      folder = ToFolderName(device.platform + "-" + device.device);
    const std::string base_name = folder;
    for (int i = 2; !taken.insert(folder).second; ++i) folder = fmt::format("{}-{}", base_name, i);
    folders.push_back(folder);
  }
  return folders;
}

std::optional<std::filesystem::path> FindRunOfDevice(const std::filesystem::path& folder,
                                                     const std::string& device) {
  std::optional<std::filesystem::path> found;
  std::string newest;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const auto stored = ReadStoredDevice(entry.path());
    if (!stored || stored->name != device || (found && stored->generated_at <= newest)) continue;
    found = entry.path();
    newest = stored->generated_at;
  }
  return found;
}

}  // namespace etprof
