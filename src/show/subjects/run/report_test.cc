#include "show/subjects/run/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/golden_testing.h"
#include "report/example_run.h"
#include "show/formats/formats_testing.h"
#include "show/subjects/run/report_parts.h"
#include "show/wording.h"

namespace etprof::show {
namespace {

using read::FindCell;
using read::FindColumn;
using read::FindRow;
using read::FindTable;
using testing::HasSubstr;
using testing::Not;

std::string FindNote(const Document& document, const std::string& label) {
  for (const Note& note : document.notes) {
    if (note.label == label) return ToText(note.text, document.time_range);
  }
  return "";
}

TEST(MakeReportDocument, FindingsLinkToExistingTables) {
  for (const Report& report : {example::MakePairReport(), example::MakeBareEtdumpReport()}) {
    const Document document = MakeReportDocument(report);
    std::size_t findings = 0;
    for (const Section* const section : AllSections(document)) {
      for (const Part& part : section->parts) {
        const auto* const list = std::get_if<List>(&part);
        if (list == nullptr || !list->numbered) continue;
        for (const List::Item& item : list->items) {
          EXPECT_NO_THROW(FindTable(document, item.table)) << ToText(item.text, {});
          ++findings;
        }
      }
    }
    EXPECT_EQ(findings, report.findings.size());
    EXPECT_GT(findings, 2U);
  }
}

TEST(MakeReportDocument, ComparesReleasesWithTheirPredecessors) {
  const auto make = [](std::size_t releases, const std::vector<OutputDifference>& outputs) {
    RunData run;
    for (std::size_t i = 0; i < releases; ++i) {
      run.experiments.push_back(
          example::MakeExperiment("release " + std::to_string(i), i == 2 ? 6'000'000 : 5'000'000));
      run.experiments.back().executorch_version = std::to_string(i);
      if (i < 4) run.experiments.back().output_digests = {{{"Float", {2}}, "", -4, 2, 0}};
      if (i > 0) run.pairs.push_back({.baseline = i - 1, .candidate = i, .outputs = outputs[i - 1]});
    }
    return MakeReportDocument(Assemble(std::move(run), {}));
  };
  const auto make_difference = [](double difference) {
    return OutputDifference{true, false, difference, difference, "outputs differ"};
  };
  const std::vector<OutputDifference> outputs = {{true, true, {}, {}, "equal"},
                                                 make_difference(3.9e-5),
                                                 make_difference(4.1e-5),
                                                 {false, false, {}, {}, "the outputs of one are not known"}};
  const Document document = make(5, outputs);
  const Table& table = FindTable(document, "releases");
  std::vector<std::string> output_texts, speedups;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    output_texts.push_back(ToText(FindCell(table, row, "outputs")));
    speedups.push_back(ToText(FindCell(table, row, "speedup")));
  }
  EXPECT_THAT(output_texts, testing::ElementsAre("", "equal", "rounding", "different", "—"));
  EXPECT_THAT(speedups, testing::ElementsAre("", "same", "0.83x", "1.20x", "same"));
  EXPECT_EQ(document.answers.size(), 4U);
  EXPECT_THROW(FindTable(make(2, outputs), "releases"), std::runtime_error);
}

TEST(MakeReportDocument, ShowsWhetherTheExporterOrTheRuntimeChanged) {
  RunData run;
  const auto add = [&](const std::string& release, const std::string& exported, const std::string& digest,
                       Nanoseconds latency) {
    run.experiments.push_back(example::MakeExperiment(release + " of " + exported, latency));
    run.experiments.back().executorch_version = release;
    run.experiments.back().export_executorch_version = exported;
    run.experiments.back().model_sha256 = digest;
  };
  add("1", "1", "a", 5'000'000);
  add("2", "2", "a", 6'000'000);
  add("3", "3", "b", 3'000'000);
  add("2", "3", "b", 3'000'000);
  add("3", "2", "a", 6'000'000);
  add("4", "4", "c", 3'000'000);  // releases 3 and 4 did not run each other's programs
  run.pairs = {{.baseline = 0, .candidate = 1},
               {.baseline = 1, .candidate = 2},
               {.baseline = 3, .candidate = 2},
               {.baseline = 4, .candidate = 2},
               {.baseline = 2, .candidate = 5}};
  const Document document = MakeReportDocument(Assemble(std::move(run), {}));
  const auto row_texts = [&](const std::string& id, const std::vector<std::string>& columns) {
    const Table& table = FindTable(document, id);
    std::vector<std::string> rows;
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      std::string& text = rows.emplace_back();
      for (const std::string& column : columns) text += ToText(FindCell(table, row, column)) + "|";
    }
    return rows;
  };
  EXPECT_THAT(
      row_texts("release_effects", {"release", "export", "exporter", "runtime"}),
      testing::ElementsAre("2 of 2|unchanged|—|0.83x|", "3 of 3|changed|2.00x|same|", "4 of 4|changed|—|—|"));
  EXPECT_THAT(row_texts("releases", {"release", "speedup"}),
              testing::ElementsAre("1 of 1||", "2 of 2|0.83x|", "3 of 3|2.00x|", "4 of 4|same|"));
}

