#include "machine/perf_counters.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/views.h"

#if defined(__linux__)
#include <dirent.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#endif

namespace etprof::runner {
namespace {

constexpr std::size_t kKinds = std::size(protocol::kCounterNames);

// include/uapi/linux/perf_event.h: PERF_TYPE_HARDWARE and PERF_COUNT_HW_..., PERF_TYPE_SOFTWARE and
// PERF_COUNT_SW_..., in the order of kCounterNames. `group`: counters of the same group are read, and
// scheduled on the processor, together.
struct Event {
  std::uint32_t type;
  std::uint64_t config;
  int group;
};
constexpr std::uint32_t kHardware = 0, kSoftware = 1;
constexpr std::array<Event, kKinds> kEvents = {{{kHardware, 0, 0},    // cycles
                                                {kHardware, 1, 0},    // instructions
                                                {kHardware, 2, 0},    // cache references
                                                {kHardware, 3, 0},    // cache misses
                                                {kHardware, 5, 1},    // branch misses
                                                {kHardware, 7, 1},    // stalled cycles, frontend
                                                {kHardware, 8, 1},    // stalled cycles, backend
                                                {kSoftware, 1, 2},    // task clock
                                                {kSoftware, 2, 2},    // page faults
                                                {kSoftware, 3, 2},    // context switches
                                                {kSoftware, 4, 2}}};  // CPU migrations

// True if only the kernel causes these events, so that counting only user space gives nothing.
bool IsKernelOnly(std::size_t kind) {
  return kEvents[kind].type == kSoftware && (kEvents[kind].config == 3 || kEvents[kind].config == 4);
}

// PERF_FORMAT_GROUP with both times: number of values, time enabled, time running, values.
constexpr std::size_t kMaxWords = 3 + kKinds;

}  // namespace

std::string UnavailableReason(int error, bool hardware, int paranoid) {
  if (error == EACCES || error == EPERM) {
    if (paranoid > 2) {
      return fmt::format(
          "/proc/sys/kernel/perf_event_paranoid is {}: `sysctl kernel.perf_event_paranoid=1` as root opens "
          "it "
          "(Android: `adb shell setprop security.perf_harden 0`)",
          paranoid);
    }
    if (paranoid > 1) {
      return fmt::format(
          "/proc/sys/kernel/perf_event_paranoid is {}, which leaves user space only: `sysctl "
          "kernel.perf_event_paranoid=1` as root opens it; or a container's seccomp profile forbids "
          "perf_event_open (--cap-add PERFMON)",
          paranoid);
    }
    return "the system forbids perf_event_open: in a container start it with --cap-add PERFMON, or with a "
           "seccomp profile that allows it";
  }
  if (error == ENOSYS) {
    return paranoid < 0 ? "this kernel has no perf events (CONFIG_PERF_EVENTS), or the CPU is emulated"
                        : "the system has no perf_event_open here: a seccomp profile hides it, or the CPU is "
                          "emulated";
  }
  if (hardware && (error == ENOENT || error == ENODEV || error == EOPNOTSUPP)) {
    return "this processor does not count it; in a virtual machine the host must give it a PMU (QEMU: -cpu "
           "host, "
           "pmu=on)";
  }
  return fmt::format("perf_event_open: {}", std::strerror(error));
}

#if defined(__linux__)

PerfCounters::System PerfCounters::ThisSystem() {
  System system;
  system.open = [](const System::Event& event, int thread, int group) {
    perf_event_attr attributes{};
    attributes.size = sizeof(attributes);
    attributes.type = event.type;
    attributes.config = event.config;
    attributes.exclude_kernel = event.user_only ? 1 : 0;
    attributes.exclude_hv = 1;
    attributes.read_format =
        PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    const long result = ::syscall(SYS_perf_event_open, &attributes, thread, -1, group, PERF_FLAG_FD_CLOEXEC);
    return result < 0 ? -errno : static_cast<int>(result);
  };
  system.read = [](int descriptor, void* buffer, std::size_t bytes) {
    return static_cast<std::ptrdiff_t>(::read(descriptor, buffer, bytes));
  };
  system.close = [](int descriptor) { ::close(descriptor); };
  system.threads = [] {
    const int self = static_cast<int>(::syscall(SYS_gettid));
    std::vector<int> threads = {self};
    if (DIR* const folder = ::opendir("/proc/self/task"); folder != nullptr) {
      while (const dirent* const entry = ::readdir(folder)) {
        const int thread = std::atoi(entry->d_name);
        if (thread > 0 && thread != self) threads.push_back(thread);
      }
      ::closedir(folder);
    }
    return threads;
  };
  std::ifstream setting("/proc/sys/kernel/perf_event_paranoid");
  if (!(setting >> system.paranoid)) system.paranoid = -1;
  return system;
}

#else

PerfCounters::System PerfCounters::ThisSystem() {
  return {[](const System::Event&, int, int) { return -ENOSYS; },
          [](int, void*, std::size_t) { return std::ptrdiff_t{-1}; }, [](int) {},
          [] { return std::vector<int>{0}; }, -1};
}

#endif

PerfCounters::PerfCounters(const System& system) : system_(system) {
  const std::vector<int> threads = system_.threads();
  OpenCallingThread(threads[0]);
  const std::vector<CounterGroup> calling_thread_groups = open_groups_;
  for (std::size_t t = 1; t < threads.size() && !open_.empty(); ++t) {
    std::vector<CounterGroup> thread_groups;
    bool complete = true;
    for (const auto& [leader, members] : calling_thread_groups) {
      CounterGroup group{-1, members};
      for (const std::size_t member : members) {
        const Counter& counter = open_[member];
        const int descriptor = OpenCounter(counter.kind, threads[t], group.descriptor, counter.user_only);
        complete = descriptor >= 0;
        if (!complete) break;
        descriptors_.push_back(descriptor);
        if (group.descriptor < 0) group.descriptor = descriptor;
      }
      if (!complete) break;
      thread_groups.push_back(std::move(group));
    }
    // Skip threads that have ended meanwhile.
    if (!complete) continue;
    open_groups_.insert(open_groups_.end(), thread_groups.begin(), thread_groups.end());
    ++threads_;
  }
}

PerfCounters::~PerfCounters() {
  // Close the group leaders last.
  for (auto descriptor = descriptors_.rbegin(); descriptor != descriptors_.rend(); ++descriptor)
    system_.close(*descriptor);
}

int PerfCounters::OpenCounter(std::size_t kind, int thread, int leader, bool user_only) const {
  return system_.open({kEvents[kind].type, kEvents[kind].config, user_only}, thread, leader);
}

void PerfCounters::OpenCallingThread(int thread) {
  std::array<int, kKinds> group_index{};  // index into open_groups_, by Event::group
  group_index.fill(-1);
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    int& group = group_index[static_cast<std::size_t>(kEvents[kind].group)];
    int leader = group < 0 ? -1 : open_groups_[static_cast<std::size_t>(group)].descriptor;
    bool user_only = false;
    int result = OpenCounter(kind, thread, leader, user_only);
    if ((result == -EACCES || result == -EPERM) && !IsKernelOnly(kind)) {
      user_only = true;
      result = OpenCounter(kind, thread, leader, user_only);
    }
    // The processor has too few counters for the group, so open another group; the kernel multiplexes them.
    if (leader >= 0 && (result == -EINVAL || result == -ENOSPC)) {
      leader = -1;
      result = OpenCounter(kind, thread, leader, user_only);
    }
    if (result < 0) {
      unavailable_.push_back({protocol::kCounterNames[kind],
                              UnavailableReason(-result, kEvents[kind].type == kHardware, system_.paranoid)});
      continue;
    }
    descriptors_.push_back(result);
    std::size_t index = static_cast<std::size_t>(group);
    if (leader < 0) {
      index = open_groups_.size();
      open_groups_.push_back({result, {}});
      group = static_cast<int>(index);
    }
    open_groups_[index].members.push_back(open_.size());
    open_.push_back({kind, user_only, 0, 0});
  }
}

