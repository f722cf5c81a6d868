#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "render/devices.h"
#include "render/devices_words.h"
#include "render/page/markdown_text.h"
#include "say/wording.h"

namespace etprof {
namespace {

using namespace markdown;
using namespace devices;

std::string OrDash(const std::string& text) { return text.empty() ? kUndefined : text; }

class DevicesMarkdown {
 public:
  DevicesMarkdown(const DevicesReport& report, std::ostream& out) : report_(report), out_(out) {}

  void Write() {
    Heading();
    for (const ModelSection& model : report_.models) Answers(model);
    if (report_.emulated) {
      out_ << "Where a CPU was emulated the verdict is *emulated*: those times mean nothing, only names and "
              "structure do.\n\n";
    }
    Devices();
    for (const ModelSection& model : report_.models) {
      if (report_.models.size() > 1) out_ << "## " << model.title << "\n\n";
      Latency(model);
      Gains(model);
      Categories(model);
    }
    Trust();
    Runs();
  }

 private:
  const char* Level() const { return report_.models.size() > 1 ? "### " : "## "; }
  const Report& RunOf(const ModelSection& model, std::size_t device) const {
    return report_.runs[model.devices[device].run];
  }

  void Heading() {
    std::string title = report_.title;
    if (title.empty()) {
      std::vector<std::string> models;
      for (const ModelSection& model : report_.models) models.push_back(model.title);
      const bool a_device_each = report_.distinct_devices == report_.runs.size();
      // A title with a method has a comma of its own.
      title = fmt::format("{}{}{}", fmt::join(models, "; "), a_device_each ? " on " : ": ",
                          CountText(report_.runs.size(), report_.distinct_devices));
    }
    out_ << "# " << title << "\n\n";
  }

  // What each device found, in a line.
  void Answers(const ModelSection& model) {
    if (report_.models.size() > 1) out_ << "**" << model.title << "**\n\n";
    for (std::size_t device = 0; device < model.devices.size(); ++device) {
      const Report& run = RunOf(model, device);
      const Times time(ScaleOfLatencies(run));
      out_ << "- " << NameOf(model.devices[device]) << ": ";
      bool first = true;
      for (const ReportComparison& pair : run.comparisons) {
        const Comparison& comparison = pair.comparison;
        const VerdictWords words = WordsOf(comparison.latency);
        out_ << (first ? "" : "; ") << comparison.candidate_label << " against " << comparison.baseline_label
             << " **" << words.verdict << "**" << (words.interval.empty() ? "" : " " + words.interval) << ", "
             << time(comparison.latency.baseline_ns) << " → " << time(comparison.latency.candidate_ns);
        first = false;
      }
      for (const ReportExperiment& experiment : run.experiments) {
        if (!run.comparisons.empty()) break;
        out_ << (first ? "" : "; ") << experiment.label << " " << MedianText(run, &experiment);
        first = false;
      }
      if (run.run.status != RunData::Status::kComplete && run.run.status != RunData::Status::kUnknown)
        out_ << " (" << std::string(NameOf(run.run.status)) << ")";
      out_ << '\n';
    }
    out_ << '\n';
  }

  void Devices() {
    Table table = MakeTable({{"device", Align::kLeft},
                             {"platform", Align::kLeft},
                             {"CPU", Align::kLeft},
                             {"features", Align::kLeft},
                             {"governor", Align::kLeft},
                             {"system", Align::kLeft},
                             {"emulated", Align::kLeft}});
    for (std::size_t i = 0; i < report_.runs.size(); ++i) {
      const Report& run = report_.runs[i];
      const std::string machine = run.run.device ? run.run.device->virtualization : "";
      table.AddRow({report_.names[i], OrDash(run.run.platform), OrDash(CpuText(run)),
                    OrDash(fmt::format("{}", fmt::join(FeaturesOfRun(run), " "))), OrDash(GovernorText(run)),
                    OrDash(SystemText(run) + (machine.empty() ? "" : ", " + machine)),
                    run.emulated ? "yes: its times mean nothing" : "no"});
    }
    out_ << "## Devices\n\n" << table << '\n';
  }

