#pragma once

#include <string>
#include <vector>

#include "report/devices.h"

// How the report over several devices is worded, the same on the screen and in Markdown. Plain text.
namespace etprof::devices {

// "ssh:pi5", "adb:R5CT (emulated)".
std::string NameOf(const DeviceColumn& device);

// What the device's runners saw of the CPU, else what its system says: "sme2 sme i8mm ...".
std::vector<std::string> FeaturesOfRun(const Report& run);
std::string GovernorText(const Report& run);
std::string SystemText(const Report& run);  // "Debian GNU/Linux 12, Linux 6.1.0"
std::string CpuText(const Report& run);     // "Cortex-A76, 4 cores"

// The experiment of a cell; null where the device did not measure it.
const ReportExperiment* ExperimentOf(const DevicesReport& report, const ModelSection& model,
                                     const DeviceRow& row, std::size_t device);
const ReportComparison* ComparisonOf(const DevicesReport& report, const ModelSection& model,
                                     const DevicePairRow& row, std::size_t device);

// "4.02 ms [3.98, 4.06]", "4.02 ms, emulated", "4.02 ms, traced", "—".
std::string MedianText(const Report& run, const ReportExperiment* experiment);
// "[3.98, 4.06]" in the unit of the median; empty where there is none.
std::string MedianInterval(const Report& run, const ReportExperiment& experiment);

// Of a device against the row's first: "1.30x slower", "emulated, times mean nothing", and "no interval"
// where nothing can be said.
std::string AgainstFirstText(const Quantity& quantity);

// "3 devices", or "3 runs of one device", "3 runs of 2 devices".
std::string CountText(std::size_t runs, std::size_t distinct_devices);
// What columns are: "devices"; "runs" where all are of one device.
const char* ColumnsAre(std::size_t distinct_devices);
// "Between devices nothing is paired: ...".
std::string UnpairedText(std::size_t distinct_devices);

// Rows of the groups' table: the name, and for each device its mean self time in ns; absent: no trace.
struct GroupRow {
  std::string name;
  std::vector<std::optional<double>> mean;
};
// Those that take time on any device; empty without a profile.
std::vector<GroupRow> GroupRows(const DevicesReport& report, const ModelSection& model, const DeviceRow& row);

}  // namespace etprof::devices
