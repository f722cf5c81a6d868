#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "core/error.h"
#include "show/subjects.h"
#include "workflow/doctor.h"

namespace etprof {
namespace {

int RunDoctor(const View& view) {
  const DoctorReport found = ExamineThisMachine();
  ShowDocument(show::MakeDoctorDocument(found), view, found);
  return static_cast<int>(found.Ready() ? ExitCode::kDone : ExitCode::kDeviceFailed);
}

}  // namespace

std::function<int()> DoctorCommand(CLI::App& app) {
  const auto view = std::make_shared<View>();
  AddDocumentOptions(app, *view, "Show the result as JSON", {show::MakeDoctorDocument({{DoctorGroup()}})});
  return [view] { return RunDoctor(*view); };
}

}  // namespace etprof
