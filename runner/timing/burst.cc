#include "timing/burst.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <utility>

#include "core/error.h"
#include "machine/conditions.h"
#include "timing/operator_clock.h"
#include "timing/waiting.h"

namespace etprof::runner {
namespace {

constexpr int kMostRuns = 10'000'000;
constexpr int kMostOpening = 100'000;
constexpr int kMostTraced = 100'000;  // 73 bytes an event: a large model fills gigabytes before this
constexpr std::int64_t kLongestTarget = 3'600'000'000'000;
constexpr std::int64_t kLongestPeriod = 60'000'000'000;
constexpr std::int64_t kLongRun = 5;             // times what a reading takes: such a run has one of its own
constexpr std::int64_t kRunTimePerReading = 20;  // times what a reading takes, of runs that share one
constexpr int kMaxRunsPerReading = 1000;
constexpr std::int64_t kAskEvery = 1'000'000'000;

void AtMost(const char* name, std::int64_t value, std::int64_t most) {
  if (value > most) throw Error(ExitCode::kUsage, fmt::format("\"{}\" is {}: at most {}", name, value, most));
}

// Keeps the pace: run k starts k periods after the first, or at once when it is late.
class Pace {
 public:
  explicit Pace(std::int64_t period_ns) : period_(period_ns) {}
  void Wait() {
    if (period_ == 0) return;
    if (next_ == 0) {
      next_ = MonotonicNow();
    } else if (const std::int64_t now = MonotonicNow(); next_ > now) {
#if defined(__linux__)
      const timespec until{.tv_sec = static_cast<time_t>(next_ / 1'000'000'000),
                           .tv_nsec = static_cast<long>(next_ % 1'000'000'000)};
      while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) continue;
#else
      const timespec rest{.tv_sec = static_cast<time_t>((next_ - now) / 1'000'000'000),
                          .tv_nsec = static_cast<long>((next_ - now) % 1'000'000'000)};
      ::nanosleep(&rest, nullptr);
#endif
    } else {
      next_ = now;
    }
    next_ += period_;
  }

 private:
  std::int64_t period_;
  std::int64_t next_ = 0;
};

}  // namespace

bool IsLevel(std::span<const std::int64_t> opening_ns) {
  if (opening_ns.size() < 3) return false;
  const auto earlier = opening_ns.first(opening_ns.size() - 2);
  const auto recent = opening_ns.last(2);
  const auto fastest_before = static_cast<double>(*std::ranges::min_element(earlier));
  return static_cast<double>(*std::ranges::min_element(recent)) >= 0.98 * fastest_before;
}

int RunsPerReading(std::int64_t reading_ns, std::int64_t spacing_ns) {
  const std::int64_t spacing = std::max<std::int64_t>(1, spacing_ns);
  if (spacing >= kLongRun * reading_ns) return 1;
  const std::int64_t runs =
      (kRunTimePerReading * std::max<std::int64_t>(0, reading_ns) + spacing - 1) / spacing;
  return static_cast<int>(std::clamp<std::int64_t>(runs, 1, kMaxRunsPerReading));
}

void CheckBurst(const protocol::BurstRequest& request) {
  AtMost("min_opening", request.min_opening, kMostOpening);
  AtMost("max_opening", request.max_opening, kMostOpening);
  AtMost("min_runs", request.min_runs, kMostRuns);
  AtMost("max_runs", request.max_runs, kMostRuns);
  AtMost("traced_runs", request.traced_runs, kMostTraced);
  AtMost("target_ns", request.target_ns, kLongestTarget);
  AtMost("period_ns", request.period_ns, kLongestPeriod);
  if (request.min_opening > request.max_opening) {
    throw Error(ExitCode::kUsage, fmt::format("\"min_opening\" ({}) is above \"max_opening\" ({})",
                                              request.min_opening, request.max_opening));
  }
  if (request.min_runs > request.max_runs) {
    throw Error(ExitCode::kUsage, fmt::format("\"min_runs\" ({}) is above \"max_runs\" ({})",
                                              request.min_runs, request.max_runs));
  }
}

protocol::BurstReply RunBurst(Model& model, const protocol::BurstRequest& request, bool is_first,
                              const std::function<bool()>& abandoned) {
  CheckBurst(request);
  protocol::BurstReply reply;
  // All memory that the loops need, taken before them.
  const auto reserve = [](std::size_t runs, auto&... columns) { (columns.reserve(runs), ...); };
  reserve(static_cast<std::size_t>(request.max_opening) + 1, reply.opening, reply.opening_wait);
  reserve(static_cast<std::size_t>(request.max_runs), reply.recorded, reply.recorded_wait,
          reply.recorded_cpu);
  reserve(static_cast<std::size_t>(request.traced_runs), reply.traced, reply.traced_wait);
  Pace pace(request.period_ns);
  std::int64_t ask_at = MonotonicNow() + kAskEvery;
  const WaitMeter meter;
  WaitReading before = meter.Read();
  const std::int64_t reading_ns = [&] {  // of the fastest of three
    std::int64_t fastest = 0;
    for (int i = 0; i < 3; ++i) {
      const std::int64_t start = std::exchange(before, meter.Read()).wall_ns;
      fastest = i == 0 ? before.wall_ns - start : std::min(fastest, before.wall_ns - start);
    }
    return fastest;
  }();
  std::int64_t spacing = 0;  // of the fastest run so far
  const auto give_up_if_abandoned = [&] {
    if (before.wall_ns < ask_at) return;
    if (abandoned()) std::_Exit(0);
    ask_at = before.wall_ns + kAskEvery;
  };
  const auto run = [&](std::vector<std::int64_t>& latencies, std::vector<std::int64_t>& waits) {
    if (request.period_ns > 0) {  // a rest is no wait
      pace.Wait();
      before = meter.Read();
    }
    const std::int64_t began = MonotonicNow();
    model.GiveInputs();
    const std::int64_t given = MonotonicNow();
    const WaitReading start = meter.Read();
    const std::int64_t latency = model.Run();
    const WaitReading after = meter.Read();
    const std::int64_t took = given - began + latency;
    spacing = spacing > 0 ? std::min(spacing, took) : took;
    latencies.push_back(latency);
    waits.push_back(Waited(before, after));
    if (&latencies == &reply.recorded) reply.recorded_cpu.push_back(after.cpu_ns - start.cpu_ns);
    before = after;
    give_up_if_abandoned();
  };
  // Untraced runs that are too short for a reading each. Their processor time is not told run by run.
  const auto run_together = [&](int runs) {
    for (int i = 0; i < runs; ++i) {
      model.GiveInputs();
      reply.recorded.push_back(model.Run());
    }
    const WaitReading after = meter.Read();
    reply.recorded_wait.resize(reply.recorded.size(), Waited(before, after));
    before = after;
    give_up_if_abandoned();
  };

  const std::optional<std::int64_t> migrations = Migrations();
  const std::int64_t switches = InvoluntarySwitches(), page_faults = PageFaults();
  const std::optional<int> cpu_start = reply.cpu_start = CurrentCpu();
  reply.frequency_start_khz = FrequencyKhz(cpu_start);
  const BurstWaits start_waits = ReadBurstWaits(cpu_start);
  const std::vector<std::int64_t> thread_times = meter.ThreadTimes();
  const std::int64_t cpu_time = CpuTimeNow();
  reply.start = MonotonicNow();

  if (is_first) {
    model.SetTracing(true);
    run(reply.opening, reply.opening_wait);
    model.SetTracing(false);
    reply.first_run_traced = true;
  }
  const auto opening = [&] { return static_cast<int>(reply.opening.size()); };
  if (request.max_opening > 0) {
    reply.level = false;
    while (opening() < request.max_opening && !reply.level) {
      run(reply.opening, reply.opening_wait);
      reply.level = opening() >= request.min_opening && IsLevel(reply.opening);
    }
  }
  if (request.period_ns == 0 && spacing > 0) reply.runs_per_reading = RunsPerReading(reading_ns, spacing);
  before = meter.Read();
  const std::int64_t untraced_start = before.wall_ns;
  const auto untraced = [&] { return static_cast<int>(reply.recorded.size()); };
  while (untraced() < request.max_runs) {
    const bool long_enough = before.wall_ns - untraced_start >= request.target_ns;
    if (untraced() >= request.min_runs && long_enough) break;
    if (reply.runs_per_reading == 1) {
      run(reply.recorded, reply.recorded_wait);
    } else {
      run_together(std::min(reply.runs_per_reading, request.max_runs - untraced()));
    }
  }
  if (request.traced_runs > 0) {
    model.SetTracing(true);
    try {
      for (int i = 0; i < request.traced_runs; ++i) run(reply.traced, reply.traced_wait);
    } catch (...) {
      model.SetTracing(false);
      throw;
    }
    model.SetTracing(false);
  }

  reply.end = MonotonicNow();
  reply.cpu_time = CpuTimeNow() - cpu_time;
  reply.cpu_end = CurrentCpu();
  reply.involuntary_switches = InvoluntarySwitches() - switches;
  reply.page_faults = PageFaults() - page_faults;
  const BurstWaits end_waits = ReadBurstWaits(cpu_start);
  const auto since = [](std::optional<std::int64_t> before_burst, std::optional<std::int64_t> after_burst) {
    return before_burst && after_burst && *after_burst >= *before_burst
               ? std::optional(*after_burst - *before_burst)
               : std::nullopt;
  };
  reply.steal = since(start_waits.steal_ns, end_waits.steal_ns);
  reply.throttled = since(start_waits.throttled_ns, end_waits.throttled_ns);
  const std::vector<std::int64_t> thread_times_now = meter.ThreadTimes();
  for (std::size_t i = 0; i < thread_times.size() && thread_times.size() == thread_times_now.size(); ++i)
    reply.thread_cpu.push_back(std::max<std::int64_t>(0, thread_times_now[i] - thread_times[i]));
  std::ranges::sort(reply.thread_cpu, std::greater());
  reply.migrations = since(migrations, Migrations());
  reply.frequency_khz = FrequencyKhz(reply.cpu_end);
  reply.frequency_cap_khz = FrequencyCapKhz(reply.cpu_end);
  reply.temperature_celsius = HottestCelsius();
  reply.load_average = LoadAverage();
  reply.peak_rss_bytes = PeakResidentBytes();
  return reply;
}

}  // namespace etprof::runner
