#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "compare/comparison.h"
#include "report/report.h"

namespace etprof {

// Several runs in one report: what one model does on several devices, side by side. Within a device sides
// were measured alternately, and their comparison is that run's own. Between devices nothing is paired.

struct DeviceColumn {
  std::size_t run = 0;  // index into DevicesReport::runs
  std::string
      name;  // unique within the report: "ssh:pi5"; the results directory's name where it is not known
  bool emulated = false;
};

// One experiment on one device.
struct DeviceCell {
  std::optional<std::size_t> experiment;  // index into that run's Report::experiments; absent: not measured
  // Against the row's first device that has a latency: ratio = its median / this one's, of Welch's t over the
  // launches' medians, which were not paired (stats::EstimateUnpairedLaunches). No estimate where a side has
  // fewer than two launches, where the tracer was on, or where a CPU was emulated.
  Quantity against_first;
};
struct DeviceRow {
  std::string label;
  int threads = 1;
  std::vector<DeviceCell> cells;     // device by device of the section
  std::optional<std::size_t> first;  // the device that against_first holds the others against
  // In what the devices' experiments differ beside the device, such as "isa: -avx2 on local, none on ssh:b".
  std::vector<std::string> differences;
};

// One compared pair, with its comparison on each device that measured it.
struct DevicePairRow {
  std::string baseline_label, candidate_label;
  std::vector<std::optional<std::size_t>> comparisons;  // into Report::comparisons, device by device
};

// What was measured of one method of one model (one SHA-256; one name, where that is not known).
struct ModelSection {
  std::string model_id, model_sha256;
  std::string method;
  // The model's name, with its digest where another model has the same name, and the method where it is not
  // "forward" or where another section is of the same model.
  std::string title;
  std::vector<DeviceColumn> devices;  // a column for each run
  std::size_t distinct_devices = 0;   // of those: two runs may be of one
  std::vector<DeviceRow> experiments;
  std::vector<DevicePairRow> pairs;
};

struct DevicesReport {
  std::string title;               // empty: none was given
  std::vector<Report> runs;        // as given
  std::vector<std::string> names;  // of the runs' devices, unique; index by index of `runs`
  std::vector<ModelSection> models;
  std::size_t distinct_devices = 0;  // of the runs
  bool emulated = false;             // on any device

  // Null where the device did not measure it.
  const ReportExperiment* ExperimentOf(const ModelSection& model, const DeviceRow& row,
                                       std::size_t device) const {
    const auto& experiment = row.cells[device].experiment;
    return experiment ? &runs[model.devices[device].run].experiments[*experiment] : nullptr;
  }
  const ReportComparison* ComparisonOf(const ModelSection& model, const DevicePairRow& row,
                                       std::size_t device) const {
    const auto& comparison = row.comparisons[device];
    return comparison ? &runs[model.devices[device].run].comparisons[*comparison] : nullptr;
  }
};

// Experiments of several runs are one row where they have one label and number of threads; what is left over
// is one row where it was configured alike and nothing else on its devices was ("as it is" here, "sme2 on"
// there). Never throws for odd or missing data.
DevicesReport AssembleDevices(std::vector<Report> runs);

}  // namespace etprof
