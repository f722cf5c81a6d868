#include "measure/run_warnings.h"

#include <fmt/format.h>

#include <algorithm>

#include "measure/conditions.h"
#include "measure/load_watch.h"
#include "protocol/messages.h"

namespace etprof {

void AddWarnings(RunData& run, const std::vector<std::string>& of_conditions) {
  const auto add = [](std::vector<std::string>& list, const std::string& text) {
    if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
  };
  for (ExperimentData& data : run.experiments) {
    if (!data.executorch_version.empty() && !data.export_executorch_version.empty() &&
        data.executorch_version != data.export_executorch_version) {
      add(data.warnings, fmt::format("the model was exported with ExecuTorch {}, the runner has {}",
                                     data.export_executorch_version, data.executorch_version));
    }
    if (data.emulated) add(data.warnings, "the processor is emulated: times mean nothing");
    if (data.operator_clock == protocol::kXnnpackClock) {
      add(data.warnings, "operator times are XNNPACK's own whole microseconds");
    }
    std::size_t restless = 0, bursts = 0;
    for (const Launch& launch : data.launches) {
      for (const Burst& burst : launch.bursts) {
        ++bursts;
        restless += burst.level ? 0 : 1;
      }
    }
    if (restless > 0) {
      std::erase_if(data.warnings, [](const std::string& text) {
        return text.find("latency was level") != std::string::npos;
      });
      data.warnings.push_back(
          fmt::format("{} of {} bursts began before the latency was level", restless, bursts));
    }
  }
  for (const std::string& warning : LoadWarnings(run)) add(run.warnings, warning);
  for (const std::string& warning : of_conditions) add(run.warnings, warning);
  for (const std::string& warning : ConditionsWarnings(run)) add(run.warnings, warning);
  if (run.device) {
    for (const std::string& warning : run.device->warnings) add(run.warnings, warning);
  }
}

}  // namespace etprof
