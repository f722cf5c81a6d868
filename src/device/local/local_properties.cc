#include "device/local/local_properties.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>
#ifdef __APPLE__
#include <sys/sysctl.h>
#endif

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>

#include "core/file/file.h"
#include "core/text/text.h"

namespace etprof {
namespace {

constexpr int kMaxCpuNumber = 1024;

std::string ReadFirstLine(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (!line.empty() && (line.back() == '\0' || line.back() == ' ' || line.back() == '\r')) line.pop_back();
  return line;
}

// Parses a number of kB. Absent if it is not a plausible amount of memory.
std::optional<Bytes> ParseKilobytes(const std::string& text) {
  const auto kilobytes = ParseLeadingInteger(text);
  if (!kilobytes || *kilobytes < 0 || *kilobytes > std::numeric_limits<Bytes>::max() / 1024)
    return std::nullopt;
  return *kilobytes * 1024;
}

// Reads lines "key   : value". The first value of each key counts.
std::map<std::string, std::string> ReadKeyValues(const std::filesystem::path& path, char separator) {
  std::map<std::string, std::string> values;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t at = line.find(separator);
    if (at == std::string::npos) continue;
    const auto trimmed = [](std::string text) {
      const std::size_t first = text.find_first_not_of(" \t\"");
      const std::size_t last = text.find_last_not_of(" \t\"\r");
      return first == std::string::npos ? std::string() : text.substr(first, last - first + 1);
    };
    values.emplace(trimmed(line.substr(0, at)), trimmed(line.substr(at + 1)));
  }
  return values;
}

std::string FindValue(const std::map<std::string, std::string>& values, const char* key) {
  const auto found = values.find(key);
  return found == values.end() ? std::string() : found->second;
}

// The name of the core with an Arm "CPU implementer" and "CPU part" (Arm's MIDR_EL1). The table has the cores
// of phones and boards.
std::string ArmCpuName(const std::string& implementer, const std::string& part) {
  static const std::map<std::string, std::string> parts = {
      {"0xd03", "Cortex-A53"},  {"0xd05", "Cortex-A55"},  {"0xd08", "Cortex-A72"},  {"0xd0b", "Cortex-A76"},
      {"0xd0c", "Neoverse-N1"}, {"0xd40", "Neoverse-V1"}, {"0xd41", "Cortex-A78"},  {"0xd44", "Cortex-X1"},
      {"0xd46", "Cortex-A510"}, {"0xd47", "Cortex-A710"}, {"0xd48", "Cortex-X2"},   {"0xd49", "Neoverse-N2"},
      {"0xd4d", "Cortex-A715"}, {"0xd4e", "Cortex-X3"},   {"0xd4f", "Neoverse-V2"}, {"0xd80", "Cortex-A520"},
      {"0xd81", "Cortex-A720"}, {"0xd82", "Cortex-X4"},   {"0xd84", "Neoverse-V3"}, {"0xd85", "Cortex-X925"},
      {"0xd87", "Cortex-A725"}, {"0xd8a", "C1-Nano"},     {"0xd8b", "C1-Pro"},      {"0xd8c", "C1-Ultra"},
      {"0xd8e", "Neoverse-N3"}, {"0xd8f", "Cortex-A320"}, {"0xd90", "C1-Premium"}};
  if (implementer == "0x41") {
    const auto found = parts.find(part);
    if (found != parts.end()) return found->second;
  }
  return implementer.empty() ? "" : fmt::format("Arm implementer {} part {}", implementer, part);
}

// Reads the Arm core names from /proc/cpuinfo, which has one block per CPU, by CPU number.
std::map<int, std::string> ArmCpuNames(const std::filesystem::path& cpuinfo) {
  std::map<int, std::string> names;
  std::ifstream file(cpuinfo);
  std::optional<std::int64_t> id;
  std::string implementer;
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    const std::size_t end = line.find_last_not_of(" \t", colon == 0 ? 0 : colon - 1);
    if (colon == std::string::npos || end == std::string::npos) continue;
    const std::string key = line.substr(0, end + 1);
    const std::vector<std::string> values = Words(line.substr(colon + 1));
    if (values.empty()) continue;
    if (key == "processor") id = ParseLeadingInteger(values[0]);
    if (key == "CPU implementer") implementer = values[0];
    if (key == "CPU part" && id && *id >= 0 && *id < kMaxCpuNumber)
      names[static_cast<int>(*id)] = ArmCpuName(implementer, values[0]);
  }
  return names;
}

