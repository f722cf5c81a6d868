#pragma once

#include <time.h>

#include <cstdint>
#include <optional>
#include <string>

#include "protocol/messages.h"

// The conditions of a measurement, as the system reports them. All functions are called between bursts, never
// within a burst. Absent: not known.
namespace etprof::runner {

std::int64_t ResidentBytes();                    // resident memory of this process
std::int64_t PeakResidentBytes();                // maximum since the process started
std::int64_t ClockNanoseconds(clockid_t clock);  // 0: the clock does not exist
std::int64_t CpuTimeNow();  // user and system time of all threads of this process, nanoseconds
// Migrations of the main thread between CPUs since it started.
std::optional<std::int64_t> Migrations();
std::int64_t InvoluntarySwitches();  // switches of this process since it started
std::int64_t PageFaults();           // minor and major faults of this process since it started
std::optional<int> CurrentCpu();
// Relative capacity of a CPU; 1024: the fastest (cpu-capacity.txt of Linux's device tree bindings).
std::optional<std::int64_t> CpuCapacity(int cpu);
std::optional<std::int64_t> FrequencyKhz(std::optional<int> cpu);
std::optional<std::int64_t> FrequencyCapKhz(std::optional<int> cpu);
std::optional<double> HottestCelsius();  // maximum of all thermal zones
std::optional<double> LoadAverage();     // load average of the last minute
std::string CpuModel();                  // name of the CPU model; empty: not known
protocol::Clocks ReadClocks();

}  // namespace etprof::runner
