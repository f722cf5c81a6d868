#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/doctor.h"
#include "cli/say.h"
#include "core/error.h"
#include "core/json.h"

namespace etprof {
namespace {

const char* Name(DoctorCheck::State state) {
  switch (state) {
    case DoctorCheck::State::kOk:
      return "ok";
    case DoctorCheck::State::kWarning:
      return "warning";
    case DoctorCheck::State::kMissing:
      break;
  }
  return "missing";
}

std::string Text(const std::vector<DoctorGroup>& groups) {
  std::size_t width = 0;
  for (const DoctorGroup& group : groups) {
    for (const DoctorCheck& check : group.checks) width = std::max(width, check.name.size());
  }
  std::string text;
  for (const DoctorGroup& group : groups) {
    text +=
        fmt::format("{}{}{}\n", text.empty() ? "" : "\n", group.title, group.Ready() ? "" : ": not ready");
    for (const DoctorCheck& check : group.checks) {
      text += fmt::format("  {:<7}  {:<{}}  {}\n", Name(check.state), check.name, width, check.found);
      if (!check.remedy.empty()) text += fmt::format("  {:<7}  {:<{}}  -> {}\n", "", "", width, check.remedy);
    }
  }
  return text;
}

nlohmann::ordered_json Json(const std::vector<DoctorGroup>& groups) {
  nlohmann::ordered_json json = {
      {"schema_version", 1}, {"ready", groups.front().Ready()}, {"groups", nlohmann::ordered_json::array()}};
  for (const DoctorGroup& group : groups) {
    nlohmann::ordered_json checks = nlohmann::ordered_json::array();
    for (const DoctorCheck& check : group.checks) {
      checks.push_back({{"name", check.name}, {"state", Name(check.state)}, {"found", check.found}});
      checks.back()["remedy"] =
          check.remedy.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(check.remedy);
    }
    json["groups"].push_back(
        {{"name", group.name}, {"title", group.title}, {"ready", group.Ready()}, {"checks", checks}});
  }
  return json;
}

int ShowDoctor(bool as_json) {
  const std::vector<DoctorGroup> groups = ExamineThisMachine();
  if (as_json) {
    Print("{}\n", JsonText(Json(groups), 2));
  } else {
    Print("{}", Text(groups));
  }
  return static_cast<int>(groups.front().Ready() ? ExitCode::kDone : ExitCode::kDeviceFailed);
}

}  // namespace

CommandSpec DoctorCommand() {
  return {"doctor", "what every command needs: found, or how to get it", "etprof doctor", [](CLI::App& app) {
            const auto as_json = std::make_shared<bool>(false);
            app.add_flag("--json", *as_json, "as JSON");
            return [as_json] { return ShowDoctor(*as_json); };
          }};
}

}  // namespace etprof
