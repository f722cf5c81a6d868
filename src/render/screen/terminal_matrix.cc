#include "render/screen/terminal_matrix.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/escape.h"
#include "core/table.h"
#include "render/screen/screen_table.h"
#include "render/screen/terminal_text.h"
#include "say/wording.h"

namespace etprof {
namespace {

constexpr std::size_t kMatrixOperators = 5;
constexpr int kMatrixNameWidth = 26;
constexpr int kCellWidth = 13;

class MatrixScreen {
 public:
  MatrixScreen(const Report& report, const Matrix& matrix, const TerminalOptions& options, std::ostream& out)
      : report_(report), matrix_(matrix), options_(options), out_(out), scale_(ScaleOfLatencies(report)) {}

  void Draw() {
    const auto fitting = static_cast<std::size_t>(
        std::max(1, (options_.width - 2 - kMatrixNameWidth - 2 - kCellWidth) / (2 + kCellWidth)));
    const std::size_t count = matrix_.candidates.size();
    std::size_t from = 0;
    do {
      const std::size_t to = std::min(count, from + fitting);
      if (from > 0) out_ << '\n';
      Columns(from, to);
      from = to;
    } while (options_.all && from < count);
    if (from < count)
      out_ << fmt::format("  {} more with --all: the screen is not wide enough\n", count - from);
    if (matrix_.threads) {
      WriteWrapped("", "speed-up, and efficiency: speed-up over the ratio of the threads; —: cannot tell", 2,
                   options_.width, out_);
    }
    if (!matrix_.interleaved) out_ << "  not all measured alternately: drift cannot be told from an effect\n";
    out_ << '\n';
  }

 private:
  std::string TitleOf(std::size_t experiment) const {
    const ReportExperiment& of = report_.experiments[experiment];
    return matrix_.threads ? fmt::format("{} thread{}", of.threads, of.threads == 1 ? "" : "s")
                           : OneLine(of.label);
  }

  void Columns(std::size_t from, std::size_t to) {
    const std::string baseline = TitleOf(matrix_.baseline);
    const std::string name =
        OneLine(report_.run.experiments[report_.experiments[matrix_.baseline].index].name);
    std::vector<ScreenTable::Cell> titles = {{baseline}};
    for (std::size_t i = from; i < to; ++i) titles.push_back({TitleOf(matrix_.candidates[i])});
    Line(matrix_.threads ? "threads: " + name : "gain over " + baseline, titles, Color::kDim);
    for (const MatrixRow& group : matrix_.groups) Row(group, from, to, Color::kNone);
    const std::size_t operators =
        options_.all ? matrix_.operators.size() : std::min(kMatrixOperators, matrix_.operators.size());
    for (std::size_t i = 0; i < operators; ++i) Row(matrix_.operators[i], from, to, Color::kNone);
    Row(matrix_.latency, from, to, Color::kBold);
  }

  void Row(const MatrixRow& of, std::size_t from, std::size_t to, Color color) {
    const bool known = !of.against.empty() && of.against.front().baseline_ns;
    std::vector<ScreenTable::Cell> cells = {
        {known ? scale_.Text(*of.against.front().baseline_ns) : kUndefined}};
    for (std::size_t i = from; i < to; ++i) {
      cells.push_back({MatrixCell(report_, matrix_, of.against[i], matrix_.candidates[i]),
                       ColorOf(of.against[i].verdict)});
    }
    Line(OneLine(of.name), cells, color);
  }

  void Line(const std::string& name, const std::vector<ScreenTable::Cell>& cells, Color color) {
    const std::string fitted = FittedName(name, kMatrixNameWidth);
    std::string line =
        "  " + Paint(fitted, color, options_.colors) + Blanks(kMatrixNameWidth - DisplayWidth(fitted));
    for (const ScreenTable::Cell& of : cells) {
      const std::string cell = Fitted(of.text, kCellWidth);
      line += "  " + Blanks(kCellWidth - DisplayWidth(cell)) + Paint(cell, of.color, options_.colors);
    }
    out_ << line << '\n';
  }

  const Report& report_;
  const Matrix& matrix_;
  const TerminalOptions& options_;
  std::ostream& out_;
  TimeScale scale_;
};

}  // namespace

void DrawMatrix(const Report& report, const Matrix& matrix, const TerminalOptions& options,
                std::ostream& out) {
  MatrixScreen(report, matrix, options, out).Draw();
}

}  // namespace etprof
