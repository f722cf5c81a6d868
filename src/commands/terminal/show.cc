#include "commands/terminal/show.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>

#include "commands/terminal/terminal.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/text/text.h"
#include "core/views.h"
#include "report/devices.h"
#include "show/formats.h"
#include "show/formats/csv/table_csv.h"
#include "show/formats/json/json.h"
#include "show/formats/report.h"
#include "show/subjects.h"
#include "show/subjects/run/report.h"
#include "show/wording.h"

namespace etprof {
namespace {

TerminalOptions MakeTerminalOptions(const View& view, const std::string& details) {
  TerminalOptions options = StdoutOptions();
  options.report_path = details;
  options.all = view.all;
  return options;
}

void ShowBy(const Report& report, View view) {
  const show::ReportView& report_view =
      *std::ranges::find(show::ReportViews(), view.by, &show::ReportView::name);
  show::Document document = report_view.make(report);
  view.all = view.all || report_view.breakdown;
  (document.title.empty() ? document.title : document.facts.emplace_back()) = HeaderText(report);
  if (document.sections.empty())
    document.notes = {{std::string("nothing to show: ") + report_view.empty_reason}};
  for (show::Section& section : document.sections) {
    if (section.level == show::Level::kPage)
      section.level = show::Level::kUsual;  // the user asked for this part
  }
  const std::vector<std::string> tables = TableIds(document);
  if (!view.csv.empty() && tables.empty())
    throw Error(ExitCode::kUsage,
                fmt::format("--by {} has no table here: {}", view.by, report_view.empty_reason));
  if (view.csv == kDefaultTable && tables.size() > 1) {
    throw Error(ExitCode::kUsage, fmt::format("--by {} has several tables", view.by))
        .Remedy(fmt::format("give one of them: --csv={}", fmt::join(tables, "|")));
  }
  if (!tables.empty()) view.default_table = tables.front();
  ShowDocument(document, view, "");
}

// Shows a table that is also a file, or a table of the document.
void ShowTable(const Report& report, const std::string& table) {
  std::vector<std::string> names = ReportTableNames();
  if (std::ranges::find(names, table) == names.end()) {
    const show::Document document = show::MakeReportDocument(report);
    for (const std::string& other : TableIds(document)) AppendUnique(other, names);
    RequireTableId(table, names);
    return RenderDocumentCsv(document, table, std::cout);
  }
  if (table == "comparison" && report.comparisons.empty()) {
    throw Error(ExitCode::kUsage, "`--csv=comparison`: nothing is compared here")
        .Remedy("give a run with pairs, or use `etprof compare`");
  }
  if (table == "ladder" && !report.ladder) {
    throw Error(ExitCode::kUsage, "`--csv=ladder`: this is not a run of `etprof isa`")
        .Remedy("run `etprof isa MODEL.pte`");
  }
  RenderReportTableCsv(report, table, std::cout);
}

// Writes the document to the selected files; the page of a `report`, if given, has its views. Returns whether
// the result is to be shown, too.
bool WriteDocumentFiles(const show::Document& document, const View& view, const Report* report = nullptr) {
  bool shows_result = !view.quiet;
  for (const DocumentFormat& format : kDocumentFormats) {
    const auto file = view.files.find(format.name);
    if (file == view.files.end() || file->second.empty()) continue;
    WriteOutput(file->second, [&](std::ostream& out) {
      report != nullptr&& format.render == RenderDocumentHtml ? RenderHtml(*report, out)
                                                              : format.render(document, out);
    });
    shows_result = shows_result && !IsStdout(file->second);
  }
  return shows_result;
}

}  // namespace

std::vector<std::string> ByOptionNames() {
  return MapEach(show::ReportViews(), [](const show::ReportView& view) { return std::string(view.name); });
}

void ShowReport(const Report& report, const View& view, const std::string& details) {
  if (!view.by.empty()) return ShowBy(report, view);
  if (view.HasFiles() ? !WriteDocumentFiles(show::MakeReportDocument(report), view, &report) : view.quiet)
    return FlushStdout();
  if (!view.csv.empty()) {
    ShowTable(report, view.Table());
  } else if (view.json) {
    RenderAnalysisJson(report, std::cout);
  } else {
    RenderTerminal(report, MakeTerminalOptions(view, details), std::cout);
  }
  FlushStdout();
}

void ShowDevicesReport(const DevicesReport& report, const View& view, const std::string& details) {
  const bool shows_result = ShowDocument(show::MakeDevicesDocument(report), view, details,
                                         [&](std::ostream& out) { RenderDevicesJson(report, out); });
  if (!shows_result || !view.all || view.json || !view.csv.empty()) return;
  for (const Report& run : report.runs) RenderTerminal(run, MakeTerminalOptions(view, ""), std::cout << '\n');
  FlushStdout();
}

void ShowSuite(const SuiteReport& suite, const show::Document& document, const View& view) {
  ShowDocument(document, view, suite,
               ShortestPath(std::filesystem::path(suite.folder) / "suite_report.html"));
}

bool ShowDocument(const show::Document& document, const View& view, const std::string& details,
                  const std::function<void(std::ostream&)>& json) {
  const bool shows_result = WriteDocumentFiles(document, view);
  if (shows_result && view.json) {
    json ? json(std::cout) : RenderDocumentJson(document, std::cout);
  } else if (shows_result && !view.csv.empty()) {
    RenderDocumentCsv(document, view.Table(), std::cout);
  } else if (shows_result) {
    RenderDocumentTerminal(document, MakeTerminalOptions(view, details), std::cout);
  }
  FlushStdout();
  return shows_result;
}

void ShowFile(const std::filesystem::path& file) {
  if (!IsStdout(file)) Print("{}\n", file.string());
}

}  // namespace etprof
