#include "render/screen/terminal_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/escape.h"
#include "core/table.h"
#include "core/text.h"
#include "render/screen/terminal_text.h"
#include "say/wording.h"

namespace etprof {
namespace {

// The group that takes most of the time: "Convolution 56 %".
std::string LargestGroup(const ReportExperiment& experiment) {
  const AdditiveRow* largest = nullptr;
  for (const AdditiveRow& row : experiment.groups.rows) {
    if (largest == nullptr || row.total > largest->total) largest = &row;
  }
  if (largest == nullptr || experiment.groups.total <= 0) return kUndefined;
  return largest->name + ' ' +
         PercentText(static_cast<double>(largest->total) / static_cast<double>(experiment.groups.total));
}

// Empty where the measurement cannot tell.
std::string Told(const Comparison& comparison) {
  switch (comparison.latency.verdict) {
    case stats::Verdict::kFaster:
    case stats::Verdict::kSlower:
    case stats::Verdict::kSame:
      return VerdictAgainst(comparison.latency, comparison.baseline_label);
    case stats::Verdict::kInconclusive:
    case stats::Verdict::kContended:
    case stats::Verdict::kEmulated:
      break;
  }
  return "";
}

}  // namespace

void ExperimentList::Add(const Report& report, const std::string& from) {
  for (std::size_t i = 0; i < report.experiments.size(); ++i) {
    const ReportExperiment& experiment = report.experiments[i];
    const stats::Distribution& latency = experiment.latency;
    Line line;
    line.label = OneLine(from.empty() ? experiment.label : from + ": " + experiment.label);
    line.median = latency.p50 ? FormatMilliseconds(*latency.p50) : kUndefined;
    const Tail tail = TailOf(latency);
    line.tail = tail.value ? fmt::format("{} {}", tail.name, FormatMilliseconds(*tail.value)) : "";
    line.cv = latency.cv ? PercentText(*latency.cv) : kUndefined;
    line.runs = std::to_string(latency.n);
    line.group = LargestGroup(experiment);
    for (const ReportComparison& pair : report.comparisons) {
      if (pair.candidate != i) continue;
      line.verdict = OneLine(Told(pair.comparison));
      line.color = ColorOf(pair.comparison.latency.verdict);
      break;
    }
    lines_.push_back(std::move(line));
  }
  for (const std::string& warning : report.warnings) {
    AddOnce(warning, notes_);
  }
}

void ExperimentList::Draw(const TerminalOptions& options, std::ostream& out) const {
  DrawOn(options, out, [&](const TerminalOptions& on, std::ostream& text) { DrawLines(on, text); });
}

void ExperimentList::DrawLines(const TerminalOptions& options, std::ostream& out) const {
  const Line title{"experiment", "median", "tail", "CV", "runs", "most time in", "", Color::kNone};
  std::array<int, 6> width{};
  const auto cells = [](const Line& line) {
    return std::array<const std::string*, 6>{&line.label, &line.median, &line.tail,
                                             &line.cv,    &line.runs,   &line.group};
  };
  const auto measure = [&](const Line& line) {
    const auto all = cells(line);
    for (std::size_t i = 0; i < all.size(); ++i) width[i] = std::max(width[i], DisplayWidth(*all[i]));
  };
  measure(title);
  for (const Line& line : lines_) measure(line);
  // The label gives way where the line is too long; 16 columns are always left for it.
  int others = 2;
  for (std::size_t i = 1; i < width.size(); ++i) others += 2 + width[i];
  width[0] = std::min(width[0], std::max(16, options.width - others));
  const auto print = [&](const Line& line) {
    const auto all = cells(line);
    std::string text = "  ";
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string cell = FittedTail(*all[i], width[i]);
      const std::string blanks = Blanks(width[i] - DisplayWidth(cell));
      const bool left = i == 0 || i == 5;
      text += (i > 0 ? "  " : "") + (left ? cell + blanks : blanks + cell);
    }
    const int left_over = options.width - DisplayWidth(text) - 2;
    text.erase(text.find_last_not_of(' ') + 1);
    if (!line.verdict.empty() && left_over >= 8) {
      text += Blanks(options.width - left_over - DisplayWidth(text)) +
              Paint(Fitted(line.verdict, left_over), line.color, options.colors);
    }
    out << text << '\n';
  };
  print(title);
  for (const Line& line : lines_) print(line);
  if (notes_.empty()) return;
  out << '\n';
  if (options.all) {
    for (const std::string& note : notes_) WriteWrapped("  note", note, 9, options.width, out);
    return;
  }
  WriteWrapped("",
               fmt::format("{} note{}, the first: {}", notes_.size(), notes_.size() == 1 ? "" : "s",
                           OneLine(notes_.front())),
               2, options.width, out);
}

}  // namespace etprof
