#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "core/units.h"
#include "device/conditions/limits.h"

namespace etprof {

// The hardware, system, and configuration of a device. An empty or absent member is not known.
struct DeviceProperties {
  struct Cpu {
    int id = 0;
    std::string model;                             // "Cortex-A520"; empty where the kernel names no Arm part
    std::string governor;                          // "performance", "schedutil", ...
    std::optional<std::int64_t> min_khz, max_khz;  // limits in force (scaling_min_freq, scaling_max_freq)
    std::optional<std::int64_t> hardware_max_khz;
    std::optional<std::int64_t> capacity;
    std::string siblings;  // hyperthreads of this CPU's core, including this CPU: "0-1"; empty: not known

    static void Describe(auto& v) {
      v("id", &Cpu::id, {.meaning = "its number, as in `cpu_affinity`"});
      v("model", &Cpu::model, {.meaning = "of an Arm part: \"Cortex-A520\"", .or_null = true});
      v("governor", &Cpu::governor, {.meaning = "that sets its frequency; null: not known", .or_null = true});
      v("min_khz", &Cpu::min_khz, {.meaning = "limit in force (scaling_min_freq); null: not known"});
      v("max_khz", &Cpu::max_khz, {.meaning = "limit in force (scaling_max_freq); null: not known"});
      v("hardware_max_khz", &Cpu::hardware_max_khz, {.meaning = "cpuinfo_max_freq; null: not known"});
      v("capacity", &Cpu::capacity, {.meaning = "the kernel's relative capacity: 1024 is the largest core"});
      v("siblings", &Cpu::siblings,
        {.meaning = "hyperthreads of its core, itself among them: \"0-1\"; null: not known",
         .or_null = true});
    }
  };
  std::string name;
  std::string platform;
  std::string architecture;
  std::string cpu_model;
  std::vector<std::string> features;
  int cores = 0;
  std::vector<Cpu> cpus;
  std::string topology;
  std::optional<Bytes> memory_total, memory_available;
  std::string os;
  std::string kernel;
  std::string virtualization;
  std::string power_mode;
  ResourceLimits limits;  // limits when the properties were read
  std::vector<std::string> warnings;

  static constexpr const char* kSchemaName = "device";
  static void Describe(auto& v) {
    v("name", &DeviceProperties::name, {.meaning = "\"local\", \"ssh:pi5\", the adb serial"});
    v("platform", &DeviceProperties::platform,
      {.meaning = "\"linux-x86_64\", \"linux-aarch64\", \"mac\", \"android\""});
    v("architecture", &DeviceProperties::architecture, {.meaning = "as uname -m, and never arm64: aarch64"});
    v("cpu_model", &DeviceProperties::cpu_model, {.meaning = "as the system calls it; empty: not known"});
    v("features", &DeviceProperties::features, {.meaning = "of the CPU, as the kernel names them"});
    v("cores", &DeviceProperties::cores, {.meaning = "CPUs online"});
    v("topology", &DeviceProperties::topology,
      {.meaning = "\"4 x 3200 MHz, 4 x 2000 MHz\"; empty: all are alike, or nothing is known"});
    v("memory_total_bytes", &DeviceProperties::memory_total, {.meaning = "of the device; null: not known"});
    v("memory_available_bytes", &DeviceProperties::memory_available,
      {.meaning = "when the measurement began; null: not known"});
    v("os", &DeviceProperties::os, {.meaning = "\"Debian GNU/Linux 12 (bookworm)\"; empty: not known"});
    v("kernel", &DeviceProperties::kernel, {.meaning = "\"Linux 6.1.0\"; empty: not known"});
    v("virtualization", &DeviceProperties::virtualization,
      {.meaning = "\"kvm\", \"container\", \"wsl\", ...; empty: none seen"});
    v("power_mode", &DeviceProperties::power_mode,
      {.meaning = "\"on battery\", \"low power\", ...; empty: not known"});
    v("limits", &DeviceProperties::limits,
      {.meaning = "what the container and the affinity let processes use, before the measurement"});
    v("warnings", &DeviceProperties::warnings, {.meaning = "what makes timings here less steady"});
    v("cpus", &DeviceProperties::cpus, {.meaning = "each one that is online"});
  }
};

}  // namespace etprof
