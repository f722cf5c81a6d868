#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "device/device.h"
#include "measure/config/config.h"

namespace etprof {

// What the command line says of one model's measurement, where no configuration file does.
struct ExperimentOptions {
  std::string cpus, period, runner, method = "forward", data, exec_wrapper;
  std::vector<std::string> inputs;
  std::optional<int> runs;

  // The first option, but --runs, that was given; empty: none. A configuration file says these itself.
  std::string Given() const;
};

// --runs, --cpus, --period, --runner, --method, --data, --inputs and --exec-wrapper.
void AddExperimentOptions(CLI::App& app, ExperimentOptions& options);

// --sustained TIME.
void AddSustainedOption(CLI::App& app, std::string& text);
// 0 for an empty text. Throws Error (kUsage).
Nanoseconds SustainedOf(const std::string& text);

// What can be said before there is a device. Throws Error (kUsage) for CPUs or a period that are none.
void CheckExperimentOptions(const ExperimentOptions& options);

// The experiment of `model` that they say. Throws Error (kUsage) for CPUs that are none, kBadInput where
// there is no runner.
ExperimentConfig ExperimentOf(const ExperimentOptions& options, const std::string& model,
                              const Device& device, const DeviceProperties& properties);

}  // namespace etprof