  Table TableOver(const ModelSection& model, const char* title) const {
    Table table = MakeTable({{title, Align::kLeft}});
    for (const DeviceColumn& device : model.devices) table.columns.push_back({NameOf(device), Align::kRight});
    return table;
  }

  void Latency(const ModelSection& model) {
    out_ << Level() << "Latency across platforms\n\n";
    Table table = TableOver(model, "median");
    for (const DeviceRow& row : model.experiments) {
      std::vector<std::string> cells = {RowName(row)};
      for (std::size_t device = 0; device < row.cells.size(); ++device)
        cells.push_back(MedianText(RunOf(model, device), ExperimentOf(report_, model, row, device)));
      table.AddRow(std::move(cells));
    }
    out_ << table << "\nIn brackets the 95 % interval of the median over that device's launches.\n\n";
    AgainstFirst(model);
    for (const DeviceRow& row : model.experiments) {
      for (const std::string& difference : row.differences)
        out_ << "- " << RowName(row) << " is not one configuration on all devices: " << difference << '\n';
    }
    if (std::any_of(model.experiments.begin(), model.experiments.end(),
                    [](const DeviceRow& row) { return !row.differences.empty(); }))
      out_ << '\n';
  }

  static std::string RowName(const DeviceRow& row) {
    const std::string threads = fmt::format("{} thread{}", row.threads, row.threads == 1 ? "" : "s");
    return row.label.find(threads) == std::string::npos ? row.label + ", " + threads : row.label;
  }

  void AgainstFirst(const ModelSection& model) {
    Table table = MakeTable({{"experiment", Align::kLeft},
                             {"device", Align::kLeft},
                             {"against", Align::kLeft},
                             {"it is", Align::kLeft},
                             {"interval", Align::kLeft},
                             {"launches", Align::kRight}});
    for (const DeviceRow& row : model.experiments) {
      for (std::size_t device = 0; device < row.cells.size(); ++device) {
        const ReportExperiment* experiment = ExperimentOf(report_, model, row, device);
        const Quantity& quantity = row.cells[device].against_first;
        if (experiment == nullptr || !row.first || device == *row.first || !quantity.candidate_ns) continue;
        const ReportExperiment* first = ExperimentOf(report_, model, row, *row.first);
        const VerdictWords words = quantity.estimate ? WordsOf(quantity) : VerdictWords{};
        table.AddRow({RowName(row), NameOf(model.devices[device]), NameOf(model.devices[*row.first]),
                      AgainstFirstText(quantity), words.interval.empty() ? kUndefined : words.interval,
                      fmt::format("{} and {}", experiment->launches, first->launches)});
      }
    }
    if (table.rows.empty()) return;
    out_ << (model.distinct_devices == 1 ? "The same experiment in two runs"
                                         : "The same experiment on two devices")
         << ", **unpaired**:\n\n"
         << table << '\n'
         << UnpairedText(model.distinct_devices) << "\n\n";
  }

  void Gains(const ModelSection& model) {
    if (model.pairs.empty()) return;
    Table table = MakeTable({{"comparison", Align::kLeft},
                             {"device", Align::kLeft},
                             {"before", Align::kRight},
                             {"after", Align::kRight},
                             {"ratio", Align::kRight},
                             {"interval", Align::kLeft},
                             {"verdict", Align::kLeft},
                             {"measured", Align::kLeft}});
    for (const DevicePairRow& row : model.pairs) {
      for (std::size_t device = 0; device < model.devices.size(); ++device) {
        const ReportComparison* pair = ComparisonOf(report_, model, row, device);
        if (pair == nullptr) continue;
        const Quantity& latency = pair->comparison.latency;
        const bool told = latency.estimate && latency.verdict != stats::Verdict::kEmulated;
        const std::string sample = SampleText(pair->comparison);
        const Times time(ScaleOfLatencies(RunOf(model, device)));
        table.AddRow({row.candidate_label + " against " + row.baseline_label, NameOf(model.devices[device]),
                      time(latency.baseline_ns), time(latency.candidate_ns),
                      told ? RatioText(latency.estimate->ratio()) : kUndefined, IntervalText(latency),
                      NameOf(latency.verdict),
                      sample.empty()
                          ? (pair->comparison.pairing == Pairing::kUnpaired ? "unpaired" : "too few runs")
                          : sample});
      }
    }
    out_ << Level() << "Speed-up per platform\n\n"
         << table
         << "\nEach within its device, whose sides were measured alternately. A ratio above 1 means "
            "faster.\n\n";
  }

