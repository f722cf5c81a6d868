#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "commands/terminal/terminal_progress.h"
#include "core/golden_testing.h"
#include "core/text/escape.h"

namespace etprof {
namespace {

stats::RatioEstimate MakeEstimate(double ratio, double half_width) {
  stats::RatioEstimate estimate;
  estimate.log_ratio = std::log(ratio);
  estimate.log_low = estimate.log_ratio - std::log1p(half_width);
  estimate.log_high = estimate.log_ratio + std::log1p(half_width);
  return estimate;
}

ProgressUpdate MakeUpdate() {
  ProgressUpdate update;
  update.launch = 15;
  update.launches = 20;
  update.launch_finished = true;
  update.seconds = 26.2;
  update.max_seconds = 60;
  update.estimates.push_back({"sme2 off", "sme2 on", std::nullopt, MakeEstimate(4.2789, 0.013)});
  return update;
}

TEST(ProgressText, ShowsTheNextInterimAnalysis) {
  EXPECT_EQ(ProgressText(MakeUpdate(), 100),
            "launch 15 (next check at 20) · 4.28x faster ±1.3% · 26 s of 60 s max");
  ProgressUpdate update = MakeUpdate();
  update.launch = 20;
  EXPECT_EQ(ProgressText(update, 100), "launch 20 · 4.28x faster ±1.3% · 26 s of 60 s max");
  update.launch_finished = false;
  update.launch = 11;
  update.round = 3;
  update.rounds = 7;
  update.estimates[0].estimate = MakeEstimate(0.5, 2);
  EXPECT_EQ(ProgressText(update, 100),
            "launch 11 (next check at 20), round 3 of 7 · 2.00x slower ±>100% · 26 s of 60 s max");
  update.round = 0;
  update.estimates[0].estimate.reset();
  EXPECT_EQ(ProgressText(update, 100), "launch 11 (next check at 20), starting · 26 s of 60 s max");
}

TEST(ProgressText, ShowsARequestedNumberOfLaunchesAsTheTotal) {
  ProgressUpdate update = MakeUpdate();
  update.launches_given = true;
  update.max_seconds = 0;
  update.estimates[0].median_ns = 1.057e6;
  EXPECT_EQ(ProgressText(update, 100), "launch 15 of 20 · 1.06 ms ±1.3% · 26 s");
}

TEST(ProgressText, ShowsTheShareOfCleanRuns) {
  ProgressUpdate update = MakeUpdate();
  CaseMessages texts;
  for (const double share : {0.0, 0.931, 0.9949}) {
    update.clean_share = share;
    texts.emplace_back(fmt::format("{}", share), ProgressText(update, 100));
  }
  ExpectGoldenMessages("commands/progress_with_clean_share", texts);
  update.clean_share = 0.996;
  EXPECT_EQ(ProgressText(update, 100), ProgressText(MakeUpdate(), 100));
}

TEST(ProgressText, NamesSeveralEstimatesAndFitsTheWidth) {
  ProgressUpdate update = MakeUpdate();
  update.clean_share = 0.5;
  update.estimates.push_back({"sme2 off", "sme", std::nullopt, MakeEstimate(1.1, 0.004)});
  EXPECT_EQ(ProgressText(update, 120),
            "launch 15 (next check at 20) · sme2 on 4.28x faster ±1.3% · sme 1.10x faster ±0.4% · 50% clean "
            "· 26 s of "
            "60 s max");
  for (int width = 30; width < 120; ++width) EXPECT_LE(DisplayWidth(ProgressText(update, width)), width);
  EXPECT_EQ(ProgressText(update, 64), "launch 15 (next check at 20) · 50% clean · 26 s of 60 s max");
}

TEST(ProgressText, ShowsOtherActivities) {
  ProgressUpdate update = MakeUpdate();
  update.activity = "the machine's peaks, 1 of 2";
  update.estimates.clear();
  EXPECT_EQ(ProgressText(update, 80), "the machine's peaks, 1 of 2 · 26 s of 60 s max");
}

}  // namespace
}  // namespace etprof
