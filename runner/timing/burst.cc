#include "timing/burst.h"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "machine/conditions.h"
#include "timing/operator_clock.h"
#include "timing/waiting.h"

namespace etprof::runner {
namespace {

// A run that takes at least this many times as long as reading the wait counters (WaitMeter::Read) has a
// reading of its own.
constexpr std::int64_t kLongRunInReadings = 5;
// Shorter runs share a reading. Together they take about this many times as long as the reading.
constexpr std::int64_t kRunTimePerReading = 20;
constexpr int kMaxRunsPerReading = 1000;
constexpr std::int64_t kAbandonedCheckIntervalNs = 1'000'000'000;

// Keeps the period: run k starts k periods after the first, or immediately if it is late.
class PeriodTimer {
 public:
  explicit PeriodTimer(std::int64_t period_ns) : period_ns_(period_ns) {}
  void Wait() {
    if (period_ns_ == 0) return;
    if (next_ns_ == 0) {
      next_ns_ = MonotonicNow();
    } else if (const std::int64_t now = MonotonicNow(); next_ns_ > now) {
#if defined(__linux__)
      const timespec until{.tv_sec = static_cast<time_t>(next_ns_ / 1'000'000'000),
                           .tv_nsec = static_cast<long>(next_ns_ % 1'000'000'000)};
      while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) continue;
#else
      const timespec sleep_time{.tv_sec = static_cast<time_t>((next_ns_ - now) / 1'000'000'000),
                                .tv_nsec = static_cast<long>((next_ns_ - now) % 1'000'000'000)};
      ::nanosleep(&sleep_time, nullptr);
#endif
    } else {
      next_ns_ = now;
    }
    next_ns_ += period_ns_;
  }

 private:
  std::int64_t period_ns_;
  std::int64_t next_ns_ = 0;
};

}  // namespace

bool IsStable(std::span<const std::int64_t> opening_ns) {
  if (opening_ns.size() < 3) return false;
  const auto earlier = opening_ns.first(opening_ns.size() - 2);
  const auto recent = opening_ns.last(2);
  const auto fastest_before = static_cast<double>(*std::ranges::min_element(earlier));
  return static_cast<double>(*std::ranges::min_element(recent)) >= 0.98 * fastest_before;
}

int RunsPerReading(std::int64_t reading_ns, std::int64_t spacing_ns) {
  const std::int64_t spacing = std::max<std::int64_t>(1, spacing_ns);
  if (spacing >= kLongRunInReadings * reading_ns) return 1;
  const std::int64_t runs =
      (kRunTimePerReading * std::max<std::int64_t>(0, reading_ns) + spacing - 1) / spacing;
  return static_cast<int>(std::clamp<std::int64_t>(runs, 1, kMaxRunsPerReading));
}

protocol::BurstReply RunBurst(Model& model, const protocol::BurstRequest& request, bool is_first,
                              const std::function<bool()>& abandoned) {
  protocol::BurstReply reply;
  // Reserve all memory that the loops need.
  const auto reserve = [](std::size_t runs, auto&... vectors) { (vectors.reserve(runs), ...); };
  reserve(static_cast<std::size_t>(request.max_opening) + 1, reply.opening, reply.opening_wait);
  reserve(static_cast<std::size_t>(request.max_runs), reply.recorded, reply.recorded_wait,
          reply.recorded_cpu);
  reserve(static_cast<std::size_t>(request.traced_runs), reply.traced, reply.traced_wait);
  PeriodTimer timer(request.period_ns);
  std::int64_t next_check_ns = MonotonicNow() + kAbandonedCheckIntervalNs;
  const WaitMeter meter;
  WaitReading before = meter.Read();
  const std::int64_t reading_ns = [&] {  // duration of the fastest of three readings
    std::int64_t fastest = 0;
    for (int i = 0; i < 3; ++i) {
      const std::int64_t start = std::exchange(before, meter.Read()).wall_ns;
      fastest = i == 0 ? before.wall_ns - start : std::min(fastest, before.wall_ns - start);
    }
    return fastest;
  }();
  std::int64_t fastest_run_ns = 0;  // includes setting the inputs; 0: there was no run yet
  const auto exit_if_abandoned = [&] {
    if (before.wall_ns < next_check_ns) return;
    if (abandoned()) std::_Exit(0);
    next_check_ns = before.wall_ns + kAbandonedCheckIntervalNs;
  };
  const auto run = [&](std::vector<std::int64_t>& latencies, std::vector<std::int64_t>& waits) {
    if (request.period_ns > 0) {  // sleeping until the next period is not waiting for a processor
      timer.Wait();
      before = meter.Read();
    }
    const std::int64_t start_ns = MonotonicNow();
    model.SetInputs();
    const std::int64_t inputs_set_ns = MonotonicNow();
    const WaitReading start = meter.Read();
    const std::int64_t latency = model.Run();
    const WaitReading after = meter.Read();
    const std::int64_t duration_ns = inputs_set_ns - start_ns + latency;
    fastest_run_ns = fastest_run_ns > 0 ? std::min(fastest_run_ns, duration_ns) : duration_ns;
    latencies.push_back(latency);
    waits.push_back(WaitedTime(before, after));
    if (&latencies == &reply.recorded) reply.recorded_cpu.push_back(after.cpu_ns - start.cpu_ns);
    before = after;
    exit_if_abandoned();
  };
  // Executes untraced runs that are too short for separate readings and share one. The CPU time of each run
  // is not known.
  const auto run_sharing_reading = [&](int runs) {
    for (int i = 0; i < runs; ++i) {
      model.SetInputs();
      reply.recorded.push_back(model.Run());
    }
    const WaitReading after = meter.Read();
    reply.recorded_wait.resize(reply.recorded.size(), WaitedTime(before, after));
    before = after;
    exit_if_abandoned();
  };

  const std::optional<std::int64_t> migrations = Migrations();
  const std::int64_t switches = InvoluntarySwitches(), page_faults = PageFaults();
  const std::optional<int> cpu_start = reply.cpu_start = CurrentCpu();
  reply.frequency_start_khz = FrequencyKhz(cpu_start);
  const BurstWaits start_waits = ReadBurstWaits(cpu_start);
  const std::vector<std::int64_t> thread_times = meter.ThreadTimes();
  const std::int64_t start_cpu_time_ns = CpuTimeNow();
  reply.start = MonotonicNow();

  if (is_first) {
    const TracingScope tracing(model);
    run(reply.opening, reply.opening_wait);
    reply.first_run_traced = true;
  }
  const auto opening_count = [&] { return static_cast<int>(reply.opening.size()); };
  if (request.max_opening > 0) {
    reply.stabilized = false;
    while (opening_count() < request.max_opening && !reply.stabilized) {
      run(reply.opening, reply.opening_wait);
      reply.stabilized = opening_count() >= request.min_opening && IsStable(reply.opening);
    }
  }
  if (request.period_ns == 0 && fastest_run_ns > 0)
    reply.runs_per_reading = RunsPerReading(reading_ns, fastest_run_ns);
  before = meter.Read();
  const std::int64_t untraced_start_ns = before.wall_ns;
  const auto untraced_count = [&] { return static_cast<int>(reply.recorded.size()); };
  while (untraced_count() < request.max_runs) {
    const bool long_enough = before.wall_ns - untraced_start_ns >= request.target_ns;
    if (untraced_count() >= request.min_runs && long_enough) break;
    if (reply.runs_per_reading == 1) {
      run(reply.recorded, reply.recorded_wait);
    } else {
      run_sharing_reading(std::min(reply.runs_per_reading, request.max_runs - untraced_count()));
    }
  }
  if (request.traced_runs > 0) {
    const TracingScope tracing(model);
    for (int i = 0; i < request.traced_runs; ++i) run(reply.traced, reply.traced_wait);
  }

  reply.end = MonotonicNow();
  reply.cpu_time = CpuTimeNow() - start_cpu_time_ns;
  reply.cpu_end = CurrentCpu();
  reply.involuntary_switches = InvoluntarySwitches() - switches;
  reply.page_faults = PageFaults() - page_faults;
  const BurstWaits end_waits = ReadBurstWaits(cpu_start);
  const auto increase = [](std::optional<std::int64_t> before_value,
                           std::optional<std::int64_t> after_value) {
    return before_value && after_value && *after_value >= *before_value
               ? std::optional(*after_value - *before_value)
               : std::nullopt;
  };
  reply.steal_time = increase(start_waits.steal_ns, end_waits.steal_ns);
  reply.throttled_time = increase(start_waits.throttled_ns, end_waits.throttled_ns);
  const std::vector<std::int64_t> thread_times_now = meter.ThreadTimes();
  for (std::size_t i = 0; i < thread_times.size() && thread_times.size() == thread_times_now.size(); ++i)
    reply.thread_cpu.push_back(std::max<std::int64_t>(0, thread_times_now[i] - thread_times[i]));
  std::ranges::sort(reply.thread_cpu, std::greater());
  reply.migrations = increase(migrations, Migrations());
  reply.frequency_khz = FrequencyKhz(reply.cpu_end);
  reply.frequency_cap_khz = FrequencyCapKhz(reply.cpu_end);
  reply.temperature_celsius = HottestCelsius();
  reply.load_average = LoadAverage();
  reply.peak_rss_bytes = PeakResidentBytes();
  return reply;
}

}  // namespace etprof::runner
