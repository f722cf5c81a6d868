#pragma once

#include <time.h>

#include <cstdint>
#include <optional>
#include <string>

#include "protocol/messages.h"

// What the system says about the conditions of a measurement. Everything here is read between bursts, never
// within one. Absent: the system does not tell.
namespace etprof::runner {

std::int64_t ResidentBytes();                    // of this process, now
std::int64_t PeakResidentBytes();                // since it started
std::int64_t ClockNanoseconds(clockid_t clock);  // 0: there is no such clock
std::int64_t CpuTimeNow();                       // of this process, all threads, user and system, nanoseconds
std::optional<std::int64_t> Migrations();        // of the main thread between CPUs, since it started
std::int64_t InvoluntarySwitches();              // of this process, since it started
std::int64_t PageFaults();                       // of this process, minor and major, since it started
std::optional<int> CurrentCpu();
// 1024: the fastest (cpu-capacity.txt of Linux's device tree bindings).
std::optional<std::int64_t> CpuCapacity(int cpu);
std::optional<std::int64_t> FrequencyKhz(std::optional<int> cpu);
std::optional<std::int64_t> FrequencyCapKhz(std::optional<int> cpu);
std::optional<double> HottestCelsius();  // of all thermal zones
std::optional<double> LoadAverage();     // over one minute
std::string CpuModel();                  // as the system names it; empty where it does not
protocol::Clocks ReadClocks();

}  // namespace etprof::runner
