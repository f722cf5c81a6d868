#include "device/conditions/other_load.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach/mach.h>
#include <sys/resource.h>
#endif

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <map>
#include <set>
#include <thread>
#include <unordered_map>

#include "core/clock.h"
#include "core/file/descriptor.h"
#include "core/text/text.h"
#include "core/units.h"
#include "device/tool.h"

namespace etprof {
namespace {

using ProcessUsage = LoadSnapshot::Process;

// Linux counts CPU time for user space in hundredths of a second on every architecture that runs ExecuTorch
// (USER_HZ).
constexpr double kTicksPerSecond = 100;
constexpr std::int64_t kMaxTicks = 1'000'000'000'000'000;  // larger counts are implausible
constexpr std::size_t kMaxProcesses = 100'000;
constexpr int kMaxCores = 4096;
constexpr int kMaxAncestors = 64;
constexpr double kMaxIntervalSeconds = 1e7;
constexpr double kMinListedCores = 0.01;     // processes that use less are not in OtherLoad::processes
constexpr double kMinCountedCores = 0.05;    // processes that use less are not in HeavyUsers
constexpr std::size_t kMaxSummedNames = 64;  // maximum size of OtherLoad::processes
// The time limit for a device's answer, in addition to kLoadIntervalSeconds.
constexpr double kLoadShellTimeoutSeconds = 5;

constexpr std::string_view kSnapshotMark = "etprof-load-snapshot ";  // longer than a process's name can be
constexpr std::string_view kProcMark = "etprof-load-proc";
constexpr std::string_view kPsMark = "etprof-load-ps";
constexpr std::string_view kEndMark = "etprof-load-end";

std::string PrintableName(std::string_view name) {
  constexpr std::size_t kMaxBytes = 64;
  std::string text(name.substr(0, kMaxBytes));
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text.empty() ? "?" : text;
}

std::optional<std::int64_t> ParseCount(std::string_view text, std::int64_t max_value) {
  const auto value = AsNumber<std::int64_t>(text);
  return value && *value >= 0 && *value <= max_value ? value : std::nullopt;
}

// Parses the first eight fields as numbers. Absent if there are too few fields, or a field is not a number.
std::optional<std::array<std::int64_t, 8>> ParseFields(std::string_view text) {
  std::array<std::int64_t, 8> values{};
  for (std::int64_t& value : values) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    const std::string_view field = text.substr(0, text.find_first_of(" \n"));
    const auto number = ParseCount(field, kMaxTicks);
    if (!number) return std::nullopt;
    value = *number;
    text.remove_prefix(field.size());
  }
  return values;
}

// Parses "123.45", independently of the locale.
std::optional<double> ParseDecimal(std::string_view text) {
  const auto value = AsNumber<double>(text);
  return value && *value >= 0 && *value <= double(kMaxTicks) ? value : std::nullopt;
}

// Reads a line of /proc/stat: "cpu  user nice system idle iowait irq softirq steal ..." gives the busy time,
// and "cpuN ..." counts a core. `guest` is part of `user`.
void ReadTotals(std::string_view line, LoadSnapshot& snapshot) {
  if (line.starts_with("cpu ")) {
    const auto ticks = ParseFields(line.substr(4));
    if (!ticks) return;
    const auto& [user, nice, system, idle, iowait, irq, softirq, steal] = *ticks;
    snapshot.busy_seconds =
        static_cast<double>(user + nice + system + irq + softirq + steal) / kTicksPerSecond;
  } else if (line.starts_with("cpu") && snapshot.cores < kMaxCores) {
    ++snapshot.cores;
  }
}

void ReadHeader(std::string_view line, LoadSnapshot& snapshot) {
  constexpr std::string_view kUptime = "uptime ", kCores = "cores ";
  if (line.starts_with(kUptime)) snapshot.seconds = ParseDecimal(line.substr(kUptime.size())).value_or(0);
  if (line.starts_with(kCores))
    snapshot.cores = static_cast<int>(ParseCount(line.substr(kCores.size()), kMaxCores).value_or(0));
  if (line.starts_with("cpu")) ReadTotals(line, snapshot);
}

using ByPid = std::unordered_map<std::int64_t, const ProcessUsage*>;

ByPid IndexByPid(const LoadSnapshot& snapshot) {
  ByPid index;
  index.reserve(snapshot.processes.size());
  for (const ProcessUsage& process : snapshot.processes) index.emplace(process.pid, &process);
  return index;
}

// The process and its ancestors, the process first. kMaxAncestors ends a cycle of parents.
std::vector<const ProcessUsage*> Lineage(const ByPid& index, std::int64_t pid) {
  std::vector<const ProcessUsage*> lineage;
  for (auto entry = index.find(pid); entry != index.end() && static_cast<int>(lineage.size()) < kMaxAncestors;
       entry = index.find(entry->second->parent)) {
    lineage.push_back(entry->second);
    if (entry->second->parent == entry->first) break;
  }
  return lineage;
}

// The processes of a snapshot that are not other load.
struct SelfProcesses {
  std::set<std::int64_t> pids;  // the process that took the snapshot, its descendants, and its ancestors
  const ProcessUsage* snapshot_taker = nullptr;
  // The daemon that starts the shells of a connection. It waits for them, so its `seconds_with_children`
  // includes the CPU time of ended shells.
  const ProcessUsage* session_daemon = nullptr;
  double used_seconds = 0;
};

SelfProcesses FindSelfProcesses(const LoadSnapshot& snapshot, const ByPid& index) {
  SelfProcesses self;
  for (const ProcessUsage& process : snapshot.processes) {
    const std::vector<const ProcessUsage*> lineage = Lineage(index, process.pid);
    if (std::ranges::none_of(lineage,
                             [&](const ProcessUsage* ancestor) { return ancestor->pid == snapshot.self; }))
      continue;
    self.pids.insert(process.pid);
    self.used_seconds += process.seconds_with_children;
  }
  for (const ProcessUsage* ancestor : Lineage(index, snapshot.self)) {
    if (ancestor->pid == snapshot.self) {
      self.snapshot_taker = ancestor;
      continue;
    }
    self.pids.insert(ancestor->pid);
    const auto is_named = [&](const char* name) { return ancestor->name.starts_with(name); };
    if (self.session_daemon == nullptr && (is_named("sshd") || is_named("adbd") || is_named("dropbear")))
      self.session_daemon = ancestor;
  }
  if (self.session_daemon != nullptr) self.used_seconds += self.session_daemon->seconds_with_children;
  return self;
}

bool IsSameProcess(const ProcessUsage* before, const ProcessUsage* after) {
  return before != nullptr && after != nullptr && before->pid == after->pid && before->start == after->start;
}

// CPU seconds that a process used in an interval. Absent: not known, or not plausible. `before` is the
// process with the same PID in the first snapshot (null: none), `start` the time of that snapshot, and
// `max_seconds` the CPU time of all cores in the interval.
std::optional<double> UsedSecondsBetween(const ProcessUsage* before, const ProcessUsage& after, double start,
                                         double max_seconds) {
  const bool same = before != nullptr && before->start == after.start;
  // The process is older than the interval, but not in the first snapshot: its file was unreadable then.
  if (!same && after.start && *after.start < start - 2 / kTicksPerSecond) return std::nullopt;
  const double used_seconds = after.used_seconds - (same ? before->used_seconds : 0);
  if (!(used_seconds >= 0) || used_seconds > max_seconds + 2 / kTicksPerSecond) return std::nullopt;
  return used_seconds;
}

void SortAndTruncate(std::vector<OtherLoad::Process>& processes, std::size_t max_count) {
  std::ranges::sort(processes, [](const auto& a, const auto& b) {
    return a.cores != b.cores ? a.cores > b.cores : a.name < b.name;
  });
  if (processes.size() > max_count) processes.resize(max_count);
}

std::string CoresText(double cores) {
  if (cores < 0.095) return fmt::format("{:.2f}", cores);
  if (cores < 0.995) return fmt::format("{:.2g}", cores);
  return cores < 9.95 ? fmt::format("{:.1f}", cores) : fmt::format("{:.0f}", cores);
}

// The processes that LoadText and LoadingProcessesText name.
struct HeavyUsers {
  std::vector<std::string> names;
  int count = 0;
  double cores = 0;
};

HeavyUsers FindHeavyUsers(const OtherLoad& load) {
  HeavyUsers users;
  for (const OtherLoad::Process& process : load.processes) {
    if (users.names.size() == kMaxLoadNames) break;
    if (process.cores < kMinCountedCores && !users.names.empty()) continue;
    users.names.push_back(process.name);
    users.count += process.count;
    users.cores += process.cores;
  }
  return users;
}

// True if the named processes account for at least half of the load.
bool AccountsForLoad(const HeavyUsers& users, const OtherLoad& load) {
  return !users.names.empty() && users.cores >= load.CoresUsed() / 2;
}

#ifdef __APPLE__
std::optional<LoadSnapshot> ReadLocalLoad() {
  LoadSnapshot snapshot;
  snapshot.seconds = MonotonicSeconds();
  snapshot.self = ::getpid();
  snapshot.cores = static_cast<int>(std::thread::hardware_concurrency());
  host_cpu_load_info_data_t info{};
  mach_msg_type_number_t size = HOST_CPU_LOAD_INFO_COUNT;
  if (::host_statistics(::mach_host_self(), HOST_CPU_LOAD_INFO, reinterpret_cast<host_info_t>(&info),
                        &size) == KERN_SUCCESS) {
    double ticks = 0;
    for (const int state : {CPU_STATE_USER, CPU_STATE_SYSTEM, CPU_STATE_NICE})
      ticks += static_cast<double>(info.cpu_ticks[state]);
    snapshot.busy_seconds = ticks / kTicksPerSecond;
  }
  // Unlike libproc, `ps` sees the processes of other users.
  const ToolResult result = RunTool({"/bin/ps", "-A", "-o", "pid=,ppid=,time=,comm="},
                                    {.timeout_seconds = kLoadShellTimeoutSeconds});
  for (const std::string_view line : SplitAt(result.output, '\n')) {
    if (snapshot.processes.size() == kMaxProcesses) break;
    if (auto process = ParsePs(line)) snapshot.processes.push_back(std::move(*process));
  }
  // `ps` does not report the CPU time of waited-for children.
  struct rusage usage {};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  for (ProcessUsage& process : snapshot.processes) {
    if (process.pid != snapshot.self) continue;
    for (const struct timeval& time : {usage.ru_utime, usage.ru_stime})
      process.seconds_with_children +=
          static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  }
  return snapshot;
}
#else
// Reads at most `max_bytes` of a file of /proc with one read(2), which returns all of a short file.
std::string ReadShortFile(int folder, const char* name, std::size_t max_bytes) {
  std::string text(max_bytes, '\0');
  const Descriptor file(::openat(folder, name, O_RDONLY | O_CLOEXEC));
  const ssize_t count = file ? ::read(file.number(), text.data(), text.size()) : 0;
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text;
}

std::optional<LoadSnapshot> ReadLocalLoad() {
  const char* proc_root = std::getenv("ETPROF_PROC_ROOT");
  DIR* folder = ::opendir(proc_root != nullptr ? proc_root : "/proc");
  if (folder == nullptr) return std::nullopt;
  const int proc_folder = ::dirfd(folder);
  LoadSnapshot snapshot;
  struct timespec now {};
  ::clock_gettime(CLOCK_BOOTTIME, &now);  // the clock of /proc/uptime, with more digits
  snapshot.seconds = static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
  snapshot.self = ::getpid();
  // The lines of CPUs come first; the rest of the file may be long.
  constexpr std::size_t kTotalsBytes = 262'144;
  const std::string totals = ReadShortFile(proc_folder, "stat", kTotalsBytes);
  for (std::string_view text = totals; text.starts_with("cpu") && text.find('\n') != std::string_view::npos;
       text.remove_prefix(text.find('\n') + 1)) {
    ReadTotals(text.substr(0, text.find('\n')), snapshot);
  }
  // /proc/PID/schedstat has nanoseconds, but of the main thread only; stat counts every thread.
  constexpr std::size_t kStatBytes = 2048;
  std::string name;
  while (const struct dirent* entry = ::readdir(folder)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    if (snapshot.processes.size() >= kMaxProcesses) break;
    name = entry->d_name;
    name += "/stat";
    if (auto process = ParseProcStat(ReadShortFile(proc_folder, name.c_str(), kStatBytes)))
      snapshot.processes.push_back(std::move(*process));
  }
  ::closedir(folder);
  return snapshot;
}
#endif

bool IsLocal(const Device& device) { return device.Name() == "local"; }

}  // namespace