TEST(MakeReportDocument, AnswersWithAnInterval) {
  const Document document = MakeReportDocument(example::MakePairReport());
  ASSERT_EQ(document.answers.size(), 1U);
  EXPECT_EQ(ToText(document.answers[0].text, {}), "on is 2.50x faster than off");
  EXPECT_EQ(ToText(document.answers[0].precision, {}), "95% CI [2.497, 2.497]");
  EXPECT_EQ(document.answers[0].tone, Tone::kGood);
  EXPECT_EQ(document.measured, "10 interleaved launches x 4 rounds in 31 s");
}

TEST(MakeReportDocument, AnswersForEveryVerdict) {
  Report report = example::MakePairReport();
  TimeComparison& latency = report.comparisons[0].comparison.latency;
  const auto answer = [&](stats::Verdict verdict) {
    latency.verdict = verdict;
    return MakeReportDocument(report).answers.at(0);
  };
  EXPECT_EQ(ToText(answer(stats::Verdict::kInconclusive).text, {}),
            "on compared with off: inconclusive, 2.50x");
  EXPECT_EQ(ToText(answer(stats::Verdict::kSame).text, {}), "on is as fast as off (same within ±1%)");
  EXPECT_EQ(ToText(answer(stats::Verdict::kEmulated).text, {}),
            "on compared with off: emulated CPU: timings not meaningful");
  EXPECT_EQ(ToText(answer(stats::Verdict::kEmulated).precision, {}), "");
  latency.estimate->log_ratio = std::log(1 / 1.0004);
  EXPECT_EQ(ToText(answer(stats::Verdict::kSlower).text, {}), "on is 1.0004x slower than off");
  EXPECT_EQ(answer(stats::Verdict::kSlower).tone, Tone::kBad);
}

TEST(MakeReportDocument, AnswersEveryPair) {
  RunData run = example::MakePairReport().run;
  run.experiments.push_back(example::MakeExperiment("slow", 2'004'000));
  for (const std::size_t baseline : {std::size_t{2}, std::size_t{0}}) {
    ComparePair pair;
    pair.baseline = baseline;
    pair.candidate = baseline == 2 ? 1 : 2;
    run.pairs.push_back(pair);
  }
  const Document document = MakeReportDocument(Assemble(std::move(run), {}));
  ASSERT_EQ(document.answers.size(), 3U);
  EXPECT_EQ(ToText(document.answers[0].text, {}), "on is 2.50x faster than off");
  EXPECT_EQ(ToText(document.answers[1].text, {}), "on is as fast as slow (same within ±1%)");
  EXPECT_EQ(ToText(document.answers[2].text, {}), "slow is 2.49x faster than off");
}

