#include "device/conditions/other_load.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/golden_testing.h"
#include "device/local/local.h"
#include "device/tool.h"

namespace etprof {
namespace {

// The output of dash and GNU cat on a machine with two cores that a compiler, an endless loop in Python, and
// an endless loop of a shell script named "new\nline" kept busy. Most processes, and the fields after the
// 24th, are removed.
constexpr const char* kRecorded =
    "etprof-load-snapshot 1421\n"
    "uptime 4443.08\n"
    "cpu  169620 287792 37196 391901 836 0 212 101 0 0\n"
    "cpu0 87521 140379 17941 197770 134 0 28 44 0 0\n"
    "cpu1 82099 147413 19255 194131 702 0 183 57 0 0\n"
    "etprof-load-proc\n"
    "1 (init) S 0 0 0 0 -1 4194560 4113 0 0 0 1 8 2031 419 20 0 1 0 21 7012352 1152 \n"
    "10 (kworker/0:0H-events_highpri) I 2 0 0 0 -1 69238880 0 0 0 0 0 0 0 0 0 -20 1 0 22 0 0 \n"
    "1367 (bash) S 1 1367 5375 0 -1 4194304 700 3000 0 0 2 3 10 5 20 0 1 0 444300 4997120 800 \n"
    "1414 (python3) R 1367 1367 5375 0 -1 4194304 2884 0 0 0 3 0 0 0 20 0 1 0 444308 16949248 3344 \n"
    "1416 (odd ) (name) S 1367 1367 5375 0 -1 4194304 145 0 0 0 0 0 0 0 20 0 1 0 444308 2990080 417 \n"
    "1418 (new\nline) R 1367 1367 5375 0 -1 4194304 127 0 0 0 0 0 0 0 20 0 1 0 444308 2654208 389 \n"
    "1421 (sh) S 1367 1367 5375 0 -1 4194304 119 101 0 1 0 0 0 0 20 0 1 0 444308 2654208 421 \n"
    "1425 (cat) R 1421 1367 5375 0 -1 4194304 100 0 0 0 0 0 0 0 20 0 1 0 444308 3133440 390 \n"
    "etprof-load-end\n"
    "etprof-load-snapshot 1421\n"
    "uptime 4443.34\n"
    "cpu  169666 287792 37198 391904 836 0 212 101 0 0\n"
    "cpu0 87544 140379 17941 197772 134 0 28 44 0 0\n"
    "cpu1 82122 147413 19257 194131 702 0 183 57 0 0\n"
    "etprof-load-proc\n"
    "1 (init) S 0 0 0 0 -1 4194560 4113 0 0 0 1 8 2031 419 20 0 1 0 21 7012352 1152 \n"
    "10 (kworker/0:0H-events_highpri) I 2 0 0 0 -1 69238880 0 0 0 0 0 0 0 0 0 -20 1 0 22 0 0 \n"
    "1367 (bash) S 1 1367 5375 0 -1 4194304 700 3000 0 0 2 3 10 5 20 0 1 0 444300 4997120 800 \n"
    "1414 (python3) R 1367 1367 5375 0 -1 4194304 2884 0 0 0 20 1 3 0 20 0 1 0 444308 16949248 3344 \n"
    "1416 (odd ) (name) S 1367 1367 5375 0 -1 4194304 145 0 0 0 0 0 0 0 20 0 1 0 444308 2990080 417 \n"
    "1418 (new\nline) R 1367 1367 5375 0 -1 4194304 127 0 0 0 26 0 0 0 20 0 1 0 444308 2654208 389 \n"
    "1421 (sh) S 1367 1367 5375 0 -1 4194304 119 498 0 1 0 0 0 1 20 0 1 0 444308 2654208 421 \n"
    "1429 (cat) R 1421 1367 5375 0 -1 4194304 100 0 0 0 0 0 0 0 20 0 1 0 444333 3133440 390 \n"
    "etprof-load-end\n";

TEST(OtherLoad, ParsesARecordedMachine) {
  const std::vector<LoadSnapshot> snapshots = ParseLoad(kRecorded);
  ASSERT_EQ(snapshots.size(), 2U);
  EXPECT_EQ(snapshots[0].self, 1421);
  EXPECT_EQ(snapshots[0].cores, 2);
  EXPECT_EQ(snapshots[0].processes.size(), 7U);
  const auto load = OtherLoadBetween(snapshots[0], snapshots[1]);
  ASSERT_TRUE(load);
  EXPECT_NEAR(load->seconds, 0.26, 1e-9);
  // The machine used 48 ticks, of which the script's shell used one.
  EXPECT_NEAR(load->machine_cores.value(), 0.47 / 0.26, 1e-9);
  // Only Python's ticks: the newline in the other process's name breaks its line.
  EXPECT_NEAR(load->process_cores.value(), 0.18 / 0.26, 1e-9);
  ASSERT_EQ(load->processes.size(), 1U);
  EXPECT_EQ(load->processes[0].name, "python3");
  EXPECT_TRUE(IsSignificantLoad(*load, 1));
}

TEST(OtherLoad, ParsesProcStat) {
  const auto process = ParseProcStat(
      "1416 (odd ) (name) S 1367 1367 5375 0 -1 4194304 145 0 0 0 7 5 2 1 20 0 1 0 444308 2990080 417\n");
  ASSERT_TRUE(process);
  EXPECT_EQ(process->pid, 1416);
  EXPECT_EQ(process->parent, 1367);
  EXPECT_EQ(process->name, "odd ) (name");
  EXPECT_NEAR(process->used_seconds, 0.12, 1e-9);
  EXPECT_NEAR(process->seconds_with_children, 0.15, 1e-9);
  EXPECT_NEAR(process->start.value(), 4443.08, 1e-9);
  const auto escapes = ParseProcStat("7 (\x1b[2J\n\xff\xc3) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n");
  ASSERT_TRUE(escapes);
  EXPECT_EQ(escapes->name, "?[2J???");
}

TEST(OtherLoad, RejectsInvalidProcStat) {
  const std::string complete =
      "1416 (name) S 1367 1367 5375 0 -1 4194304 145 0 0 0 7 5 2 1 20 0 1 0 444308 2990080 417\n";
  ASSERT_TRUE(ParseProcStat(complete));
  // A line that is truncated within the start time must not give a process with another start time.
  for (std::size_t length = 0; length <= complete.find(" 2990080"); ++length)
    EXPECT_FALSE(ParseProcStat(complete.substr(0, length))) << length;
  for (const char* line :
       {"", "(", "()", ") (", "1 () ", "1 (a) S", "-1 (a) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0",
        "1 (a) S 1 1 1 0 -1 0 0 0 0 0 -7 0 0 0 20 0 1 0 5 0 0",
        "1 (a) S 1 1 1 0 -1 0 0 0 0 0 99999999999999999999 0 0 0 20 0 1 0 5 0 0",
        "1 (a) S 1 1 1 0 -1 0 0 0 0 0 9223372036854775807 9223372036854775807 0 0 20 0 1 0 5 0 0",
        "99999999999 (a) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0"})
    EXPECT_FALSE(ParseProcStat(line)) << line;
}

TEST(OtherLoad, ParsesPsLines) {
  const auto process = ParsePs("  402     1   12:03.45 /Applications/Some App.app/Contents/MacOS/Some App");
  ASSERT_TRUE(process);
  EXPECT_EQ(process->pid, 402);
  EXPECT_EQ(process->parent, 1);
  EXPECT_NEAR(process->used_seconds, 723.45, 1e-9);
  EXPECT_EQ(process->name, "Some App");
  EXPECT_FALSE(process->start);
  EXPECT_NEAR(ParsePs("1 0 2-01:00:05 launchd")->used_seconds, 49 * 3600 + 5, 1e-9);
  for (const char* line : {"", "1", "1 0 0:01", "1 0 0:01 ", "x 0 0:01 a", "1 0 0:0x a", "1 0 : a",
                           "1 0 -1:00 a", "1 0 1:2:3:4:5:6:7:8:9:10:11:12:13 a", "1 0 99999999999999:00 a"})
    EXPECT_FALSE(ParsePs(line)) << line;
}

std::string Snapshot(double uptime, const std::string& totals, const std::string& processes) {
  return fmt::format("etprof-load-snapshot 50\nuptime {}\n{}etprof-load-proc\n{}etprof-load-end\n", uptime,
                     totals, processes);
}
std::string Stat(int pid, int parent, const std::string& name, int used, int children = 0, int start = 100) {
  return fmt::format("{} ({}) S {} 1 1 0 -1 0 0 0 0 0 {} 0 {} 0 20 0 1 0 {} 0 0\n", pid, name, parent, used,
                     children, start);
}
std::string Totals(int busy) {
  return fmt::format("cpu  {} 0 0 5000 0 0 0 0 0 0\ncpu0 0 0\ncpu1 0 0\ncpu2 0 0\ncpu3 0 0\n", busy);
}
std::optional<OtherLoad> LoadBetween(const std::string& before, const std::string& after, int cores = 0) {
  const std::vector<LoadSnapshot> first = ParseLoad(before), second = ParseLoad(after);
  return first.empty() || second.empty() ? std::nullopt : OtherLoadBetween(first[0], second[0], cores);
}

TEST(OtherLoad, ExcludesEtprofsProcesses) {
  // Process 50 took the snapshots; 51 is its child, and 52 its grandchild. Its parent 40 waits for its
  // children.
  const auto load = LoadBetween(
      Snapshot(100, Totals(1000),
               Stat(40, 1, "sshd-session", 10, 500) + Stat(50, 40, "sh", 0) + Stat(51, 50, "a", 5) +
                   Stat(52, 51, "b", 5) + Stat(60, 1, "cc1plus", 100) + Stat(61, 1, "cc1plus", 7)),
      Snapshot(101, Totals(1300),
               Stat(40, 1, "sshd-session", 12, 560) + Stat(50, 40, "sh", 1) + Stat(51, 50, "a", 25) +
                   Stat(52, 51, "b", 15) + Stat(60, 1, "cc1plus", 190) + Stat(61, 1, "cc1plus", 57)));
  ASSERT_TRUE(load);
  EXPECT_NEAR(load->machine_cores.value(), 3.00 - 0.62 - 0.01 - 0.20 - 0.10, 1e-9);
  EXPECT_NEAR(load->process_cores.value(), 1.40, 1e-9);
  ASSERT_EQ(load->processes.size(), 1U);
  EXPECT_EQ(load->processes[0].count, 2);
  EXPECT_EQ(LoadText(*load), "2 other processes use 2.1 of 4 cores (cc1plus)");
  EXPECT_EQ(LoadingProcessesText(*load), "cc1plus used 2.1 of 4 cores");
}

TEST(OtherLoad, MachineCoresAreAbsentWithoutTheWaitingParent) {
  const std::string before = "etprof-load-snapshot 50\nuptime 100\n" + Totals(1000) + "etprof-load-proc\n" +
                             Stat(50, 1, "sh", 0) + Stat(60, 1, "stress", 0) + "etprof-load-end\n";
  const std::string after = "etprof-load-snapshot 55\nuptime 102\n" + Totals(1900) + "etprof-load-proc\n" +
                            Stat(55, 1, "sh", 0, 0, 10150) + Stat(60, 1, "stress", 100) + "etprof-load-end\n";
  const auto load = LoadBetween(before, after);
  ASSERT_TRUE(load);
  EXPECT_FALSE(load->machine_cores);  // the CPU time of the ended worker is not known
  EXPECT_NEAR(load->process_cores.value(), 0.5, 1e-9);
}

TEST(OtherLoad, HandlesNewProcessesAndReusedPids) {
  const auto load = LoadBetween(
      Snapshot(100, "", Stat(50, 1, "sh", 0) + Stat(60, 1, "old", 5000) + Stat(61, 1, "same", 10)),
      Snapshot(101, "",
               Stat(50, 1, "sh", 0) + Stat(60, 1, "new", 40, 0, 10020) + Stat(61, 1, "same", 20) +
                   Stat(62, 1, "unseen", 4000, 0, 100) + Stat(63, 1, "impossible", 4000, 0, 10010)),
      4);
  ASSERT_TRUE(load);
  EXPECT_NEAR(load->process_cores.value(), 0.5, 1e-9);
  ASSERT_EQ(load->processes.size(), 2U);
  EXPECT_EQ(load->processes[0].name, "new");
}

TEST(OtherLoad, UnreadableValuesAreAbsent) {
  // Without the machine's busy time and other processes, the load is not known.
  EXPECT_FALSE(
      LoadBetween(Snapshot(100, "", Stat(50, 1, "sh", 0)), Snapshot(101, "", Stat(50, 1, "sh", 0)), 4));
  EXPECT_FALSE(LoadBetween(Snapshot(100, "", ""), Snapshot(101, "", ""), 4));
  // The machine's busy time alone is enough.
  const auto load = LoadBetween(Snapshot(100, Totals(1000), Stat(50, 1, "sh", 0)),
                                Snapshot(101, Totals(1150), Stat(50, 1, "sh", 0)));
  ASSERT_TRUE(load);
  EXPECT_NEAR(load->machine_cores.value(), 1.5, 1e-9);
  EXPECT_FALSE(load->process_cores);
  EXPECT_EQ(LoadText(*load),
            "1.5 of 4 cores are in use by short-lived processes, the kernel, or other containers or guests");
  // No number of cores, no time, equal times, a restart.
  const std::string busy = Stat(50, 1, "sh", 0) + Stat(60, 1, "a", 100), more = Stat(60, 1, "a", 150);
  EXPECT_FALSE(LoadBetween(Snapshot(100, "", busy), Snapshot(101, "", busy)));
  EXPECT_FALSE(LoadBetween(Snapshot(100, "", busy), Snapshot(100, "", busy), 4));
  EXPECT_FALSE(LoadBetween(Snapshot(100, "", busy), Snapshot(3, "", busy), 4));
  EXPECT_TRUE(
      ParseLoad("etprof-load-snapshot 50\nuptime \netprof-load-proc\n" + busy + "etprof-load-end\n").empty());
}

TEST(OtherLoad, ToleratesTruncatedAndForgedSnapshots) {
  const std::string recorded = kRecorded;
  for (std::size_t length = 0; length < recorded.size(); ++length) {
    const std::vector<LoadSnapshot> snapshots = ParseLoad(recorded.substr(0, length));
    EXPECT_LE(snapshots.size(), length < recorded.find("etprof-load-end") ? 0U : 2U);
    if (snapshots.size() == 2) static_cast<void>(OtherLoadBetween(snapshots[0], snapshots[1]));
  }
  EXPECT_TRUE(ParseLoad("etprof-load-end\nuptime 5\ncpu 1 2\n").empty());
  // A cycle of parents, a process that is its own parent, a PID that occurs twice.
  const std::string malformed = Stat(1, 2, "a", 5) + Stat(2, 1, "b", 5) + Stat(3, 3, "c", 5) +
                                Stat(50, 2, "sh", 0) + Stat(3, 1, "c", 900) + Stat(60, 3, "d", 5);
  EXPECT_TRUE(LoadBetween(Snapshot(100, Totals(1), malformed), Snapshot(101, Totals(2), malformed)));
  std::string repeated;
  for (int i = 0; i < 500; ++i)
    repeated += "etprof-load-snapshot 1\nuptime 9\netprof-load-proc\netprof-load-end\n";
  EXPECT_EQ(ParseLoad(repeated).size(), 2U);
}

TEST(OtherLoad, AveragesSeveralIntervals) {
  OtherLoad sum{
      .seconds = 1, .cores = 2, .machine_cores = 2.0, .process_cores = {}, .processes = {{"a", 2, 1.0}}};
  AddLoad(sum, {.seconds = 3,
                .cores = 2,
                .machine_cores = 0.0,
                .process_cores = 0.4,
                .processes = {{"b", 1, 0.4}, {"a", 1, 0.2}}});
  EXPECT_NEAR(sum.seconds, 4, 1e-9);
  EXPECT_NEAR(sum.machine_cores.value(), 0.5, 1e-9);
  EXPECT_NEAR(sum.process_cores.value(), 0.4, 1e-9);
  ASSERT_EQ(sum.processes.size(), 2U);
  EXPECT_EQ(sum.processes[0].count, 2);
  EXPECT_NEAR(sum.processes[0].cores, 0.4, 1e-9);
  EXPECT_NEAR(sum.processes[1].cores, 0.3, 1e-9);
}

OtherLoad MakeLoad(double cores, int cores_online) {
  return {.seconds = 1, .cores = cores_online, .machine_cores = cores, .process_cores = {}, .processes = {}};
}

TEST(OtherLoad, IsSignificantIfCoresAreMissing) {
  EXPECT_FALSE(IsSignificantLoad(MakeLoad(0.05, 2), 1));
  EXPECT_FALSE(IsSignificantLoad(MakeLoad(0.24, 8), 4));
  EXPECT_TRUE(IsSignificantLoad(MakeLoad(0.25, 8), 1));
  EXPECT_TRUE(IsSignificantLoad(MakeLoad(0.15, 4), 4));  // the experiment needs all four cores
  EXPECT_FALSE(IsSignificantLoad(MakeLoad(0.08, 4), 4));
  EXPECT_FALSE(IsSignificantLoad(MakeLoad(0.08, 4), 64));  // more threads than cores
}

TEST(OtherLoad, DescribesLoad) {
  CaseMessages texts;
  OtherLoad load = MakeLoad(1.9, 2);
  const auto add = [&](const char* name) {
    texts.emplace_back(name,
                       LoadText(load) + " | " + LoadingProcessesText(load) + " | " + LoadAmountText(load));
  };
  load.process_cores = 1.8;
  load.processes = {{"cc1plus", 1, 0.95}, {"python3", 1, 0.8}, {"sshd", 1, 0.02}};
  add("three processes");
  load.processes = {{"stress", 1, 0.95}};
  add("one process");
  load.processes[0].cores = 0.3;
  add("one process and unknown ones");
  load.processes.clear();
  add("unknown processes");
  load.process_cores.reset();
  load.machine_cores = 1.0;
  add("1 core");
  load.machine_cores = 0.04;
  add("0.04 cores");
  load.machine_cores = 11.7;
  load.cores = 16;
  add("11.7 cores");
  ExpectGoldenMessages("device/other_load", texts);
}

#ifdef __linux__
// A process that keeps a core busy. Its parent has ended, so it is not a descendant of the test.
class BusyProcess {
 public:
  BusyProcess() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const pid_t grandchild = ::fork();
      if (grandchild == 0) {
        for (volatile unsigned iterations = 0;;) iterations = iterations + 1;
      }
      static_cast<void>(!::write(ends[1], &grandchild, sizeof grandchild));
      ::_exit(0);
    }
    EXPECT_EQ(::read(ends[0], &pid_, sizeof pid_), static_cast<ssize_t>(sizeof pid_));
    ::waitpid(child, nullptr, 0);
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~BusyProcess() { ::kill(pid_, SIGKILL); }
  BusyProcess(BusyProcess&&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

const LoadSnapshot::Process* Find(const LoadSnapshot& snapshot, std::int64_t pid) {
  for (const LoadSnapshot::Process& process : snapshot.processes) {
    if (process.pid == pid) return &process;
  }
  return nullptr;
}

TEST(OtherLoad, ReadsThisMachineDirectlyAndByShell) {
  const std::unique_ptr<Device> device = MakeLocalDevice();
  const BusyProcess busy;
  const auto before = TakeLoadSnapshot(*device);
  ASSERT_TRUE(before);
  ASSERT_NE(Find(*before, busy.pid()), nullptr);
  ASSERT_NE(Find(*before, ::getpid()), nullptr);
  // Wait until the process got 0.05 s of CPU time, which may take long on a busy machine.
  std::optional<LoadSnapshot> after;
  do {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    after = TakeLoadSnapshot(*device);
    ASSERT_TRUE(after);
    ASSERT_NE(Find(*after, busy.pid()), nullptr);
  } while (Find(*after, busy.pid())->used_seconds < Find(*before, busy.pid())->used_seconds + 0.05);
  const auto load = OtherLoadBetween(*before, *after);
  ASSERT_TRUE(load);
  EXPECT_GT(load->process_cores.value(), 0);
  EXPECT_GE(load->cores, 1);

  const std::vector<LoadSnapshot> by_shell = ParseLoad(ShellOutput(*device, LoadScript(true), 60));
  ASSERT_EQ(by_shell.size(), 2U);
  EXPECT_EQ(by_shell[0].cores, after->cores);
  EXPECT_GE(by_shell[1].seconds - by_shell[0].seconds, kLoadIntervalSeconds - 0.011);
  for (const LoadSnapshot& snapshot : by_shell) {
    ASSERT_NE(Find(snapshot, busy.pid()), nullptr);
    EXPECT_NE(Find(snapshot, snapshot.self), nullptr);
    EXPECT_EQ(Find(snapshot, busy.pid())->start, Find(*after, busy.pid())->start);
    EXPECT_EQ(Find(snapshot, busy.pid())->name, Find(*after, busy.pid())->name);
  }
}

TEST(OtherLoad, ToleratesAnUnreadableProc) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("etprof-load-{}", ::getpid());
  std::filesystem::create_directories(folder);
  ::setenv("ETPROF_PROC_ROOT", folder.c_str(), 1);
  const std::unique_ptr<Device> device = MakeLocalDevice();
  EXPECT_FALSE(MeasureOtherLoad(*device, 4));
  ::setenv("ETPROF_PROC_ROOT", (folder / "none").c_str(), 1);
  EXPECT_FALSE(MeasureOtherLoad(*device, 4));
  ::unsetenv("ETPROF_PROC_ROOT");
  std::filesystem::remove_all(folder);
}
#endif

}  // namespace
}  // namespace etprof