double OtherLoad::CoresUsed() const { return std::max(machine_cores.value_or(0), process_cores.value_or(0)); }

std::optional<OtherLoad> OtherLoadBetween(const LoadSnapshot& before, const LoadSnapshot& after, int cores) {
  OtherLoad load;
  load.seconds = after.seconds - before.seconds;
  if (!(load.seconds >= kMinLoadIntervalSeconds && load.seconds <= kMaxIntervalSeconds)) return std::nullopt;
  load.cores = after.cores > 0 ? after.cores : cores;
  if (load.cores <= 0) return std::nullopt;
  const double max_seconds = load.seconds * load.cores;
  const ByPid earlier = IndexByPid(before), later = IndexByPid(after);
  const SelfProcesses self_before = FindSelfProcesses(before, earlier),
                      self_after = FindSelfProcesses(after, later);

  std::map<std::string, OtherLoad::Process> by_name;
  double used_seconds = 0;
  bool other_seen = false;
  for (const ProcessUsage& process : after.processes) {
    if (self_after.pids.contains(process.pid)) continue;
    other_seen = true;
    const auto found = earlier.find(process.pid);
    const auto used = UsedSecondsBetween(found == earlier.end() ? nullptr : found->second, process,
                                         before.seconds, max_seconds);
    if (!used || *used <= 0) continue;
    used_seconds += *used;
    OtherLoad::Process& name_total =
        by_name.try_emplace(process.name, OtherLoad::Process{process.name, 0, 0}).first->second;
    name_total.cores += *used / load.seconds;
    ++name_total.count;
  }
  if (other_seen) load.process_cores = std::min(used_seconds / load.seconds, double(load.cores));
  for (auto& [name, process] : by_name) load.processes.push_back(std::move(process));
  std::erase_if(load.processes, [](const auto& process) { return process.cores < kMinListedCores; });
  SortAndTruncate(load.processes, kMaxLoadNames);

  // The CPU time of etprof's ended processes is known if the process that waited for them is in both
  // snapshots.
  const bool self_use_known =
      (before.self == after.self && IsSameProcess(self_before.snapshot_taker, self_after.snapshot_taker)) ||
      IsSameProcess(self_before.session_daemon, self_after.session_daemon);
  if (self_use_known && before.busy_seconds && after.busy_seconds &&
      *after.busy_seconds >= *before.busy_seconds) {
    const double other_seconds =
        (*after.busy_seconds - *before.busy_seconds) - (self_after.used_seconds - self_before.used_seconds);
    load.machine_cores = std::clamp(other_seconds / load.seconds, 0.0, double(load.cores));
  }
  if (!load.machine_cores && !load.process_cores) return std::nullopt;
  return load;
}

