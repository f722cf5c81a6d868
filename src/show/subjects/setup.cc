#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/file/file.h"
#include "core/text/text.h"
#include "core/units.h"
#include "report/doctor.h"
#include "report/quicktest.h"
#include "show/subjects.h"

namespace etprof::show {
namespace {

Tone CheckTone(DoctorCheck::State state) {
  return state == DoctorCheck::State::kOk        ? Tone::kGood
         : state == DoctorCheck::State::kMissing ? Tone::kBad
                                                 : Tone::kUnsure;
}

// A screen has no room for a column of remedies, so it shows each remedy on the line below its check.
Table MakeGroupChecksTable(const DoctorGroup& group) {
  Table table{.id = "checks",
              .columns = {Left("state"), Left("check"), Left("found"),
                          Left("remedy").WithWrapping().WithVisibility(Visibility::kPage)}};
  for (const DoctorCheck& check : group.checks) {
    table.AddRow(Cell(GetName(check.state), CheckTone(check.state)), check.name, check.found, check.remedy);
    if (!check.remedy.empty()) table.AddRow("", "", "-> " + check.remedy, "").role = Row::Role::kScreenOnly;
  }
  return table;
}

std::string MissingNames(const DoctorGroup& group) {
  std::vector<std::string> names;
  for (const DoctorCheck& check : group.checks) {
    if (check.state == DoctorCheck::State::kMissing) AppendUnique(check.name, names);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

Cell StepResultCell(QuickTestStep::State state) {
  return state == QuickTestStep::State::kPassed   ? Cell("ok", Tone::kGood)
         : state == QuickTestStep::State::kFailed ? Cell("FAILED", Tone::kBad)
                                                  : Cell();
}

Table MakeTestStepsTable(const QuickTestResult& result) {
  Table table{.id = "steps",
              .columns = {Left("step"), Left("result"), Right("time"), Left("said", "").WithWrapping()}};
  for (const QuickTestStep& step : result.steps) {
    table.AddRow(step.name, StepResultCell(step.state),
                 step.seconds > 0 ? Cell(Duration{1e9 * step.seconds}) : Cell(""),
                 step.message.empty() ? "not tried" : step.message);
  }
  return table;
}

Answer TestAnswer(const QuickTestResult& result) {
  if (result.interrupted)
    return {"interrupted: partial results are in " + ShortestPath(result.log.parent_path()), "",
            Tone::kUnsure};
  if (const QuickTestStep* const failed = result.FindFailedStep()) {
    return {fmt::format("fail: {} ({} has all messages)", failed->name, ShortestPath(result.log)), "",
            Tone::kBad};
  }
  return {fmt::format("pass: {} in {:.0f} s; the report: {}", CountedText(result.steps.size(), "step"),
                      result.Seconds(), ShortestPath(result.report)),
          "", Tone::kGood};
}

}  // namespace

Document MakeDoctorDocument(const DoctorReport& doctor) {
  Document document{.title = "etprof doctor", .section_kind = "commands", .answers_last = true};
  const std::string missing = MissingNames(doctor.groups.front());
  document.answers = {missing.empty() ? Answer{"this machine can measure", "", Tone::kGood}
                                      : Answer{"this machine cannot measure: no " + missing, "", Tone::kBad}};
  for (const DoctorGroup& group : doctor.groups) {
    document.sections.push_back({group.title, {MakeGroupChecksTable(group)}});
    if (const std::string missing_in_group = MissingNames(group); !missing_in_group.empty())
      document.notes.push_back({fmt::format("{} (no {})", group.title, missing_in_group), "not ready"});
  }
  return document;
}

Document MakeQuickTestDocument(const QuickTestResult& result) {
  return {.title = "etprof quick-test",
          .answers = {TestAnswer(result)},
          .answers_last = true,
          .sections = {{"", {MakeTestStepsTable(result)}}}};
}

}  // namespace etprof::show
