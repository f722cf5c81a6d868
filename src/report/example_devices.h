#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/devices.h"
#include "report/example_run.h"

// Runs of one model on several devices for the tests of report/ and show/.
namespace etprof::example {

// Makes the report of MakePairReport as measured on a device with this name, where all times are `factor`
// times as long.
inline Report MakePairReportOn(const std::string& device, double factor, bool emulated = false) {
  const auto on_device = [&](RunData& run) {
    run.folder = "runs/" + device;
    run.model_sha256 = std::string(64, 'a');
    if (emulated) run.platform = "linux-aarch64-emulated";
    run.schedule.seconds = 0;
    DeviceProperties& properties = run.device.emplace();
    properties.name = device;
    properties.architecture = "x86_64";
    properties.cpu_model = "CPU of " + device;
    properties.features = {"sse2", "avx", "avx2"};
    properties.cores = 2;
    properties.cpus.push_back({0, "", "performance", {}, {}, {}, {}, ""});
    properties.os = "Debian";
    properties.kernel = "Linux 6.1";
    for (ExperimentData& data : run.experiments) {
      data.emulated = emulated;
      data.model_sha256 = run.model_sha256;
    }
    run.experiments[0].isa = "-sme2";
  };
  return MakePairReport(on_device, factor);
}

// Two devices, the second with times 1.5 times as long, and an emulated device.
inline DevicesReport MakeDevices() {
  std::vector<Report> runs;
  runs.push_back(MakePairReportOn("local", 1));
  runs.push_back(MakePairReportOn("ssh:board", 1.5));
  runs.push_back(MakePairReportOn("adb:phone", 3, true));
  return AssembleDevicesReport(std::move(runs));
}

}  // namespace etprof::example