void AddLoad(OtherLoad& load, const OtherLoad& next) {
  const double seconds = load.seconds + next.seconds;
  if (!(seconds > 0)) return;
  const double share = load.seconds / seconds;
  const auto mean = [&](double a, double b) { return share * a + (1 - share) * b; };
  const auto average = [&](std::optional<double>& a, const std::optional<double>& b) {
    if (a && b) {
      a = mean(*a, *b);
    } else if (b) {
      a = b;
    }
  };
  average(load.machine_cores, next.machine_cores);
  average(load.process_cores, next.process_cores);
  for (OtherLoad::Process& process : load.processes) process.cores *= share;
  for (const OtherLoad::Process& process : next.processes) {
    const auto found =
        std::ranges::find_if(load.processes, [&](const auto& summed) { return summed.name == process.name; });
    const double cores = (1 - share) * process.cores;
    if (found == load.processes.end()) {
      load.processes.push_back({process.name, process.count, cores});
    } else {
      found->cores += cores;
      found->count = std::max(found->count, process.count);
    }
  }
  SortAndTruncate(load.processes, kMaxSummedNames);
  load.seconds = seconds;
  load.cores = std::max(load.cores, next.cores);
}

bool IsSignificantLoad(const OtherLoad& load, int threads) {
  const double used_cores = load.CoresUsed();
  // Experiments with more threads than cores cannot use more than all cores.
  const double needed = std::min(threads, load.cores);
  return used_cores >= kMinSignificantLoad || double(load.cores) - used_cores < needed - kIdleBackground;
}

