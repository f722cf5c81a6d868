#include "cli/csv_option.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>

#include "cli/analyze_files.h"
#include "cli/show_document.h"
#include "cli/stdout_terminal.h"
#include "core/error.h"
#include "render/csv/table_csv.h"
#include "say/breakdown_by.h"
#include "say/counters.h"
#include "say/roofline.h"
#include "say/wording.h"

namespace etprof {

void AddCsvOption(CLI::App& app, std::string& table, const std::string& usual) {
  app.add_flag(fmt::format("--csv{{{}}}", usual), table,
               fmt::format("show one table as CSV: --csv={} [{}]", fmt::join(ReportTableNames(), "|"), usual))
      ->check(CLI::IsMember(ReportTableNames()).description(""));
}

namespace {

constexpr const char *kRoofline = "roofline", *kCounters = "counters";

std::vector<std::string> AllByNames() {
  std::vector<std::string> names = say::ByNames();
  names.emplace_back(kRoofline);
  names.emplace_back(kCounters);
  return names;
}

}  // namespace

void AddByOption(CLI::App& app, std::string& by) {
  app.add_option("--by", by, fmt::format("show where the time goes by: {}", fmt::join(AllByNames(), "|")))
      ->check(CLI::IsMember(AllByNames()).description(""))
      ->type_name("");
}

void AddAllOption(CLI::App& app, bool& all) {
  app.add_flag("--all", all, "show everything: every operator, layer, category and finding, plots");
}

void ShowBy(const Report& report, const std::string& by, bool all) {
  say::Document document;
  std::string nothing = "it takes an ETDump: no run was traced";
  if (by == kRoofline) {
    document.sections = say::SayRoofline(report);
    nothing = "it takes the machine's roofs (a run without --no-peaks) and the .pte that ran (--model)";
  } else if (by == kCounters) {
    document = say::SayCounters(say::CountersOf(report.run));
    nothing = "no counters were read in this run (etprof profile --counters)";
  } else {
    const say::By named = say::ByNamed(by).value();
    document.sections = say::SayBreakdownBy(report, named);
    all = true;
    if (named == say::By::kLayer || named == say::By::kSource)
      nothing = "give the .pte that ran as --model, so that its layers are known";
  }
  (document.title.empty() ? document.title : document.facts.emplace_back()) = HeaderText(report);
  if (document.sections.empty()) document.notes = {"nothing to show: " + nothing};
  for (say::Section& section : document.sections) {
    if (section.level == say::Level::kPage) section.level = say::Level::kUsual;  // this is what was asked for
  }
  ShowDocument(document, "", "", all);
}

void ShowTable(const Report& report, const std::string& table) {
  if (table == "comparison" && report.comparisons.empty()) {
    throw Error(ExitCode::kUsage, "--csv=comparison: nothing is compared here")
        .Remedy("give a run with pairs, or use `etprof compare`");
  }
  if (table == "ladder" && !report.ladder) {
    throw Error(ExitCode::kUsage, "--csv=ladder: this is not a run of an ISA ladder")
        .Remedy("make one with `etprof isa MODEL.pte`");
  }
  RenderReportTableCsv(report, table, std::cout);
  FlushStdout();
}

}  // namespace etprof
