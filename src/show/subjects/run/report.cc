#include "show/subjects/run/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/units.h"
#include "report/run/pair.h"
#include "show/subjects/run/report_parts.h"
#include "show/wording.h"

namespace etprof::show {
namespace {

constexpr std::size_t kScreenFindings = 3;
constexpr std::size_t kScreenLadderFindings = 1;  // fewer, since a ladder's answer needs the room
constexpr std::size_t kScreenNotes = 3;

void Append(std::vector<Section> new_sections, std::vector<Section>& sections) {
  std::move(new_sections.begin(), new_sections.end(), std::back_inserter(sections));
}

// True if the matrix has two experiments and is a pair of the report. The pair's tables then say more than
// the matrix's single column.
bool IsSinglePair(const Report& report, const Matrix& matrix) {
  return matrix.candidates.size() == 1 &&
         FindComparison(report, matrix.baseline, matrix.candidates.front()) != nullptr;
}

// The efficiency of a thread sweep whose matrix is not shown; else "".
std::string EfficiencyText(const Report& report, const ReportComparison& pair) {
  for (const Matrix& matrix : report.matrices) {
    if (!matrix.is_thread_sweep || !IsSinglePair(report, matrix) || matrix.baseline != pair.baseline ||
        matrix.candidates.front() != pair.candidate)
      continue;
    if (const auto& efficiency = matrix.latency.cells.front().efficiency)
      return "efficiency " + PercentText(*efficiency);
  }
  return "";
}

Answer MakePairAnswer(const Report& report, const ReportComparison& pair) {
  const Comparison& comparison = pair.comparison;
  const TimeComparison& latency = comparison.latency;
  const std::string &candidate = comparison.candidate_label, &baseline = comparison.baseline_label;
  const VerdictTexts verdict_texts = MakeVerdictTexts(latency);
  Answer answer;
  switch (latency.verdict) {
    case stats::Verdict::kFaster:
    case stats::Verdict::kSlower:
      answer.text = fmt::format("{} is {} than {}", candidate, verdict_texts.verdict, baseline);
      break;
    case stats::Verdict::kSame:
      answer.text = fmt::format("{} is as fast as {} (same within ±{:g}%)", candidate, baseline,
                                100 * SameMargin(report));
      break;
    default:
      answer.text = fmt::format("{} compared with {}: {}", candidate, baseline, verdict_texts.verdict);
  }
  if (!verdict_texts.interval.empty())
    answer.precision =
        fmt::format("{:.0f}% CI {}", 100 * latency.estimate->confidence, verdict_texts.interval);
  if (const std::string efficiency = EfficiencyText(report, pair); !efficiency.empty())
    answer.precision += (answer.precision.empty() ? "" : ", ") + efficiency;
  answer.tone = GetTone(Cell(Speedup{latency}));
  return answer;
}

// "10 interleaved launches x 4 rounds in 31 s, interrupted".
std::string MeasuredText(const Report& report) {
  const ScheduleData& schedule = report.run.schedule;
  std::string text;
  if (!report.comparisons.empty()) {
    text = SampleText(report.comparisons.front().comparison, schedule.interleaved);
  } else if (schedule.launches > 0) {
    text = fmt::format("{} x {}", CountedText(schedule.launches, "launch", "launches"),
                       CountedText(schedule.rounds, "round"));
  }
  if (schedule.seconds > 0)
    text += fmt::format("{}{:.0f} s", text.empty() ? "measured in " : " in ", schedule.seconds);
  if (report.run.status == RunData::Status::kInterrupted)
    text += text.empty() ? "interrupted" : ", interrupted";
  return text;
}

// The table that shows a kind of finding; other kinds are shown by the table of groups.
constexpr NamedValue<std::string_view> kFindingTables[] = {
    {finding::NotDelegated::kKind, "portable"},
    {finding::DataMoved::kKind, "report_operators"},
    {finding::SlowerOperators::kKind, "report_operators"},
    {finding::UnknownOperators::kKind, "report_operators"},
    {finding::PackedKernels::kKind, "matrix_kernels"},
    {finding::NotOnKleidiai::kKind, "matrix_kernels"},
    {finding::BelowRoofline::kKind, "roofline"},
    {finding::Fp16ComputedAsFp32::kKind, "roofline"},
    {finding::FirstRun::kKind, "report_latency"},
    {finding::LatencyStep::kKind, "report_latency"},
    {finding::Contended::kKind, "report_latency"},
    {finding::CpuTimeDiscrepancy::kKind, "report_latency"},
    {finding::CompilersDiffer::kKind, "experiments"}};

std::vector<Section> MakeFindingSections(const Report& report) {
  if (report.findings.empty()) return {};
  // Screens have few lines: warnings about the measurement replace the last finding.
  const std::size_t screen_findings =
      report.ladder ? kScreenLadderFindings : kScreenFindings - (report.warnings.size() > 1 ? 1 : 0);
  List list{.title = "", .screen_items = screen_findings, .numbered = true};
  for (const Finding& finding : report.findings) {
    auto [text, details, formula] = MakeFindingTexts(report, finding);
    if (!formula.empty()) details.push_back("How: " + formula);
    const char* const table = FindName(kFindingTables, finding.kind());
    // Other findings already state their own bounds, and MakeStartupSections shows fp16 findings of a pair.
    const bool is_redundant = finding.kind() == finding::UpperBounds::kKind ||
                              (finding.kind() == finding::Fp16ComputedAsFp32::kKind &&
                               std::ranges::find(report.comparisons, finding.experiment,
                                                 &ReportComparison::candidate) != report.comparisons.end());
    list.items.emplace_back(std::move(text), std::move(details),
                            is_redundant ? Visibility::kPage : Visibility::kDefault,
                            *table != '\0'  ? table
                            : report.ladder ? "ladder_groups"
                                            : "self_times");
  }
  list.visibility = Visibility::kBrief;
  return {{"Findings, largest potential saving first", Visibility::kBrief, {std::move(list)}}};
}

std::vector<Section> MakeArtifactSections(const Report& report) {
  if (report.artifacts.empty()) return {};
  return {{"Files",
           Visibility::kPage,
           {List{.title = "", .items = {report.artifacts.begin(), report.artifacts.end()}}}}};
}

std::string LargestGroup(const ReportExperiment& experiment) {
  const auto largest = std::ranges::max_element(experiment.groups.rows, {}, &AdditiveRow::total);
  if (largest == experiment.groups.rows.end() || experiment.groups.total <= 0) return "";
  return largest->name + ' ' +
         PercentText(static_cast<double>(largest->total) / static_cast<double>(experiment.groups.total));
}

// Always two decimals, so that the product of the printed factors is the printed speedup.
std::string FactorText(double factor) { return fmt::format("{:.{}f}x", factor, factor < 99.5 ? 2 : 0); }

Document MakeViewDocument(std::vector<Section> sections, const Report& report) {
  return {.sections = std::move(sections), .time_range = LatencyRange(report)};
}

template <BreakdownBy by>
constexpr ReportView MakeBreakdownView(const char* name, const char* empty_reason) {
  const auto make = [](const Report& report) {
    return MakeViewDocument(MakeBreakdownSections(report, by), report);
  };
  return {.name = name, .make = make, .prefix = "", .empty_reason = empty_reason, .is_breakdown = true};
}

constexpr const char* kNotTraced = "no run was traced";
constexpr const char* kNoLayers = "layers need the .pte that ran (--model)";
constexpr const char* kNotWatched = "no calls were watched in this run (etprof profile --watch)";

constexpr ReportView kReportViews[] = {
    MakeBreakdownView<BreakdownBy::kLayer>("layer", kNoLayers),
    MakeBreakdownView<BreakdownBy::kSource>("source", kNoLayers),
    MakeBreakdownView<BreakdownBy::kDelegate>("delegate", kNotTraced),
    MakeBreakdownView<BreakdownBy::kKernel>("kernel", kNotTraced),
    MakeBreakdownView<BreakdownBy::kCategory>("category", kNotTraced),
    {"roofline", [](const Report& report) { return MakeViewDocument(MakeRooflineSections(report), report); },
     "",
     "a roofline needs the machine's peaks (a run without --no-peaks), the .pte that ran (--model), and "
     "shapes that do not change at run time"},
    {"counters", [](const Report& report) { return MakeCountersDocument(report.run); },
     "Counters: ", "no counters were read in this run (etprof profile --counters)"},
    {"instructions", [](const Report& report) { return MakeInstructionsDocument(report.run); },
     "Instructions: ", "no instructions were counted in this run (etprof profile --instructions)"},
    {"noise", MakeNoiseDocument,
     "Noise: ", "no noise budget lies next to the program that ran (etprof accuracy)"},
    {"values", MakeValuesDocument,
     "Values: ", "no values were compared in this run (etprof profile --vs ... --values)"},
    {"proven",
     [](const Report& report) { return MakeViewDocument(MakeProvenKernelSections(report.watched), report); },
     "Proven kernels: ", kNotWatched},
    {"threads",
     [](const Report& report) { return MakeViewDocument(MakeThreadSections(report.watched), report); },
     "Threads: ", kNotWatched},
    {"memory", [](const Report& report) { return MakeViewDocument(MakeMemorySections(report), report); },
     "Memory: ", "no memory was watched in this run (etprof profile --watch, on Linux or Android)"}};

}  // namespace

std::span<const ReportView> ReportViews() { return kReportViews; }

const ReportComparison* MostChangedPair(const Report& report) {
  const auto change = [](const ReportComparison& pair) {
    const auto& estimate = pair.comparison.latency.estimate;
    return estimate ? std::fabs(estimate->log_ratio) : 0;
  };
  const auto largest = std::ranges::max_element(report.comparisons, {}, change);
  return largest == report.comparisons.end() ? nullptr : &*largest;
}

bool IsInMatrix(const Report& report, std::size_t experiment) {
  return std::ranges::any_of(report.matrices, [&](const Matrix& matrix) {
    return !IsSinglePair(report, matrix) &&
           (matrix.baseline == experiment ||
            std::ranges::find(matrix.candidates, experiment) != matrix.candidates.end());
  });
}

bool IsOnlyShownExperiment(const Report& report, std::size_t experiment) {
  if (!report.comparisons.empty() || report.ladder || IsInMatrix(report, experiment)) return false;
  std::size_t shown_experiments = 0;
  for (std::size_t i = 0; i < report.experiments.size(); ++i)
    shown_experiments += IsInMatrix(report, i) ? 0U : 1U;
  return shown_experiments == 1;
}

bool HasTimes(const ReportExperiment& experiment) { return experiment.profile && experiment.common_runs > 0; }

TimeRange LatencyRange(const Report& report) {
  TimeRange time_range{1e300, 0};
  for (const ReportExperiment& experiment : report.experiments) {
    if (!experiment.latency.p50) continue;
    time_range.smallest_ns = std::min(time_range.smallest_ns, *experiment.latency.p50);
    time_range.largest_ns = std::max(time_range.largest_ns, *experiment.latency.p50);
  }
  return time_range;
}

std::string TitleSuffix(const Report& report, const ReportComparison& pair) {
  const Comparison& comparison = pair.comparison;
  if (report.comparisons.size() < 2) return "";
  return fmt::format(": {}{} compared with {}", pair.label.empty() ? "" : pair.label + ": ",
                     comparison.candidate_label, comparison.baseline_label);
}

std::string TitleSuffix(const Report& report, const ReportExperiment& experiment) {
  return report.experiments.size() > 1 ? ": " + experiment.label : "";
}

double SameMargin(const Report& report) { return MakeCompareOptions(report.run).margin; }

Document MakeReportDocument(const Report& report) {
  Document document{.title = HeaderText(report), .section_kind = "section"};
  if (report.ladder) {
    document.answers = LadderAnswers(report);
  } else {
    for (const ReportComparison& pair : report.comparisons)
      document.answers.push_back(MakePairAnswer(report, pair));
  }
  document.measured = MeasuredText(report);
  document.time_range = LatencyRange(report);
  std::vector<Section>& sections = document.sections;
  for (const auto make : {MakeFindingSections, MakeReleaseSections, MakeLatencySections,
                          MakeSustainedSections, MakeStartupSections, MakeSelfTimeSections,
                          MakeOperatorSections, MakeDelegateValueSections, MakeLadderSections})
    Append(make(report), sections);
  for (const Matrix& matrix : report.matrices) {
    sections.push_back(MakeMatrixSection(report, matrix));
    if (IsSinglePair(report, matrix)) sections.back().visibility = Visibility::kPage;
  }
  Append(MakeLevelSpeedupsSections(report), sections);
  document.notes_title = "Measurement quality";
  document.notes = MakeValueNotes(report);
  std::ranges::move(MakeQualityNotes(report), std::back_inserter(document.notes));
  document.screen_notes = kScreenNotes;
  document.hint = "Use --all for every operator, finding, and note.";
  if (const std::string legend = UndefinedText(report); !legend.empty())
    document.hint = legend + " " + document.hint;
  std::vector<Section>& appendix = document.appendix;
  for (const auto make : {MakeConditionSections, MakePlaceSections, MakeMatrixKernelSections})
    Append(make(report), appendix);
  for (const BreakdownBy by : {BreakdownBy::kCategory, BreakdownBy::kKernel, BreakdownBy::kLayer,
                               BreakdownBy::kSource, BreakdownBy::kDelegate}) {
    // A bare trace needs no section that says that layers are unknown.
    const bool has_layers = (by != BreakdownBy::kLayer && by != BreakdownBy::kSource) ||
                            std::ranges::any_of(report.experiments, [](const auto& experiment) {
                              return !experiment.layers.empty();
                            });
    if (has_layers || !report.from_bare_etdumps) Append(MakeBreakdownSections(report, by), appendix);
  }
  for (const ReportView& view : ReportViews()) {
    if (view.is_breakdown) continue;
    for (Section& section : view.make(report).sections) {
      if (*view.prefix != '\0') {
        section.title = view.prefix + section.title;
        section.visibility = Visibility::kPage;
      }
      appendix.push_back(std::move(section));
    }
  }
  Append(MakeArtifactSections(report), appendix);
  return document;
}

void AddExperiments(const Report& report, const std::string& folder, Document& list) {
  if (list.sections.empty()) {
    list.section_kind = "section";
    list.screen_notes = 1;
    Table table{"experiments",
                "Experiments",
                {Left("experiment").WithDifferenceKept(), Right("median"),
                 Left("tail_is", "tail").WithDropPriority(2), Right("tail", "").WithDropPriority(2),
                 Right("cv", "CV").WithDropPriority(1), Right("runs").WithDropPriority(3),
                 Left("largest_group", "largest group"), Left("verdict", "").NeverDropped()}};
    list.sections = {{"", {std::move(table)}}};
  }
  auto& table = std::get<Table>(list.sections.front().parts.front());
  for (std::size_t i = 0; i < report.experiments.size(); ++i) {
    const ReportExperiment& experiment = report.experiments[i];
    const stats::Distribution& latency = experiment.latency;
    const TailQuantile tail = HighestQuantile(latency);
    Cell verdict("");
    const auto pair = std::ranges::find(report.comparisons, i, &ReportComparison::candidate);
    if (pair != report.comparisons.end()) {
      const TimeComparison& time_comparison = pair->comparison.latency;
      if (SpeedupOrDash(time_comparison) != kUndefined)
        verdict = Cell(VerdictWithBaseline(time_comparison, pair->comparison.baseline_label),
                       GetTone(Speedup{time_comparison}));
    }
    table.AddRow(folder.empty() ? experiment.label : folder + ": " + experiment.label,
                 OptionalCell<Duration>(latency.p50), tail.value ? tail.name : "",
                 CellOrBlank<Duration>(tail.value), OptionalCell<Share>(latency.cv), Count{latency.n},
                 KnownTextCell(LargestGroup(experiment)), verdict);
  }
  for (const std::string& warning : report.warnings) {
    Note note{warning, "warning"};
    const auto is_known = [&](const Note& other) { return ToText(other, {}) == ToText(note, {}); };
    if (std::ranges::none_of(list.notes, is_known)) list.notes.push_back(std::move(note));
  }
}

std::string FactorsText(const ReportComparison& pair) {
  if (!pair.factors) return "";
  const SpeedupFactors& factors = *pair.factors;
  // The share in the slower variant, where these operators matter most.
  const bool slower = pair.comparison.latency.verdict == stats::Verdict::kSlower;
  const double share = slower ? factors.candidate_time_share : factors.baseline_time_share;
  constexpr double kSameMargin = 0.005;
  const char* const use_text = factors.UtilizationRatio() > 1 + kSameMargin   ? "better use"
                               : factors.UtilizationRatio() < 1 - kSameMargin ? "worse use"
                                                                              : "the same use";
  const std::string operators =
      fmt::format("{} in {} ({} of {})", FactorText(factors.ratio.ratio()),
                  CountedText(factors.operators, "compute-bound operator"), PercentText(share),
                  slower ? pair.comparison.candidate_label : pair.comparison.baseline_label);
  const std::string shares_of_peak = fmt::format("{} to {}", PercentText(factors.baseline_share_of_peak),
                                                 PercentText(factors.candidate_share_of_peak));
  if (factors.HasEqualPeaks())
    return fmt::format("{} is {} of an equal peak ({}, {} of it).", operators, use_text, factors.dtype,
                       shares_of_peak);
  return fmt::format("Of {}, {} is peak performance ({}) and {} is {} of it ({} of peak).", operators,
                     FactorText(factors.PeakRatio()), factors.dtype, FactorText(factors.UtilizationRatio()),
                     use_text, shares_of_peak);
}

}  // namespace etprof::show
