// The input is the manifest of a results directory, which is loaded, reported, written, and read again.

#include <nlohmann/json.hpp>
#include <sstream>

#include "core/json/json_members.h"
#include "fuzz.h"
#include "measure/store/run_data.h"
#include "report/report.h"
#include "show/formats/json/json.h"
#include "show/formats/report.h"
#include "show/formats/screen/terminal.h"

namespace {

std::string ManifestText(const etprof::RunData& run) {
  return etprof::ToJson(run, run.folder).dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

ETPROF_FUZZ_TARGET(manifest) {
  using namespace etprof;
  fuzz::ScratchFile("run/manifest.json", fuzz::Bytes(data, size));
  const std::filesystem::path folder = fuzz::ScratchFolder() / "run";
  RunData run;
  if (!fuzz::Accepts({ExitCode::kBadInput}, [&] { run = LoadRunDirectory(folder); })) return 0;

  const std::string once = ManifestText(run);
  RunData reread;
  reread.folder = run.folder;
  ReadManifest(nlohmann::json::parse(once), reread);
  RunData reread_twice;
  reread_twice.folder = run.folder;
  ReadManifest(nlohmann::json::parse(ManifestText(reread)), reread_twice);
  fuzz::Require(ManifestText(reread) == ManifestText(reread_twice),
                "a manifest that is written and read again is the same");

  std::vector<std::optional<Profile>> profiles(run.experiments.size());
  const Report report = Assemble(std::move(run), std::move(profiles));
  std::ostringstream json, summary, markdown, terminal;
  RenderAnalysisJson(report, json);
  RenderPipelineSummaryJson(report, summary);
  fuzz::Require(nlohmann::json::accept(json.str()) && nlohmann::json::accept(summary.str()),
                "what is written as JSON is JSON");
  RenderMarkdown(report, markdown);
  RenderPipelineSummaryMarkdown(report, markdown);
  RenderTerminal(report, {}, terminal);
  return 0;
}