// Groups are sorted by decreasing time of the candidate; a screen merges small groups into one row.
TEST(MakeReportDocument, SelfTimesAreSortedAndEndWithTheMedian) {
  const Document document = MakeReportDocument(example::MakePairReport());
  const Table& table = FindTable(document, "self_times");
  std::vector<std::string> names;
  for (const Row& row : table.rows) names.push_back(ToText(row.cells[0]));
  EXPECT_THAT(names, testing::ElementsAre("Convolution", "GEMM", "Data Movement", "Other",
                                          "Delegate overhead", "Framework overhead", "2 smaller groups",
                                          kTracedTotal, kTracingOverhead, "Median latency"));
  EXPECT_EQ(FindRow(table, "Delegate overhead").visibility, Visibility::kPage);
  EXPECT_EQ(FindRow(table, "2 smaller groups").role, Row::Role::kScreenOnly);
  EXPECT_EQ(FindRow(table, "Other").visibility, Visibility::kDefault);
  EXPECT_EQ(FindRow(table, "Median latency").role, Row::Role::kSum);
}

// The first pair's interval does not apply to other pairs, so each has its own, or the best and the worst are
// named. If runs were disturbed, their number is named.
TEST(MakeReportDocument, NotesReportThePrecisionAndTheRuns) {
  std::string notes;
  const auto add = [&](std::string_view state, const Report& report, const char* label) {
    notes += GoldenState(state, FindNote(MakeReportDocument(report), label));
  };
  Report report = example::MakePairReport();
  report.noise_floor.reset();
  report.comparisons.front().half_width = 0.01;
  add("precision of a pair", report, "precision");
  report.comparisons.resize(3, report.comparisons.front());
  report.comparisons[1].half_width = 0.055;
  report.comparisons[1].comparison.candidate_label = "avx2 on";
  report.comparisons[2].half_width.reset();
  report.comparisons[2].comparison.candidate_label = "int8";
  add("precision of two of three pairs", report, "precision");
  report.comparisons[1].comparison.candidate_label = "on";
  report.comparisons[1].comparison.baseline_label = "avx2 off";
  add("precision of two pairs with one candidate", report, "precision");
  report.comparisons[1].comparison.candidate_label = "avx2 on";
  report.comparisons.resize(6, report.comparisons.front());
  add("precision of many pairs", report, "precision");
  report.comparisons[1].half_width = 269.07;
  add("precision of many pairs, one of two launches far apart", report, "precision");
  report.noise_floor = 0.012;
  add("precision with a noise floor", report, "precision");
  add("runs of a single trace", example::MakeBareEtdumpReport(), "runs");
  Report disturbed = example::MakePairReport();
  disturbed.experiments[1].clean_runs = 150;
  add("runs, some disturbed", disturbed, "runs");
  disturbed.experiments[1].clean_runs = 0;
  add("runs, all disturbed", disturbed, "runs");
  ExpectGolden("show/report/notes", notes);
}

// Latencies of disturbed runs are marked in the latency table.
TEST(MakeReportDocument, MarksContendedLatencies) {
  Report report = example::MakePairReport();
  EXPECT_EQ(FindColumn(FindTable(MakeReportDocument(report), "report_latency"), "interval").visibility,
            Visibility::kPage);
  report.experiments[1].clean_runs = 0;
  const Document document = MakeReportDocument(report);
  const Table& table = FindTable(document, "report_latency");
  EXPECT_EQ(FindColumn(table, "interval").visibility, Visibility::kDefault);
  EXPECT_NE(ToText(table.rows.at(0).cells.at(2)), "contended");
  EXPECT_EQ(ToText(table.rows.at(1).cells.at(2)), "contended");
}

