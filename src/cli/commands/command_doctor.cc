#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "core/error.h"
#include "core/json/json_members.h"
#include "workflow/doctor.h"

namespace etprof {
namespace {

std::string DoctorText(const std::vector<DoctorGroup>& groups) {
  std::size_t width = 0;
  for (const DoctorGroup& group : groups) {
    for (const DoctorCheck& check : group.checks) width = std::max(width, check.name.size());
  }
  std::string text;
  for (const DoctorGroup& group : groups) {
    text +=
        fmt::format("{}{}{}\n", text.empty() ? "" : "\n", group.title, group.Ready() ? "" : ": not ready");
    for (const DoctorCheck& check : group.checks) {
      text += fmt::format("  {:<7}  {:<{}}  {}\n", NameOf(check.state), check.name, width, check.found);
      if (!check.remedy.empty()) text += fmt::format("  {:<7}  {:<{}}  -> {}\n", "", "", width, check.remedy);
    }
  }
  return text;
}

int RunDoctor(bool as_json) {
  const Examination found = ExamineThisMachine();
  if (as_json) {
    PrintJson(ToJson(found));
  } else {
    Print("{}", DoctorText(found.groups));
  }
  return static_cast<int>(found.groups.front().Ready() ? ExitCode::kDone : ExitCode::kDeviceFailed);
}

}  // namespace

std::function<int()> DoctorCommand(CLI::App& app) {
  const auto as_json = std::make_shared<bool>(false);
  app.add_flag("--json", *as_json, "Show it as JSON");
  return [as_json] { return RunDoctor(*as_json); };
}

}  // namespace etprof
