#include "report/diff/diff.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "core/units.h"
#include "say/subjects.h"

namespace etprof::say {
namespace {

constexpr std::size_t kUsualDifferences = 30, kUsualWeights = 10;

Cell NumberOf(const ProgramProperty& property, const std::string& text,
              const std::optional<std::int64_t>& number) {
  const bool of_one_text =
      TextOf(OrBlank<Amount>(property.baseline_number)) == TextOf(OrBlank<Amount>(property.candidate_number));
  using Unit = ProgramProperty::Unit;
  if (property.unit == Unit::kText) return text;
  if (!number) return {};
  if (property.unit == Unit::kBytes) return OrBlank<Size>(number);
  if (property.unit == Unit::kMacs && !of_one_text) return OrBlank<Amount>(number);
  return Count{*number};
}

Table PropertiesOf(const char* id, const std::vector<ProgramProperty>& properties) {
  Table table{.id = id, .columns = {Left("property", "Property"), Right("baseline"), Right("candidate")}};
  for (const ProgramProperty& of : properties)
    table.rows.push_back({of.name, NumberOf(of, of.baseline, of.baseline_number),
                          NumberOf(of, of.candidate, of.candidate_number)});
  return table;
}

class MethodSayer {
 public:
  explicit MethodSayer(const MethodDiff& method)
      : method_(method), measured_(method.baseline_ns && method.candidate_ns) {}

  Section Say() const {
    Section section{method_.name, Level::kUsual};
    if (!method_.in_baseline || !method_.in_candidate) {
      section.parts.emplace_back(
          Paragraph{fmt::format("Only in the {}.", method_.in_baseline ? "baseline" : "candidate")});
      return section;
    }
    section.parts.emplace_back(Operators());
    section.parts.emplace_back(PropertiesOf("method_properties", method_.properties));
    section.parts.emplace_back(Delegates());
    section.parts.emplace_back(Weights());
    return section;
  }

 private:
  Table Operators() const {
    const auto column = [](const char* id, const char* title, int goes) {
      return Table::Column{.id = id, .title = title, .right = true, .goes = goes};
    };
    Table table{
        "operators",
        "Operators",
        {Names("change", "Operator"), column("baseline_macs", "baseline MACs", 2),
         column("candidate_macs", "candidate MACs", 2), column("baseline_bytes", "baseline traffic", 1),
         column("candidate_bytes", "candidate traffic", 1)}};
    table.name_columns = 48;
    if (measured_) {
      table.columns.push_back(column("baseline", "baseline time", 3));
      table.columns.push_back(column("candidate", "candidate time", 3));
      table.columns.push_back(column("difference", "difference", 0));
    }
    Times left;
    for (const OperatorDifference& of : method_.operators) {
      std::vector<Cell> cells = {of.change.Text(), OrBlank<Amount>(of.baseline_macs),
                                 OrBlank<Amount>(of.candidate_macs), OrBlank<Size>(of.baseline_bytes),
                                 OrBlank<Size>(of.candidate_bytes)};
      AddTimes({of.baseline_ns, of.candidate_ns}, cells);
      table.rows.emplace_back(std::move(cells), Row::Role::kPart);
      if (table.rows.size() <= kUsualDifferences) continue;
      table.rows.back().level = Level::kPage;
      left.baseline = left.baseline.value_or(0) + of.baseline_ns.value_or(0);
      left.candidate = left.candidate.value_or(0) + of.candidate_ns.value_or(0);
    }
    if (table.rows.empty()) return table;
    const auto add = [&](std::string name, Times times, Row::Role role) {
      std::vector<Cell> cells = {std::move(name), "", "", "", ""};
      AddTimes(times, cells);
      table.rows.emplace_back(std::move(cells), role);
    };
    if (table.rows.size() > kUsualDifferences)
      add(fmt::format("{} more", table.rows.size() - kUsualDifferences), left, Row::Role::kRest);
    if (!measured_) return table;
    add("Unchanged operators and overhead", {method_.baseline_rest_ns, method_.candidate_rest_ns},
        Row::Role::kPart);
    add("Traced total", {method_.baseline_ns, method_.candidate_ns}, Row::Role::kSum);
    return table;
  }

