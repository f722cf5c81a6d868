#include "report/examination.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text/text.h"
#include "show/subjects.h"

namespace etprof::show {
namespace {

Tone ToneOfCheck(DoctorCheck::State state) {
  return state == DoctorCheck::State::kOk        ? Tone::kGood
         : state == DoctorCheck::State::kMissing ? Tone::kBad
                                                 : Tone::kUnsure;
}

// A screen has no room for a column of remedies, so it shows each remedy on the line below its check.
Table MakeGroupChecksTable(const DoctorGroup& group) {
  Table table{.id = "checks",
              .columns = {Left("state"), Left("check"), Left("found"),
                          Left("remedy").WithWrapping().WithLevel(Level::kPage)}};
  for (const DoctorCheck& check : group.checks) {
    table.rows.push_back(
        {Cell(GetName(check.state), ToneOfCheck(check.state)), check.name, check.found, check.remedy});
    if (!check.remedy.empty())
      table.rows.push_back(Row({"", "", "-> " + check.remedy, ""}, Row::Role::kRest));
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

}  // namespace etprof::show
