#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/describe.h"
#include "device/device.h"

// Other load is the CPU time that processes other than etprof's use on a device. Measurements warn about it.
namespace etprof {

// The CPU time that each process of a device has used up to one moment.
struct LoadSnapshot {
  struct Process {
    std::int64_t pid = 0, parent = 0;
    std::string name;             // printable ASCII; other bytes become '?'
    std::optional<double> start;  // start time in seconds of LoadSnapshot::seconds' clock; absent: not known
    double used_seconds = 0;      // CPU seconds of all threads
    double seconds_with_children = 0;  // `used_seconds` plus those of waited-for children
  };
  double seconds = 0;                  // time on the device's clock
  int cores = 0;                       // number of online cores; 0: not known
  std::optional<double> busy_seconds;  // non-idle CPU seconds of all cores; absent: not known
  std::int64_t self = 0;               // the process that took the snapshot

  std::vector<Process> processes;
};

// The average CPU use of processes other than etprof's in one or more intervals.
struct OtherLoad {
  struct Process {
    std::string name;
    int count = 1;     // processes of that name; for several intervals: the largest count in an interval
    double cores = 0;  // average number of cores that these processes used together

    static void Describe(auto& v) {
      v("name", &Process::name, {.meaning = "of the program"});
      v("count", &Process::count, {.meaning = "processes of that name, at most at one time"});
      v("cores", &Process::cores, {.meaning = "all of them together, on average", .min = 0});
    }
  };
  double seconds = 0;  // total length of the intervals
  int cores = 0;       // number of online cores
  // Cores that the whole machine used, without etprof. This includes the kernel, processes that started and
  // ended within the interval, other containers, and time that a hypervisor took away. Absent: not known.
  std::optional<double> machine_cores;
  // The sum over the other processes. Absent: no other process is visible.
  std::optional<double> process_cores;
  // Processes that used CPU time, by falling use: at most kMaxLoadNames for one interval, more for several.
  std::vector<Process> processes;

  // The larger of `machine_cores` and `process_cores`.
  double CoresUsed() const;

  static void Describe(auto& v) {
    v("seconds", &OtherLoad::seconds, {.meaning = "how long it was looked at", .min = 0});
    v("cores", &OtherLoad::cores, {.meaning = "online", .min = 1});
    v("machine_cores", &OtherLoad::machine_cores,
      {.meaning =
           "cores that the whole machine used, on average, without etprof; null: the device does not tell",
       .min = 0});
    v("process_cores", &OtherLoad::process_cores,
      {.meaning = "the sum over the other processes; null: none can be seen", .min = 0});
    v("processes", &OtherLoad::processes, {.meaning = "the five that used most, by falling use"});
  }
};
inline constexpr std::size_t kMaxLoadNames = 5;

// Length of the interval that MeasureOtherLoad measures. The counters tick every 10 ms, so the resolution for
// a process is 0.04 cores.
inline constexpr double kLoadIntervalSeconds = 0.25;

// The number of cores from which other load gets a warning. Load of a quarter of a core takes the CPU away
// often enough to change a median; an idle desktop or phone stays below a tenth.
inline constexpr double kMinSignificantLoad = 0.25;
// Experiments that need every core get a warning earlier: if other load leaves them more than this many cores
// short. An idle machine's background load stays below this value.
inline constexpr double kIdleBackground = 0.1;

// The shortest interval between two snapshots. CPU time is counted in hundredths of a second, which is too
// coarse for shorter intervals.
inline constexpr double kMinLoadIntervalSeconds = 0.05;

// The other load between two snapshots. Absent: the snapshots are not comparable (another device, a restart,
// the same moment), or nothing was readable. `cores` is used if the snapshots have no number of online cores.
std::optional<OtherLoad> OtherLoadBetween(const LoadSnapshot& before, const LoadSnapshot& after,
                                          int cores = 0);

// Adds another interval to `load`: averages weighted by length.
void AddLoad(OtherLoad& load, const OtherLoad& next);

// True if the load justifies a warning for experiments with this many threads.
bool IsSignificantLoad(const OtherLoad& load, int threads);

// The size of the load as text: "1.9 of 2 cores".
std::string LoadAmountText(const OtherLoad& load);
// The current load as a sentence: "2 other processes use 1.9 of 2 cores (cc1plus, python3)".
std::string LoadText(const OtherLoad& load);
// The load of a finished measurement as a clause: "cc1plus, python3 used 1.9 of 2 cores".
std::string LoadingProcessesText(const OtherLoad& load);

// Reads the current CPU times: from /proc of this machine (or below $ETPROF_PROC_ROOT, for tests), from `ps`
// on macOS, and by one shell command on a remote device. Absent if they are unreadable. Does not throw. With
// 75 processes a snapshot took 0.4 ms locally (5 µs per process), and 5 ms through a shell, without the time
// of the connection.
std::optional<LoadSnapshot> TakeLoadSnapshot(Device& device);
// Measures the other load for kLoadIntervalSeconds, on a remote device by one shell command. `cores` as for
// OtherLoadBetween. Absent if the CPU times are unreadable. Does not throw.
std::optional<OtherLoad> MeasureOtherLoad(Device& device, int cores);

// A POSIX shell script that prints a snapshot, or two snapshots that are kLoadIntervalSeconds apart.
std::string LoadScript(bool two_snapshots);
// Parses the output of LoadScript. Incomplete snapshots and unreadable lines are skipped.
std::vector<LoadSnapshot> ParseLoad(std::string_view output);
// Parse /proc/PID/stat (proc(5)), or a line of `ps -o pid=,ppid=,time=,comm=`. Absent for other text.
std::optional<LoadSnapshot::Process> ParseProcStat(std::string_view text);
std::optional<LoadSnapshot::Process> ParsePs(std::string_view line);

}  // namespace etprof
