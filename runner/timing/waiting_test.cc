#include "timing/waiting.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <string>

namespace etprof::runner {
namespace {

TEST(Waiting, ParsesSchedstat) {
  const auto stat = ParseSchedstat("1204418 269473 17\n");  // from a shell, Linux 6.18
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->running_ns, 1204418);
  EXPECT_EQ(stat->delay_ns, 269473);
  for (const char* malformed :
       {"", "\n", "1", "1 2", "1 2\n", "1 2 3 4\n", "-1 2 3\n", "1 -2 3\n", "a 2 3\n", "1x 2 3\n", "1,2,3\n",
        "1 2 3x\n", "99999999999999999999 2 3\n", "1 99999999999999999999 3\n", "0x1 2 3\n"})
    EXPECT_FALSE(ParseSchedstat(malformed)) << malformed;
}

// /proc/stat of a virtual machine (Linux 6.18), shortened.
constexpr const char* kStat =
    "cpu  12373 0 2740 75091 141 0 55 21 0 0\n"
    "cpu0 5785 0 1119 38276 5 0 7 10 0 0\n"
    "cpu1 6588 0 1620 36814 135 0 48 11 0 0\n"
    "cpu10 1 2 3 4 5 6 7 99 0 0\n"
    "intr 403187 0 0 0\n";

TEST(Waiting, ParsesSteal) {
  EXPECT_EQ(ParseSteal(kStat, 0), 10);
  EXPECT_EQ(ParseSteal(kStat, 1), 11);
  EXPECT_EQ(ParseSteal(kStat, 10), 99);
  EXPECT_FALSE(ParseSteal(kStat, 2));
  EXPECT_FALSE(ParseSteal(kStat, -1));
  EXPECT_FALSE(ParseSteal("cpu0 1 2 3 4 5 6 7\n", 0)) << "before Linux 2.6.11";
  EXPECT_FALSE(ParseSteal("cpu0 1 2 3 4 5 6 7 -8\n", 0));
  EXPECT_FALSE(ParseSteal("cpu0 1 2 3 4 5 6 7 9223372036854775807\n", 0));
  EXPECT_FALSE(ParseSteal("cpu0 1 2 x 4 5 6 7 8\n", 0));
  EXPECT_FALSE(ParseSteal("", 0));
}

WaitReading ReadingAt(std::int64_t wall, std::int64_t main_cpu, std::int64_t delay,
                      std::int64_t voluntary_switches, std::int64_t stops = 0) {
  return {wall, main_cpu, main_cpu, delay, voluntary_switches, stops};
}

TEST(Waiting, CombinesRunDelayAndClocks) {
  EXPECT_EQ(WaitedTime(ReadingAt(0, 0, 0, 3), ReadingAt(1000, 1000, 0, 3)), 0);
  EXPECT_EQ(WaitedTime(ReadingAt(0, 0, 50, 3), ReadingAt(5000, 1000, 4050, 3)), 4000) << "preempted";
  EXPECT_EQ(WaitedTime(ReadingAt(0, 0, 0, 3), ReadingAt(1000, 1000, 700, 3)), 700)
      << "only another thread waited";
  EXPECT_EQ(WaitedTime(ReadingAt(0, 0, 0, 3), ReadingAt(5000, 1000, 0, 3)), 4000)
      << "the host or a quota took the processor";
  EXPECT_EQ(WaitedTime(ReadingAt(0, 0, 0, 3), ReadingAt(5000, 1000, 0, 4)), 0)
      << "it blocked: it wanted no processor";
  EXPECT_EQ(WaitedTime(ReadingAt(0, 0, 0, 3), ReadingAt(5000, 1000, 0, 4, 1)), 4000) << "stopped";
  EXPECT_EQ(WaitedTime(ReadingAt(0, 0, -1, -1), ReadingAt(5000, 1000, -1, -1)), 0) << "nothing is known";
  EXPECT_EQ(WaitedTime(ReadingAt(0, 0, -1, 2), ReadingAt(5000, 1000, -1, 2)), 4000) << "without schedstat";
  EXPECT_EQ(WaitedTime(ReadingAt(0, 0, 0, 3), ReadingAt(1000, 1001, 0, 3)), 0) << "never negative";
}

#if defined(__linux__)
TEST(Waiting, CountsStopsButNotSleep) {
  CountStops();
  const WaitMeter meter;
  ASSERT_GE(meter.Read().voluntary_switches, 0);
  const WaitReading before = meter.Read();
  const timespec pause{.tv_sec = 0, .tv_nsec = 60'000'000};
  ::nanosleep(&pause, nullptr);
  const WaitReading after_pause = meter.Read();
  EXPECT_GE(after_pause.wall_ns - before.wall_ns, 60'000'000);
  EXPECT_GT(after_pause.voluntary_switches, before.voluntary_switches);
  EXPECT_LT(WaitedTime(before, after_pause), after_pause.wall_ns - before.wall_ns);

  // A child sends SIGCONT repeatedly, since SIGCONT has no effect before the process has stopped.
  const pid_t self = ::getpid();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    while (::getppid() == self) {
      ::nanosleep(&pause, nullptr);
      ::kill(self, SIGCONT);
    }
    ::_exit(0);
  }
  // SIGCONT cancels a pending SIGSTOP, in which case the process did not stop.
  WaitReading running, continued;
  do {
    running = meter.Read();
    ::kill(self, SIGSTOP);
    continued = meter.Read();
  } while (continued.wall_ns - running.wall_ns < 1'000'000);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_GT(continued.stops, running.stops);
  EXPECT_GE(WaitedTime(running, continued), (continued.wall_ns - running.wall_ns) / 2);
}
#endif

}  // namespace
}  // namespace etprof::runner
