#include <memory>

#include "commands/measurement/device.h"
#include "commands/terminal/show.h"
#include "commands/terminal/terminal_progress.h"
#include "show/subjects.h"

namespace etprof {
namespace {

int RunPeaks(const PeaksOptions& options, const View& view) {
  const MeasuredPeaks measured = WithProgress(MeasurePeaks, options);
  ShowDocument(show::MakePeaksDocument(measured.peaks, measured.device, measured.emulated), view, measured);
  return 0;
}

}  // namespace

std::function<int()> PeaksCommand(CLI::App& app) {
  const auto parsed = std::make_shared<ParsedArguments<PeaksOptions>>();
  auto& [options, view] = *parsed;
  AddDescribedOptions(app, options);
  app.get_option("--runner")->check(CLI::ExistingFile);
  AddDocumentOptions(app, view, "Show the peaks as JSON", {show::MakePeaksDocument({}, "", false)});
  return [parsed] { return RunPeaks(parsed->options, parsed->view); };
}

}  // namespace etprof
