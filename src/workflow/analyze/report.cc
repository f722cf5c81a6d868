#include "workflow/analyze/report.h"

#include <algorithm>

#include "core/file/file.h"
#include "core/text/text.h"
#include "measure/store/run_files.h"
#include "show/formats/devices.h"
#include "show/formats.h"
#include "show/formats/page/html.h"
#include "show/formats/report.h"
#include "show/subjects.h"
#include "workflow/analyze/analysis_files.h"
#include "workflow/analyze/analyze.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDevicesFile = "devices_report.md";

fs::path CommonParent(const std::vector<Report>& runs) {
  fs::path common;
  for (const Report& report : runs) {
    const fs::path parent =
        fs::absolute(report.run.folder / "").lexically_normal().parent_path().parent_path();
    if (!common.empty() && parent != common) return fs::current_path();
    common = parent;
  }
  return common.empty() ? fs::current_path() : common;
}

}  // namespace

bool IsPage(const fs::path& file) { return Lower(file.extension().string()) == ".html"; }

bool NamesFolder(const std::string& out) { return IsFolder(out) || out.ends_with('/'); }

Report ReadReport(const std::string& path) {
  RunData run = OpenRun({path});
  if (!Exists(fs::path(path) / kAnalysisFile))
    return MakeReport(std::move(run), {.tolerant = IsFolder(path)});
  OutputFolders folders;
  folders.report = path;
  folders.timeline = std::ranges::any_of(run.experiments, &ExperimentData::HasTimelineCsv);
  folders.write = [](const fs::path&, const std::function<void(std::ostream&)>&) {};
  return AnalyzeAndWrite(std::move(run), folders);
}

std::vector<fs::path> WriteReport(const Report& report, const std::string& path, const std::string& out,
                                  bool brief, const Output& write) {
  fs::path folder = out;
  if (out.empty()) folder = IsFolder(path) ? fs::path(path) : fs::path(path).parent_path();
  std::vector<fs::path> files = {folder};
  if (out.empty() || NamesFolder(out)) {
    files = {folder / kReportFile, folder / kReportPage};
    if (brief) files = {folder / "report_brief.md"};
  }
  if (out.empty()) RefuseForeignReports(folder, "--out");
  for (const fs::path& file : files) {
    write(file, [&](std::ostream& stream) {
      (brief ? RenderBriefMarkdown : IsPage(file) ? RenderHtml : RenderMarkdown)(report, stream);
    });
  }
  return files;
}

void WriteNamedFile(const fs::path& file, const std::function<void(std::ostream&)>& write) {
  if (IsStdout(file))
    throw Error(ExitCode::kUsage, "is the command line's standard output").InFile("-").Remedy("name a file");
  WriteOutput(file, write);
}

DevicesReport ReadDevices(const std::vector<std::string>& paths) {
  std::vector<Report> reports;
  for (const std::string& path : paths) {
    reports.push_back(ReadReport(path));
    if (reports.back().run.folder.empty()) reports.back().run.folder = path;
  }
  return AssembleDevices(std::move(reports));
}

fs::path WriteDevices(const DevicesReport& report, const std::string& out, const Output& write) {
  fs::path file = out.empty() ? CommonParent(report.runs) / kDevicesFile : fs::path(out);
  if (!out.empty() && NamesFolder(out)) file /= kDevicesFile;
  const show::Document document = show::MakeDevicesDocument(report);
  write(file, [&](std::ostream& stream) {
    IsPage(file) ? RenderDocumentHtml(document, stream) : RenderDocumentMarkdown(document, 1, stream);
  });
  if (IsStdout(file)) return file;
  fs::path json = file;
  json.replace_extension(".json");
  write(json, [&](std::ostream& stream) { RenderDevicesJson(report, stream); });
  return file;
}

}  // namespace etprof
