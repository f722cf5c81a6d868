#include "measure/participants/emulation.h"

#include <algorithm>
#include <set>

#include "device/executable.h"

namespace etprof {

bool IsEmulator(const std::string& word) {
  return std::filesystem::path(word).filename().string().starts_with("qemu-");
}

bool IsEmulated(const ExperimentConfig& experiment, const DeviceProperties& device) {
  const bool wrapped = std::ranges::any_of(experiment.exec_wrapper, IsEmulator);
  const std::string& device_architecture = device.architecture;
  const std::string runner_architecture = ProgramArchitecture(experiment.runner.string());
  return wrapped || (!device_architecture.empty() && !runner_architecture.empty() &&
                     device_architecture != runner_architecture);
}

std::string RunPlatform(const Config& config, const DeviceProperties& device) {
  std::set<std::string> architectures;
  for (const ExperimentConfig& experiment : config.experiments) {
    if (!IsEmulated(experiment, device)) return device.platform;
    architectures.insert(ProgramArchitecture(experiment.runner.string()));
  }
  if (architectures.size() != 1 || architectures.begin()->empty()) return device.platform;
  const std::string system = device.platform.substr(0, device.platform.find('-'));
  return system + "-" + *architectures.begin() + "-emulated";
}

}  // namespace etprof
