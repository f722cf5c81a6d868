#include "render/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "core/escape.h"
#include "core/table.h"
#include "render/page/markdown_text.h"
#include "render/screen/screen_table.h"
#include "render/screen/terminal_text.h"
#include "say/wording.h"

namespace etprof {
namespace {

using Align = Table::Align;

constexpr double kWorthARow = 0.005;  // of the whole: layers below are left out of Markdown
constexpr std::size_t kMostLayers = 60;

std::string ShortType(const std::string& type) { return type.substr(type.find_last_of('.') + 1); }

double Mean(Nanoseconds total, std::int64_t runs) {
  return runs > 0 ? static_cast<double>(total) / static_cast<double>(runs) : 0;
}

std::string Share(Nanoseconds part, Nanoseconds whole) {
  return whole > 0 ? PercentText(static_cast<double>(part) / static_cast<double>(whole)) : kUndefined;
}

// What a row stands for, as both media show it.
struct Row {
  std::string name, type;
  int depth = 0;
  Nanoseconds before = 0, after = 0, self = 0;  // of one experiment: `after` alone
  std::size_t operators = 0;
  Quantity quantity;
};

// The experiments or pairs that are told, each with its rows.
struct Part {
  std::string title;  // "" where there is one part
  const ReportExperiment* before = nullptr;
  const ReportExperiment* after = nullptr;
  std::string before_label, after_label;
  std::vector<Row> rows;
};

const Breakdown& BreakdownOf(const ReportExperiment& experiment, By by) {
  switch (by) {
    case By::kSource:
      return experiment.by_source;
    case By::kDelegate:
      return experiment.by_delegate;
    case By::kLayer:
      return experiment.by_layer;
    case By::kCategory:
      break;
  }
  return experiment.categories;
}

// The name of a module below its parent: "0.block" of "features.0.block" in "features".
std::string NameBelow(const std::string& path, const std::string& parent) {
  if (path.empty()) return "(model)";
  if (!parent.empty() && path.starts_with(parent + ".")) return path.substr(parent.size() + 1);
  return path;
}

// What belongs to no module: overheads, what could not be attributed, clipped time.
void AddRest(const ReportExperiment& experiment, bool is_after, std::vector<Row>& rows) {
  for (const AdditiveRow& row : experiment.by_layer.rows) {
    const bool rest = row.name == kNotAttributed || row.name == GroupName(Group::kFrameworkOverhead) ||
                      row.name == GroupName(Group::kDelegateOverhead) || row.name == "Clipped";
    if (!rest || row.total == 0) continue;
    auto found = std::find_if(rows.begin(), rows.end(),
                              [&](const Row& own) { return own.name == row.name && own.depth < 0; });
    if (found == rows.end()) {
      rows.push_back({row.name, "", -1, 0, 0, 0, static_cast<std::size_t>(row.operators), {}});
      found = rows.end() - 1;
    }
    (is_after ? found->after : found->before) += row.total;
  }
}

std::vector<Row> LayerRows(const ReportExperiment& experiment) {
  std::vector<Row> rows;
  for (const LayerRow& layer : experiment.layers) {
    const std::string& parent = experiment.layers[layer.parent].path;
    rows.push_back({NameBelow(layer.path, layer.depth == 0 ? "" : parent),
                    ShortType(layer.type),
                    layer.depth,
                    0,
                    layer.total,
                    layer.self,
                    layer.operators.size(),
                    {}});
  }
  AddRest(experiment, true, rows);
  return rows;
}

std::vector<Row> LayerRows(const ReportComparison& pair, const ReportExperiment& before,
                           const ReportExperiment& after) {
  std::vector<Row> rows;
  std::vector<std::string> parents;  // by depth
  for (const LayerDelta& layer : pair.layers) {
    parents.resize(static_cast<std::size_t>(layer.depth) + 1);
    parents.back() = layer.row.name;
    rows.push_back({NameBelow(layer.row.name, layer.depth == 0 ? "" : parents[parents.size() - 2]),
                    ShortType(layer.type), layer.depth, layer.row.baseline_total, layer.row.candidate_total,
                    0, 0, layer.row.quantity});
  }
  AddRest(before, false, rows);
  AddRest(after, true, rows);
  return rows;
}

std::vector<Row> FlatRows(const Breakdown& breakdown) {
  std::vector<Row> rows;
  for (const AdditiveRow& row : breakdown.rows) {
    if (row.total != 0)
      rows.push_back({row.name.empty() ? "(model)" : row.name,
                      "",
                      -1,
                      0,
                      row.total,
                      row.total,
                      static_cast<std::size_t>(row.operators),
                      {}});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.after > b.after; });
  return rows;
}

std::vector<Row> FlatRows(const std::vector<DeltaRow>& deltas) {
  std::vector<Row> rows;
  for (const DeltaRow& row : deltas) {
    if (row.baseline_total != 0 || row.candidate_total != 0)
      rows.push_back({row.name, "", -1, row.baseline_total, row.candidate_total, 0, 0, row.quantity});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.after > b.after; });
  return rows;
}

