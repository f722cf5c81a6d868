#include "history/trends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/error.h"

namespace etprof {
namespace {

// Runs whose machine and code have known effects, in launches of a candidate and a reference.
struct Made {
  int runs = 30;
  double noise = 0.02;
  int launches = 20;
  std::function<double(int)> code = [](int) { return 0.0; };     // log effect on the candidate
  std::function<double(int)> machine = [](int) { return 0.0; };  // on both
  std::mt19937_64 random{5};

  std::vector<TrendData> Data(bool with_reference = true) {
    std::normal_distribution<double> normal;
    TrendData base, reference;
    base.key = {"net", "forward", "base", 1, "", "local"};
    reference.key = {"fixed", "forward", "fixed", 1, "", "local"};
    for (int i = 0; i < runs; ++i) {
      TrendPoint point;
      point.commit = "c" + std::to_string(i);
      point.time = point.measured_at = i;
      point.machine.kernel = "6.1";
      point.model_sha256 = "model";
      TrendPoint other = point;
      if (with_reference) point.reference = other.reference = "fixed";
      for (int launch = 0; launch < launches; ++launch) {
        const double shared = std::log(1e7) + machine(i) + noise * normal(random);
        const double own = shared + code(i) + 0.5 * noise * normal(random);
        point.launches.push_back({launch, std::llround(std::exp(own)), 9, 10,
                                  with_reference ? std::optional(own - shared) : std::nullopt});
        other.launches.push_back({launch, std::llround(std::exp(shared)), 10, 10, std::nullopt});
      }
      base.points.push_back(point);
      reference.points.push_back(other);
    }
    return with_reference ? std::vector{base, reference} : std::vector{base};
  }
};

TEST(Trends, AChangeOfTheCodeFails) {
  Made made;
  made.code = [](int i) { return i >= 18 ? 0.03 : 0.0; };
  const HistoryReport report = FindTrends(made.Data(), "");
  EXPECT_EQ(report.decision, GateDecision::kFail);
  const Trend& base = report.trends[0];
  ASSERT_EQ(base.changes.size(), 1U);
  EXPECT_TRUE(base.relative);
  EXPECT_EQ(base.changes[0].at, 18U);
  EXPECT_LE(base.changes[0].before, 17U);
  EXPECT_GE(base.changes[0].after, 18U);
  EXPECT_EQ(base.changes[0].cause, ChangeCause::kCode);
  EXPECT_NEAR(base.changes[0].growth, std::expm1(0.03), 0.006);
  EXPECT_TRUE(report.trends[1].of_reference);
  EXPECT_THAT(report.trends[1].changes, testing::IsEmpty());
  EXPECT_NEAR(base.runs[0].latency->middle, 1e7, 3e5);
  EXPECT_LT(*base.runs[0].latency->low, base.runs[0].latency->middle);
  EXPECT_EQ(base.runs[0].clean_runs, 180);
}

TEST(Trends, AFasterOneDoesNot) {
  Made made;
  made.code = [](int i) { return i >= 18 ? -0.03 : 0.0; };
  const HistoryReport report = FindTrends(made.Data(), "");
  EXPECT_EQ(report.decision, GateDecision::kPass);
  EXPECT_EQ(report.trends[0].changes.size(), 1U);
}

TEST(Trends, AChangeOfTheMachineIsTheReferencesToo) {
  Made made;
  made.machine = [](int i) { return i >= 12 ? 0.2 : 0.0; };
  const HistoryReport report = FindTrends(made.Data(), "");
  EXPECT_EQ(report.decision, GateDecision::kPass);
  EXPECT_THAT(report.trends[0].changes, testing::IsEmpty());
  ASSERT_EQ(report.trends[1].changes.size(), 1U);
  EXPECT_EQ(report.trends[1].changes[0].at, 12U);
  EXPECT_EQ(report.trends[1].changes[0].cause, ChangeCause::kMachine);
}

TEST(Trends, WithoutAReferenceNobodyKnows) {
  Made made;
  made.machine = [](int i) { return i >= 12 ? 0.2 : 0.0; };
  const HistoryReport report = FindTrends(made.Data(false), "");
  EXPECT_EQ(report.decision, GateDecision::kFail);
  ASSERT_EQ(report.trends[0].changes.size(), 1U);
  EXPECT_EQ(report.trends[0].changes[0].cause, ChangeCause::kUnknown);
  EXPECT_THAT(report.notes, testing::ElementsAre(testing::HasSubstr("reference")));
}

TEST(Trends, AnotherDeviceIsNamed) {
  Made made;
  made.code = [](int i) { return i >= 15 ? 0.2 : 0.0; };
  std::vector<TrendData> data = made.Data();
  for (TrendData& one : data) {
    for (std::size_t i = 15; i < one.points.size(); ++i) one.points[i].machine.kernel = "6.6";
  }
  const HistoryReport report = FindTrends(data, "");
  EXPECT_EQ(report.decision, GateDecision::kPass);
  ASSERT_EQ(report.trends[0].changes.size(), 1U);
  EXPECT_EQ(report.trends[0].changes[0].cause, ChangeCause::kDevice);
  EXPECT_EQ(report.trends[0].changes[0].differs, "kernel 6.1 -> 6.6");
}

TEST(Trends, AReferenceThatChangedIsNone) {
  Made made;
  made.machine = [](int i) { return i >= 12 ? 0.2 : 0.0; };
  std::vector<TrendData> data = made.Data();
  for (std::size_t i = 12; i < data[1].points.size(); ++i) data[1].points[i].model_sha256 = "another";
  const HistoryReport report = FindTrends(data, "");
  EXPECT_EQ(report.trends[1].changes.at(0).cause, ChangeCause::kUnknown);
  EXPECT_EQ(report.trends[1].changes.at(0).differs, "the model's file");
}

TEST(Trends, NorIsWhatIsRelativeToIt) {
  Made made;
  made.code = [](int i) { return i >= 15 ? 0.2 : 0.0; };
  std::vector<TrendData> data = made.Data();
  for (std::size_t i = 0; i < data[0].points.size(); ++i)
    data[0].points[i].reference_runner_sha256 = i >= 15 ? "new" : "old";
  const HistoryReport report = FindTrends(data, "");
  EXPECT_EQ(report.trends[0].changes.at(0).cause, ChangeCause::kUnknown);
  EXPECT_EQ(report.trends[0].changes.at(0).differs, "the reference's model or runner");
}

TEST(Trends, ChangesUpToACommitCanBeAccepted) {
  Made made;
  made.code = [](int i) { return i >= 18 ? 0.03 : 0.0; };
  EXPECT_EQ(FindTrends(made.Data(), "", {.since = "c20"}).decision, GateDecision::kPass);
  EXPECT_EQ(FindTrends(made.Data(), "", {.since = "c16"}).decision, GateDecision::kFail);
  EXPECT_THROW(FindTrends(made.Data(), "", {.since = "none"}), Error);
}

TEST(Trends, TooFewRunsSayHowManyMore) {
  Made made;
  made.runs = 4;
  const HistoryReport few = FindTrends(made.Data(), "");
  EXPECT_EQ(few.decision, GateDecision::kInconclusive);
  EXPECT_GE(few.trends[0].more_runs.value(), 4U);
  made.runs = 30;
  made.noise = 0.3;
  const HistoryReport noisy = FindTrends(made.Data(), "");
  EXPECT_EQ(noisy.decision, GateDecision::kInconclusive);
  EXPECT_GT(noisy.trends[0].more_runs.value(), 10U);
}

TEST(Trends, OfOperators) {
  Made made;
  std::vector<TrendData> data = made.Data(false);
  for (std::size_t i = 0; i < data[0].points.size(); ++i)
    data[0].points[i].operator_self = 1e5 + static_cast<double>(i % 3) * 100 + (i >= 10 ? 2e4 : 0);
  const HistoryReport report = FindTrends(data, "GEMM");
  ASSERT_EQ(report.trends[0].changes.size(), 1U);
  EXPECT_EQ(report.trends[0].changes[0].at, 10U);
  EXPECT_NEAR(report.trends[0].changes[0].growth, 0.2, 0.01);
}

}  // namespace
}  // namespace etprof
