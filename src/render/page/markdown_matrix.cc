#include "render/page/markdown_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "render/page/markdown_text.h"
#include "say/operator_names.h"
#include "say/wording.h"

namespace etprof {
namespace {

using namespace markdown;

constexpr std::size_t kOperators = 15;

Table TableOf(const Report& report, const Matrix& matrix, const char* title) {
  Table table = MakeTable({{title, Align::kLeft}});
  const auto add = [&](std::size_t experiment) {
    const ReportExperiment& of = report.experiments[experiment];
    table.columns.push_back(
        {matrix.threads ? fmt::format("{} thread{}", of.threads, of.threads == 1 ? "" : "s") : of.label,
         Align::kRight});
  };
  add(matrix.baseline);
  for (const std::size_t candidate : matrix.candidates) add(candidate);
  return table;
}

// The times of a table of these rows.
Times TimesOf(const std::vector<MatrixRow>& rows, const MatrixRow* more) {
  double largest = 0;
  const auto add = [&](const MatrixRow& row) {
    for (const Quantity& quantity : row.against)
      largest = std::max({largest, quantity.baseline_ns.value_or(0), quantity.candidate_ns.value_or(0)});
  };
  for (const MatrixRow& row : rows) add(row);
  if (more != nullptr) add(*more);
  return Times(largest);
}

void AddRow(const Report& report, const Matrix& matrix, const MatrixRow& row, const std::string& name,
            const Times& time, Table& table) {
  std::vector<std::string> cells = {name,
                                    row.against.empty() ? kUndefined : time(row.against.front().baseline_ns)};
  for (std::size_t i = 0; i < row.against.size(); ++i) {
    const Quantity& quantity = row.against[i];
    const std::string gain = MatrixCell(report, matrix, quantity, matrix.candidates[i]);
    cells.push_back(time(quantity.candidate_ns) + (gain == kUndefined ? "" : " (" + gain + ")"));
  }
  table.AddRow(std::move(cells));
}

void AddCosts(const Matrix& matrix, const char* name, SideCost SideCosts::*member,
              std::string (*format)(double), Table& table) {
  const bool known = std::any_of(matrix.costs.begin(), matrix.costs.end(), [&](const SideCosts& costs) {
    return (costs.*member).baseline && (costs.*member).candidate;
  });
  if (!known) return;
  const auto text = [&](const std::optional<double>& value) {
    return value ? format(*value) : std::string(kUndefined);
  };
  std::vector<std::string> cells = {name, text((matrix.costs.front().*member).baseline)};
  for (const SideCosts& costs : matrix.costs) {
    const std::string verdict = CostVerdict(costs.*member);
    cells.push_back(text((costs.*member).candidate) + (verdict.empty() ? "" : " (" + verdict + ")"));
  }
  table.AddRow(std::move(cells));
}

}  // namespace

void RenderMatrix(const Report& report, const Matrix& matrix, markdown::Out& out) {
  const ReportExperiment& baseline = report.experiments[matrix.baseline];
  out << "## "
      << (matrix.threads ? "Threads: " + report.run.experiments[baseline.index].name
                         : "Against " + baseline.label)
      << "\n\n";
  Table table = TableOf(report, matrix, "mean self time");
  const Times time = TimesOf(matrix.groups, &matrix.latency);
  for (const MatrixRow& row : matrix.groups) AddRow(report, matrix, row, row.name, time, table);
  AddRow(report, matrix, matrix.latency, matrix.latency.name, time, table);
  AddCosts(matrix, "Load", &SideCosts::load, FormatMilliseconds, table);
  AddCosts(matrix, "Peak memory", &SideCosts::peak_memory, FormatBytes, table);
  out << table << '\n';
  if (matrix.threads) {
    out << "In parentheses the speed-up over the fewest threads, and the efficiency: the speed-up over the "
           "ratio of the threads. 100 % is perfect scaling. Without parentheses the measurement cannot tell; "
           "≈: "
           "too few runs for an interval.\n\n";
  } else {
    out << "In parentheses the gain over the first column, where the measurement can tell.\n\n";
  }
  if (!matrix.interleaved) {
    out << "Not all of these were measured alternately: a drift of the machine between them cannot be told "
           "from "
           "an effect.\n\n";
  }
  if (matrix.operators.empty()) return;
  Table operators = TableOf(report, matrix, "operator");
  const Times own = TimesOf(matrix.operators, nullptr);
  std::optional<OperatorNames> names;
  if (baseline.profile) names.emplace(*baseline.profile);
  for (const MatrixRow& row : matrix.operators) {
    if (operators.rows.size() == kOperators) break;
    AddRow(report, matrix, row, row.name + (names && row.op ? names->Where(*row.op) : ""), own, operators);
  }
  out << "<details><summary>Operators</summary>\n\n" << operators << '\n';
  if (operators.rows.size() < matrix.operators.size()) {
    out.Format("The costliest {} of {}; analysis_summary.json has them all.\n\n", operators.rows.size(),
               matrix.operators.size());
  }
  out << "</details>\n\n";
}

}  // namespace etprof
