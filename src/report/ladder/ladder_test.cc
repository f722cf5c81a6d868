#include "report/ladder/ladder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "format/etdump/reader.h"
#include "report/ladder/example_ladder.h"
#include "report/report.h"

namespace etprof {
namespace {

using example::LadderPoint;
using example::MakeLadder;
using example::MakeSme2Points;
using stats::Verdict;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;

// The points with this number of threads.
std::vector<LadderPoint> PointsWithThreads(std::vector<LadderPoint> points, int threads) {
  std::erase_if(points, [&](const LadderPoint& point) { return point.threads != threads; });
  return points;
}

const LadderRow* FindLadderRow(const std::vector<LadderRow>& rows, const std::string& name) {
  for (const LadderRow& row : rows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

Verdict VerdictAt(const LadderRow& row, std::size_t threads, std::size_t level) {
  return row.cells[threads][level].over_level_below->verdict;
}

TEST(Ladder, FindsThreadDependentLevels) {
  const Report report = MakeLadder(MakeSme2Points());
  ASSERT_TRUE(report.ladder);
  const Ladder& ladder = *report.ladder;
  ASSERT_THAT(ladder.levels, SizeIs(3));
  EXPECT_THAT(ladder.threads, ElementsAre(1, 4));
  EXPECT_TRUE(ladder.interleaved);
  EXPECT_TRUE(report.matrices.empty()) << "the ladder is the matrix";
  EXPECT_THAT(ladder.levels[1].added_features, ElementsAre("bf16", "fp16", "sme"));
  EXPECT_THAT(ladder.levels[2].added_features, ElementsAre("sme2"));

  const double whole = 1'040'000;
  const LadderRow& latency = ladder.latency;
  EXPECT_EQ(VerdictAt(latency, 0, 1), Verdict::kSame);
  EXPECT_EQ(VerdictAt(latency, 1, 1), Verdict::kSame);
  EXPECT_EQ(VerdictAt(latency, 0, 2), Verdict::kFaster);
  EXPECT_EQ(VerdictAt(latency, 1, 2), Verdict::kSlower);
  // The speed of the machine varies by 5 %, but equally for interleaved runs, so the ratios do not show it.
  EXPECT_NEAR(*SpeedupRatio(*latency.cells[0][2].over_level_below), (8e6 + whole) / (2e6 + whole + 1e5),
              0.01);
  EXPECT_NEAR(*SpeedupRatio(*latency.cells[1][2].over_lowest_level), (2e6 + whole) / (4e6 + whole + 1e5),
              0.01);
  EXPECT_NEAR(*latency.cells[1][0].efficiency, (8e6 + whole) / (2e6 + whole) / 4, 0.01);
  EXPECT_FALSE(latency.cells[0][0].efficiency);

  const LadderRow* convolution = FindLadderRow(ladder.groups, "Convolution");
  ASSERT_NE(convolution, nullptr);
  EXPECT_NEAR(*SpeedupRatio(*convolution->cells[0][2].over_level_below), 4, 0.02);
  EXPECT_NEAR(*SpeedupRatio(*convolution->cells[1][2].over_level_below), 0.5, 0.005);
  EXPECT_EQ(VerdictAt(*convolution, 0, 1), Verdict::kSame) << "not dropped: shown to change nothing";

  ASSERT_FALSE(ladder.thread_dependent_levels.empty());
  EXPECT_EQ(ladder.thread_dependent_levels[0].row_kind, ThreadDependentLevel::RowKind::kLatency);
  EXPECT_EQ(ladder.thread_dependent_levels[0].level, "sme2");
  EXPECT_THAT(ladder.thread_dependent_levels[0].faster_cells, ElementsAre(Field(&LadderCell::threads, 1)));
  EXPECT_THAT(ladder.thread_dependent_levels[0].slower_cells, ElementsAre(Field(&LadderCell::threads, 4)));
  const auto group_level =
      std::find_if(ladder.thread_dependent_levels.begin(), ladder.thread_dependent_levels.end(),
                   [](const ThreadDependentLevel& thread_dependent) {
                     return thread_dependent.row_kind == ThreadDependentLevel::RowKind::kGroup;
                   });
  ASSERT_NE(group_level, ladder.thread_dependent_levels.end());
  EXPECT_EQ(group_level->name, "Convolution");
}

TEST(Ladder, FindsTheBestSettingAndItsEquals) {
  const Ladder ladder = *MakeLadder(MakeSme2Points()).ladder;
  ASSERT_TRUE(ladder.best);
  EXPECT_EQ(ladder.best->setting.threads, 1u) << "four threads";
  EXPECT_NE(ladder.best->setting.level, 2u) << "where SME2 hurts";
  ASSERT_THAT(ladder.best->others, SizeIs(5));
  const LadderBest::OtherSetting& tied = ladder.best->others[0];  // neon and sme are equal at four threads
  EXPECT_EQ(tied.setting.threads, 1u);
  EXPECT_EQ(tied.best_comparison.verdict, Verdict::kSame);
  const LadderBest::OtherSetting& next = ladder.best->others[1];
  EXPECT_EQ(next.setting, (LadderSetting{2, 0}));
  EXPECT_EQ(next.best_comparison.verdict, Verdict::kFaster);
  EXPECT_NEAR(*SpeedupRatio(next.best_comparison), 3.14 / 3.04, 0.005);
  for (std::size_t i = 1; i < ladder.best->others.size(); ++i)
    EXPECT_LE(*SpeedupRatio(ladder.best->others[i - 1].best_comparison),
              *SpeedupRatio(ladder.best->others[i].best_comparison));
}

TEST(Ladder, ContendedSettingsMayBeTheBest) {
  std::vector<LadderPoint> points = MakeSme2Points();
  for (LadderPoint& point : points) point.contended = point.threads == 4;  // includes the best setting
  EXPECT_FALSE(MakeLadder(points).ladder->best);
  for (LadderPoint& point : points) point.contended = point.level == "sme" && point.threads == 1;
  const Ladder ladder = *MakeLadder(points).ladder;  // the contended setting is far from the best
  ASSERT_TRUE(ladder.best);
  EXPECT_EQ(ladder.best->setting.threads, 1u);
  const auto get_verdict = [&](const LadderSetting& setting) {
    return std::ranges::find(ladder.best->others, setting, &LadderBest::OtherSetting::setting)
        ->best_comparison.verdict;
  };
  EXPECT_EQ(get_verdict({1, 0}), Verdict::kContended);
  EXPECT_EQ(get_verdict({0, 0}), Verdict::kFaster);
}

// Over many seeds: a level without an effect is not called faster, and the intervals contain the true values.
TEST(Ladder, DecidesSimulatedLaunchesCorrectly) {
  int num_wrong = 0;
  int num_missed = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Ladder ladder = *MakeLadder(PointsWithThreads(MakeSme2Points(), 1), seed).ladder;
    num_wrong += VerdictAt(ladder.latency, 0, 1) == Verdict::kSame ? 0 : 1;
    num_missed += VerdictAt(ladder.latency, 0, 2) == Verdict::kFaster ? 0 : 1;
    EXPECT_EQ(ladder.best->setting.level, 2u) << seed;
  }
  EXPECT_EQ(num_wrong, 0);
  EXPECT_EQ(num_missed, 0);
}

TEST(Ladder, MatchesRenamedOperators) {
  const Report report = MakeLadder(PointsWithThreads(MakeSme2Points(), 1));
  const Ladder& ladder = *report.ladder;
  const LadderRow* convolution = FindLadderRow(ladder.operators, "Convolution (NHWC, PF32) IGEMM #1");
  ASSERT_NE(convolution, nullptr) << "called as at the highest level";
  for (const LadderCell& cell : convolution->cells[0]) EXPECT_TRUE(cell.op_name && cell.op_key && cell.ns);
  EXPECT_EQ(convolution->cells[0][0].op_name, "Convolution (NHWC, F32) IGEMM #1");
  EXPECT_EQ(convolution->cells[0][2].op_name, "Convolution (NHWC, PF32) IGEMM #1");
  EXPECT_NEAR(*SpeedupRatio(*convolution->cells[0][2].over_lowest_level), 4, 0.02);
  // An operator of only one level has no speedup.
  const LadderRow* pack = FindLadderRow(ladder.operators, "Pack Lh (NC, X32) #1");
  ASSERT_NE(pack, nullptr);
  EXPECT_FALSE(pack->cells[0][0].ns || pack->cells[0][1].ns);
  EXPECT_NEAR(*pack->cells[0][2].ns, 1e5, 5e3);
  EXPECT_FALSE(pack->cells[0][2].over_level_below || pack->cells[0][2].over_lowest_level);
  // Each operator of each level is in one row, and the times add up to those of the experiment.
  for (std::size_t l = 0; l < 3; ++l) {
    const ReportExperiment& experiment = report.experiments[*ladder.experiments[0][l]];
    double sum = 0;
    std::size_t count = 0;
    for (const LadderRow& row : ladder.operators) {
      count += row.cells[0][l].ns ? 1U : 0U;
      sum += row.cells[0][l].ns.value_or(0);
    }
    double expected = 0;
    for (const OperatorRow& row : experiment.operators) expected += row.mean_self_ns;
    EXPECT_EQ(count, experiment.operators.size());
    EXPECT_NEAR(sum, expected, 1e-6 * expected);
  }
}

// Recorded on an emulated CPU with SME2 off and on: KleidiAI's operators have other names, with other layout
// conversions around them.
TEST(Ladder, MatchesRecordedSme2Operators) {
  const std::string folder = std::string(ETPROF_TEST_DATA) + "/sme2_emulated/";
  for (const auto& [model, before, after] :
       {std::tuple{"toy_cnn", "Convolution (NHWC, F32) IGEMM", "Convolution (NHWC, PF32) IGEMM"},
        {"toy_fp16", "Convolution (NHWC, F16) IGEMM", "Convolution (NHWC, PF16) IGEMM"},
        {"toy_q8", "Convolution (NHWC, QC8) IGEMM", "Convolution (NHWC, PQS8, QS8, QC8W) IGEMM"}}) {
    RunData run;
    std::vector<std::optional<Profile>> profiles;
    for (const bool on : {false, true}) {
      ExperimentData data;
      data.name = on ? "sme2" : "sme";
      data.isa = on ? "all" : "=sme";
      data.emulated = true;
      data.isa_state.emplace();
      data.isa_state->detected = {"bf16", "fp16", "sme", "sme2"};
      data.isa_state->enabled = {"bf16", "fp16", "sme"};
      if (on) data.isa_state->enabled.emplace_back("sme2");
      run.experiments.push_back(std::move(data));
      profiles.emplace_back(
          Attribute(ReadEtdumpFile(folder + model + (on ? ".sme2_on.etdump" : ".sme2_off.etdump")),
                    AttributeOptions{}));
    }
    const Report report = Assemble(std::move(run), std::move(profiles));
    ASSERT_TRUE(report.ladder) << model;
    int changed = 0;
    std::size_t only_at_one_level = 0;
    for (const LadderRow& row : report.ladder->operators) {
      const auto type_at = [&](std::size_t level) -> std::string {
        const std::string name = row.cells[0][level].op_name.value_or("");
        return name.substr(0, name.rfind(" #"));
      };
      if (type_at(0).empty() || type_at(1).empty()) {
        ++only_at_one_level;
        EXPECT_FALSE(row.cells[0][1].over_level_below);
      } else if (type_at(0) == before) {
        EXPECT_EQ(type_at(1), after) << model;
        ++changed;
      }
      if (const auto& over = row.cells[0][1].over_level_below) {
        EXPECT_EQ(over->verdict, Verdict::kEmulated);
      }
    }
    EXPECT_GE(changed, 1) << model;
    const std::size_t off = report.experiments[0].operators.size();
    const std::size_t on = report.experiments[1].operators.size();
    EXPECT_EQ(report.ladder->operators.size() * 2 - only_at_one_level, off + on) << model;
  }
}

TEST(Ladder, SkipsAndReportsFailedLevels) {
  std::vector<LadderPoint> points = PointsWithThreads(MakeSme2Points(), 1);
  points[1].error = "the model asks for what this CPU lacks";
  const Report report = MakeLadder(points);
  ASSERT_TRUE(report.ladder);
  const Ladder& ladder = *report.ladder;
  ASSERT_THAT(ladder.levels, SizeIs(3));
  EXPECT_EQ(ladder.levels[1].name, "sme") << "its place is that of its mask";
  EXPECT_EQ(ladder.levels[1].error, points[1].error);
  EXPECT_FALSE(ladder.IsMeasured({1, 0}));
  EXPECT_EQ(VerdictAt(ladder.latency, 0, 2), Verdict::kFaster) << "against neon, the next below that ran";
  points[0].error = points[1].error;
  const Ladder alone = *MakeLadder(points).ladder;
  EXPECT_EQ(alone.Lowest(), 2u);
  EXPECT_FALSE(alone.latency.cells[0][2].over_level_below);
  EXPECT_FALSE(alone.best);
}

TEST(Ladder, ReportsTheShareOfPortableKernels) {
  const Ladder ladder = *MakeLadder(PointsWithThreads(MakeSme2Points(), 1)).ladder;
  EXPECT_NEAR(ladder.portable_share, 200'000.0 / 3'140'000, 0.002);
}

TEST(Ladder, OtherRunsAreNoLadders) {
  const std::vector<LadderPoint> good = PointsWithThreads(MakeSme2Points(), 1);
  std::vector<LadderPoint> points = good;
  points[2].isa = "";
  EXPECT_FALSE(MakeLadder(points).ladder) << "profile --vs isa=...: one side says no mask";
  points = good;
  points[1].visible = {"dotprod"};
  EXPECT_FALSE(MakeLadder(points).ladder) << "not nested";
  points = good;
  points[1].visible = {};
  EXPECT_FALSE(MakeLadder(points).ladder) << "two levels that are one";
  points = good;
  points.push_back(good[2]);
  EXPECT_FALSE(MakeLadder(points).ladder) << "one level twice";
  EXPECT_FALSE(MakeLadder({good[0]}).ladder);
  EXPECT_FALSE(example::MakePairReport().ladder);
  EXPECT_FALSE(example::MakeBareEtdumpReport().ladder);
  RunData run = MakeLadder(good).run;
  run.experiments[1].cpus = "0";
  EXPECT_FALSE(Assemble(run, {}).ladder) << "they differ in more than the level";
  run.experiments[1].cpus = "";
  EXPECT_TRUE(Assemble(run, {}).ladder) << "without traces there are latencies";
  run.experiments[1].third_party_runner = true;
  EXPECT_FALSE(Assemble(run, {}).ladder);
}

TEST(Ladder, EmulatedCpusHaveNoBestSetting) {
  RunData run = MakeLadder(PointsWithThreads(MakeSme2Points(), 1)).run;
  for (ExperimentData& data : run.experiments) data.emulated = true;
  const Report report = Assemble(std::move(run), {});
  ASSERT_TRUE(report.ladder);
  EXPECT_FALSE(report.ladder->best);
  EXPECT_THAT(report.ladder->thread_dependent_levels, IsEmpty());
  EXPECT_EQ(VerdictAt(report.ladder->latency, 0, 2), Verdict::kEmulated);
}

}  // namespace
}  // namespace etprof
