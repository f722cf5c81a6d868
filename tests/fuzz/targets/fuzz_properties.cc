// The input is each of the files of /proc, /sys, and /etc that describe a machine.

#include "device/local/local_properties.h"
#include "fuzz.h"

ETPROF_FUZZ_TARGET(properties) {
  using namespace etprof;
  for (const char* file :
       {"root/proc/cpuinfo", "root/proc/meminfo", "root/etc/os-release", "root/sys/devices/system/cpu/online",
        "root/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq",
        "root/sys/devices/system/cpu/cpu0/cpu_capacity", "root/sys/class/dmi/id/product_name"}) {
    fuzz::ScratchFile(file, fuzz::Bytes(data, size));
  }
  const std::filesystem::path root = fuzz::ScratchFolder() / "root";
  const DeviceProperties device = ReadLocalProperties(root);
  fuzz::Require(device.cores >= 0 && device.cpus.size() <= 4096, "the number of cores is one");
  const auto memory = ReadAvailableMemory(root);
  fuzz::Require(!memory || *memory >= 0, "memory is not negative");
  return 0;
}
