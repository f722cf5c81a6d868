#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/units.h"
#include "report/kernels/watched.h"
#include "report/report.h"
#include "show/subjects/run/operator_names.h"
#include "show/subjects/run/report_parts.h"
#include "show/wording.h"

namespace etprof::show {
namespace {

constexpr std::size_t kMatrixOperators = 15, kScreenMatrixOperators = 5;

class MatrixSection {
 public:
  MatrixSection(const Report& report, const Matrix& matrix)
      : report_(report), matrix_(matrix), baseline_(report.experiments[matrix.baseline]) {}

  Section Make() const {
    Section section{matrix_.threads ? "Threads: " + report_.run.experiments[baseline_.index].name
                                    : "Compared with " + baseline_.label,
                    Level::kUsual};
    if (!matrix_.interleaved) {
      section.AddText(kNotInterleaved);
    }
    section.parts.emplace_back(
        matrix_.threads
            ? Paragraph{"Next to each time: the speedup, and the efficiency (speedup over the ratio of the "
                        "threads; 100% is perfect). " +
                            UndefinedText(report_) + " ≈: too few independent runs for an interval.",
                        Level::kPage}
            : Paragraph{"Next to each time: the speedup. " + UndefinedText(report_), Level::kPage});
    Table table = MakeColumns("", "self time");
    for (const MatrixRow& row : matrix_.groups) AddRow(row, row.name, Level::kUsual, table);
    AddRow(matrix_.latency, matrix_.latency.name, Level::kUsual, table);
    AddCosts<Time>("Load", &StartupCosts::load, table);
    AddCosts<Size>("Peak memory", &StartupCosts::peak_memory, table);
    section.parts.emplace_back(std::move(table));

    Table operators = MakeColumns("_operators", "operator");
    operators.screen_rows = kMatrixOperators;
    operators.hidden_rows_hint = "operators in analysis_summary.json";
    const auto names = baseline_.profile ? std::optional<OperatorNames>(*baseline_.profile) : std::nullopt;
    for (const MatrixRow& row : matrix_.operators) {
      AddRow(row, row.name + (names && row.op ? names->Location(*row.op) : ""),
             operators.rows.size() < kScreenMatrixOperators ? Level::kUsual : Level::kPage, operators);
    }
    section.parts.emplace_back(std::move(operators));
    section.AddUnlessEmpty(OperatorsWithoutSpeedup());
    return section;
  }

 private:
  // For a thread sweep: the operators that the most threads do not speed up, and why, if that was watched.
  List OperatorsWithoutSpeedup() const {
    List list{"No faster with more threads", {}, kScreenMatrixOperators};
    if (!matrix_.threads || !baseline_.profile || matrix_.candidates.empty()) return list;
    const ReportExperiment& most_threads = report_.experiments[matrix_.candidates.back()];
    const std::span<const WatchedRow> watched =
        FindWatchedRows(report_.watched, report_.run.experiments[most_threads.index]);
    const OperatorNames names(*baseline_.profile);
    for (const MatrixRow& row : matrix_.operators) {
      if (!row.op || row.against.empty()) continue;
      const Quantity& quantity = row.against.back();
      const bool same = quantity.verdict == stats::Verdict::kSame;
      if (!same && quantity.verdict != stats::Verdict::kSlower) continue;
      const auto found =
          std::ranges::find(watched, KeyText(baseline_.profile->operators[*row.op].key), &WatchedRow::key);
      const std::string cause = found == watched.end() ? "" : CauseText(found->threads);
      list.items.emplace_back(fmt::format("{}{}: {} with {} {} with {}{}", row.name, names.Location(*row.op),
                                          same ? "as fast" : "slower",
                                          CountedText(most_threads.threads, "thread"), same ? "as" : "than",
                                          baseline_.threads, cause.empty() ? "" : " (" + cause + ")"));
    }
    return list;
  }

  // A column of the baseline's times, and for each candidate columns of times and speedups.
  Table MakeColumns(const char* id, const char* title) const {
    Table table{fmt::format("{}_{}{}", matrix_.threads ? "threads" : "matrix", matrix_.baseline, id),
                "",
                {Left("name", title)}};
    table.columns.front().kept_part = Table::KeptPart::kName;
    const auto add = [&](std::size_t index) {
      const ReportExperiment& of = report_.experiments[index];
      const std::string column =
          matrix_.threads ? fmt::format("threads_{}", of.threads) : fmt::format("experiment_{}", index);
      table.columns.push_back(
          VariantColumn(column, matrix_.threads ? CountedText(of.threads, "thread") : of.label));
      if (index != matrix_.baseline) table.columns.push_back(Right(column + "_speedup", ""));
    };
    add(matrix_.baseline);
    for (const std::size_t candidate : matrix_.candidates) add(candidate);
    return table;
  }

  void AddRow(const MatrixRow& of, const std::string& name, Level level, Table& table) const {
    Row row{name, OptionalCell<Time>(of.baseline_ns)};
    for (const MatrixCell& cell : of.against) {
      row.cells.push_back(OptionalCell<Time>(cell.candidate_ns));
      row.cells.push_back(Speedup{cell, cell.efficiency});
    }
    row.level = level;
    table.rows.push_back(std::move(row));
  }

  template <typename T>
  void AddCosts(const char* name, StartupCost StartupCosts::*member, Table& table) const {
    const bool known = std::ranges::any_of(matrix_.costs, [&](const StartupCosts& costs) {
      return (costs.*member).baseline && (costs.*member).candidate;
    });
    if (!known) return;
    Row row{name, OptionalCell<T>((matrix_.costs.front().*member).baseline)};
    for (const StartupCosts& costs : matrix_.costs) {
      row.cells.push_back(OptionalCell<T>((costs.*member).candidate));
      row.cells.push_back(CostVerdict(costs.*member));
    }
    row.level = Level::kPage;
    table.rows.push_back(std::move(row));
  }

  const Report& report_;
  const Matrix& matrix_;
  const ReportExperiment& baseline_;
};

}  // namespace

std::vector<Section> MakeMatrixSections(const Report& report, const Matrix& matrix) {
  return {MatrixSection(report, matrix).Make()};
}

}  // namespace etprof::show
