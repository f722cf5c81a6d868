#include <fmt/format.h>

#include "core/units.h"
#include "show/subjects/run/report.h"
#include "show/wording.h"

namespace etprof::show {
namespace {

void AddDevice(const DeviceProperties& device, Facts& facts) {
  facts.Add("Device", device.name);
  facts.Add("CPU", device.cpu_model);
  if (device.cores > 0)
    facts.Add("Cores",
              std::to_string(device.cores) + (device.topology.empty() ? "" : ", " + device.topology));
  if (!device.cpus.empty()) facts.Add("Governor", device.cpus.front().governor);
  if (device.memory_total) facts.Add("Memory", FormatBytes(static_cast<double>(*device.memory_total)));
  facts.Add("System",
            device.os + (device.kernel.empty() ? "" : (device.os.empty() ? "" : ", ") + device.kernel));
  facts.Add("Virtualization", device.virtualization);
  facts.Add("Power", device.power_mode);
}

}  // namespace

Facts RunFacts(const Report& report) {
  const RunData& run = report.run;
  Facts facts{"conditions", ""};
  if (report.bare) {
    for (const ReportExperiment& experiment : report.experiments) facts.Add("ETDump", experiment.etdump_name);
  } else {
    facts.Add("Model", run.model.empty() ? report.model_id : run.model.filename().string());
  }
  facts.Add("Model's SHA-256", run.model_sha256);
  facts.Add("Method", NonDefaultMethod(report));
  facts.Add("Backend and data type", report.backend.empty() ? "" : report.backend + " " + report.dtype);
  facts.Add("Measured", run.generated_at);
  if (run.status != RunData::Status::kUnknown) facts.Add("Status", GetName(run.status));
  facts.Add("Platform", run.platform);
  if (run.device) AddDevice(*run.device, facts);
  if (run.power_mode) {
    std::string mode = run.power_mode->name;
    for (const PowerSetting& setting : run.power_mode->settings)
      mode += fmt::format(", {} {}", setting.key, setting.value);
    facts.Add("Power mode", mode);
  }
  facts.Add("ExecuTorch checkout",
            run.executorch_sha + (run.executorch_dirty.value_or(false) ? " (changed)" : ""));
  facts.Add("etprof", run.etprof_version);
  if (run.schedule.launches > 0) {
    facts.Add("Schedule",
              fmt::format("{} x {}, {}, {:.0f} s{}", CountedText(run.schedule.launches, "launch", "launches"),
                          CountedText(run.schedule.rounds, "round"),
                          run.schedule.interleaved ? "bursts of all experiments interleaved"
                                                   : "whole processes alternating",
                          run.schedule.seconds,
                          run.schedule.stopped.empty() ? "" : "; stopped: " + run.schedule.stopped));
  }
  return facts;
}

Facts ExperimentFacts(const Report& report, const ReportExperiment& experiment) {
  const ExperimentData& data = report.run.experiments[experiment.index];
  Facts facts{"experiment_conditions", ""};
  if (!report.bare) facts.Add("Threads", std::to_string(experiment.threads));
  facts.Add("Disabled CPU features", data.isa);
  facts.Add("CPUs", data.cpus);
  facts.Add("Runner", data.runner.filename().string());
  facts.Add("Runner's SHA-256", data.runner_sha256);
  facts.Add("Command", fmt::format("{}", fmt::join(data.command_line, " ")));
  if (data.model != report.run.model) facts.Add("Model", data.model.filename().string());
  if (data.model_sha256 != report.run.model_sha256) facts.Add("Model's SHA-256", data.model_sha256);
  if (data.runner_built) {
    facts.Add("Compiler of the runner", data.runner_built->compiler);
    facts.Add("Preset of the runner", data.runner_built->preset);
    if (data.runner_built->sme) facts.Add("SME in the runner", *data.runner_built->sme ? "yes" : "no");
  }
  facts.Add("ExecuTorch of the runner", data.executorch_version);
  facts.Add("ExecuTorch of the export", data.export_executorch_version);
  facts.Add("Operator clock", data.operator_clock);
  facts.Add("Inputs", data.inputs_from);
  facts.Add("Backends", fmt::format("{}", fmt::join(data.backends, ", ")));
  if (data.emulated) facts.Add("Emulated", "timings are not meaningful");
  if (data.trace_enabled) facts.Add("Kernel-log run", "shows kernels, not times");
  if (data.tracer_always_on) facts.Add("Tracer", "always on: every latency includes tracing overhead");
  facts.Add("Failed", data.error);
  for (const std::string& warning : data.warnings) facts.Add("Warning", warning);
  return facts;
}

}  // namespace etprof::show
