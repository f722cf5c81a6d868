#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "core/file/file.h"
#include "device/survey.h"
#include "format/program/program.h"
#include "format/program/read/data_file.h"
#include "format/program/read/program_reader.h"
#include "history/trends.h"
#include "protocol/peaks.h"
#include "report/bisection.h"
#include "report/check.h"
#include "report/cpu_features.h"
#include "report/doctor.h"
#include "report/example_check.h"
#include "report/example_run.h"
#include "report/kernels/kernels.h"
#include "report/quicktest.h"
#include "report/run/sustained.h"
#include "report/static_check.h"
#include "report/suite/example_suite.h"
#include "report/suite/suite.h"
#include "report/validation.h"
#include "show/document.h"
#include "show/gates.h"
#include "show/subjects.h"
#include "show/subjects/run/report.h"
#include "show/subjects/run/report_parts.h"

// Example documents of every subject, for the tests that compare the formats with each other.
namespace etprof::example {

inline TimeComparison MakeTwofoldSpeedup() {
  TimeComparison time_comparison;
  time_comparison.estimate.emplace();
  time_comparison.estimate->log_ratio = std::log(2.0);
  time_comparison.estimate->log_low = std::log(1.9);
  time_comparison.estimate->log_high = std::log(2.1);
  time_comparison.verdict = stats::Verdict::kFaster;
  return time_comparison;
}

// A document with every kind of value and part.
inline show::Document MakeAllPartsDocument() {
  show::Table table{"values",
                    "Values",
                    {{"name", "name"}, {"value", "value", true}, {"note", "note"}},
                    {{"words", "a|b", "x"},
                     {"nothing", show::Cell(), "x"},
                     {"duration", show::Duration{1.5e6}, "x"},
                     {"time", show::Time{2.5e6}, "x"},
                     {"size", show::Size{2e6}, "x"},
                     {"count", show::Count{1204}, "x"},
                     {"amount", show::Amount{67.1e6}, "x"},
                     {"number", show::Number{3.25, "GHz"}, "x"},
                     {"bounded", show::Number{0.05, "", 0.04, 0.06}, "x"},
                     {"share", show::Share{0.54}, "x"},
                     {"speedup", show::Speedup{MakeTwofoldSpeedup()}, "x"},
                     {"interval", show::Interval{MakeTwofoldSpeedup()}, "x"},
                     {"scaling", show::Speedup{MakeTwofoldSpeedup(), 0.5}, "x"},
                     {"bounds", show::TimeBounds{2e6, 2.25e6}, "x"},
                     {"ratio", show::Ratio{2.5}, "x"},
                     {"change", show::Change{0.1, 0.09, 0.11}, show::Cell("worse", show::Tone::kBad)}}};
  show::Table folded_table{"more", "More", {{"name", "name"}}, {{"folded away"}}, show::Visibility::kFolded};
  using Role = show::Row::Role;
  show::Table tree{"tree",
                   "A tree",
                   {{"part", "part"}, {"time", "time", true}, {"share", "share", true, 0, true}},
                   {{{"above", show::Time{1.0004e6}, show::Share{0.5}}, Role::kPart},
                    {{"below", show::Time{1.0004e6}, show::Share{0.5}}, Role::kPart, 1},
                    {{"all", show::Time{2.0008e6}, show::Share{1}}, Role::kSum}}};
  show::Table short_table{"few", "", {{"name", "name"}}, {{"first"}, {"second"}, {"third"}}};
  short_table.screen_rows = 1;
  show::Table table_with_hint = short_table;
  table_with_hint.id = "elsewhere";
  table_with_hint.hidden_rows_hint = "in a file";
  show::Table points{"points",
                     "",
                     {{"point", "point"}, {"time", "time", true}},
                     {{"placed", show::Time{4e6}}, {"small", show::Time{1e6}}}};
  points.columns[1].has_hidden_sum = true;
  points.rows[1].visibility = show::Visibility::kFolded;
  points.hidden_rows_hint = "in a file";
  show::Document document;
  document.title = "all <of> it";
  document.section_kind = "section";
  document.facts = {"a fact"};
  document.answers = {{"the answer", "", show::Tone::kGood}};
  document.answers_last = true;
  document.notes = {{"a note"}, {show::FormatText("a note of {}", show::Time{1.25e6})}};
  document.time_range = show::TimeRange{1.5e6, 1.5e6};
  document.method = "the method";
  document.sections = {
      {"one",
       show::Visibility::kDefault,
       {show::Paragraph{"usual words"}, show::Paragraph{"words of a page", show::Visibility::kPage},
        show::List{"some lines", {"line 1", {"line 2", {"a detail"}}}, 1}, std::move(table),
        std::move(folded_table), std::move(short_table),
        show::Chart{{{"rising",
                      {1.0, 2.0, std::nullopt, 3.0},
                      [](double ms) { return show::Cell(show::Duration{ms * 1e6}); }}}},
        show::Facts{"facts", "", {{"known", "a value"}, {"note", "one"}, {"note", "other"}}}, std::move(tree),
        show::Paragraph{show::FormatText("a part takes {} of {} ({})", show::PartTime{5e5}, show::Time{1.5e6},
                                         show::Share{1.0 / 3})},
        show::List{"values",
                   {{show::FormatText("an item of {}", show::Time{2.5e6}),
                     {show::FormatText("or {}", show::Time{90})}}}}}},
      {"two", show::Visibility::kPage, {std::move(table_with_hint)}},
      {"three",
       show::Visibility::kFolded,
       {show::RooflineChart{
            "FLOP/B", "FLOP/s", {{true, 1e9, "top"}}, {{{1.0, 1e8}}, std::nullopt}, 10, "below"},
        std::move(points)}}};
  return document;
}

inline CountersRow MakeCountersRow(const std::string& key, const std::string& name, double time,
                                   double cycles) {
  return {key, name, 20, {{"task_clock_ns", time}, {"cycles", cycles}, {"instructions", 2 * cycles}}};
}

inline RunData MakeRunWithCounters(const std::string& label, std::vector<CountersRow> counters) {
  RunData run;
  ExperimentData& data = run.experiments.emplace_back();
  data.label = label;
  data.counters = std::move(counters);
  return run;
}

inline show::Document MakeCountersDocument() {
  return show::MakeCountersDocument(MakeRunWithCounters(
      "as it is", {MakeCountersRow("forward/0/backend/0", "small", 1000, 3000),
                   MakeCountersRow("forward/0/delegate_call/0", "DELEGATE_CALL", 1, 1),
                   MakeCountersRow("forward/0/backend/1", "large", 2000, 5000),
                   MakeCountersRow("forward/-1/method/0", "Method::execute", 4000, 9000)}));
}

inline show::Document MakeKernelsDocument() {
  KernelReport report;
  report.model_id = "toy_cnn";
  for (const char* label : {"off", "on"})
    report.views.push_back(ReadKernelView(ETPROF_TEST_DATA "/toy_cnn.t1.log", label, "toy_cnn"));
  report.views.back().usage.kernels.pop_back();
  report.comparison = CompareKernels(report.views, 0, 1);
  report.evidence = {
      {"off",
       "on",
       {{"Convolution (NHWC, F32) IGEMM #1", "Convolution (NHWC, PF32) IGEMM #1", false, true, false, true}},
       std::vector<OperatorEvidence::Row>(3)}};
  return show::MakeKernelsDocument(report);
}

// A sustained run of 100 s with one burst per second; the second half is slower.
inline show::Document MakeSustainedDocument() {
  ExperimentData data;
  data.launches.emplace_back();
  for (int i = 0; i < 100; ++i) {
    Burst burst;
    burst.round = i;
    burst.start = (i + 1) * Nanoseconds{1'000'000'000};
    burst.end = burst.start + 1'000'000'000;
    burst.recorded.assign(20, i < 50 ? 10'000'000 : 15'000'000);
    burst.frequency_khz = i < 50 ? 3'000'000 : 2'000'000;
    data.launches[0].bursts.push_back(burst);
  }
  Report report;
  ReportExperiment& experiment = report.experiments.emplace_back();
  experiment.label = "as it is";
  experiment.sustained = SummarizeSustained(data);
  show::Document document;
  document.title = "Sustained";
  document.sections = show::MakeSustainedSections(report);
  return document;
}

inline show::Document MakeInspectDocument() {
  const std::string file = ETPROF_TEST_DATA "/toy_cnn.pte";
  const MappedFile mapped = MappedFile::Open(file);
  return show::MakeInspectDocument(ReadProgram(mapped.bytes(), file), file, nullptr);
}

// A list with a device that answers and a device that does not.
inline show::Document MakeDeviceListDocument() {
  DeviceSurvey board, unreachable;
  board.name = "ssh:pi5";
  board.properties.platform = "linux-aarch64";
  board.properties.cores = 4;
  board.properties.memory_available = 8'000'000'000;
  board.vitals.cpu_celsius = 61;
  board.vitals.battery_percent = 47;
  board.vitals.battery_status = "Discharging";
  board.stored.cache = 75'001;
  unreachable.name = "ssh:gone";
  unreachable.problem = "cannot be reached";
  unreachable.remedy = "try again";
  return show::MakeDeviceListDocument({board, unreachable}, {"install adb"});
}

inline show::Document MakeCpuDocument() {
  CpuFeatures cpu;
  cpu.architecture = isa::Architecture::kX86_64;
  cpu.state.detected = {"avx", "avx2"};
  cpu.state.can_mask = false;
  cpu.state.masking_problem = "not here";
  return show::MakeCpuFeaturesDocument(cpu);
}

// A check with every result and with changes that explain them.
inline show::Document MakeStaticCheckDocument() {
  StaticCheck check;
  check.baseline = "a.pte";
  check.candidate = "b.pte";
  check.decision = GateDecision::kFail;
  const auto add = [&](const FactInfo& info, FactRange baseline, FactRange candidate, GateDecision decision) {
    StaticItem& item = check.items.emplace_back();
    item.fact = info.key;
    item.name = info.name;
    item.method = info.is_file_fact ? "" : "forward";
    item.unit = info.unit;
    item.is_minimum = info.is_minimum;
    item.baseline = baseline;
    item.candidate = candidate;
    item.allowed = baseline.low;
    item.decision = decision;
  };
  for (const FactInfo& info : AllFacts()) add(info, {0.9871, 0.9871}, {0.9869, 0.9869}, GateDecision::kFail);
  add(AllFacts()[0], {0.5, 1}, {0.5, 1}, GateDecision::kInconclusive);
  check.items.back().reason = "the payload of <Q|> cannot be read";
  check.items.push_back(check.items.front());
  check.items.back().baseline.reset();
  check.changes = {{"forward", "+ layer1 Cumsum", "model.py:12", "XNNPACK has no such operator"}};
  check.notes = {"a note"};
  return show::MakeStaticCheckDocument(check);
}

// A history with a series of twelve runs that becomes slower, the reference that other series are relative
// to, and a series of two runs.
inline show::Document MakeHistoryDocument(bool gate) {
  TrendData base, reference, short_series;
  base.key = {"net <|>", "decode", "base", 2, "isa=-avx2", "local"};
  reference.key = {"fixed", "forward", "fixed", 1, "", "local"};
  short_series.key = {"few", "forward", "few", 1, "", "ssh:pi5"};
  for (int i = 0; i < 12; ++i) {
    TrendPoint point;
    point.commit = i == 11 ? std::string(40, 'a') : "c|" + std::to_string(i);
    point.time = point.measured_at = 1'767'323'045 + i;
    point.conditions.rounds = 10;
    point.conditions.capped_rounds = i;
    if (i > 0) point.conditions.celsius = 40.0 + i;
    TrendPoint fixed = point;
    point.reference = "fixed";
    for (int launch = 0; launch < 4; ++launch) {
      const double log = (i < 6 ? 0.0 : 0.2) + 0.001 * (i % 3) + 0.0005 * launch;
      point.launches.push_back({launch, 1'000'000 + i, 7, 10, log});
      fixed.launches.push_back({launch, 900'000 + launch, 10, 10, std::nullopt});
    }
    if (i < 2) short_series.points.push_back(fixed);
    base.points.push_back(std::move(point));
    reference.points.push_back(std::move(fixed));
  }
  const HistoryReport history = FindTrends({base, reference, short_series}, "");
  return gate ? show::MakeHistoryCheckDocument(history, "h.sqlite", false)
              : show::MakeHistoryDocument(history, "h.sqlite");
}

// A bisection with a step of every outcome.
inline show::Document MakeBisectionDocument() {
  using Outcome = BisectionStep::Outcome;
  Bisection bisection;
  bisection.result = Bisection::Result::kSeveral;
  bisection.good = std::string(40, 'a');
  bisection.bad = std::string(40, 'b');
  bisection.commits = 9;
  bisection.growth = 0.1;
  for (const Outcome outcome : {Outcome::kBad, Outcome::kGood, Outcome::kUndecided, Outcome::kNotBuilt}) {
    BisectionStep& step = bisection.steps.emplace_back();
    step.commit = std::string(40, 'c');
    step.subject = "a | <change>";
    step.outcome = outcome;
    step.limit = 0.05;
    if (outcome == Outcome::kNotBuilt) {
      step.measured = false;
      step.reason = "`make` failed";
      continue;
    }
    step.growth = 0.1;
    step.low = 0.08;
    step.high = 0.12;
    step.launches = 10;
  }
  bisection.suspects = {"cccccccccccc a | <change>", "dddddddddddd another"};
  return show::MakeBisectionDocument(bisection);
}

inline show::Document MakePeaksDocument() {
  protocol::Peaks peaks;
  peaks.clock_hz = 3e9;
  peaks.compute = {{"avx2", "fp32", "vfmadd", {9e10, 8e10, 7e10, 5}}};
  protocol::MemoryPeak& memory = peaks.memory.emplace_back();
  memory.level = "L1";
  memory.access = "read";
  memory.bytes = {2e11, 1.9e11, 1e11, 5};
  memory.working_set_bytes = 16'384;
  return show::MakePeaksDocument(peaks, "local", true);
}

inline show::Document MakeDoctorDocument() {
  using State = DoctorCheck::State;
  return show::MakeDoctorDocument(
      {{{"measure",
         "profile",
         {{"runner", State::kOk, "0.1.0, /here|there", ""},
          {"steadiness", State::kWarning, "a virtual machine", "use another"}}},
        {"adb", "devices over adb", {{"adb", State::kMissing, "not found", "get it"}}}}});
}

inline show::Document MakeQuickTestDocument() {
  using State = QuickTestStep::State;
  QuickTestResult result;
  result.steps = {{"export", State::kPassed, 1.5, "a|b.pte", 0},
                  {"run", State::kFailed, 0.5, "`x` is not there", 3},
                  {"analyze", State::kNotTried, 0, "", 0}};
  result.log = "/out/quick_test.log";
  return show::MakeQuickTestDocument(result);
}

inline show::Document MakeValidationsDocument() {
  using Severity = ValidationFinding::Severity;
  return show::MakeValidationDocument({{{"runs/good", false, {}},
                                        {"runs/bad",
                                         false,
                                         {{Severity::kBroken, "csv", "a|b.csv", "is cut short"},
                                          {Severity::kWarning, "finished", ".", "was interrupted"}}},
                                        {"runs/foreign", true, {}}}});
}

// Add the document of a new subject here: document_test.cc then tests every format of it.
inline std::vector<show::Document> MakeDocuments() {
  return {MakeAllPartsDocument(),
          MakeKernelsDocument(),
          show::MakeCheckDocument(MakeCheck()),
          show::MakeSuiteDocument(MakeSuite()),
          MakeCountersDocument(),
          MakeSustainedDocument(),
          MakeDeviceListDocument(),
          MakeCpuDocument(),
          show::MakeReportDocument(MakePairReport()),
          show::MakeReportDocument(MakeBareEtdumpReport()),
          MakeStaticCheckDocument(),
          MakeHistoryDocument(false),
          MakeHistoryDocument(true),
          MakeBisectionDocument(),
          MakePeaksDocument(),
          MakeDoctorDocument(),
          MakeQuickTestDocument(),
          MakeValidationsDocument()};
}

}  // namespace etprof::example
