#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/escape.h"
#include "core/table.h"
#include "render/devices.h"
#include "render/devices_words.h"
#include "render/report.h"
#include "render/screen/terminal_text.h"
#include "say/wording.h"

namespace etprof {
namespace {

using namespace devices;

constexpr std::size_t kNotes = 3;
constexpr int kNameWidth = 22;
constexpr int kFewestColumns = 15;  // of a device: a median, and a name that can be told

class DevicesScreen {
 public:
  DevicesScreen(const DevicesReport& report, const TerminalOptions& options, std::ostream& out)
      : report_(report), options_(options), width_(std::max(kLeastWidth, options.width)), out_(out) {}

  void Draw() {
    for (const ModelSection& model : report_.models) {
      out_ << Bold(OneLine(Title(model))) << "\n\n";
      for (std::size_t device = 0; device < model.devices.size(); ++device) Result(model, device);
      if (model.devices.size() < 2) continue;
      SideBySide(model);
      AgainstFirst(model);
    }
    Notes();
    if (!options_.more.empty()) out_ << "  more  " << OneLine(options_.more) << '\n';
    if (!options_.more.empty() && !options_.all) out_ << "        --all shows everything here\n";
    if (options_.all) EachDevice();
  }

 private:
  std::string Bold(const std::string& text) const { return Paint(text, Color::kBold, options_.colors); }
  std::string Painted(const std::string& text, stats::Verdict verdict) const {
    return Paint(text, ColorOf(verdict), options_.colors);
  }

  std::string Title(const ModelSection& model) const {
    std::string title = model.title;
    if (!report_.title.empty())
      title = report_.models.size() > 1 ? report_.title + ": " + title : report_.title;
    return title + " · " + CountText(model.devices.size(), model.distinct_devices);
  }

  const Report& RunOf(const ModelSection& model, std::size_t device) const {
    return report_.runs[model.devices[device].run];
  }

  // "local · linux-x86_64 · AMD EPYC, 2 cores", a line for each experiment, the verdicts behind.
  void Result(const ModelSection& model, std::size_t device) {
    const Report& run = RunOf(model, device);
    std::string head = NameOf(model.devices[device]);
    for (const std::string& part : {run.run.platform, CpuText(run)}) {
      if (!part.empty()) head += " · " + part;
    }
    if (run.run.status != RunData::Status::kComplete && run.run.status != RunData::Status::kUnknown)
      head += fmt::format(" · {}", NameOf(run.run.status));
    out_ << "  " << Fitted(OneLine(head), width_ - 2) << '\n';
    int widest = 0;
    for (const ReportExperiment& experiment : run.experiments)
      widest = std::max(widest, std::min(kNameWidth, DisplayWidth(OneLine(experiment.label))));
    for (std::size_t e = 0; e < run.experiments.size(); ++e) {
      const ReportExperiment& experiment = run.experiments[e];
      const std::string label = Fitted(OneLine(experiment.label), kNameWidth);
      std::string line = "    " + label + Blanks(widest - DisplayWidth(label)) + "  ";
      const std::string median = MedianText(run, &experiment);
      line += median;
      for (const ReportComparison& pair : run.comparisons) {
        if (pair.candidate != e) continue;
        const VerdictWords words = WordsOf(pair.comparison.latency);
        std::string verdict = words.verdict;
        if (run.comparisons.size() > 1)
          verdict = OneLine(VerdictAgainst(pair.comparison.latency, pair.comparison.baseline_label));
        if (!words.interval.empty()) verdict += "  " + words.interval;
        line += Blanks(std::max(2, 26 - DisplayWidth(median))) +
                Painted(verdict, pair.comparison.latency.verdict);
      }
      out_ << line << '\n';
    }
    out_ << '\n';
  }

  // Of a name that is too long its end is shown: "…0.1:5555".
  void Row(const std::string& name, const std::vector<std::string>& cells, int cell_width) {
    const std::string fitted = Fitted(OneLine(name), kNameWidth);
    std::string line = "  " + fitted;
    if (!cells.empty()) line += Blanks(kNameWidth - DisplayWidth(fitted));
    for (const std::string& text : cells) {
      const std::string cell = FittedTail(OneLine(text), cell_width);
      line += "  " + Blanks(cell_width - DisplayWidth(cell)) + cell;
    }
    out_ << line << '\n';
  }

