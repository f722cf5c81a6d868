#include "report/validation.h"

#include <fmt/format.h>

#include "core/units.h"
#include "show/subjects.h"

namespace etprof::show {
namespace {

// "all is well", "2 broken, 1 warning", "there is nothing to recover, all is well".
std::string ValidityText(const Validation& validation) {
  const auto broken = validation.Count(ValidationFinding::Severity::kBroken),
             warnings = validation.Count(ValidationFinding::Severity::kWarning);
  std::string text = !validation.recovered   ? ""
                     : *validation.recovered ? "partial results are merged and analyzed, "
                                             : "there is nothing to recover, ";
  text += broken > 0                      ? fmt::format("{} broken", broken)
          : validation.has_foreign_layout ? "can be read"
                                          : "all is well";
  if (warnings > 0) text += ", " + CountedText(warnings, "warning");
  return text;
}

Tone ValidityTone(const Validation& validation) {
  return !validation.Passes() ? Tone::kBad : validation.findings.empty() ? Tone::kGood : Tone::kUnsure;
}

// A screen has no room for a column of problems, so it shows each problem on the line below its check.
Table MakeValidationFindingsTable(const Validation& validation) {
  Table table{.id = "findings",
              .columns = {Left("severity"), Left("check"), Left("file"),
                          Left("problem").WithWrapping().WithVisibility(Visibility::kPage)}};
  for (const ValidationFinding& finding : validation.findings) {
    const Tone tone = finding.severity == ValidationFinding::Severity::kBroken ? Tone::kBad : Tone::kUnsure;
    table.AddRow(Cell(GetName(finding.severity), tone), finding.check, finding.file, finding.problem);
    table.AddRow("", "", finding.problem, "").role = Row::Role::kScreenOnly;
  }
  return table;
}

Table MakeValidatedRunsTable(const Validations& validations) {
  Table table{.id = "runs",
              .columns = {Left("run"), Left("result"), Right("broken"), Right("warnings")},
              .visibility = Visibility::kPage};
  for (const Validation& validation : validations.runs) {
    table.AddRow(validation.run, Cell(ValidityText(validation), ValidityTone(validation)),
                 Count{validation.Count(ValidationFinding::Severity::kBroken)},
                 Count{validation.Count(ValidationFinding::Severity::kWarning)});
  }
  return table;
}

}  // namespace

Document MakeValidationDocument(const Validations& validations) {
  Document document;
  const bool recovered = std::ranges::any_of(
      validations.runs, [](const Validation& validation) { return validation.recovered.has_value(); });
  document.title = recovered ? "etprof recover" : "etprof validate";
  document.section_kind = "results";
  document.answers_last = true;
  document.sections = {{"", Visibility::kPage, {MakeValidatedRunsTable(validations)}}};
  for (const Validation& validation : validations.runs) {
    document.sections.push_back({validation.run, {MakeValidationFindingsTable(validation)}});
    document.answers.push_back(
        {validation.run + ": " + ValidityText(validation), "", ValidityTone(validation)});
  }
  return document;
}

}  // namespace etprof::show