std::string DetectVirtualization(const std::filesystem::path& root,
                                 const std::vector<std::string>& features) {
  std::string kind;
  const std::string version = ReadFirstLine(root / "proc/version");
  if (version.find("microsoft") != std::string::npos || version.find("Microsoft") != std::string::npos) {
    kind = "WSL";
  } else if (std::ranges::find(features, "hypervisor") != features.end()) {
    const std::string product = ReadFirstLine(root / "sys/class/dmi/id/product_name");
    kind = product.empty() ? "virtual machine" : fmt::format("virtual machine ({})", product);
  }
  if (Exists(root / ".dockerenv") || Exists(root / "run/.containerenv")) {
    kind += kind.empty() ? "container" : ", container";
  }
  return kind;
}

std::string DescribeTopology(const std::vector<DeviceProperties::Cpu>& cpus) {
  std::map<std::int64_t, int, std::greater<>> cores_by_khz;
  for (const DeviceProperties::Cpu& cpu : cpus) {
    if (cpu.hardware_max_khz) cores_by_khz[*cpu.hardware_max_khz]++;
  }
  if (cores_by_khz.size() < 2) return "";
  std::string text;
  for (const auto& [khz, count] : cores_by_khz) {
    text += fmt::format("{}{} x {} MHz", text.empty() ? "" : ", ", count, khz / 1000);
  }
  return text;
}

void AddWarnings(DeviceProperties& properties) {
  const std::string quota = QuotaText(properties.limits);
  if (!quota.empty() && *properties.limits.quota_cpus < std::max(1, properties.cores))
    properties.warnings.push_back(quota);
  for (const DeviceProperties::Cpu& cpu : properties.cpus) {
    if (!cpu.governor.empty() && cpu.governor != "performance") {
      properties.warnings.push_back(fmt::format(
          "the CPU frequency governor is \"{}\": the clock follows the load; \"performance\" is steadier",
          cpu.governor));
      break;
    }
  }
  for (const DeviceProperties::Cpu& cpu : properties.cpus) {
    if (cpu.max_khz && cpu.hardware_max_khz && *cpu.max_khz < *cpu.hardware_max_khz) {
      properties.warnings.push_back(fmt::format("CPU {} is capped at {} of {} MHz", cpu.id,
                                                *cpu.max_khz / 1000, *cpu.hardware_max_khz / 1000));
      break;
    }
  }
}

#ifdef __APPLE__
// The value as `sysctl -n` prints it; empty: this Mac does not have the key.
std::string SysctlText(const MacKey& key) {
  char value[256] = {};
  std::size_t size = sizeof value - 1;
  if (::sysctlbyname(key.name, value, &size, nullptr, 0) != 0) return "";
  if (key.is_text) return value;
  std::int64_t number = 0;  // the values are little-endian, have 4 or 8 bytes, and are never negative
  std::memcpy(&number, value, std::min(size, sizeof number));
  return std::to_string(number);
}
#endif

}  // namespace

DeviceProperties ReadLinuxProperties(const std::filesystem::path& root) {
  DeviceProperties properties;
  const auto cpuinfo = ReadKeyValues(root / "proc/cpuinfo", ':');
  properties.features = Words(FindValue(cpuinfo, "flags"));
  if (properties.features.empty()) properties.features = Words(FindValue(cpuinfo, "Features"));
  properties.cpu_model = FindValue(cpuinfo, "model name");
  if (properties.cpu_model.empty()) properties.cpu_model = FindValue(cpuinfo, "Hardware");
  if (properties.cpu_model.empty()) {
    properties.cpu_model = ArmCpuName(FindValue(cpuinfo, "CPU implementer"), FindValue(cpuinfo, "CPU part"));
  }

  const std::map<int, std::string> names = ArmCpuNames(root / "proc/cpuinfo");
  for (int id = 0; id < kMaxCpuNumber; ++id) {
    const std::filesystem::path folder = root / fmt::format("sys/devices/system/cpu/cpu{}", id);
    std::error_code error;
    if (!std::filesystem::is_directory(folder, error)) break;
    if (ReadFirstLine(folder / "online") == "0") continue;
    DeviceProperties::Cpu cpu;
    cpu.id = id;
    if (const auto name = names.find(id); name != names.end()) cpu.model = name->second;
    cpu.governor = ReadFirstLine(folder / "cpufreq/scaling_governor");
    cpu.min_khz = ParseLeadingInteger(ReadFirstLine(folder / "cpufreq/scaling_min_freq"));
    cpu.max_khz = ParseLeadingInteger(ReadFirstLine(folder / "cpufreq/scaling_max_freq"));
    cpu.hardware_max_khz = ParseLeadingInteger(ReadFirstLine(folder / "cpufreq/cpuinfo_max_freq"));
    cpu.capacity = ParseLeadingInteger(ReadFirstLine(folder / "cpu_capacity"));
    cpu.siblings = ReadFirstLine(folder / "topology/thread_siblings_list");
    properties.cpus.push_back(cpu);
  }
  properties.cores = static_cast<int>(properties.cpus.size());
  properties.topology = DescribeTopology(properties.cpus);

  const auto memory = ReadKeyValues(root / "proc/meminfo", ':');
  properties.memory_total = ParseKilobytes(FindValue(memory, "MemTotal"));
  properties.memory_available = ReadAvailableMemory(root);
  properties.limits = ReadResourceLimits(root);
  properties.os = FindValue(ReadKeyValues(root / "etc/os-release", '='), "PRETTY_NAME");
  properties.virtualization = DetectVirtualization(root, properties.features);

  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(root / "sys/class/power_supply", error)) {
    if (ReadFirstLine(entry.path() / "type") == "Battery" &&
        ReadFirstLine(entry.path() / "status") == "Discharging") {
      properties.power_mode = "on battery";
      properties.warnings.push_back("this machine runs on its battery");
      break;
    }
  }
  AddWarnings(properties);
  return properties;
}