std::string LoadAmountText(const OtherLoad& load) {
  return fmt::format("{} of {}", CoresText(load.CoresUsed()), CountedText(load.cores, "core"));
}

std::string LoadText(const OtherLoad& load) {
  const HeavyUsers users = FindHeavyUsers(load);
  if (AccountsForLoad(users, load)) {
    return fmt::format("{} other process{} {} ({})", users.count, users.count == 1 ? " uses" : "es use",
                       LoadAmountText(load), fmt::join(users.names, ", "));
  }
  const std::string visible =
      users.names.empty() ? ""
                          : fmt::format("; of the processes seen here: {}", fmt::join(users.names, ", "));
  return fmt::format("{} are in use by short-lived processes, the kernel, or other containers or guests{}",
                     LoadAmountText(load), visible);
}

std::string LoadingProcessesText(const OtherLoad& load) {
  const HeavyUsers users = FindHeavyUsers(load);
  if (users.names.empty())
    return fmt::format("short-lived processes, the kernel, or other guests used {}", LoadAmountText(load));
  const bool has_others = !AccountsForLoad(users, load);
  return fmt::format("{}{} used {}", fmt::join(users.names, ", "), has_others ? " and others" : "",
                     LoadAmountText(load));
}

std::optional<ProcessUsage> ParseProcStat(std::string_view text) {
  // The name is in parentheses and may itself contain parentheses; the fields after it do not.
  const std::size_t open = text.find(" ("), close = text.rfind(") ");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open + 2)
    return std::nullopt;
  const auto pid = ParseCount(text.substr(0, open), std::numeric_limits<std::int32_t>::max());
  // The state, one letter, then ppid (4th) to starttime (22nd). Some fields in between are signed.
  std::string_view remaining = text.substr(close + 2);
  if (!pid || remaining.size() < 2 || remaining[1] != ' ') return std::nullopt;
  remaining.remove_prefix(2);
  std::array<std::string_view, 19> fields;
  for (std::string_view& field : fields) {
    field = remaining.substr(0, remaining.find_first_of(" \n"));
    if (field.empty() || field.size() == remaining.size())
      return std::nullopt;  // the last field may be truncated
    remaining.remove_prefix(field.size() + 1);
  }
  const auto ticks = [&](std::size_t number) { return ParseCount(fields[number - 4], kMaxTicks); };
  const auto parent = ParseCount(fields[0], std::numeric_limits<std::int32_t>::max());
  const auto user = ticks(14), system = ticks(15), start = ticks(22);
  const auto children_user = ticks(16), children_system = ticks(17);
  if (!parent || !user || !system || !start || !children_user || !children_system) return std::nullopt;
  ProcessUsage process;
  process.pid = *pid;
  process.parent = *parent;
  process.name = PrintableName(text.substr(open + 2, close - open - 2));
  process.start = static_cast<double>(*start) / kTicksPerSecond;
  process.used_seconds = static_cast<double>(*user + *system) / kTicksPerSecond;
  process.seconds_with_children =
      process.used_seconds + static_cast<double>(*children_user + *children_system) / kTicksPerSecond;
  return process;
}

