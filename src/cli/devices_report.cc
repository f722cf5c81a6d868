#include "cli/devices_report.h"

#include <iostream>

#include "cli/analyze_files.h"
#include "cli/stdout_terminal.h"
#include "core/error.h"
#include "core/file.h"
#include "render/devices.h"
#include "report/devices.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMarkdown = "devices_report.md";

fs::path MarkdownFile(const std::vector<Report>& runs, const std::string& out) {
  if (out.empty()) return FolderOfReport(runs) / kMarkdown;
  std::error_code ignored;
  const fs::path file = out;
  return fs::is_directory(file, ignored) || out.ends_with('/') ? file / kMarkdown : file;
}

}  // namespace

fs::path FolderOfReport(const std::vector<Report>& runs) {
  fs::path common;
  for (const Report& report : runs) {
    const fs::path parent =
        fs::absolute(report.run.folder / "").lexically_normal().parent_path().parent_path();
    if (!common.empty() && parent != common) return fs::current_path();
    common = parent;
  }
  return common.empty() ? fs::current_path() : common;
}

void WriteAndShowDevices(std::vector<Report> runs, const DevicesReportOptions& options) {
  const fs::path markdown = MarkdownFile(runs, options.out);
  DevicesReport report = AssembleDevices(std::move(runs));
  report.title = options.title;
  const bool files = !options.only_json;
  const auto render = [&](std::ostream& out) { RenderDevicesMarkdown(report, out); };
  if (IsStdout(markdown)) {
    WriteOutput(markdown, render);
    return FlushStdout();
  }
  if (files) {
    fs::path json = markdown;
    json.replace_extension(".json");
    WriteOutput(markdown, render);
    WriteOutput(json, [&](std::ostream& out) { RenderDevicesJson(report, out); });
  }
  const fs::path near = fs::absolute(markdown).lexically_proximate(fs::current_path());
  const std::string shown = (*near.begin() == ".." ? markdown : near).string();
  if (options.json) {
    RenderDevicesJson(report, std::cout);
  } else if (options.quiet) {
    std::cout << shown << '\n';
  } else {
    TerminalOptions terminal = OptionsOfStdout();
    terminal.more = shown;
    terminal.all = options.all;
    RenderDevicesTerminal(report, terminal, std::cout);
  }
  FlushStdout();
}

}  // namespace etprof
