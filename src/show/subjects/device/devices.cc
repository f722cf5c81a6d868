#include "report/devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/units.h"
#include "core/views.h"
#include "device/describe.h"
#include "show/subjects.h"
#include "show/wording.h"

namespace etprof::show {
namespace {

constexpr std::size_t kScreenWarnings = 3;
constexpr int kFeaturesWidth = 24;

// "3 devices", "3 runs of one device", "3 runs of 2 devices".
std::string CountText(std::size_t runs, std::size_t distinct_devices) {
  if (distinct_devices == runs) return CountedText(runs, "device");
  if (distinct_devices == 1) return fmt::format("{} runs of one device", runs);
  return fmt::format("{} runs of {} devices", runs, distinct_devices);
}

std::string SystemText(const Report& run) {
  std::vector<std::string> parts;
  if (run.run.device) parts = {run.run.device->os, run.run.device->kernel, run.run.device->virtualization};
  std::erase(parts, "");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string CpuText(const Report& run) {
  if (!run.run.device) return "";
  const DeviceProperties& device = *run.run.device;
  std::string text = device.cpu_model;
  if (device.cores > 0) text += (text.empty() ? "" : ", ") + CountedText(device.cores, "core");
  if (!device.topology.empty()) text += " (" + device.topology + ")";
  return text;
}

std::string RowName(const DeviceRow& row) {
  if (!row.threads) return row.label;
  const std::string threads = CountedText(*row.threads, "thread");
  return row.label.find(threads) == std::string::npos ? row.label + ", " + threads : row.label;
}

std::string ConfidenceText(const TimeComparison& time_comparison) {
  const std::string interval = MakeVerdictTexts(time_comparison).interval;
  if (interval.empty()) return "";
  return fmt::format("{:.3g}% CI {}", 100 * time_comparison.estimate->confidence, interval);
}

const Report& GetRun(const DevicesReport& report, const ModelSection& model, std::size_t device) {
  return report.runs[model.devices[device].run];
}
std::string ColumnTitle(const DeviceColumn& device) {
  return device.name + (device.emulated ? " (emulated)" : "");
}
// The prefix of texts about one model, if there are several.
std::string ModelPrefix(const DevicesReport& report, const ModelSection& model) {
  return report.models.size() > 1 ? model.title + ": " : "";
}

std::string MakeTitle(const DevicesReport& report) {
  if (!report.title.empty()) return report.title;
  const auto models = MapEach(report.models, &ModelSection::title);
  // Bare ETDumps do not say on how many devices they were recorded.
  const bool known =
      std::ranges::any_of(report.runs, [](const Report& run) { return run.run.device.has_value(); });
  const bool has_one_run_per_device = known && report.distinct_devices == report.runs.size();
  // The titles are separated by semicolons, since a title with a method contains a comma.
  return fmt::format("{}{}{}", fmt::join(models, "; "), has_one_run_per_device ? " on " : ": ",
                     known ? CountText(report.runs.size(), report.distinct_devices)
                           : CountedText(report.runs.size(), "run"));
}

void AddAnswers(const DevicesReport& report, const ModelSection& model, std::vector<Answer>& answers) {
  for (std::size_t device = 0; device < model.devices.size(); ++device) {
    const Report& run = GetRun(report, model, device);
    const std::string prefix = ModelPrefix(report, model) + ColumnTitle(model.devices[device]) + ", ";
    for (const ReportComparison& pair : run.comparisons) {
      const TimeComparison& latency = pair.comparison.latency;
      const std::string& baseline = pair.comparison.baseline_label;
      const std::string verdict = VerdictWithBaseline(latency, baseline);
      const bool names_baseline = verdict != MakeVerdictTexts(latency).verdict;
      const std::string variants =
          pair.comparison.candidate_label + (names_baseline ? "" : " compared with " + baseline);
      answers.push_back(
          {prefix + variants + ": " + verdict, ConfidenceText(latency), GetTone(Speedup{latency})});
    }
    if (!run.comparisons.empty()) continue;
    for (const ReportExperiment& experiment : run.experiments)
      answers.push_back(
          {FormatText("{}{}: {}", prefix, experiment.label, OptionalCell<Duration>(experiment.latency.p50)),
           ""});
  }
}

Section MakeDevicesSection(const DevicesReport& report) {
  Table table{.id = "devices",
              .columns = {Left("device"), Left("platform"), Left("cpu", "CPU"),
                          Left("features").WithDropPriority(2).WithMaxWidth(kFeaturesWidth),
                          Left("governor").WithDropPriority(3), Left("system").WithDropPriority(1)}};
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const Report& run = report.runs[i];
    table.AddRow(report.names[i] + (run.emulated ? " (emulated)" : ""), run.run.platform, CpuText(run),
                 fmt::format("{}", fmt::join(GetFeatures(run), " ")), GovernorText(run.run.device),
                 SystemText(run));
  }
  return {"Devices", {std::move(table)}};
}

// The interval of the median over the device's launches, or why there is none.
Cell MedianBounds(const ExperimentData& data, const ReportExperiment& experiment) {
  if (!experiment.latency.p50) return std::string();
  if (data.emulated) return "emulated";
  if (experiment.latency_from_trace || experiment.tracer_always_on) return "traced";
  if (!experiment.interval) return std::string();
  return MakeBoundsCell(experiment.interval);
}

Section MakeLatencySection(const DevicesReport& report, const ModelSection& model) {
  Table table{.id = "latency",
              .columns = {Left("experiment"), Left("device"), Right("median"),
                          Left("median", "95% CI").WithDropPriority(4),
                          Left("against", "compared with").WithDropPriority(2), Right("speedup"),
                          Left("speedup", "CI").WithDropPriority(3), Right("launches").WithDropPriority(1)}};
  List differences{"different configurations"};
  std::set<std::string> first_devices;  // the devices that others are compared with
  for (const DeviceRow& row : model.experiments) {
    for (std::size_t device = 0; device < row.cells.size(); ++device) {
      const ReportExperiment* experiment = report.FindExperiment(model, row, device);
      if (experiment == nullptr) continue;
      std::optional<TimeComparison> compared;
      if (row.first && device != *row.first && row.cells[device].comparison_with_first.candidate_ns) {
        compared = row.cells[device].comparison_with_first;
        if (compared->estimate) first_devices.insert(model.devices[*row.first].name);
      }
      table.AddRow(RowName(row), ColumnTitle(model.devices[device]),
                   OptionalCell<Time>(experiment->latency.p50),
                   MedianBounds(experiment->Data(GetRun(report, model, device)), *experiment),
                   compared ? Cell(ColumnTitle(model.devices[*row.first])) : Cell(""),
                   CellOrBlank<Speedup>(compared), CellOrBlank<Interval>(compared),
                   experiment->launches > 0 ? Cell(Count{experiment->launches}) : Cell());
    }
    for (const std::string& difference : row.differences)
      differences.items.emplace_back(RowName(row) + ": " + difference);
  }
  if (first_devices.size() == 1)
    table.columns[5].WithDifferenceKept().title = "vs. " + *first_devices.begin();
  Section section{ModelPrefix(report, model) + "Latency across platforms", {std::move(table)}};
  if (!first_devices.empty()) section.AddText(UnpairedText(model.distinct_devices));
  section.AddUnlessEmpty(std::move(differences));
  return section;
}

Section MakeSpeedupsSection(const DevicesReport& report, const ModelSection& model) {
  Table table{.id = "speedups",
              .columns = {Left("comparison"), Left("device"), Right("baseline").WithDropPriority(3),
                          Right("candidate").WithDropPriority(3), Right("speedup"),
                          Left("speedup", "CI").WithDropPriority(2), Left("verdict").NeverDropped(),
                          Left("measured").WithDropPriority(1)}};
  bool interleaved = true;
  for (const DevicePairRow& row : model.pairs) {
    for (std::size_t device = 0; device < model.devices.size(); ++device) {
      const ReportComparison* pair = report.FindComparison(model, row, device);
      if (pair == nullptr) continue;
      interleaved = interleaved && pair->comparison.pairing == Pairing::kLaunches;
      const TimeComparison& latency = pair->comparison.latency;
      std::string sample = SampleText(pair->comparison);
      if (sample.empty())
        sample = pair->comparison.pairing == Pairing::kUnpaired ? "unpaired" : "too few runs";
      table.AddRow(row.candidate_label + " vs. " + row.baseline_label, ColumnTitle(model.devices[device]),
                   OptionalCell<Time>(latency.baseline_ns), OptionalCell<Time>(latency.candidate_ns),
                   Speedup{latency}, Interval{latency}, GetName(latency.verdict), std::move(sample));
    }
  }
  return {ModelPrefix(report, model) + "Speedup per platform",
          {Paragraph{interleaved ? "Variants are compared on the same device, where they were interleaved."
                                 : "Variants are compared on the same device. They were interleaved where "
                                   "launches and rounds are shown.",
                     Visibility::kPage},
           std::move(table)}};
}

// The experiment that most devices measured; among equals the last, which is a comparison's candidate.
const DeviceRow* DefaultRow(const ModelSection& model) {
  const DeviceRow* best = nullptr;
  std::ptrdiff_t max_devices = 1;
  for (const DeviceRow& row : model.experiments) {
    const auto devices =
        std::ranges::count_if(row.cells, [](const DeviceCell& cell) { return cell.experiment.has_value(); });
    if (devices < max_devices) continue;
    best = &row;
    max_devices = devices;
  }
  return best;
}

// Mean self times, and their shares of each device's whole inference.
Section MakeCategoriesSection(const DevicesReport& report, const ModelSection& model, const DeviceRow& row) {
  const std::size_t index = static_cast<std::size_t>(&model - report.models.data());
  Table table{
      index == 0 ? "categories" : fmt::format("categories_{}", index + 1), "", {Left("group", "self time")}};
  std::vector<const ReportExperiment*> experiments;
  std::vector<std::string> groups;
  for (std::size_t device = 0; device < row.cells.size(); ++device) {
    const ReportExperiment* experiment = report.FindExperiment(model, row, device);
    if (experiment != nullptr && experiment->MeanExecute().value_or(0) <= 0) experiment = nullptr;
    experiments.push_back(experiment);
    const std::string title = ColumnTitle(model.devices[device]);
    table.AddColumns(Right(title), Right(title + "_share", ""));
    if (experiment == nullptr) continue;
    for (const AdditiveRow& group : experiment->groups.rows) {
      if (group.total != 0 && std::ranges::find(groups, group.name) == groups.end())
        groups.push_back(group.name);
    }
  }
  const auto add = [&](const std::string& name, Row::Role role, const auto& time_of) {
    Row& added = table.AddRow(name);
    added.role = role;
    for (const ReportExperiment* experiment : experiments) {
      const double ns = experiment != nullptr ? time_of(*experiment) : 0;
      added.Add(experiment != nullptr ? Cell(Time{ns}) : Cell(),
                experiment != nullptr ? Cell(Share{ns / *experiment->MeanExecute()}) : Cell(""));
    }
  };
  for (const std::string& name : groups) {
    add(name, Row::Role::kPart, [&](const ReportExperiment& experiment) {
      const auto group = std::ranges::find(experiment.groups.rows, name, &AdditiveRow::name);
      return group == experiment.groups.rows.end() ? 0 : MeanPerRun(group->total, experiment.groups.runs);
    });
  }
  if (!groups.empty()) {
    add("Method::execute", Row::Role::kSum,
        [](const ReportExperiment& experiment) { return *experiment.MeanExecute(); });
  }
  return {ModelPrefix(report, model) + "Categories per platform: " + RowName(row), {std::move(table)}};
}

std::vector<Note> MakeNotes(const DevicesReport& report) {
  std::vector<Note> notes;
  if (report.emulated)
    notes.push_back(
        {"Where a CPU was emulated, timings are not meaningful; operator names and structure are."});
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const RunData::Status status = report.runs[i].run.status;
    if (status != RunData::Status::kComplete && status != RunData::Status::kUnknown)
      notes.push_back({fmt::format("{}: {}", report.names[i], GetName(status)), "warning"});
    for (const std::string& warning : report.runs[i].warnings)
      notes.push_back({report.names[i] + ": " + warning, "warning"});
  }
  return notes;
}

Section MakeRunsSection(const DevicesReport& report) {
  Facts facts{"runs", ""};
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const RunData& run = report.runs[i].run;
    std::string text = run.folder.string();
    if (!run.generated_at.empty()) text += ", " + run.generated_at;
    if (!run.etprof_version.empty()) text += ", etprof " + run.etprof_version;
    facts.facts.push_back({report.names[i], std::move(text)});
  }
  return {"Runs", Visibility::kPage, {std::move(facts)}};
}

}  // namespace

