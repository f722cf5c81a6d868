#include "measure/store/run_warnings.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text/text.h"
#include "measure/conditions/conditions.h"
#include "measure/conditions/load_watch.h"
#include "protocol/messages.h"

namespace etprof {

void AddWarnings(RunData& run, const std::vector<std::string>& condition_warnings) {
  for (ExperimentData& data : run.experiments) {
    if (!data.executorch_version.empty() && !data.export_executorch_version.empty() &&
        PublicVersion(data.executorch_version) != PublicVersion(data.export_executorch_version)) {
      AppendUnique(fmt::format("the model was exported with ExecuTorch {}, the runner has {}",
                               data.export_executorch_version, data.executorch_version),
                   data.warnings);
    }
    if (data.executorch_version.empty() && !data.executorch_libraries.empty()) {
      AppendUnique(
          fmt::format(
              "the version of ExecuTorch that ran is not known: {} is not what the runner was built with, "
              "and no wheel holds it",
              data.executorch_libraries.front().path),
          data.warnings);
    }
    if (data.emulated) AppendUnique(kEmulatedRemark, data.warnings);
    if (data.operator_clock == protocol::kXnnpackClock) {
      AppendUnique("operator times are XNNPACK's own whole microseconds", data.warnings);
    }
    std::size_t unstable_bursts = 0, bursts = 0;
    for (const Launch& launch : data.launches) {
      for (const Burst& burst : launch.bursts) {
        ++bursts;
        unstable_bursts += burst.stabilized ? 0 : 1;
      }
    }
    if (unstable_bursts > 0) {
      std::erase_if(data.warnings, [](const std::string& text) {
        return text.find("the latency stabilized") != std::string::npos ||
               text.find("latency was level") != std::string::npos;  // wording of earlier etprof versions
      });
      data.warnings.push_back(
          fmt::format("{} of {} bursts began before the latency stabilized", unstable_bursts, bursts));
    }
  }
  for (const std::string& warning : LoadWarnings(run)) AppendUnique(warning, run.warnings);
  for (const std::string& warning : condition_warnings) AppendUnique(warning, run.warnings);
  for (const std::string& warning : ConditionsWarnings(run)) AppendUnique(warning, run.warnings);
  if (run.device) {
    // The throttling text replaces the warning about the quota.
    const std::string throttling_warning =
        run.limits_after ? ThrottlingText(run.device->limits, *run.limits_after) : "";
    if (!throttling_warning.empty()) {
      std::erase(run.device->warnings, QuotaText(run.device->limits));
      AppendUnique(throttling_warning, run.warnings);
    }
    for (const std::string& warning : run.device->warnings) AppendUnique(warning, run.warnings);
  }
}

}  // namespace etprof
