#pragma once

#include <time.h>

#include <cstdint>
#include <string>

#include "protocol/messages.h"

// What the system says about the conditions of a measurement. Everything here is read between bursts, never
// within one. What a system does not tell is -1 (temperature: protocol::BurstReply's default).
namespace etprof::runner {

std::int64_t ResidentBytes();                    // of this process, now
std::int64_t PeakResidentBytes();                // since it started
std::int64_t ClockNanoseconds(clockid_t clock);  // 0: there is no such clock
std::int64_t CpuTimeNow();                       // of this process, all threads, user and system, nanoseconds
std::int64_t Migrations();                       // of the main thread between CPUs, since it started
std::int64_t InvoluntarySwitches();              // of this process, since it started
int CurrentCpu();
std::int64_t CpuCapacity(int cpu);  // 1024: the fastest (cpu-capacity.txt of Linux's device tree bindings)
std::int64_t FrequencyKhz(int cpu);
std::int64_t FrequencyCapKhz(int cpu);
std::int64_t HottestZoneMillidegrees();
double LoadAverage();    // over one minute
std::string CpuModel();  // as the system names it; empty where it does not
protocol::Clocks ReadClocks();

}  // namespace etprof::runner