  // Medians, then the shares of the inference of the experiment that is the last one's candidate.
  void SideBySide(const ModelSection& model) {
    const auto fitting = static_cast<std::size_t>(std::max(1, (width_ - 2 - kNameWidth) / kFewestColumns));
    const std::size_t shown = std::min(model.devices.size(), fitting);
    const int cell = std::min(30, (width_ - 2 - kNameWidth) / static_cast<int>(shown) - 2);
    std::vector<std::string> titles;
    for (std::size_t device = 0; device < shown; ++device) titles.push_back(NameOf(model.devices[device]));
    Row("median", titles, cell);
    for (const DeviceRow& row : model.experiments) {
      std::vector<std::string> cells;
      for (std::size_t device = 0; device < shown; ++device) {
        const std::string text = MedianText(RunOf(model, device), ExperimentOf(report_, model, row, device));
        // The interval where there is room for it; the median alone before half an interval.
        cells.push_back(DisplayWidth(text) <= cell ? text : text.substr(0, text.find(" [")));
      }
      Row(row.label, cells, cell);
    }
    out_ << '\n';
    if (const DeviceRow* row = RowToShow(model)) Shares(model, *row, shown, cell);
    if (shown < model.devices.size()) {
      out_ << "  " << model.devices.size() - shown
           << " more in the report: the screen is not wide enough\n\n";
    }
  }

  // The one that most devices measured; of those the last, which a comparison's candidate is.
  static const DeviceRow* RowToShow(const ModelSection& model) {
    const DeviceRow* best = nullptr;
    std::ptrdiff_t most = 1;
    for (const DeviceRow& row : model.experiments) {
      const auto devices = std::count_if(row.cells.begin(), row.cells.end(),
                                         [](const DeviceCell& one) { return one.experiment.has_value(); });
      if (devices < most) continue;
      best = &row;
      most = devices;
    }
    return best;
  }

  void Shares(const ModelSection& model, const DeviceRow& row, std::size_t shown, int cell) {
    const std::vector<GroupRow> groups = GroupRows(report_, model, row);
    if (groups.empty()) return;
    Row("share, " + row.label, {}, cell);
    for (const GroupRow& group : groups) {
      std::vector<std::string> cells;
      for (std::size_t device = 0; device < shown; ++device) {
        const ReportExperiment* experiment = ExperimentOf(report_, model, row, device);
        const double whole = experiment != nullptr ? experiment->MeanExecute().value_or(0) : 0;
        cells.push_back(whole > 0 ? PercentText(group.mean[device].value_or(0) / whole) : kUndefined);
      }
      Row(group.name, cells, cell);
    }
    out_ << '\n';
  }

  void AgainstFirst(const ModelSection& model) {
    bool any = false;
    for (const DeviceRow& row : model.experiments) {
      for (std::size_t device = 0; device < row.cells.size(); ++device) {
        const Quantity& quantity = row.cells[device].against_first;
        if (!row.first || device == *row.first || !quantity.candidate_ns) continue;
        if (!any)
          out_ << "  between " << ColumnsAre(model.distinct_devices)
               << ", unpaired (drift between them cannot be seen):\n";
        any = true;
        const VerdictWords words = quantity.estimate ? WordsOf(quantity) : VerdictWords{};
        out_ << "    " << OneLine(row.label) << ": " << OneLine(NameOf(model.devices[device])) << " against "
             << OneLine(NameOf(model.devices[*row.first])) << ": " << AgainstFirstText(quantity)
             << (words.interval.empty() ? "" : " " + words.interval) << '\n';
      }
      for (const std::string& difference : row.differences) {
        out_ << "    " << OneLine(row.label) << " differs beside the device: " << OneLine(difference) << '\n';
      }
    }
    if (any) out_ << '\n';
  }

  // The screens of the runs, one below the other.
  void EachDevice() {
    TerminalOptions own = options_;
    own.more.clear();
    own.ascii = false;  // the whole is put into ASCII
    for (std::size_t i = 0; i < report_.runs.size(); ++i) {
      out_ << "\n" << Bold(OneLine(report_.names[i])) << "\n\n";
      RenderTerminal(report_.runs[i], own, out_);
    }
  }

  void Notes() {
    std::size_t told = 0, left = 0;
    for (std::size_t i = 0; i < report_.runs.size(); ++i) {
      for (const std::string& warning : report_.runs[i].warnings) {
        if (told == kNotes && !options_.all) {
          ++left;
          continue;
        }
        out_ << "  note  " << OneLine(report_.names[i] + ": " + warning) << '\n';
        ++told;
      }
    }
    if (left > 0) out_ << fmt::format("  {} more note{} with --all\n", left, left == 1 ? "" : "s");
  }

  const DevicesReport& report_;
  const TerminalOptions& options_;
  const int width_;
  std::ostream& out_;
};

}  // namespace

void RenderDevicesTerminal(const DevicesReport& report, const TerminalOptions& options, std::ostream& out) {
  DrawOn(options, out,
         [&](const TerminalOptions& on, std::ostream& text) { DevicesScreen(report, on, text).Draw(); });
}

}  // namespace etprof