void PerfCounters::Read(std::uint64_t* values) {
  if (open_.empty()) return;
  std::memset(values, 0, open_.size() * sizeof(*values));
  for (Counter& counter : open_) counter.enabled_ns = counter.running_ns = 0;
  for (const CounterGroup& group : open_groups_) {
    std::array<std::uint64_t, kMaxWords> words{};
    const std::ptrdiff_t bytes = system_.read(group.descriptor, words.data(), sizeof(words));
    const std::size_t count = group.members.size();
    if (bytes < static_cast<std::ptrdiff_t>((3 + count) * sizeof(words[0])) || words[0] != count) continue;
    for (std::size_t i = 0; i < count; ++i) {
      Counter& counter = open_[group.members[i]];
      values[group.members[i]] += words[3 + i];
      counter.enabled_ns += words[1];
      counter.running_ns += words[2];
    }
  }
}

std::vector<protocol::AvailableCounter> PerfCounters::AvailableCounters() const {
  return MapEach(open_, [](const Counter& counter) {
    const double share = counter.enabled_ns == 0 ? 1
                                                 : static_cast<double>(counter.running_ns) /
                                                       static_cast<double>(counter.enabled_ns);
    return protocol::AvailableCounter{protocol::kCounterNames[counter.kind], counter.user_only, share};
  });
}

}  // namespace etprof::runner
