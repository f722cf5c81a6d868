#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/locate.h"
#include "core/error.h"
#include "core/table.h"
#include "device/local_process.h"
#include "isa/features.h"
#include "protocol/messages.h"

namespace etprof {
namespace {

// What etprof-runner sees of this machine: the features come from cpuinfo, as XNNPACK's own choices do.
protocol::IsaState AskRunner() {
  const std::string runner = DefaultRunner().string();
  const std::unique_ptr<Process> process =
      StartLocalProcess({{runner, "--isa-info"}, {}, {}}, [](std::string_view) {}, {});
  std::string text;
  std::string line;
  while (process->ReadLine(line, 20) == Process::Read::kLine) text += line + '\n';
  const std::optional<ExitStatus> status = process->Wait(20);
  if (!status || !status->Success()) {
    throw Error(ExitCode::kDeviceFailed, "could not say what this CPU has: " + process->LastErrors())
        .InFile(runner);
  }
  return nlohmann::json::parse(text).at("isa").get<protocol::IsaState>();
}

int ShowIsa(bool widest_only, bool as_json) {
  const isa::Architecture architecture = isa::HostArchitecture();
  const protocol::IsaState state = AskRunner();
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
            const auto widest = std::make_shared<bool>(false);
            const auto json = std::make_shared<bool>(false);
            app.add_flag("--widest", *widest,
                         "print only the name of the widest extension (nothing when there is none)");
            app.add_flag("--json", *json, "as JSON");
            return [=] { return ShowIsa(*widest, *json); };
          }};
}

}  // namespace etprof