Part PartOf(const ReportExperiment& experiment, By by) {
  return {experiment.label,
          nullptr,
          &experiment,
          "",
          "",
          by == By::kLayer ? LayerRows(experiment) : FlatRows(BreakdownOf(experiment, by))};
}

std::vector<Part> PartsOf(const Report& report, By by) {
  std::vector<Part> parts;
  for (const ReportComparison& pair : report.comparisons) {
    const ReportExperiment& before = report.experiments[pair.baseline];
    const ReportExperiment& after = report.experiments[pair.candidate];
    if (before.common_runs == 0 || after.common_runs == 0) continue;
    Part part{fmt::format("{} and {}", pair.comparison.baseline_label, pair.comparison.candidate_label),
              &before,
              &after,
              pair.comparison.baseline_label,
              pair.comparison.candidate_label,
              {}};
    part.rows = by == By::kLayer      ? LayerRows(pair, before, after)
                : by == By::kSource   ? FlatRows(pair.by_source)
                : by == By::kDelegate ? FlatRows(pair.by_delegate)
                                      : FlatRows(pair.comparison.categories);
    parts.push_back(std::move(part));
  }
  for (std::size_t i = 0; i < report.experiments.size(); ++i) {
    const ReportExperiment& experiment = report.experiments[i];
    if (InPair(report, i) || experiment.common_runs == 0) continue;
    parts.push_back(PartOf(experiment, by));
  }
  return parts;
}

// Of a ladder just the setting that one would ship.
std::vector<Part> PartsOfReport(const Report& report, By by) {
  if (!report.ladder) return PartsOf(report, by);
  std::vector<Part> parts;
  for (const std::size_t subject : Subjects(report)) {
    if (report.experiments[subject].common_runs > 0) parts.push_back(PartOf(report.experiments[subject], by));
  }
  return parts;
}

// `indent`: what a level of the tree is shifted by.
Table TableOf(const Part& part, By by, const std::string& indent) {
  const char* title = by == By::kLayer      ? "module"
                      : by == By::kSource   ? "line of the model"
                      : by == By::kDelegate ? "runs in"
                                            : "category";
  Table table;
  const bool types = by == By::kLayer;
  table.columns = {{title, Align::kLeft}};
  if (types) table.columns.push_back({"type", Align::kLeft});
  if (part.before != nullptr) {
    table.columns.insert(table.columns.end(), {{"before", Align::kRight},
                                               {"after", Align::kRight},
                                               {"share now", Align::kRight},
                                               {"gain", Align::kRight},
                                               {"interval", Align::kLeft}});
  } else {
    table.columns.insert(table.columns.end(), {{"time", Align::kRight}, {"share", Align::kRight}});
    if (types) table.columns.push_back({"its own", Align::kRight});
    table.columns.push_back({"operators", Align::kRight});
  }
  const ReportExperiment& after = *part.after;
  const double whole = after.latency.p50.value_or(after.MeanExecute().value_or(0));
  const double first = part.before != nullptr ? part.before->latency.p50.value_or(whole) : whole;
  const TimeScale scale = ScaleFor(std::min(whole, first), std::max(whole, first));
  for (const Row& row : part.rows) {
    std::string name;
    for (int level = 0; level < row.depth; ++level) name += indent;
    name += row.name;
    std::vector<std::string> cells = {name};
    if (types) cells.push_back(row.type);
    const std::string now = scale.Text(Mean(row.after, after.common_runs));
    if (part.before != nullptr) {
      cells.insert(cells.end(), {scale.Text(Mean(row.before, part.before->common_runs)), now,
                                 Share(row.after, after.groups.total), GainText(row.quantity),
                                 IntervalText(row.quantity)});
    } else {
      cells.insert(cells.end(), {now, Share(row.after, after.groups.total)});
      if (types)
        cells.push_back(row.depth < 0 || row.self == 0 ? "" : scale.Text(Mean(row.self, after.common_runs)));
      cells.push_back(row.operators > 0 ? std::to_string(row.operators) : "");
    }
    table.AddRow(std::move(cells));
  }
  return table;
}

