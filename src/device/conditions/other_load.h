#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/describe.h"
#include "device/device.h"

// How much of a device's processor is used by others, so that a measurement can say that it is not alone.
namespace etprof {

// What every process of a device has used up to one moment.
struct LoadSnapshot {
  struct Process {
    std::int64_t pid = 0, parent = 0;
    std::string name;             // printable ASCII; another byte is '?'
    std::optional<double> start;  // seconds of the same clock as LoadSnapshot::seconds; absent: not known
    double used = 0;              // CPU seconds of all its threads
    double with_children = 0;     // the same plus those of the children that it has waited for
  };
  double seconds = 0;          // the device's clock
  int cores = 0;               // online; 0: not known
  std::optional<double> busy;  // CPU seconds of all cores; absent: the device does not tell
  std::int64_t self = 0;       // the process that took the snapshot
  std::vector<Process> processes;
};

// What others used between two moments, on average. etprof's own processes are left out.
struct OtherLoad {
  struct Process {
    std::string name;
    int count = 1;     // processes of that name; of several intervals: the most in one of them
    double cores = 0;  // all of them together

    static void Describe(auto& v) {
      v("name", &Process::name, {.meaning = "of the program"});
      v("count", &Process::count, {.meaning = "processes of that name, at most at one time"});
      v("cores", &Process::cores, {.meaning = "all of them together, on average", .least = 0});
    }
  };
  double seconds = 0;  // how long it was looked at
  int cores = 0;       // online
  // The whole machine minus etprof: it includes the kernel, processes that came and went between the two
  // moments, other containers, and the time that a hypervisor took away. Absent: the device does not tell.
  std::optional<double> machine_cores;
  // The sum over processes. Absent: no other process can be seen.
  std::optional<double> process_cores;
  // Those that used something, by falling use: kMostLoadNames of one interval, more names of several.
  std::vector<Process> processes;

  // The larger of the two.
  double CoresUsed() const;

  static void Describe(auto& v) {
    v("seconds", &OtherLoad::seconds, {.meaning = "how long it was looked at", .least = 0});
    v("cores", &OtherLoad::cores, {.meaning = "online", .least = 1});
    v("machine_cores", &OtherLoad::machine_cores,
      {.meaning =
           "cores that the whole machine used, on average, without etprof; null: the device does not tell",
       .least = 0});
    v("process_cores", &OtherLoad::process_cores,
      {.meaning = "the sum over the other processes; null: none can be seen", .least = 0});
    v("processes", &OtherLoad::processes, {.meaning = "the five that used most, by falling use"});
  }
};
inline constexpr std::size_t kMostLoadNames = 5;

// How long the look before a measurement takes. The counters tick every 10 ms, so a process is known to 0.04
// cores.
inline constexpr double kLoadSeconds = 0.25;

// From this many cores on the load of others is worth a warning. A quarter of a core takes the processor away
// often enough to show in a median; an idle desktop or phone stays below a tenth.
inline constexpr double kLoadWorthTelling = 0.25;
// Experiments that need every core are warned earlier. They have the cores that they need as long as no more
// than this is missing: the background of an idle machine.
inline constexpr double kIdleBackground = 0.1;

// Between two snapshots: in less, a processor's time, which is counted in hundredths of a second, tells
// little.
inline constexpr double kShortestLoadSeconds = 0.05;

// Absent when the two cannot be compared (another device, a restart, the same moment) or nothing is readable.
// `cores`: of the device, for when it does not say how many are online.
std::optional<OtherLoad> OtherLoadBetween(const LoadSnapshot& before, const LoadSnapshot& after,
                                          int cores = 0);

// Adds another interval to the first one: averages over both.
void AddLoad(OtherLoad& load, const OtherLoad& more);

// Whether it is worth a warning for experiments with that many threads.
bool Matters(const OtherLoad& load, int threads);

// "1.9 of 2 cores".
std::string LoadAmountText(const OtherLoad& load);
// "2 other processes use 1.9 of 2 cores (cc1plus, python3)".
std::string LoadText(const OtherLoad& load);
// "cc1plus, python3 used 1.9 of 2 cores".
std::string LoadUsersText(const OtherLoad& load);

// A moment of the device: files of this machine's /proc (or of $ETPROF_PROC_ROOT, for tests), `ps` on macOS,
// and one shell command on a remote device. Absent: it cannot be read; nothing is thrown. With 75 processes
// it took 0.4 ms here (5 µs each), and 5 ms by a shell, without the connection's own time.
std::optional<LoadSnapshot> TakeLoadSnapshot(Device& device);
// Looks at the device for kLoadSeconds; on a remote device that is one shell command, too. `cores` as for
// OtherLoadBetween.
std::optional<OtherLoad> LookAtOtherLoad(Device& device, int cores);

// A script for a POSIX shell that prints a snapshot, or two that are kLoadSeconds apart.
std::string LoadScript(bool twice);
// The whole snapshots in what it printed. What cannot be read is left out.
std::vector<LoadSnapshot> ParseLoad(std::string_view printed);
// One process of /proc/PID/stat (proc(5)), or of `ps -o pid=,ppid=,time=,comm=`. Absent: it is none.
std::optional<LoadSnapshot::Process> ParseProcStat(std::string_view text);
std::optional<LoadSnapshot::Process> ParsePs(std::string_view line);

}  // namespace etprof