// If tracing takes a large part of a run, a screen shows no times that contradict the latency.
TEST(MakeReportDocument, LeavesOutSelfTimesThatContradictTheLatency) {
  Report report = example::MakePairReport();
  const auto visibility = [&] {
    for (const Section& section : MakeReportDocument(report).sections) {
      for (const auto& part : section.parts) {
        if (const auto* table = std::get_if<Table>(&part); table != nullptr && table->id == "self_times")
          return section.visibility;
      }
    }
    throw std::runtime_error("no table of self times");
  };
  EXPECT_EQ(visibility(), Visibility::kBrief);
  ReportExperiment& candidate = report.experiments[1];
  const double traced = *candidate.MeanExecute();
  candidate.traced.min = traced;
  for (const double gap : {1.24, 1.26}) {
    candidate.latency.p50 = candidate.latency.min = traced / gap;
    EXPECT_EQ(visibility(), gap < 1.25 ? Visibility::kBrief : Visibility::kPage) << gap;
  }
  // If disturbed runs cause the gap, the shares are still useful.
  candidate.latency.min = traced;
  EXPECT_EQ(visibility(), Visibility::kBrief);
}

TEST(MakeReportDocument, MarksASingleFirstRun) {
  std::vector<std::optional<Profile>> profiles;
  profiles.emplace_back(Attribute(example::MakeTrace(example::MakeInferences(1, 4'000'000)), {}));
  const Report report = Assemble(MakeEtdumpRun({"net.etdump"}, {}), std::move(profiles));
  EXPECT_EQ(FindNote(MakeReportDocument(report), "runs"), "1 traced run, the first of its process");
}

// If traced or untraced runs are disturbed, their difference is not tracing overhead.
TEST(MakeReportDocument, DisturbedRunsAreNotCalledTracingOverhead) {
  Report report = example::MakePairReport();
  EXPECT_EQ(TracerRowName(report.experiments[0]), "Tracing overhead");
  report.experiments[0].latency.p50 = 2 * *report.experiments[0].MeanExecute();
  EXPECT_EQ(TracerRowName(report.experiments[0]), "Mean to median");
  const Document document = MakeReportDocument(report);
  const Table& table = FindTable(document, "self_times");
  EXPECT_EQ(ToText(table.rows.at(table.rows.size() - 2).cells.front()), "Mean to median");
}

TEST(MakeReportDocument, UsesTheSingularForOneRound) {
  Report report = example::MakePairReport();
  report.comparisons.clear();
  report.run.schedule.launches = 14;
  report.run.schedule.rounds = 1;
  EXPECT_EQ(MakeReportDocument(report).measured, "14 launches x 1 round in 31 s");
}

// A printed speedup that differs from the quotient of the printed means is explained, an equal one is not.
TEST(MakeReportDocument, ExplainsSpeedupsThatDifferFromTheQuotient) {
  const auto explanation = [](const Report& report) {
    for (const Section& section : MakeReportDocument(report).sections) {
      for (const auto& part : section.parts) {
        const auto* paragraph = std::get_if<Paragraph>(&part);
        const std::string text = paragraph != nullptr ? ToText(paragraph->text, {}) : "";
        if (text.starts_with("Speedups are ")) return text;
      }
    }
    return std::string();
  };
  Report report = example::MakePairReport();
  EXPECT_EQ(explanation(report), "");
  for (OperatorMatch& match : report.comparisons[0].comparison.operators) {
    if (match.time_comparison.verdict == stats::Verdict::kFaster)
      match.time_comparison.estimate->log_ratio += 0.1;
  }
  EXPECT_EQ(explanation(report),
            "Speedups are geometric means of per-launch ratios and can differ slightly from the ratio of the "
            "two means shown.");
  report.comparisons[0].comparison.pairing = Pairing::kUnpaired;
  EXPECT_EQ(
      explanation(report),
      "Speedups are ratios of the runs' medians and can differ slightly from the ratio of the two means "
      "shown.");
}

