#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "core/units.h"

namespace etprof {

// What a device is, as far as it tells. Empty or absent: it does not tell.
struct DeviceProperties {
  struct Cpu {
    int id = 0;
    std::string model;                             // "Cortex-A520"; empty where the kernel names no Arm part
    std::string governor;                          // "performance", "schedutil", ...
    std::optional<std::int64_t> min_khz, max_khz;  // limits in force (scaling_min_freq, scaling_max_freq)
    std::optional<std::int64_t> hardware_max_khz;  // cpuinfo_max_freq
    std::optional<std::int64_t> capacity;          // the kernel's relative capacity, 1024 is the largest core

    static void Describe(auto& v) {
      v("id", &Cpu::id);
      v("model", &Cpu::model, {.meaning = "of an Arm part: \"Cortex-A520\"", .or_null = true});
      v("governor", &Cpu::governor, {.or_null = true});
      v("min_khz", &Cpu::min_khz);
      v("max_khz", &Cpu::max_khz);
      v("hardware_max_khz", &Cpu::hardware_max_khz);
      v("capacity", &Cpu::capacity);
    }
  };
  std::string name;          // "local", "ssh pi5", the adb serial
  std::string platform;      // "linux-x86_64", "linux-aarch64", "mac", "android"
  std::string architecture;  // as uname -m, and never arm64: aarch64
  std::string cpu_model;
  std::vector<std::string> features;  // as the kernel names them
  int cores = 0;                      // online
  std::vector<Cpu> cpus;
  std::string topology;  // "4 x 3200 MHz, 4 x 2000 MHz"; empty when all are alike or nothing is known
  std::optional<Bytes> memory_total, memory_available;
  std::string os;                     // "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;                 // "Linux 6.1.0"
  std::string virtualization;         // "kvm", "container", "wsl", ...; empty: none seen
  std::string power_mode;             // "on battery", "low power", ...; empty: not known
  std::vector<std::string> warnings;  // what makes timings here less steady

  static constexpr const char* kSchemaName = "device";
  static void Describe(auto& v) {
    v("name", &DeviceProperties::name);
    v("platform", &DeviceProperties::platform);
    v("architecture", &DeviceProperties::architecture);
    v("cpu_model", &DeviceProperties::cpu_model);
    v("features", &DeviceProperties::features);
    v("cores", &DeviceProperties::cores);
    v("topology", &DeviceProperties::topology);
    v("memory_total_bytes", &DeviceProperties::memory_total);
    v("memory_available_bytes", &DeviceProperties::memory_available);
    v("os", &DeviceProperties::os);
    v("kernel", &DeviceProperties::kernel);
    v("virtualization", &DeviceProperties::virtualization);
    v("power_mode", &DeviceProperties::power_mode);
    v("warnings", &DeviceProperties::warnings);
    v("cpus", &DeviceProperties::cpus);
  }
};

}  // namespace etprof
