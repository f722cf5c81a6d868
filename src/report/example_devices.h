#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/devices.h"
#include "report/example_run.h"

// Runs of one model on several devices, for the tests of report/ and render/.
namespace etprof::example {

// `factor` times as slow as MakePair, on a device of that name.
inline Report MakePairOn(const std::string& device, double factor, bool emulated = false) {
  const auto scaled = [&](Nanoseconds ns) {
    return static_cast<Nanoseconds>(static_cast<double>(ns) * factor);
  };
  RunData run;
  run.status = RunData::Status::kComplete;
  run.folder = "runs/" + device;
  run.model = "net_xnnpack_fp32.pte";
  run.model_id = "net_xnnpack_fp32";
  run.model_sha256 = std::string(64, 'a');
  run.platform = emulated ? "linux-aarch64-emulated" : "linux-x86_64";
  DeviceProperties properties;
  properties.name = device;
  properties.architecture = "x86_64";
  properties.cpu_model = "CPU of " + device;
  properties.features = {"sse2", "avx", "avx2"};
  properties.cores = 2;
  properties.cpus.push_back({0, "", "performance", {}, {}, {}, {}});
  properties.os = "Debian";
  properties.kernel = "Linux 6.1";
  run.device = properties;
  run.experiments = {MakeExperiment("off", scaled(5'000'000)), MakeExperiment("on", scaled(2'000'000))};
  for (ExperimentData& data : run.experiments) {
    data.emulated = emulated;
    data.model_sha256 = run.model_sha256;
  }
  run.experiments[0].isa = "-sme2";
  run.pairs.push_back({.baseline = 0, .candidate = 1});
  std::vector<std::optional<Profile>> profiles;
  profiles.emplace_back(MakeProfile("off", scaled(4'000'000)));
  profiles.emplace_back(MakeProfile("on", scaled(1'000'000), "PF32"));
  return Assemble(std::move(run), std::move(profiles));
}

// Two devices of which the second takes 1.5 times as long, and an emulated one.
inline DevicesReport MakeDevices() {
  std::vector<Report> runs;
  runs.push_back(MakePairOn("local", 1));
  runs.push_back(MakePairOn("ssh:board", 1.5));
  runs.push_back(MakePairOn("adb:phone", 3, true));
  return AssembleDevices(std::move(runs));
}

}  // namespace etprof::example
