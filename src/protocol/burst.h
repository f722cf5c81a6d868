#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/json/describe.h"
#include "core/units.h"

// The numbers that a runner reports for a burst and that a results directory stores. The runner's reply
// (protocol/messages.h), the manifest (measure/store/run_data.h), and their schemas share these descriptions.
// Times are in nanoseconds.
namespace etprof::protocol {

// The runs of a burst in the order of execution: opening runs, then recorded runs, then traced runs.
struct BurstRuns {
  std::vector<Nanoseconds> opening;   // wall times of the unrecorded runs, until the latency is stable
  std::vector<Nanoseconds> recorded;  // wall times of the untraced runs: the latencies
  std::vector<Nanoseconds> traced;    // wall times of the runs with the tracer on; not used as latencies
  bool stabilized = true;             // the latency stabilized; false: max_opening was reached first

  // For each run, how long its threads were runnable but waited for a CPU since the end of the previous run
  // (runner/timing/waiting.h). Empty: not known for any run; -1: not known for that run.
  std::vector<Nanoseconds> opening_wait, recorded_wait, traced_wait;
  int runs_per_reading = 1;               // number of recorded runs that share one reading of recorded_wait
  std::vector<Nanoseconds> recorded_cpu;  // CPU time of all threads; empty, or -1 for a run: not known

  static void Describe(auto& v) {
    v("opening_ns", &BurstRuns::opening,
      {.meaning = "every opening run, in order; of a launch's first burst the first is traced"});
    v("untraced_ns", &BurstRuns::recorded, {.meaning = "the recorded latencies, in order"});
    v("traced_ns", &BurstRuns::traced, {.meaning = "wall time of the traced runs as the caller sees them"});
    v("level", &BurstRuns::stabilized, {.meaning = "false: max_opening was reached first"});
    v("opening_wait_ns", &BurstRuns::opening_wait,
      {.meaning = "waiting time before and in each run of opening_ns; empty: not known"});
    v("untraced_wait_ns", &BurstRuns::recorded_wait,
      {.meaning = "waiting time before and in each run of untraced_ns; empty: not known"});
    v("traced_wait_ns", &BurstRuns::traced_wait,
      {.meaning = "waiting time before and in each run of traced_ns; empty: not known"});
    v("untraced_cpu_ns", &BurstRuns::recorded_cpu,
      {.meaning = "processor time of all threads in each run of untraced_ns; empty: not known"});
    v("runs_per_reading", &BurstRuns::runs_per_reading,
      {.meaning = "so many consecutive runs of untraced_ns share one reading of waiting, from the first on; "
                  "each of them has the whole time that they waited together",
       .min = 1});
  }
};

// The state of the device and the process during one burst. Absent: the device does not report the value.
struct BurstConditions {
  Nanoseconds start = 0, end = 0;
  std::optional<Nanoseconds> cpu_time;
  std::optional<int> cpu_start, cpu_end;
  std::optional<std::int64_t> migrations, involuntary_switches;
  std::optional<std::int64_t> page_faults;
  std::optional<std::int64_t> frequency_khz, frequency_cap_khz;
  std::optional<double> temperature_celsius;
  std::optional<double> load_average;
  std::optional<Nanoseconds> steal_time, throttled_time;
  std::optional<std::int64_t> frequency_start_khz;
  std::vector<Nanoseconds> thread_cpu;

  static void Describe(auto& v) {
    using B = BurstConditions;
    v("start_ns", &B::start,
      {.meaning = "when the burst began, by the device's CLOCK_MONOTONIC; 0: not known"});
    v("end_ns", &B::end, {.meaning = "when the burst ended, by the same clock; 0: not known"});
    v("cpu_time_ns", &B::cpu_time, {.meaning = "processor time of the whole process over the burst"});
    v("cpu_start", &B::cpu_start,
      {.meaning = "number of the CPU that the main thread was on when the burst began"});
    v("cpu_end", &B::cpu_end,
      {.meaning = "number of the CPU that the main thread was on when the burst ended"});
    v("migrations", &B::migrations, {.meaning = "how often the main thread changed its CPU"});
    v("involuntary_switches", &B::involuntary_switches,
      {.meaning = "how often a thread of the process had to give up its CPU"});
    v("page_faults", &B::page_faults, {.meaning = "of all threads of the process, minor and major ones"});
    v("frequency_khz", &B::frequency_khz, {.meaning = "clock frequency of cpu_end after the burst"});
    v("frequency_cap_khz", &B::frequency_cap_khz,
      {.meaning = "the limit in force of cpu_end's clock, after the burst"});
    v("temperature_celsius", &B::temperature_celsius,
      {.meaning = "of the device's hottest sensor, after the burst"});
    v("load_average", &B::load_average, {.meaning = "of the device over one minute, after the burst"});
    v("steal_ns", &B::steal_time,
      {.meaning = "for which the host of a virtual machine ran something else on cpu_start"});
    v("throttled_ns", &B::throttled_time,
      {.meaning = "for which the control group had used up its quota of processor time"});
    v("frequency_start_khz", &B::frequency_start_khz, {.meaning = "of cpu_start, before the burst"});
    v("thread_cpu_ns", &B::thread_cpu,
      {.meaning = "processor time of each thread over the burst, the largest first"});
  }
};

}  // namespace etprof::protocol
