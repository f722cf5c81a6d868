#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "device/properties.h"

namespace etprof {

// Reads this machine's properties: on Linux from /proc, /sys, and /etc below `root` (tests give another
// root), on macOS from sysctl.
DeviceProperties ReadLocalProperties(const std::filesystem::path& root = "/");

// Reads the properties of a Linux system from /proc, /sys, and /etc below `root`, on any host system. Does
// not set name, platform, architecture, and kernel.
DeviceProperties ReadLinuxProperties(const std::filesystem::path& root);

// The sysctl keys that describe a Mac.
struct MacKey {
  const char* name;
  bool is_text = false;  // the value is text instead of a number
};
inline constexpr MacKey kMacKeys[] = {{"machdep.cpu.brand_string", true},
                                      {"kern.osproductversion", true},
                                      {"hw.logicalcpu"},
                                      {"hw.perflevel0.logicalcpu"},
                                      {"hw.perflevel1.logicalcpu"},
                                      {"hw.memsize"},
                                      {"kern.hv_vmm_present"},
                                      {"hw.optional.arm.FEAT_SME"},
                                      {"hw.optional.arm.FEAT_SME2"},
                                      {"hw.optional.arm.FEAT_I8MM"},
                                      {"hw.optional.arm.FEAT_BF16"},
                                      {"hw.optional.arm.FEAT_DotProd"},
                                      {"hw.optional.arm.FEAT_FP16"}};
// Makes the properties of a Mac from the values of kMacKeys as `sysctl -n` prints them. An absent or empty
// value means that the Mac does not have the key.
DeviceProperties ReadMacProperties(const std::map<std::string, std::string>& values);

// Sets the properties that `uname` determines: architecture ("aarch64" also if uname prints "arm64"), kernel,
// and platform. Adds a warning if DeviceProperties::virtualization is set.
void AddSystem(const std::string& system, const std::string& release, const std::string& machine,
               DeviceProperties& properties);

// The memory that is available without swapping, within the container's limit. Absent: not known.
std::optional<Bytes> ReadAvailableMemory(const std::filesystem::path& root = "/");

}  // namespace etprof