  struct Times {
    std::optional<double> baseline = {}, candidate = {};
  };
  void AddTimes(const Times& times, std::vector<Cell>& cells) const {
    if (!measured_) return;
    for (const auto& ns : {times.baseline, times.candidate}) cells.push_back(OrBlank<Time>(ns));
    cells.emplace_back(Time{times.candidate.value_or(0) - times.baseline.value_or(0)});
  }

  Table Delegates() const {
    Table table{"delegates",
                "Delegates",
                {Left("program", "in"), Left("backend"), Right("nodes"), Names("first"), Names("last")}};
    for (const DelegateDifference& of : method_.delegates)
      table.rows.push_back(
          {of.in_baseline ? "baseline" : "candidate", of.backend, Count{of.nodes}, of.first, of.last});
    return table;
  }

  Table Weights() const {
    Table table{"weights",
                "Weights with other contents",
                {Names("operator", "Operator"), Right("baseline"), Right("candidate")}};
    table.usual_rows = kUsualWeights;
    for (const WeightDifference& of : method_.weights)
      table.rows.push_back({of.name, Size{of.baseline_bytes}, Size{of.candidate_bytes}});
    return table;
  }

  const MethodDiff& method_;
  bool measured_;
};

// "1 operator inserted, 3 changed, 21 unchanged; weights: 8 equal, 2 with other contents"
std::string Summary(const MethodDiff& method) {
  using Kind = ProgramChange::Kind;
  std::vector<std::string> parts;
  std::size_t told = 0;
  for (const auto& [kind, word] : kNames<Kind>) {
    const auto count = static_cast<std::size_t>(std::ranges::count_if(
        method.operators, [of = kind](const OperatorDifference& one) { return one.change.kind == of; }));
    if (kind == Kind::kMoved || kind == Kind::kChanged) told += count;
    if (count > 0) parts.push_back(fmt::format("{} {}", count, word));
  }
  parts.push_back(fmt::format("{} unchanged", method.matched - told));
  std::string text = fmt::format("operators: {}", fmt::join(parts, ", "));
  if (method.equal_weights + method.weights.size() > 0)
    text += fmt::format("; weights: {} equal, {} with other contents", method.equal_weights,
                        method.weights.size());
  return text;
}

}  // namespace

Document SayDiff(const ProgramDiff& diff, const std::string& baseline, const std::string& candidate,
                 const std::vector<std::string>& warnings) {
  Document document;
  document.title = "etprof diff";
  document.sections_are = "method";
  document.facts = {fmt::format("baseline {}", std::filesystem::path(baseline).filename().string()),
                    fmt::format("candidate {}", std::filesystem::path(candidate).filename().string())};
  if (diff.same_bytes) {
    document.answers.push_back({"No difference: the files are identical", "", Tone::kGood});
  } else if (diff.IsEmpty()) {
    document.answers.push_back(
        {"No difference in anything that is compared, but the files' bytes differ", "", Tone::kUnsure});
  }
  document.sections.push_back({"", Level::kUsual, {PropertiesOf("file_properties", diff.properties)}});
  for (const MethodDiff& method : diff.methods) {
    document.sections.push_back(MethodSayer(method).Say());
    if (!method.in_baseline || !method.in_candidate) continue;
    if (!diff.same_bytes) {
      const std::string name = diff.methods.size() > 1 ? method.name + ": " : "";
      document.answers.push_back({name + Summary(method), "", Tone::kPlain});
    }
    if (method.dynamic) {
      document.notes.push_back(
          {fmt::format("{}: shapes that change at run time are counted at their upper bound", method.name)});
    }
    if (method.renamed > 0) {
      document.notes.push_back(
          {fmt::format("{}: {} operators are the same, in a module with another name or number", method.name,
                       method.renamed)});
    }
    if (method.unknown_weights > 0) {
      document.notes.push_back(
          {fmt::format("{}: it is not known whether the weights of {} operators are equal. The files "
                       "identify only the contents of XNNPACK's weights",
                       method.name, method.unknown_weights)});
    }
  }
  for (const std::string& warning : warnings) document.notes.push_back({warning, "warning"});
  return document;
}

}  // namespace etprof::say
