#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "core/error.h"
#include "core/json/json_members.h"
#include "say/subjects.h"
#include "workflow/doctor.h"

namespace etprof {
namespace {

int RunDoctor(const View& view) {
  const Examination found = ExamineThisMachine();
  ShowDocument(say::SayExamination(found), view, "", [&](std::ostream& out) { WriteJson(found, 2, out); });
  return static_cast<int>(found.Ready() ? ExitCode::kDone : ExitCode::kDeviceFailed);
}

}  // namespace

std::function<int()> DoctorCommand(CLI::App& app) {
  const auto view = std::make_shared<View>();
  app.add_flag("--json", view->json, "Show the result as JSON");
  AddDocumentOptions(app, *view, {say::SayExamination({{DoctorGroup()}})});
  return [view] { return RunDoctor(*view); };
}

}  // namespace etprof
