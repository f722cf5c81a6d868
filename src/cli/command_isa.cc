#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/ask_runner.h"
#include "cli/commands.h"
#include "cli/device_option.h"
#include "core/error.h"
#include "core/table.h"
#include "isa/features.h"
#include "protocol/messages.h"

namespace etprof {
namespace {

// The one that knows most of what was detected: an emulated CPU need not be the device's own.
isa::Architecture ArchitectureOf(const std::vector<std::string>& features) {
  const auto known = [&](isa::Architecture architecture) {
    std::ptrdiff_t count = 0;
    for (const isa::Feature& feature : isa::Features(architecture))
      count += std::count(features.begin(), features.end(), feature.name);
    return count;
  };
  isa::Architecture best = isa::HostArchitecture();
  for (const isa::Architecture other : {isa::Architecture::kX86_64, isa::Architecture::kAarch64}) {
    if (known(other) > known(best)) best = other;
  }
  return best;
}

struct IsaOptions {
  bool widest = false, json = false;
  DeviceChoice device;
  std::string runner, exec_wrapper;
};

int ShowIsa(const IsaOptions& options) {
  const bool widest_only = options.widest, as_json = options.json;
  const std::unique_ptr<Device> device = Open(options.device);
  if (!options.device.power_mode.empty()) device->SetPowerMode(options.device.power_mode);
  const protocol::IsaState state = AskRunner(*device, options.runner, options.exec_wrapper);
  const isa::Architecture architecture = ArchitectureOf(state.detected);
  const isa::FeatureSet detected(state.detected.begin(), state.detected.end());
  const std::optional<isa::Extension> widest = isa::WidestExtension(architecture, detected);
  if (widest_only) {
    if (widest) fmt::print("{}\n", widest->name);
    return 0;
  }
  if (as_json) {
    nlohmann::json result = {{"schema_version", 1},
                             {"architecture", isa::Name(architecture)},
                             {"features", state.detected},
                             {"can_mask", state.can_mask}};
    result["widest"] =
        widest ? nlohmann::json{{"name", widest->name}, {"off", widest->off}} : nlohmann::json();
    fmt::print("{}\n", result.dump(2));
    return 0;
  }
  Table table{
      {{"feature", Table::Align::kLeft}, {"here", Table::Align::kLeft}, {"needs", Table::Align::kLeft}}, {}};
  for (const isa::Feature& feature : isa::Features(architecture)) {
    table.AddRow({std::string(feature.name), detected.count(std::string(feature.name)) > 0 ? "yes" : "-",
                  fmt::format("{}", fmt::join(feature.needs, ", "))});
  }
  fmt::print("{}\n{}", isa::Name(architecture), table.ToText(2));
  if (widest)
    fmt::print("\nwidest extension: {}   etprof profile MODEL.pte --vs isa={}\n", widest->name, widest->off);
  if (!state.can_mask) fmt::print("features cannot be masked here: {}\n", state.why_not);
  return 0;
}

}  // namespace

CommandSpec IsaCommand() {
  return {"isa", "what instruction sets this machine has, as XNNPACK chooses kernels by them", "etprof isa",
          [](CLI::App& app) {
            const auto options = std::make_shared<IsaOptions>();
            app.add_flag("--widest", options->widest,
                         "print only the name of the widest extension (nothing when there is none)");
            app.add_flag("--json", options->json, "as JSON");
            AddDeviceOption(app, options->device);
            app.add_option("--runner", options->runner, "the device's etprof-runner")
                ->check(CLI::ExistingFile)
                ->type_name("PATH");
            app.add_option("--exec-wrapper", options->exec_wrapper, "put before the runner: an emulator")
                ->type_name("\"CMD ..\"");
            return [options] { return ShowIsa(*options); };
          }};
}

}  // namespace etprof
