#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "profile/compare/comparison.h"
#include "report/report.h"

namespace etprof {

// A report on several runs: one model on several devices, side by side. Variants on one device were measured
// interleaved, and their comparison is taken from that run. Runs on different devices are not paired.

struct DeviceColumn {
  std::size_t run = 0;  // index into DevicesReport::runs
  std::string name;     // unique in the report: "ssh:pi5"; the name of the results directory if not known
  bool emulated = false;
};

// One experiment on one device.
struct DeviceCell {
  std::optional<std::size_t> experiment;  // index into that run's Report::experiments; absent: not measured
  // The comparison with the row's first device that has a latency. The ratio is the first device's median /
  // this median, by Welch's t over the medians of the launches, which are not paired
  // (stats::EstimateUnpairedLaunches). No estimate if a device has fewer than two launches, if the tracer was
  // on, or if a CPU was emulated.
  TimeComparison comparison_with_first;
};
struct DeviceRow {
  std::string label;
  std::optional<int> threads;        // absent: not known
  std::vector<DeviceCell> cells;     // indexed like ModelSection::devices
  std::optional<std::size_t> first;  // device of the baseline of `comparison_with_first`
  // Other differences between the experiments besides the device, such as "isa: -avx2 on local, none on
  // ssh:b".
  std::vector<std::string> differences;
};

// A compared pair with its comparisons on the devices that measured it.
struct DevicePairRow {
  std::string baseline_label, candidate_label;
  std::vector<std::optional<std::size_t>> comparisons;  // indexed by device: index into Report::comparisons
};

// The measurements of one method of one model (with the same SHA-256; with the same name if that is not
// known).
struct ModelSection {
  std::string model_id, model_sha256;
  std::string method;
  // The model's name; with its digest if another model has the same name; with the method if it is not
  // "forward" or if the model has several sections.
  std::string title;
  std::vector<DeviceColumn> devices;  // one column per run
  std::size_t distinct_devices = 0;   // number of different devices; two runs may be from the same one
  std::vector<DeviceRow> experiments;
  std::vector<DevicePairRow> pairs;
};

struct DevicesReport {
  std::string title;               // empty: not given
  std::vector<Report> runs;        // in the given order
  std::vector<std::string> names;  // unique names of the devices, by run
  std::vector<ModelSection> models;
  std::size_t distinct_devices = 0;  // number of different devices of all runs
  bool emulated = false;             // a CPU was emulated

  // Null if the device did not measure the experiment.
  const ReportExperiment* FindExperiment(const ModelSection& model, const DeviceRow& row,
                                         std::size_t device) const {
    const auto& experiment = row.cells[device].experiment;
    return experiment ? &runs[model.devices[device].run].experiments[*experiment] : nullptr;
  }
  const ReportComparison* FindComparison(const ModelSection& model, const DevicePairRow& row,
                                         std::size_t device) const {
    const auto& comparison = row.comparisons[device];
    return comparison ? &runs[model.devices[device].run].comparisons[*comparison] : nullptr;
  }
};

// Experiments of several runs form one row if their labels and numbers of threads are equal. Remaining
// experiments form one row if their configurations are equal and each is the only one with it on its device
// ("as it is" here, "sme2 on" there). Never throws for irregular or missing data.
DevicesReport AssembleDevicesReport(std::vector<Report> runs);

}  // namespace etprof
