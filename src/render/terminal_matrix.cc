#include "render/terminal_matrix.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/table.h"
#include "render/terminal_text.h"
#include "render/wording.h"

namespace etprof {
namespace {

constexpr std::size_t kOperators = 5;
constexpr int kNameWidth = 26;
constexpr int kCellWidth = 13;

}  // namespace

void DrawMatrix(const Report& report, const Matrix& matrix, int width, std::ostream& out) {
  const auto title_of = [&](std::size_t experiment) {
    const ReportExperiment& of = report.experiments[experiment];
    return matrix.threads ? fmt::format("{} thread{}", of.threads, of.threads == 1 ? "" : "s")
                          : Printable(of.label);
  };
  const auto fitting =
      static_cast<std::size_t>(std::max(1, (width - 2 - kNameWidth - 2 - kCellWidth) / (2 + kCellWidth)));
  const std::size_t shown = std::min(matrix.candidates.size(), fitting);
  const auto print = [&](const std::string& name, const std::vector<std::string>& cells) {
    const std::string fitted = Fitted(name, kNameWidth);
    std::string line = "  " + fitted + Blanks(kNameWidth - DisplayWidth(fitted));
    for (const std::string& text : cells) {
      const std::string cell = Fitted(text, kCellWidth);
      line += "  " + Blanks(kCellWidth - DisplayWidth(cell)) + cell;
    }
    out << line << '\n';
  };
  std::vector<std::string> titles = {title_of(matrix.baseline)};
  for (std::size_t i = 0; i < shown; ++i) titles.push_back(title_of(matrix.candidates[i]));
  const std::string name = Printable(report.run.experiments[report.experiments[matrix.baseline].index].name);
  print(matrix.threads ? "threads: " + name : "gain over " + titles.front(), titles);
  const auto row = [&](const MatrixRow& of) {
    std::vector<std::string> cells = {of.against.empty() || !of.against.front().baseline_ns
                                          ? kUndefined
                                          : FormatMilliseconds(*of.against.front().baseline_ns)};
    for (std::size_t i = 0; i < shown; ++i)
      cells.push_back(MatrixCell(report, matrix, of.against[i], matrix.candidates[i]));
    print(Printable(of.name), cells);
  };
  for (const MatrixRow& group : matrix.groups) row(group);
  for (std::size_t i = 0; i < std::min(kOperators, matrix.operators.size()); ++i) row(matrix.operators[i]);
  row(matrix.latency);
  if (shown < matrix.candidates.size()) {
    out << "  " << matrix.candidates.size() - shown << " more in the report: the screen is not wide enough\n";
  }
  if (matrix.threads)
    out << "  speed-up, and efficiency: speed-up over the ratio of the threads; —: cannot tell\n";
  if (!matrix.interleaved) out << "  not all measured alternately: drift cannot be told from an effect\n";
  out << '\n';
}

}  // namespace etprof