std::optional<ProcessUsage> ParsePs(std::string_view line) {
  std::array<std::string_view, 3> fields;
  for (std::string_view& field : fields) {
    line = Trimmed(line);
    const std::size_t end = line.find(' ');
    if (end == std::string_view::npos) return std::nullopt;
    field = line.substr(0, end);
    line.remove_prefix(end);
  }
  line = Trimmed(line);
  const auto pid = ParseCount(fields[0], std::numeric_limits<std::int32_t>::max());
  const auto parent = ParseCount(fields[1], std::numeric_limits<std::int32_t>::max());
  if (!pid || !parent || line.empty()) return std::nullopt;
  // [[DAYS-]HOURS:]MINUTES:SECONDS[.HUNDREDTHS]
  std::string_view time = fields[2];
  double seconds = 0;
  if (const std::size_t dash = time.find('-'); dash != std::string_view::npos) {
    const auto days = ParseCount(time.substr(0, dash), 1'000'000);
    if (!days) return std::nullopt;
    seconds = static_cast<double>(*days) * 24;
    time.remove_prefix(dash + 1);
  }
  while (true) {
    const std::size_t colon = time.find(':');
    const auto part = ParseDecimal(time.substr(0, colon));
    if (!part || *part > 1e9 || seconds > 1e12) return std::nullopt;
    seconds += *part;
    if (colon == std::string_view::npos) break;
    seconds *= 60;
    time.remove_prefix(colon + 1);
  }
  ProcessUsage process;
  process.pid = *pid;
  process.parent = *parent;
  process.name = PrintableName(line.substr(line.rfind('/') + 1));
  process.used_seconds = process.seconds_with_children = seconds;
  return process;
}