DeviceProperties ReadMacProperties(const std::map<std::string, std::string>& values) {
  const auto value = [&values](const char* key) { return FindValue(values, key); };
  DeviceProperties properties;
  properties.cpu_model = value("machdep.cpu.brand_string");
  properties.cores = static_cast<int>(ParseLeadingInteger(value("hw.logicalcpu")).value_or(0));
  properties.memory_total = ParseLeadingInteger(value("hw.memsize"));
  properties.os = "macOS " + value("kern.osproductversion");
  constexpr std::string_view kFeature = "hw.optional.arm.FEAT_";
  for (const MacKey& key : kMacKeys) {
    if (std::string_view(key.name).starts_with(kFeature) && value(key.name) == "1")
      properties.features.emplace_back(key.name + kFeature.size());
  }
  const std::string performance_cores = value("hw.perflevel0.logicalcpu"),
                    efficiency_cores = value("hw.perflevel1.logicalcpu");
  if (!performance_cores.empty() && !efficiency_cores.empty())
    properties.topology =
        fmt::format("{} performance, {} efficiency cores", performance_cores, efficiency_cores);
  if (value("kern.hv_vmm_present") == "1") properties.virtualization = "virtual machine";
  return properties;
}

void AddSystem(const std::string& system, const std::string& release, const std::string& machine,
               DeviceProperties& properties) {
  properties.architecture = machine == "arm64" ? "aarch64" : machine;
  properties.kernel = fmt::format("{} {}", system, release);
  properties.platform = system == "Darwin" ? "mac" : "linux-" + properties.architecture;
  if (!properties.virtualization.empty()) {
    std::string kinds = properties.virtualization;  // "virtual machine, container"
    if (const std::size_t comma = kinds.find(", "); comma != std::string::npos)
      kinds.replace(comma, 2, " and a ");
    properties.warnings.push_back(fmt::format("running in a {}: other guests can disturb timings", kinds));
  }
}

std::optional<Bytes> ReadAvailableMemory(const std::filesystem::path& root) {
  const std::optional<Bytes> machine_bytes =
      ParseKilobytes(FindValue(ReadKeyValues(root / "proc/meminfo", ':'), "MemAvailable"));
  const std::optional<Bytes> container_bytes = ReadResourceLimits(root).memory_available;
  return machine_bytes && container_bytes ? std::min(*machine_bytes, *container_bytes)
         : machine_bytes                  ? machine_bytes
                                          : container_bytes;
}

DeviceProperties ReadLocalProperties(const std::filesystem::path& root) {
#ifdef __APPLE__
  static_cast<void>(root);
  std::map<std::string, std::string> values;
  for (const MacKey& key : kMacKeys) values[key.name] = SysctlText(key);
  DeviceProperties properties = ReadMacProperties(values);
#else
  DeviceProperties properties = ReadLinuxProperties(root);
#endif
  struct utsname system {};
  ::uname(&system);
  properties.name = "local";
  AddSystem(system.sysname, system.release, system.machine, properties);
  return properties;
}

}  // namespace etprof