// The same for the screen, gains in the colour of their verdict.
ScreenTable ScreenTableOf(const Part& part, By by) {
  constexpr int kType = 20;
  const Table table = TableOf(part, by, "  ");
  ScreenTable screen;
  if (by == By::kSource || by == By::kDelegate) screen.keep = say::Table::Keep::kEnd;
  for (const Table::Column& column : table.columns) {
    static const std::map<std::string, int> kGoes = {
        {"interval", 1}, {"operators", 1}, {"its own", 2}, {"type", 3}, {"share now", 4}};
    const auto goes = kGoes.find(column.title);
    screen.columns.push_back(
        {column.title, column.align == Align::kRight, goes == kGoes.end() ? 0 : goes->second});
  }
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    auto& row = screen.rows.emplace_back();
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const std::string& title = table.columns[c].title;
      const std::string text = OneLine(table.rows[i][c]);
      row.push_back({title == "type" ? Fitted(text, kType) : text,
                     title == "gain" ? ColorOf(part.rows[i].quantity.verdict) : Color::kNone});
    }
  }
  return screen;
}

// Only what is worth a row: of the largest, so that a report stays readable.
void Thin(Part& part) {
  const double whole = static_cast<double>(part.after->groups.total);
  const double first = part.before != nullptr ? static_cast<double>(part.before->groups.total) : 0;
  double least = kWorthARow;
  const auto small = [&](const Row& row) {
    return static_cast<double>(row.after) < least * whole && static_cast<double>(row.before) <= least * first;
  };
  std::erase_if(part.rows, small);
  while (part.rows.size() > kMostLayers && least < 1) {
    least *= 2;
    std::erase_if(part.rows, small);
  }
}

}  // namespace

const std::vector<std::string>& ByNames() {
  static const std::vector<std::string> names = {"layer", "source", "delegate", "category"};
  return names;
}

std::optional<By> ByNamed(const std::string& name) {
  const auto found = std::find(ByNames().begin(), ByNames().end(), name);
  if (found == ByNames().end()) return std::nullopt;
  return static_cast<By>(found - ByNames().begin());
}

std::string AttributionText(const ReportExperiment& experiment) {
  if (!experiment.profile || !experiment.profile->program) return "";
  const ProgramJoin& program = *experiment.profile->program;
  if (!program.problem.empty()) return "Layers are not known: " + program.problem + ".";
  if (!program.no_sources.empty()) return "Layers are not known: " + program.no_sources + ".";
  if (!experiment.attributed) return "";
  return fmt::format(
      "{:.1f} % of the operators' time belongs to a module of the model; overheads stand apart.",
      *experiment.attributed * 100);
}

void DrawBy(const Report& report, By by, const TerminalOptions& options, std::ostream& out) {
  const std::vector<Part> parts = PartsOfReport(report, by);
  for (const Part& part : parts) {
    const bool known = by == By::kCategory || by == By::kDelegate || !part.after->layers.empty();
    const std::string text = by == By::kLayer || by == By::kSource ? AttributionText(*part.after) : "";
    if (!known && text.empty()) continue;
    out << '\n';
    if (parts.size() > 1) out << "  " << Paint(OneLine(part.title), Color::kBold, options.colors) << '\n';
    if (known) ScreenTableOf(part, by).Draw(options, out);
    if (known && !text.empty()) out << '\n';
    if (!text.empty()) WriteWrapped("  ", text, 2, options.width, out);
  }
}

void RenderByTerminal(const Report& report, By by, const TerminalOptions& options, std::ostream& out) {
  DrawOn(options, out, [&](const TerminalOptions& on, std::ostream& text) {
    text << OneLine(HeaderText(report)) << '\n';
    std::ostringstream drawn;
    DrawBy(report, by, on, drawn);
    text << drawn.str();
    if (!drawn.str().empty()) return;
    const bool layers = by == By::kLayer || by == By::kSource;
    text << (layers ? "\n  Layers are not known: give the .pte that ran as --model\n"
                    : "\n  Nothing to show: no run was traced.\n");
  });
}

void RenderLayersMarkdown(const Report& report, markdown::Out& out) {
  using namespace markdown;
  std::vector<Part> parts = PartsOfReport(report, By::kLayer);
  for (Part& part : parts) {
    if (part.after->layers.empty()) continue;
    out << "## Layers" << (parts.size() > 1 ? ": " + part.title : "") << "\n\n";
    const std::size_t all = part.rows.size();
    Thin(part);
    out << TableOf(part, By::kLayer, "· ") << '\n';
    out << "A module's time is that of all that runs in it. " << AttributionText(*part.after);
    if (part.rows.size() < all)
      out << fmt::format(" The {} largest of {} rows; `etprof analyze --csv=layers` has all.",
                         part.rows.size(), all);
    out << "\n\n";
  }
  std::vector<Part> lines = PartsOfReport(report, By::kSource);
  for (Part& part : lines) {
    if (part.after->layers.empty()) continue;
    Thin(part);
    out << "<details><summary>By line of the model" << (lines.size() > 1 ? ": " + part.title : "")
        << "</summary>\n\n"
        << TableOf(part, By::kSource, "") << "\n</details>\n\n";
  }
}

}  // namespace etprof
