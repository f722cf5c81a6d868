#include "timing/waiting.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#if defined(__APPLE__)
#include <mach/mach.h>
#endif

#include "core/process/cgroup.h"
#include "core/text/text.h"
#include "machine/conditions.h"
#include "protocol/messages.h"
#include "timing/operator_clock.h"

namespace etprof::runner {
namespace {

std::atomic<std::int64_t> stops{0};

// Removes the number at the beginning of `text` with the blanks before it, and returns the number. Absent if
// there is no number, or it is negative or too large.
std::optional<std::int64_t> ConsumeUnsigned(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  const auto value = ConsumeNumber<std::int64_t>(text);
  const bool has_end = text.find_first_not_of(" \t\n") != 0;
  return value && *value >= 0 && has_end ? value : std::nullopt;
}

std::optional<Schedstat> ReadSchedstat(const Descriptor& file) {
  char text[128];
  const ssize_t size = ::pread(file.number(), text, sizeof(text), 0);
  return size > 0 ? ParseSchedstat({text, static_cast<std::size_t>(size)}) : std::nullopt;
}

}  // namespace

std::int64_t WaitedTime(const WaitReading& before, const WaitReading& after) {
  std::int64_t wait_ns = 0;
  if (before.run_delay_ns >= 0 && after.run_delay_ns >= 0)
    wait_ns = std::max(wait_ns, after.run_delay_ns - before.run_delay_ns);
  const bool blocked = before.voluntary_switches < 0 || after.voluntary_switches != before.voluntary_switches;
  if (!blocked || after.stops != before.stops)
    wait_ns = std::max(wait_ns, (after.wall_ns - before.wall_ns) - (after.main_cpu_ns - before.main_cpu_ns));
  return wait_ns;
}

WaitMeter::WaitMeter() {
#if defined(__linux__)
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    Descriptor file(::open((task.path() / "schedstat").c_str(), O_RDONLY | O_CLOEXEC));
    if (file) threads_.push_back(std::move(file));
  }
#endif
}

WaitReading WaitMeter::Read() const {
  WaitReading reading;
  for (const Descriptor& file : threads_) {
    if (const auto stat = ReadSchedstat(file))
      reading.run_delay_ns = std::max<std::int64_t>(0, reading.run_delay_ns) + stat->delay_ns;
  }
#if defined(__linux__)
  rusage usage{};
  if (::getrusage(RUSAGE_THREAD, &usage) == 0) reading.voluntary_switches = usage.ru_nvcsw;
  reading.main_cpu_ns = ClockNanoseconds(CLOCK_THREAD_CPUTIME_ID);
#elif defined(__APPLE__)
  thread_basic_info info{};
  mach_msg_type_number_t count = THREAD_BASIC_INFO_COUNT;
  const mach_port_t self = ::mach_thread_self();
  if (::thread_info(self, THREAD_BASIC_INFO, reinterpret_cast<thread_info_t>(&info), &count) ==
      KERN_SUCCESS) {
    reading.main_cpu_ns = (info.user_time.seconds + info.system_time.seconds) * 1'000'000'000LL +
                          (info.user_time.microseconds + info.system_time.microseconds) * 1'000LL;
    rusage usage{};
    if (::getrusage(RUSAGE_SELF, &usage) == 0) reading.voluntary_switches = usage.ru_nvcsw;
  }
  ::mach_port_deallocate(mach_task_self(), self);
#endif
  reading.cpu_ns = CpuTimeNow();
  reading.stops = stops.load(std::memory_order_relaxed);
  reading.wall_ns = MonotonicNow();
  return reading;
}

std::vector<std::int64_t> WaitMeter::ThreadTimes() const {
  std::vector<std::int64_t> times;
  for (const Descriptor& file : threads_) {
    if (const auto stat = ReadSchedstat(file)) times.push_back(stat->running_ns);
  }
  return times;
}

const char* DetectWaitSource() {
#if defined(__linux__)
  return ParseSchedstat(ReadProcFile("/proc/self/schedstat")) ? protocol::kSchedstat : protocol::kThreadTime;
#else
  return protocol::kThreadTime;
#endif
}

void CountStops() {
  struct sigaction action {};
  action.sa_handler = [](int) { stops.fetch_add(1, std::memory_order_relaxed); };
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGCONT, &action, nullptr);
}

BurstWaits ReadBurstWaits([[maybe_unused]] std::optional<int> cpu) {
  BurstWaits waits;
#if defined(__linux__)
  if (const auto ticks = cpu ? ParseSteal(ReadProcFile("/proc/stat"), *cpu) : std::nullopt)
    waits.steal_ns = *ticks * (1'000'000'000 / std::max(1L, ::sysconf(_SC_CLK_TCK)));
  static const std::filesystem::path cpu_stat = CpuStatFile();
  if (const auto throttling = ParseThrottling(ReadProcFile(cpu_stat)))
    waits.throttled_ns = throttling->throttled_ns;
#endif
  return waits;
}

std::optional<Schedstat> ParseSchedstat(std::string_view text) {
  const auto running = ConsumeUnsigned(text);
  const auto delay = running ? ConsumeUnsigned(text) : std::nullopt;
  const auto slices = delay ? ConsumeUnsigned(text) : std::nullopt;
  if (!slices || (!text.empty() && text != "\n")) return std::nullopt;
  return Schedstat{*running, *delay};
}

std::optional<std::int64_t> ParseSteal(std::string_view stat, int cpu) {
  auto line = FindLine(stat, "cpu" + std::to_string(cpu));
  if (cpu < 0 || !line) return std::nullopt;
  std::optional<std::int64_t> value;
  for (int field = 0; field < 8; ++field) {
    value = ConsumeUnsigned(*line);
    if (!value) return std::nullopt;
  }
  constexpr std::int64_t kMaxTicks = 1'000'000'000'000;  // 300 years; more would overflow nanoseconds
  return *value <= kMaxTicks ? value : std::nullopt;
}

}  // namespace etprof::runner