TEST(MakeReportDocument, DistinguishesOperatorsOfTheSameName) {
  Report report = example::MakePairReport();
  Profile& profile = *report.experiments[1].profile;
  const std::vector<OperatorRow>& rows = report.experiments[1].operators;
  ASSERT_GE(rows.size(), 2U);
  profile.operators[rows[1].op].name = profile.operators[rows[0].op].name;
  const Document document = MakeReportDocument(report);
  for (const std::size_t i : {0U, 1U}) {
    EXPECT_THAT(ToText(FindTable(document, "report_operators").rows[i].cells[0]),
                HasSubstr("(call " + std::to_string(profile.operators[rows[i].op].call_index) + ")"));
  }
}

TEST(MakeReportDocument, SortsOperatorsOfOneVariantByTimeAndNamesTheirLayer) {
  Report report = example::MakePairReport();
  std::vector<OperatorMatch>& matches = report.comparisons[0].comparison.operators;
  for (OperatorMatch& match : matches) {
    match.baseline.reset();
    match.baseline_total = 0;
  }
  Profile& profile = *report.experiments[1].profile;
  ProgramJoin& program = profile.program.emplace();
  program.places.emplace_back().modules.push_back({"features.0", "torch.nn.Module"});
  program.operators.resize(profile.operators.size());
  for (OperatorSource& source : program.operators) source.place = 0;
  const Table table = FindTable(MakeReportDocument(report), "in_one_variant");
  ASSERT_GT(table.rows.size(), 2U);
  EXPECT_EQ(ToText(FindCell(table, 0, "layer")), "features.0");
  const auto time = [&](std::size_t row) { return *FindCell(table, row, "mean").value; };
  for (std::size_t row = 1; row < table.rows.size(); ++row) EXPECT_LE(time(row), time(row - 1));
}

// For a pair, a screen shows the interval of the speedup. Pages also show the intervals of both medians.
TEST(MakeReportDocument, ShowsTheIntervalAndMemoryOfEachMedian) {
  Report report = example::MakePairReport();
  report.experiments[0].interval = LatencyInterval{4.9e6, 5.1e6, 0.95, 10};
  report.experiments[1].peak_rss = 30'600'000;
  const Document document = MakeReportDocument(report);
  const Table& table = FindTable(document, "report_latency");
  EXPECT_EQ(FindCell(table, 0, "interval").high, 5.1e6);
  EXPECT_EQ(FindColumn(table, "interval").visibility, Visibility::kPage);
  EXPECT_TRUE(HasNoValue(FindCell(table, 0, "peak_memory")));
  EXPECT_EQ(FindCell(table, 1, "peak_memory").value, 30.6e6);
  const Document bare = MakeReportDocument(example::MakeBareEtdumpReport());
  const Table& bare_table = FindTable(bare, "report_latency");
  EXPECT_EQ(FindColumn(bare_table, "interval").visibility, Visibility::kDefault);
  EXPECT_THROW(FindColumn(bare_table, "peak_memory"), std::runtime_error);
}

TEST(MakeReportDocument, ShowsTheOwnTimeOfModulesInAPair) {
  Report report = example::MakePairReport();
  report.comparisons[0].layers.resize(2);
  report.comparisons[0].layers[1].depth = 1;
  report.comparisons[0].layers[1].row.name = "block";
  for (std::size_t variant = 0; variant < 2; ++variant) {
    ReportExperiment& experiment = report.experiments[variant];
    experiment.layers.resize(2);
    experiment.layers[1].path = "block";
    experiment.layers[1].self = static_cast<Nanoseconds>(variant + 1) * 1000 * experiment.common_runs;
  }
  const Document document = MakeReportDocument(report);
  const Table& table = FindTable(document, "compared_by_layer");
  EXPECT_EQ(FindCell(table, 1, "baseline_own").value, 1000);
  EXPECT_EQ(FindCell(table, 1, "candidate_own").value, 2000);
  EXPECT_EQ(ToText(FindCell(table, 0, "candidate_own")), "");
}