std::string LoadScript(bool two_snapshots) {
  // `cat` reads all files at once, since a shell's builtin `read` makes a system call per byte.
  std::string script = R"sh(p=${ETPROF_PROC_ROOT:-/proc}
snapshot() {
  echo "etprof-load-snapshot $$"
  if [ -r "$p/uptime" ]; then
    read -r u x <"$p/uptime"; echo "uptime $u"
    grep '^cpu' "$p/stat" 2>/dev/null
    echo etprof-load-proc
    cat "$p"/[0-9]*/stat 2>/dev/null
  else
    echo "uptime $(perl -MTime::HiRes=time -e 'print time' 2>/dev/null)"
    echo "cores $(sysctl -n hw.logicalcpu 2>/dev/null)"
    echo etprof-load-ps
    ps -A -o pid=,ppid=,time=,comm= 2>/dev/null
  fi
  echo etprof-load-end
}
snapshot
)sh";
  // A `sleep` that does not accept fractions fails at once.
  if (two_snapshots)
    script += fmt::format("sleep {} 2>/dev/null || sleep 1\nsnapshot\n", kLoadIntervalSeconds);
  return script + "true";
}

std::vector<LoadSnapshot> ParseLoad(std::string_view output) {
  constexpr std::size_t kMaxSnapshots = 2;
  std::vector<LoadSnapshot> snapshots;
  std::optional<LoadSnapshot> snapshot;
  enum class Part { kHeader, kProc, kPs } part = Part::kHeader;
  while (!output.empty()) {
    const std::size_t end = std::min(output.find('\n'), output.size());
    const std::string_view line = output.substr(0, end);
    const bool complete = end < output.size();
    output.remove_prefix(std::min(end + 1, output.size()));
    if (line.starts_with(kSnapshotMark)) {
      snapshot.emplace();
      snapshot->self = ParseCount(line.substr(kSnapshotMark.size()), kMaxTicks).value_or(0);
      part = Part::kHeader;
    } else if (!snapshot) {
      continue;
    } else if (line == kProcMark || line == kPsMark) {
      part = line == kProcMark ? Part::kProc : Part::kPs;
    } else if (line == kEndMark && part != Part::kHeader) {
      // A snapshot without a time cannot be compared.
      if (snapshot->seconds > 0 && snapshots.size() < kMaxSnapshots)
        snapshots.push_back(std::move(*snapshot));
      snapshot.reset();
    } else if (part == Part::kHeader) {
      ReadHeader(line, *snapshot);
    } else if (complete && snapshot->processes.size() < kMaxProcesses) {
      // A process name with a newline splits its line in two, neither of which parses.
      auto process = part == Part::kProc ? ParseProcStat(line) : ParsePs(line);
      if (process) snapshot->processes.push_back(std::move(*process));
    }
  }
  return snapshots;
}

std::optional<LoadSnapshot> TakeLoadSnapshot(Device& device) {
  try {
    if (IsLocal(device)) return ReadLocalLoad();
    std::vector<LoadSnapshot> snapshots =
        ParseLoad(ShellOutput(device, LoadScript(false), kLoadShellTimeoutSeconds));
    if (!snapshots.empty()) return std::move(snapshots.front());
  } catch (const Error&) {
    // The measurement's next operation reports the connection's error.
  }
  return std::nullopt;
}

std::optional<OtherLoad> MeasureOtherLoad(Device& device, int cores) {
  if (IsLocal(device)) {
    const auto before = TakeLoadSnapshot(device);
    if (!before) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::duration<double>(kLoadIntervalSeconds));
    const auto after = TakeLoadSnapshot(device);
    return after ? OtherLoadBetween(*before, *after, cores) : std::nullopt;
  }
  try {
    const std::vector<LoadSnapshot> snapshots =
        ParseLoad(ShellOutput(device, LoadScript(true), kLoadShellTimeoutSeconds + kLoadIntervalSeconds));
    if (snapshots.size() == 2) return OtherLoadBetween(snapshots[0], snapshots[1], cores);
  } catch (const Error&) {
    // The measurement's next operation reports the connection's error.
  }
  return std::nullopt;
}

}  // namespace etprof