Document MakeDeviceComparisonDocument(const DevicesReport& report) {
  Document document{.title = MakeTitle(report),
                    .section_kind = "section",
                    .notes_title = "Measurement quality",
                    .notes = MakeNotes(report),
                    .screen_notes = kScreenWarnings};
  for (const ModelSection& model : report.models) AddAnswers(report, model, document.answers);
  document.sections.push_back(MakeDevicesSection(report));
  for (const ModelSection& model : report.models) {
    document.sections.push_back(MakeLatencySection(report, model));
    if (!model.pairs.empty()) document.sections.push_back(MakeSpeedupsSection(report, model));
    const DeviceRow* default_row = DefaultRow(model);
    for (const DeviceRow& row : model.experiments) {
      Section section = MakeCategoriesSection(report, model, row);
      if (&row != default_row) section.visibility = Visibility::kPage;
      document.sections.push_back(std::move(section));
    }
  }
  document.appendix.push_back(MakeRunsSection(report));
  return document;
}

std::vector<std::string> GetFeatures(const Report& run) {
  for (const ExperimentData& data : run.run.experiments) {
    if (!data.isa_state || data.isa_state->detected.empty()) continue;
    const std::vector<std::string>& detected = data.isa_state->detected;
    return NotableFeatures(isa::FeatureSet(detected.begin(), detected.end()));
  }
  return run.run.device ? NotableFeatures(*run.run.device) : std::vector<std::string>{};
}

std::string UnpairedText(std::size_t distinct_devices) {
  const bool single_device = distinct_devices == 1;
  return fmt::format(
      "Speedups between {} are unpaired: each has its own {}. Their intervals (Welch's t over launches) "
      "include variation between processes and {:.2g}% of drift, but not larger changes of {} temperature or "
      "load.",
      single_device ? "runs" : "devices", single_device ? "time and conditions" : "clock and conditions",
      100 * stats::kDriftBetweenMeasurements, single_device ? "the device's" : "a device's");
}

}  // namespace etprof::show
