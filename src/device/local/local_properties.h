#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "device/properties.h"

namespace etprof {

// This machine's properties. Linux: /proc, /sys and /etc below `root` (another root is for tests); macOS:
// sysctl.
DeviceProperties ReadLocalProperties(const std::filesystem::path& root = "/");

// What a Linux system says of itself in /proc, /sys and /etc below `root`, whichever system this is; without
// name, platform, architecture and kernel.
DeviceProperties ReadLinuxProperties(const std::filesystem::path& root);

// What a Mac is asked by sysctl.
struct MacKey {
  const char* name;
  bool text = false;  // else a number
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
// The same of a Mac, of the values of these keys as `sysctl -n` prints them; absent or empty: it has none.
DeviceProperties ReadMacProperties(const std::map<std::string, std::string>& values);

// What follows from `uname`: architecture (aarch64 where macOS and some kernels say arm64), kernel, and
// platform; and the warning of what else the system runs in.
void AddSystem(const std::string& system, const std::string& release, const std::string& machine,
               DeviceProperties& properties);

// Memory that can be had without swapping, in the machine and in the container; absent where the system does
// not say.
std::optional<Bytes> ReadAvailableMemory(const std::filesystem::path& root = "/");

}  // namespace etprof
