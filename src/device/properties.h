#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
  };
  std::string name;          // "local", "ssh pi5", the adb serial
  std::string platform;      // "linux-x86_64", "linux-aarch64", "mac", "android"
  std::string architecture;  // as uname -m
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
};

}  // namespace etprof
