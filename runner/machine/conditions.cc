#include "machine/conditions.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string_view>

#if defined(__linux__)
#include <sched.h>
#elif defined(__APPLE__)
#include <mach/mach.h>
#include <sys/sysctl.h>
#endif

namespace etprof::runner {
namespace {

std::optional<std::int64_t> ReadInteger(const std::string& path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  return file >> value ? std::optional(value) : std::nullopt;
}

// The value in a line "key ... : value" of a /proc file.
std::string ReadField(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

rusage ReadUsage() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage;
}

std::optional<std::int64_t> ReadCpuFile(std::optional<int> cpu, const char* file) {
  if (!cpu) return std::nullopt;
  return ReadInteger("/sys/devices/system/cpu/cpu" + std::to_string(*cpu) + "/" + file);
}

}  // namespace

std::int64_t ClockNanoseconds(clockid_t clock) {
  timespec now{};
  return ::clock_gettime(clock, &now) == 0
             ? static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec
             : 0;
}

std::int64_t ResidentBytes() {
#if defined(__APPLE__)
  mach_task_basic_info info{};
  mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
  if (::task_info(mach_task_self(), MACH_TASK_BASIC_INFO, reinterpret_cast<task_info_t>(&info), &count) !=
      KERN_SUCCESS)
    return 0;
  return static_cast<std::int64_t>(info.resident_size);
#else
  std::ifstream file("/proc/self/statm");
  std::int64_t total = 0, resident = 0;
  return file >> total >> resident ? resident * ::sysconf(_SC_PAGESIZE) : 0;
#endif
}

std::int64_t PeakResidentBytes() {
#if defined(__APPLE__)
  return ReadUsage().ru_maxrss;  // ru_maxrss is in bytes on macOS
#else
  // Does not use ru_maxrss, which starts with the size of the parent process (it survives exec).
  const std::string peak = ReadField("/proc/self/status", "VmHWM");
  return std::max(std::strtoll(peak.c_str(), nullptr, 10) * 1024LL, static_cast<long long>(ResidentBytes()));
#endif
}

std::int64_t CpuTimeNow() { return ClockNanoseconds(CLOCK_PROCESS_CPUTIME_ID); }

std::optional<std::int64_t> Migrations() {
  // Only kernels with scheduler statistics report migrations.
  const std::string text = ReadField("/proc/self/sched", "se.nr_migrations");
  return text.empty() ? std::nullopt : std::optional(std::strtoll(text.c_str(), nullptr, 10));
}

std::int64_t InvoluntarySwitches() { return ReadUsage().ru_nivcsw; }

std::int64_t PageFaults() {
  const rusage usage = ReadUsage();
  return usage.ru_minflt + usage.ru_majflt;
}

std::optional<int> CurrentCpu() {
#if defined(__linux__)
  const int cpu = ::sched_getcpu();
  return cpu < 0 ? std::nullopt : std::optional(cpu);
#else
  return std::nullopt;
#endif
}

std::optional<std::int64_t> CpuCapacity(int cpu) { return ReadCpuFile(cpu, "cpu_capacity"); }
std::optional<std::int64_t> FrequencyKhz(std::optional<int> cpu) {
  return ReadCpuFile(cpu, "cpufreq/scaling_cur_freq");
}
std::optional<std::int64_t> FrequencyCapKhz(std::optional<int> cpu) {
  return ReadCpuFile(cpu, "cpufreq/scaling_max_freq");
}

std::optional<double> HottestCelsius() {
  std::optional<std::int64_t> hottest;  // millidegrees
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/class/thermal", error)) {
    if (!entry.path().filename().string().starts_with("thermal_zone")) continue;
    // Inactive zones return invalid values, so only -100 to 200 degrees are accepted.
    const auto value = ReadInteger((entry.path() / "temp").string());
    if (value && *value > -100'000 && *value < 200'000) hottest = std::max(hottest.value_or(*value), *value);
  }
  return hottest ? std::optional(static_cast<double>(*hottest) / 1000) : std::nullopt;
}

std::optional<double> LoadAverage() {
  double load = 0;
  return ::getloadavg(&load, 1) == 1 ? std::optional(load) : std::nullopt;
}

std::string CpuModel() {
#if defined(__APPLE__)
  char name[256] = {};
  std::size_t size = sizeof(name) - 1;
  return ::sysctlbyname("machdep.cpu.brand_string", name, &size, nullptr, 0) == 0 ? name : "";
#else
  for (const char* key : {"model name", "Hardware", "Processor"}) {
    const std::string name = ReadField("/proc/cpuinfo", key);
    if (!name.empty() && name.find_first_not_of("0123456789") != std::string::npos) return name;
  }
  // Arm CPUs without a model name: the implementer and part numbers identify the core.
  const std::string implementer = ReadField("/proc/cpuinfo", "CPU implementer");
  const std::string part = ReadField("/proc/cpuinfo", "CPU part");
  return implementer.empty() ? "" : "Arm implementer " + implementer + " part " + part;
#endif
}

// The time of a clock reading in the fastest of several blocks, since other processes may interrupt a block.
std::int64_t ClockReadNanoseconds() {
  constexpr int kBlocks = 20, kReadsPerBlock = 100;
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  for (int block = 0; block < kBlocks; ++block) {
    const std::int64_t start = ClockNanoseconds(CLOCK_MONOTONIC);
    for (int read = 1; read < kReadsPerBlock; ++read) ClockNanoseconds(CLOCK_MONOTONIC);
    shortest = std::min(shortest, ClockNanoseconds(CLOCK_MONOTONIC) - start);
  }
  return (shortest + kReadsPerBlock - 1) / kReadsPerBlock;
}

protocol::Clocks ReadClocks() {
  protocol::Clocks clocks;
  clocks.monotonic_ns = ClockNanoseconds(CLOCK_MONOTONIC);
#if defined(__linux__)
  clocks.boottime_ns = ClockNanoseconds(CLOCK_BOOTTIME);
#else
  clocks.boottime_ns = clocks.monotonic_ns;  // macOS counts sleep in CLOCK_MONOTONIC
#endif
  clocks.realtime_ns = ClockNanoseconds(CLOCK_REALTIME);
  clocks.read_ns = ClockReadNanoseconds();
  return clocks;
}

}  // namespace etprof::runner