  void Categories(const ModelSection& model) {
    bool titled = false;
    for (const DeviceRow& row : model.experiments) {
      const std::vector<GroupRow> groups = GroupRows(report_, model, row);
      if (groups.empty()) continue;
      if (!titled) out_ << Level() << "Categories per platform\n\n";
      titled = true;
      // Each column adds up as printed.
      std::vector<std::vector<std::string>> columns;
      std::vector<std::string> totals = {"Method::execute"};
      for (std::size_t device = 0; device < row.cells.size(); ++device) {
        const ReportExperiment* experiment = ExperimentOf(report_, model, row, device);
        const double whole = experiment != nullptr ? experiment->MeanExecute().value_or(0) : 0;
        std::vector<std::string> cells(groups.size(), kUndefined);
        if (whole > 0) {
          std::vector<double> means;
          for (const GroupRow& group : groups) means.push_back(group.mean[device].value_or(0));
          const TimeScale scale = ScaleFor(whole, whole);
          const std::vector<std::int64_t> units = AddingUpUnits(means, scale);
          for (std::size_t i = 0; i < cells.size(); ++i) {
            cells[i] = fmt::format("{} {} ({})", scale.OfUnits(units[i], means[i]), scale.unit,
                                   PercentText(means[i] / whole));
          }
          totals.push_back(scale.Text(whole));
        } else {
          totals.emplace_back(kUndefined);
        }
        columns.push_back(std::move(cells));
      }
      Table table = TableOver(model, "mean self time");
      for (std::size_t i = 0; i < groups.size(); ++i) {
        std::vector<std::string> cells = {groups[i].name};
        for (const std::vector<std::string>& column : columns) cells.push_back(column[i]);
        table.AddRow(std::move(cells));
      }
      table.AddRow(std::move(totals));
      out_ << "**" << RowName(row) << "**\n\n" << table << '\n';
    }
    if (titled)
      out_ << "Of the traced steady runs; in parentheses the share of that device's whole inference.\n\n";
  }

  void Trust() {
    out_ << "## How far to trust this\n\n";
    bool said = false;
    for (std::size_t i = 0; i < report_.runs.size(); ++i) {
      for (const std::string& warning : report_.runs[i].warnings) {
        out_ << "- " << report_.names[i] << ": " << warning << '\n';
        said = true;
      }
    }
    if (!said) out_ << "Nothing odd was seen.\n";
    out_ << '\n';
  }

  void Runs() {
    out_ << "## Runs\n\n";
    for (std::size_t i = 0; i < report_.runs.size(); ++i) {
      const RunData& run = report_.runs[i].run;
      out_ << "- " << report_.names[i] << ": " << run.folder.string();
      if (!run.generated_at.empty()) out_ << ", " << run.generated_at;
      if (!run.etprof_version.empty()) out_ << ", etprof " << run.etprof_version;
      out_ << '\n';
    }
  }

  const DevicesReport& report_;
  markdown::Out out_;
};

}  // namespace

void RenderDevicesMarkdown(const DevicesReport& report, std::ostream& out) {
  DevicesMarkdown(report, out).Write();
}

}  // namespace etprof