TEST(MakeReportDocument, ListsManyReportsWithOneLinePerExperiment) {
  Document list;
  AddExperiments(example::MakePairReport(), "runs/a", list);
  AddExperiments(example::MakeBareEtdumpReport(), "", list);
  const Table& table = FindTable(list, "experiments");
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(ToText(table.rows[0].cells[0]), "runs/a: off");
  EXPECT_EQ(ToText(table.rows[0].cells[6]), "Convolution 78%");
  EXPECT_EQ(ToText(table.rows[0].cells[7]), "");
  EXPECT_EQ(ToText(table.rows[1].cells[7]), "2.50x faster than off");
  EXPECT_EQ(ToText(table.rows[2].cells[0]), "net");
}

TEST(MakeReportDocument, ShowsPlaceTimeAndReasonOfPortableOperators) {
  std::vector<example::Inference> runs = example::MakeInferences(8, 4'000'000);
  for (example::Inference& run : runs) run.kernels = {{"mul.Scalar_out", 200'001}, {"argmax.out", 100'001}};
  Profile profile = Attribute(example::MakeTrace(runs), {});
  ProgramJoin& program = profile.program.emplace();
  program.operators.resize(profile.operators.size());
  program.places = {{{{"head.scale", "Scale"}}, SourceFrame{"/home/net.py", 12, "forward", ""}}};
  for (std::size_t op = 0; op < profile.operators.size(); ++op) {
    if (profile.operators[op].type != "mul.Scalar_out") continue;
    program.operators[op].place = 0;
    program.operators[op].not_delegated_reason = "XNNPACK takes it of two tensors";
  }
  std::vector<std::optional<Profile>> profiles;
  profiles.emplace_back(std::move(profile));
  const Document document =
      MakeReportDocument(Assemble(MakeEtdumpRun({"net.etdump"}, {}), std::move(profiles)));
  const Table& table = FindTable(document, "portable");
  const auto texts = [&](const std::string& name) {
    std::string text;
    for (const Cell& cell : FindRow(table, name).cells) text += ToText(cell) + "|";
    return text;
  };
  EXPECT_EQ(texts("mul.Scalar_out"),
            "mul.Scalar_out|ELEMENTWISE|head.scale|net.py:12|200 µs|3.8%|XNNPACK takes it of two tensors|");
  EXPECT_EQ(texts("argmax.out"), "argmax.out|REDUCTION|||100 µs|1.9%||");
}

