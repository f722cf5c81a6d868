#include "report/static_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "core/text/text.h"
#include "core/units.h"
#include "show/gates.h"

namespace etprof::show {
namespace {

constexpr std::size_t kScreenStaticOperators = 20;

Cell FactCell(FactInfo::Unit unit, double value) {
  if (unit == FactInfo::Unit::kShare) return Share{value};
  return unit == FactInfo::Unit::kBytes ? Cell(Size{value}) : Cell(Count{value});
}

// The value with all digits that distinguish it from `other`.
std::string ExactFact(FactInfo::Unit unit, double value, double other) {
  if (unit == FactInfo::Unit::kBytes) return FormatCount(static_cast<std::int64_t>(value)) + " B";
  std::string text;
  for (int decimals = 1; decimals <= 14; ++decimals) {
    text = fmt::format("{:.{}f}%", 100 * value, decimals);
    if (text != fmt::format("{:.{}f}%", 100 * other, decimals)) break;
  }
  return text;
}

// The value with more digits if it would print like `other` but differs.
Cell DistinctFactCell(FactInfo::Unit unit, double value, double other) {
  Cell cell = FactCell(unit, value);
  if (value == other || ToText(cell) != ToText(FactCell(unit, other))) return cell;
  return ExactFact(unit, value, other);
}

// A number, or the range that contains it.
Cell RangeCell(FactInfo::Unit unit, const FactRange& range, double other) {
  if (range.IsExact()) return DistinctFactCell(unit, range.low, other);
  return fmt::format("{} to {}", ToText(FactCell(unit, range.low)), ToText(FactCell(unit, range.high)));
}

Cell BaselineCell(const StaticItem& item) { return RangeCell(item.unit, *item.baseline, item.candidate.low); }
Cell CandidateCell(const StaticItem& item) {
  const double other =
      item.baseline && item.decision != GateDecision::kFail ? item.baseline->low : item.allowed;
  return RangeCell(item.unit, item.candidate, other);
}
std::string AllowedText(const StaticItem& item) {
  return fmt::format("at {} {}", item.is_minimum ? "least" : "most",
                     ToText(DistinctFactCell(item.unit, item.allowed, item.candidate.low)));
}

// "forward: portable operators: 0 -> 3, allowed at most 0: FAIL (why)"
std::string ItemText(const StaticItem& item) {
  return fmt::format("{}: {}{}, allowed {}: {}{}", item.Subject(),
                     item.baseline ? ToText(BaselineCell(item)) + " -> " : "", ToText(CandidateCell(item)),
                     AllowedText(item), ResultText(item.decision),
                     item.reason.empty() ? "" : fmt::format(" ({})", item.reason));
}

Table MakeItemsTable(const StaticCheck& check, const std::string& method, bool changes) {
  std::vector<StaticItem> items;
  std::ranges::copy_if(check.items, std::back_inserter(items), [&](const StaticItem& item) {
    return item.method == method && item.baseline.has_value() == changes;
  });
  Table table{.id = changes ? "checks" : "limits"};
  table.Fill<StaticItem>(
      {{Left("check"), &StaticItem::name},
       {Right("baseline").WithDropPriority(2), BaselineCell, changes},
       {Right("candidate", changes ? "candidate" : "value"), CandidateCell},
       {Right("allowed").WithDropPriority(1), [](const StaticItem& item) { return AllowedText(item); }},
       {Left("result").NeverDropped(), [](const StaticItem& item) { return ResultCell(item.decision); }}},
      items);
  return table;
}

// "layer2.0 Cumsum (model.py:12): XNNPACK has no such operator"
std::string OperatorText(const StaticOperator& op) {
  return op.text + (op.source.empty() ? "" : fmt::format(" ({})", op.source)) +
         (op.reason.empty() ? "" : ": " + op.reason);
}

void AddOperators(const char* title, const std::vector<StaticOperator>& operators, const std::string& method,
                  Section& section) {
  List list{.title = title, .screen_items = kScreenStaticOperators};
  for (const StaticOperator& op : operators) {
    if (op.method == method) list.items.emplace_back(OperatorText(op));
  }
  section.AddUnlessEmpty(std::move(list));
}

Section MakeStaticSection(const StaticCheck& check, const std::string& method) {
  Section section{method.empty() ? "file" : method, Visibility::kDefault};
  for (const bool changes : {true, false}) {
    if (changes && check.baseline.empty()) continue;
    section.parts.emplace_back(MakeItemsTable(check, method, changes));
  }
  List reasons{"why"};
  for (const StaticItem& item : check.items) {
    if (item.method == method && !item.reason.empty())
      reasons.items.emplace_back(item.name + ": " + item.reason);
  }
  section.AddUnlessEmpty(std::move(reasons));
  AddOperators("operators that changed", check.changes, method, section);
  AddOperators("not delegated", check.not_delegated, method, section);
  AddOperators("without SME2 kernels", check.without_sme2, method, section);
  return section;
}

// The methods in the check, then "" for the whole file. An empty check has "", so that its tables exist.
std::vector<std::string> CheckedMethods(const StaticCheck& check) {
  std::vector<std::string> methods;
  bool has_file_facts = false;
  for (const StaticItem& item : check.items) {
    if (item.method.empty())
      has_file_facts = true;
    else
      AppendUnique(item.method, methods);
  }
  for (const StaticOperator& op : check.changes) AppendUnique(op.method, methods);
  if (has_file_facts || methods.empty()) methods.emplace_back();
  return methods;
}

std::string FileName(const std::string& file) { return std::filesystem::path(file).filename().string(); }

// "2 of 7 checks fail, 1 of 7 checks could not be decided"
std::string ChecksText(const StaticCheck& check) {
  const auto count = [&](GateDecision decision) {
    return std::ranges::count(check.items, decision, &StaticItem::decision);
  };
  return CountedResultsText(
      {{count(GateDecision::kFail), "fails", "fail"},
       {count(GateDecision::kInconclusive), "could not be decided", "could not be decided"},
       {count(GateDecision::kPass), "passes", "pass"}},
      check.items.size(), "check");
}

std::string ItemDetails(const StaticCheck& check, const StaticItem& item) {
  std::string text = ItemText(item) + "\n";
  if (item.decision == GateDecision::kPass) return text;
  Section section;
  if (item.baseline)
    AddOperators("operators that changed", check.changes, item.method, section);
  else if (item.fact == "sme2")
    AddOperators("without SME2 kernels", check.without_sme2, item.method, section);
  else if (item.fact == "portable" || item.fact.starts_with("delegated"))
    AddOperators("not delegated", check.not_delegated, item.method, section);
  for (const Part& part : section.parts) {
    const List& list = std::get<List>(part);
    text += list.title + ":\n";
    for (const List::Item& list_item : list.items) text += "  " + ToText(list_item.text, {}) + "\n";
  }
  return text;
}

}  // namespace

Document MakeStaticCheckDocument(const StaticCheck& check) {
  Document document{.title = check.baseline.empty() ? "etprof inspect" : "etprof check --static",
                    .section_kind = "method"};
  if (!check.baseline.empty()) document.facts.push_back("baseline " + FileName(check.baseline));
  document.facts.push_back((check.baseline.empty() ? "" : "candidate ") + FileName(check.candidate));
  document.answers_last = true;
  document.answers = {Headline(check.decision, check.require_conclusive, false, ChecksText(check))};
  for (const std::string& method : CheckedMethods(check))
    document.sections.push_back(MakeStaticSection(check, method));
  document.notes = MakeNoteList(check.notes);
  document.method = "Nothing was run: the numbers are those of the files.";
  return document;
}

TestSuite MakeTestSuite(const StaticCheck& check) {
  TestSuite suite{.command = check.baseline.empty() ? "inspect" : "check",
                  .subject = std::filesystem::path(check.candidate).stem().string(),
                  .properties = {{"baseline", check.baseline}, {"candidate", check.candidate}}};
  for (const StaticItem& item : check.items) {
    TestSuite::Case& test_case = suite.cases.emplace_back();
    test_case.name = item.Subject() + (item.baseline ? "" : " (limit)");
    test_case.message = ItemText(item);
    test_case.details = ItemDetails(check, item);
    SetCaseResult(item.decision, check.require_conclusive, test_case);
    if (item.decision == GateDecision::kFail && !item.baseline) test_case.type = "limit";
  }
  suite.notes = check.notes;
  return suite;
}

}  // namespace etprof::show
