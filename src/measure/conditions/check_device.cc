#include "measure/conditions/check_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/process/cpus.h"
#include "core/text/text.h"
#include "core/units.h"
#include "device/conditions/clusters.h"
#include "device/conditions/power_mode.h"
#include "device/describe.h"
#include "device/executable.h"
#include "isa/features.h"
#include "measure/participants/emulation.h"

namespace etprof {
namespace {

void CheckCpusExist(const ExperimentConfig& experiment, const DeviceProperties& properties) {
  const std::vector<int> chosen_cpus = ResolveCpus(experiment.cpu_affinity, properties);
  if (chosen_cpus.empty() || properties.cpus.empty()) return;
  const bool any_exists = std::ranges::any_of(chosen_cpus, [&](int cpu) {
    return std::ranges::any_of(properties.cpus,
                               [&](const DeviceProperties::Cpu& present) { return present.id == cpu; });
  });
  if (any_exists) return;
  throw Error(ExitCode::kBadInput,
              fmt::format("experiment \"{}\": none of the CPUs {} is there: {} has {}", experiment.name,
                          experiment.cpu_affinity, properties.name, properties.cpus.size()))
      .Remedy("`etprof devices` shows which there are");
}

// Checks a mask. The features of an emulated CPU are unknown, so only the names in its mask are checked.
void CheckMask(const ExperimentConfig& experiment, const DeviceProperties& properties) {
  if (experiment.isa.empty()) return;
  isa::FeatureSet features;
  for (const std::string& feature : CpuFeatureNames(properties)) features.insert(feature);
  const bool emulated = IsEmulated(experiment, properties) || !experiment.exec_wrapper.empty();
  const std::string runner_architecture = ProgramArchitecture(experiment.runner.string());
  isa::Architecture architecture =
      properties.architecture.starts_with("a") ? isa::Architecture::kAarch64 : isa::Architecture::kX86_64;
  if (emulated && runner_architecture.empty()) return;
  if (emulated)
    architecture =
        runner_architecture == "aarch64" ? isa::Architecture::kAarch64 : isa::Architecture::kX86_64;
  // macOS reports only some features.
  if (emulated || features.empty() || properties.platform.starts_with("mac")) {
    for (const isa::Feature& feature : isa::Features(architecture)) features.emplace(feature.name);
  }
  try {
    isa::ParseMask(architecture, features, experiment.isa);
  } catch (const Error& error) {
    throw Error(ExitCode::kBadInput, fmt::format("experiment \"{}\": {}", experiment.name, error.problem()))
        .Remedy(error.remedy());
  }
}

// Without this check, a wrong architecture would only be found on the remote device, with a shell's message.
void RequireArchitecture(const ExperimentConfig& experiment, const std::string& device,
                         const DeviceProperties& properties) {
  if (device == "local" || !experiment.exec_wrapper.empty()) return;
  const std::string runner_architecture = ProgramArchitecture(experiment.runner.string());
  const std::string& device_architecture = properties.architecture;
  if (runner_architecture.empty() || device_architecture.empty() ||
      runner_architecture == device_architecture)
    return;
  throw Error(ExitCode::kBadInput, fmt::format("is a program for {}, and {} is {}", runner_architecture,
                                               device, device_architecture))
      .InFile(experiment.runner.string())
      .Remedy("build one for the device (`etprof build --target`), or name an emulator (exec_wrapper)");
}

// The CPUs that the experiment's threads may run on; empty: not known.
std::vector<int> AllowedCpus(const ExperimentConfig& experiment, const DeviceProperties& properties) {
  std::vector<int> allowed;
  for (const DeviceProperties::Cpu& cpu : properties.cpus) allowed.push_back(cpu.id);
  const auto intersect = [&](const std::vector<int>& cpus) {
    std::erase_if(allowed, [&](int cpu) { return std::ranges::find(cpus, cpu) == cpus.end(); });
  };
  try {
    if (!properties.limits.cpuset.empty()) intersect(ParseCpus(properties.limits.cpuset));
    // A worker's own affinity replaces that of etprof.
    const std::string& affinity =
        experiment.cpu_affinity.empty() ? properties.limits.affinity : experiment.cpu_affinity;
    if (!affinity.empty()) intersect(ResolveCpus(affinity, properties));
  } catch (const Error&) {
    return {};  // the device writes its CPU lists in an unknown format
  }
  return allowed;
}

// The number of cores of the CPUs; hyperthreads share a core.
std::size_t CountCores(const std::vector<int>& cpus, const DeviceProperties& properties) {
  std::set<std::string> cores;
  for (const DeviceProperties::Cpu& cpu : properties.cpus) {
    if (std::ranges::find(cpus, cpu.id) != cpus.end())
      cores.insert(cpu.siblings.empty() ? std::to_string(cpu.id) : cpu.siblings);
  }
  return cores.size();
}

std::string ThreadWarning(const ExperimentConfig& experiment, int threads,
                          const DeviceProperties& properties) {
  const std::vector<int> cpus = AllowedCpus(experiment, properties);
  if (cpus.empty() || threads <= 1) return "";
  const auto thread_count = static_cast<std::size_t>(threads);
  const std::size_t cores = CountCores(cpus, properties);
  const std::string prefix =
      fmt::format("{} threads on {} (CPU {})", threads, CountedText(cpus.size(), "CPU"), CpusText(cpus));
  if (thread_count > cpus.size())
    return fmt::format("{}: they wait for each other; use {}{}", prefix, CountedText(cpus.size(), "thread"),
                       cpus.size() > 1 ? " or fewer" : "");
  if (thread_count > cores)
    return fmt::format("{}, which are hyperthreads of {}: two threads share a core", prefix,
                       CountedText(cores, "core"));
  if (!experiment.cpu_affinity.empty() && cores < cpus.size())
    return fmt::format(
        "{}, which are hyperthreads of {}: two threads may share a core in one run and not in "
        "the next; choose one CPU of each core",
        prefix, CountedText(cores, "core"));
  return "";
}

}  // namespace

std::vector<std::string> ThreadWarnings(const Config& config, const DeviceProperties& properties) {
  std::vector<std::string> warnings;
  for (const ExperimentConfig& experiment : config.experiments) {
    if (IsEmulated(experiment, properties)) continue;
    for (const int threads : experiment.threads) {
      const std::string warning = ThreadWarning(experiment, threads, properties);
      if (!warning.empty()) AppendUnique(warning, warnings);
    }
  }
  return warnings;
}

void CheckForDevice(const Config& config, const std::string& device, const DeviceProperties& properties) {
  if (!config.power_mode.empty() && !properties.platform.starts_with("android"))
    throw PowerModesUnsupported(device);
  for (const ExperimentConfig& experiment : config.experiments) {
    RequireArchitecture(experiment, device, properties);
    if (device == "local")
      FindProgram(experiment.exec_wrapper.empty() ? experiment.runner.string()
                                                  : experiment.exec_wrapper.front());
    if (!experiment.cpu_affinity.empty()) CheckCpusExist(experiment, properties);
  }
}

void CheckMasks(const Config& config, const DeviceProperties& properties) {
  for (const ExperimentConfig& experiment : config.experiments) CheckMask(experiment, properties);
}

}  // namespace etprof
