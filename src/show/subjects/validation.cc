#include "report/validation.h"

#include <fmt/format.h>

#include "core/units.h"
#include "show/subjects.h"

namespace etprof::show {
namespace {

// "all is well", "2 broken, 1 warning", "there is nothing to recover, all is well".
std::string ValidityText(const Validation& of) {
  const auto broken = of.Count(Finding::Severity::kBroken), warnings = of.Count(Finding::Severity::kWarning);
  std::string text = !of.recovered   ? ""
                     : *of.recovered ? "partial results are merged and analyzed, "
                                     : "there is nothing to recover, ";
  text += broken > 0 ? fmt::format("{} broken", broken) : of.foreign ? "can be read" : "all is well";
  if (warnings > 0) text += ", " + CountedText(warnings, "warning");
  return text;
}

Tone ValidityTone(const Validation& of) {
  return !of.Passes() ? Tone::kBad : of.findings.empty() ? Tone::kGood : Tone::kUnsure;
}

// A screen has no room for a column of problems, so it shows each on the line below.
Table ValidationFindings(const Validation& of) {
  Table table{.id = "findings",
              .columns = {Left("severity"), Left("check"), Left("file"),
                          Left("problem").WithWrapping().WithLevel(Level::kPage)}};
  for (const Finding& finding : of.findings) {
    const Tone tone = finding.severity == Finding::Severity::kBroken ? Tone::kBad : Tone::kUnsure;
    table.rows.push_back(
        {Cell(std::string(GetName(finding.severity)), tone), finding.check, finding.file, finding.problem});
    table.rows.push_back(Row({"", "", finding.problem, ""}, Row::Role::kRest));
  }
  return table;
}

Table ValidatedRuns(const Validations& validations) {
  Table table{.id = "runs",
              .columns = {Left("run"), Left("result"), Right("broken"), Right("warnings")},
              .level = Level::kPage};
  for (const Validation& of : validations.runs) {
    table.rows.push_back({of.run, Cell(ValidityText(of), ValidityTone(of)),
                          Count{of.Count(Finding::Severity::kBroken)},
                          Count{of.Count(Finding::Severity::kWarning)}});
  }
  return table;
}

}  // namespace

Document MakeValidationDocument(const Validations& validations) {
  Document document;
  const bool recovered =
      std::ranges::any_of(validations.runs, [](const Validation& of) { return of.recovered.has_value(); });
  document.title = recovered ? "etprof recover" : "etprof validate";
  document.section_kind = "results";
  document.answers_last = true;
  document.sections = {{"", Level::kPage, {ValidatedRuns(validations)}}};
  for (const Validation& of : validations.runs) {
    document.sections.push_back({of.run, Level::kUsual, {ValidationFindings(of)}});
    document.answers.push_back({of.run + ": " + ValidityText(of), "", ValidityTone(of)});
  }
  return document;
}

}  // namespace etprof::show
