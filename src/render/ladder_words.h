#pragma once

#include <string>
#include <vector>

#include "report/report.h"

// How a ladder is worded, the same on the screen and in Markdown. Plain text: escaping is the renderer's.
// All take a report that has a ladder.
namespace etprof::ladder {

// "avx2", of several numbers of threads "avx2 at 2 threads".
std::string SettingText(const Ladder& ladder, const LadderSetting& setting);
std::string ThreadsText(int threads);  // "1 thread", "4 threads"

// The answer in one sentence: "avx pays most: 1.62x over sse4_1; then fma3 1.21x; best: avx2 at 2 threads".
std::string Headline(const Report& report);

// The best setting with its interval against the runner-up, or which cannot be told apart; empty where there
// is none.
std::string BestText(const Report& report);

// "ssse3 and avx2 change nothing (within 1 %); of f16c this measurement cannot tell". Of the whole; empty
// where every level changes it. More than `named` levels of a kind are counted: "9 change nothing".
std::string UnchangedText(const Report& report, std::size_t named = 100);

// What else must be known: levels that did not run, kernels that no mask reaches, drift.
std::vector<std::string> Notes(const Report& report);

// "sme2 pays for GEMM at 1 thread (1.80x) and costs at 4 threads (0.80x)".
std::string SwingText(const Report& report, const LadderSwing& swing);

// One level that changes a row for certain.
struct Effect {
  std::string text;  // "avx 1.62x", "sme2 0.80x": the gain over the level below
  double ratio = 1;
};
// Those of a row at a number of threads, the largest first.
std::vector<Effect> EffectsOf(const Ladder& ladder, const LadderRow& row, std::size_t threads);
// They in so many columns ("avx 1.62x, +2"); without any "same" where every level is shown to change
// nothing, else "—". A row that some levels lack begins with where it is: "only sme2".
std::string EffectsText(const Report& report, const LadderRow& row, std::size_t threads, int columns);

// "only from sme2", "only up to sme", "only sme": where a row is not everywhere; else empty.
std::string OnlyText(const Ladder& ladder, const LadderRow& row, std::size_t threads);

// "▇▇▅▃": the row's time from level to level, the highest bar its largest. "·" where there is none.
std::string Spark(const LadderRow& row, std::size_t threads);

// The verdict over the lowest level, as GainText; "" at the lowest.
std::string GainOver(const std::optional<Quantity>& quantity);
// "1.90x, 95 %": speed-up and efficiency over the fewest threads; "—" where it cannot be told.
std::string ScalingText(const Ladder& ladder, const LadderRow& row, const LadderSetting& setting);

}  // namespace etprof::ladder
