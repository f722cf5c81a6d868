#include "report/diff/diff.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "core/units.h"
#include "show/subjects.h"

namespace etprof::show {
namespace {

constexpr std::size_t kScreenDifferences = 30, kScreenWeights = 10;

using Unit = ProgramProperty::Unit;

Cell PropertyCell(const ProgramProperty& property, const ProgramProperty::Value& value) {
  if (const auto* const text = std::get_if<std::string>(&value)) return *text;
  const auto* const number = std::get_if<std::int64_t>(&value);
  if (number == nullptr) return {};
  if (property.unit == Unit::kBytes) return Size{*number};
  return property.unit == Unit::kMacs ? Cell(Amount{*number}) : Cell(Count{*number});
}

Table MakePropertiesTable(const char* id, const std::vector<ProgramProperty>& properties) {
  Table table{.id = id, .columns = {Left("property", "Property"), Right("baseline"), Right("candidate")}};
  for (ProgramProperty property : properties) {
    const auto prints_equally = [&] {
      return ToText(PropertyCell(property, property.baseline)) ==
             ToText(PropertyCell(property, property.candidate));
    };
    // Print all digits if the rounded values look equal.
    if (property.unit == Unit::kMacs && prints_equally()) property.unit = Unit::kCount;
    table.AddRow(property.name, PropertyCell(property, property.baseline),
                 PropertyCell(property, property.candidate));
  }
  return table;
}

Table MakeOperatorDifferencesTable(const MethodDiff& method) {
  const bool measured = method.baseline && method.candidate;
  Table table{.id = "operators",
              .title = "Operators",
              .columns = {NameColumn("change", "Operator"),
                          Right("baseline_macs", "baseline MACs").WithDropPriority(2),
                          Right("candidate_macs", "candidate MACs").WithDropPriority(2),
                          Right("baseline_bytes", "baseline traffic").WithDropPriority(1),
                          Right("candidate_bytes", "candidate traffic").WithDropPriority(1)}};
  table.min_name_width = 48;
  if (measured) {
    table.AddColumns(Right("baseline", "baseline time").WithDropPriority(3),
                     Right("candidate", "candidate time").WithDropPriority(3), Right("difference"));
  }
  using Costs = OperatorDifference::Costs;
  const auto add = [&](std::string name, const Costs& baseline, const Costs& candidate, Row::Role role) {
    Row& row =
        table.AddRow(std::move(name), CellOrBlank<Amount>(baseline.macs), CellOrBlank<Amount>(candidate.macs),
                     CellOrBlank<Size>(baseline.bytes), CellOrBlank<Size>(candidate.bytes));
    row.role = role;
    if (measured) {
      std::optional<double> difference;
      if (baseline.ns || candidate.ns) difference = candidate.ns.value_or(0) - baseline.ns.value_or(0);
      row.Add(CellOrBlank<Time>(baseline.ns), CellOrBlank<Time>(candidate.ns), CellOrBlank<Time>(difference));
    }
  };
  Costs hidden_baseline, hidden_candidate;  // sums of the rows that a screen hides
  for (const OperatorDifference& difference : method.operators) {
    add(difference.change.Text(), difference.baseline, difference.candidate, Row::Role::kPart);
    if (table.rows.size() <= kScreenDifferences) continue;
    table.rows.back().visibility = Visibility::kPage;
    hidden_baseline.ns = hidden_baseline.ns.value_or(0) + difference.baseline.ns.value_or(0);
    hidden_candidate.ns = hidden_candidate.ns.value_or(0) + difference.candidate.ns.value_or(0);
  }
  if (table.rows.empty()) return table;
  if (table.rows.size() > kScreenDifferences)
    add(fmt::format("{} more", table.rows.size() - kScreenDifferences), hidden_baseline, hidden_candidate,
        Row::Role::kScreenOnly);
  if (!measured) return table;
  add("Unchanged operators and overhead", {.ns = method.baseline->unlisted_ns},
      {.ns = method.candidate->unlisted_ns}, Row::Role::kPart);
  add("Traced total", {.ns = method.baseline->ns}, {.ns = method.candidate->ns}, Row::Role::kSum);
  return table;
}

Table MakeDelegateDifferencesTable(const MethodDiff& method) {
  Table table{
      "delegates",
      "Delegates",
      {Left("program", "in"), Left("backend"), Right("nodes"), NameColumn("first"), NameColumn("last")}};
  for (const DelegateDifference& delegate : method.delegates)
    table.AddRow(delegate.in_baseline ? "baseline" : "candidate", delegate.backend, Count{delegate.nodes},
                 delegate.first, delegate.last);
  return table;
}

Table MakeWeightDifferencesTable(const MethodDiff& method) {
  Table table{"weights",
              "Weights with other contents",
              {NameColumn("operator", "Operator"), Right("baseline"), Right("candidate")}};
  table.screen_rows = kScreenWeights;
  for (const WeightDifference& weight : method.weights)
    table.AddRow(weight.name, Size{weight.baseline_bytes}, Size{weight.candidate_bytes});
  return table;
}

Section MakeMethodDiffSection(const MethodDiff& method) {
  Section section{method.name, Visibility::kDefault};
  if (!method.in_baseline || !method.in_candidate) {
    section.AddText(fmt::format("Only in the {}.", method.in_baseline ? "baseline" : "candidate"));
    return section;
  }
  section.parts.emplace_back(MakeOperatorDifferencesTable(method));
  section.parts.emplace_back(MakePropertiesTable("method_properties", method.properties));
  section.parts.emplace_back(MakeDelegateDifferencesTable(method));
  section.parts.emplace_back(MakeWeightDifferencesTable(method));
  return section;
}

// "operators: 1 inserted, 3 changed, 21 unchanged; weights: 8 equal, 2 with other contents; 1 property
// differs"
std::string MethodDiffText(const MethodDiff& method) {
  using Kind = ProgramChange::Kind;
  std::vector<std::string> counts;
  std::size_t matched_with_changes = 0;
  for (const Kind kind : AllValues<Kind>()) {
    const auto count = static_cast<std::size_t>(std::ranges::count_if(
        method.operators,
        [kind](const OperatorDifference& difference) { return difference.change.kind == kind; }));
    if (kind == Kind::kMoved || kind == Kind::kChanged) matched_with_changes += count;
    if (count > 0) counts.push_back(fmt::format("{} {}", count, GetName(kind)));
  }
  if (method.matched > 0)
    counts.push_back(fmt::format("{} unchanged", method.matched - matched_with_changes));
  std::vector<std::string> parts;
  if (!counts.empty()) parts.push_back(fmt::format("operators: {}", fmt::join(counts, ", ")));
  if (method.equal_weights + method.weights.size() > 0)
    parts.push_back(fmt::format("weights: {} equal, {} with other contents", method.equal_weights,
                                method.weights.size()));
  if (!method.delegates.empty())
    parts.push_back(CountedText(method.delegates.size(), "delegate differs", "delegates differ"));
  if (!method.properties.empty())
    parts.push_back(CountedText(method.properties.size(), "property differs", "properties differ"));
  return parts.empty() ? "no difference" : fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

Document MakeDiffDocument(const ProgramDiff& diff, const std::string& baseline, const std::string& candidate,
                          const std::vector<std::string>& warnings) {
  Document document{
      .title = "etprof diff",
      .section_kind = "method",
      .facts = {fmt::format("baseline {}", std::filesystem::path(baseline).filename().string()),
                fmt::format("candidate {}", std::filesystem::path(candidate).filename().string())}};
  if (diff.same_bytes) {
    document.answers.push_back({"No difference: the files are identical", "", Tone::kGood});
  } else if (diff.IsEmpty()) {
    document.answers.push_back(
        {"No difference in anything that is compared, but the files' bytes differ", "", Tone::kUnsure});
  }
  document.sections.push_back({"", {MakePropertiesTable("file_properties", diff.properties)}});
  for (const MethodDiff& method : diff.methods) {
    document.sections.push_back(MakeMethodDiffSection(method));
    if (!method.in_baseline || !method.in_candidate) continue;
    if (!diff.same_bytes) {
      const std::string name = diff.methods.size() > 1 ? method.name + ": " : "";
      document.answers.push_back({name + MethodDiffText(method), "", Tone::kPlain});
    }
    if (method.dynamic) {
      document.notes.push_back(
          {fmt::format("{}: shapes that change at run time are counted at their upper bound", method.name)});
    }
    if (method.renamed > 0) {
      document.notes.push_back(
          {fmt::format("{}: {} the same, in a module with another name or number", method.name,
                       CountedText(method.renamed, "operator is", "operators are"))});
    }
    if (method.unknown_weights > 0 && !diff.same_bytes) {
      document.notes.push_back(
          {fmt::format("{}: it is not known whether the weights of {} are equal. The files identify only the "
                       "contents of XNNPACK's weights",
                       method.name, CountedText(method.unknown_weights, "operator"))});
    }
  }
  for (const std::string& warning : warnings) document.notes.push_back({warning, "warning"});
  return document;
}

}  // namespace etprof::show