// The reason for slow fp16 is shown next to the verdict, and not repeated in the findings of a screen.
TEST(MakeReportDocument, ExplainsFp16NextToTheVerdict) {
  Report report = example::MakePairReport();
  const auto count = [&](Visibility visibility) {
    std::ptrdiff_t found = 0;
    for (const Section& section : MakeReportDocument(report).sections) {
      for (const auto& part : section.parts) {
        if (const auto* paragraph = std::get_if<Paragraph>(&part))
          found += paragraph->visibility == visibility &&
                   ToText(paragraph->text, {}).find("computed as fp32") != std::string::npos;
        if (const auto* list = std::get_if<List>(&part)) {
          found += std::ranges::count_if(list->items, [&](const List::Item& item) {
            return item.visibility == visibility &&
                   ToText(item.text, {}).find("computed as fp32") != std::string::npos;
          });
        }
      }
    }
    return found;
  };
  EXPECT_EQ(count(Visibility::kDefault), 0);
  Finding finding{finding::Fp16ComputedAsFp32{{500'000, 1'000'000}, 1}, 500'000, 1};
  report.findings.push_back(finding);
  EXPECT_EQ(count(Visibility::kDefault), 1);
  EXPECT_EQ(count(Visibility::kPage), 1);
  report.findings.back().experiment = 0;  // the baseline
  EXPECT_EQ(count(Visibility::kDefault), 1);
  EXPECT_EQ(count(Visibility::kPage), 0);
}

// The number of runs comes from a file that may be damaged.
TEST(MakeThreadSections, AcceptsAnOperatorWithoutRuns) {
  WatchedExperiment experiment;
  ThreadUsage& usage = experiment.rows.emplace_back().threads;
  usage.regions = 1;
  usage.threads.resize(2);
  usage.threads[0].tasks = 3;
  const std::vector<Section> sections = MakeThreadSections({experiment});
  const auto& table = std::get<Table>(sections.at(0).parts.at(0));
  EXPECT_EQ(ToText(table.rows.at(0).cells.at(2)), "3");
}

TEST(MakeMemorySections, ComparesTheFileWithPackedWeightsOnlyIfThereAreAny) {
  const auto has_note = [](std::int64_t packed) {
    Report report;
    WatchedExperiment& watched = report.watched.emplace_back();
    protocol::MemorySnapshot& steady = watched.memory.emplace().snapshots.emplace_back();
    steady.moment = "steady";
    steady.parts = {{protocol::MemoryOwner::kProgram, 5'000'000, 5'000'000},
                    {protocol::MemoryOwner::kWeights, packed, packed}};
    const std::vector<Part> parts = MakeMemorySections(report).at(0).parts;
    return std::ranges::any_of(parts, [](const Part& part) {
      const auto* const paragraph = std::get_if<Paragraph>(&part);
      return paragraph != nullptr && ToText(paragraph->text, {}).starts_with("5.00 MB of the program's file");
    });
  };
  EXPECT_TRUE(has_note(4'000'000));
  EXPECT_FALSE(has_note(0));
}

TEST(MakeNoiseDocument, LocatesNoiseOnlyIfThereIsAny) {
  Report report;
  report.run.experiments.emplace_back();
  NoiseBudget noise;
  OutputBudget& output = noise.budgets.emplace_back();
  output.inputs = 8;
  output.values.resize(3);
  const auto summary = [&] {
    report.experiments.resize(1);
    report.experiments[0].noise = std::make_shared<NoiseBudget>(noise);
    const Document document = MakeNoiseDocument(report);
    return ToText(std::get<Paragraph>(document.sections.at(0).parts.at(0)).text, {});
  };
  EXPECT_EQ(summary(), "No noise on 8 inputs.");
  output.sqnr_db = 30;
  output.values_with_half_noise = 1;
  EXPECT_THAT(summary(), HasSubstr("Half of the noise is in 1 of 3 values"));
}

// The candidate has twice the peak of the baseline, and this share of it.
Report MakeReportWithFactors(double candidate_share_of_peak) {
  Report report = example::MakePairReport();
  SpeedupFactors& factors = report.comparisons[0].factors.emplace();
  factors.dtype = "fp32";
  factors.operators = 7;
  factors.macs = 1000;
  factors.baseline_time_share = 0.78;
  factors.baseline_peak = 60e9;
  factors.candidate_peak = 120e9;
  factors.baseline_share_of_peak = 0.37;
  factors.candidate_share_of_peak = candidate_share_of_peak;
  factors.ratio.log_ratio = std::log(factors.PeakRatio() * factors.UtilizationRatio());
  return report;
}

// The second factor is better, worse, or the same use of the peak; if the peaks are equal, it is the only
// one.
TEST(FactorsText, NamesBothFactors) {
  Report equal_peaks = MakeReportWithFactors(0.85);
  SpeedupFactors& factors = *equal_peaks.comparisons[0].factors;
  factors.candidate_peak = factors.baseline_peak;
  factors.baseline_share_of_peak = 0.2;
  const auto text = [](const Report& report) { return FactorsText(report.comparisons[0]); };
  ExpectGolden("show/speedup_factors",
               GoldenState("better use of twice the peak", text(MakeReportWithFactors(0.85))) +
                   GoldenState("worse use of twice the peak", text(MakeReportWithFactors(0.3))) +
                   GoldenState("the same use of twice the peak", text(MakeReportWithFactors(0.371))) +
                   GoldenState("better use of an equal peak", text(equal_peaks)));
  EXPECT_EQ(text(example::MakePairReport()), "");
}

}  // namespace
}  // namespace etprof::show
