#include "render/ladder_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/table.h"
#include "report/ladder/matrix.h"
#include "say/wording.h"

namespace etprof::ladder {
namespace {

constexpr double kPortableWorthSaying = 0.01;
constexpr std::size_t kMostUnclear = 4;

using stats::Verdict;

// "a", "a and b", "a, b and c".
std::string Listed(const std::vector<std::string>& items, const char* last = " and ") {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i)
    text += (i == 0 ? "" : i + 1 == items.size() ? last : ", ") + items[i];
  return text;
}

std::string ThreadsOf(const Ladder& ladder, const std::vector<std::size_t>& threads) {
  std::vector<std::string> counts;
  for (const std::size_t t : threads) counts.push_back(std::to_string(ladder.threads[t]));
  return Listed(counts) + (threads.size() == 1 && ladder.threads[threads[0]] == 1 ? " thread" : " threads");
}

// The level below that the quantities of a level are against.
std::string BelowOf(const Ladder& ladder, std::size_t level, std::size_t threads) {
  for (std::size_t l = level; l-- > 0;) {
    if (ladder.Measured({l, threads})) return ladder.levels[l].name;
  }
  return "";
}

// What a level does to a row, over the numbers of threads.
struct LevelEffect {
  std::size_t level = 0;
  std::vector<std::size_t> faster, slower, same, unknown;  // indices of threads
  double most = 1;                                         // the largest ratio where it is faster
};

std::vector<LevelEffect> LevelEffects(const Ladder& ladder, const LadderRow& row) {
  std::vector<LevelEffect> effects;
  for (std::size_t l = 0; l < ladder.levels.size(); ++l) {
    LevelEffect effect;
    effect.level = l;
    for (std::size_t t = 0; t < ladder.threads.size(); ++t) {
      const auto& over = row.cells[t][l].over_below;
      if (!over) continue;
      switch (over->verdict) {
        case Verdict::kFaster:
          effect.faster.push_back(t);
          effect.most = std::max(effect.most, RatioOf(*over).value_or(1));
          break;
        case Verdict::kSlower:
          effect.slower.push_back(t);
          break;
        case Verdict::kSame:
          effect.same.push_back(t);
          break;
        default:
          effect.unknown.push_back(t);
      }
    }
    effects.push_back(std::move(effect));
  }
  return effects;
}

std::string RatioAt(const LadderRow& row, std::size_t level, std::size_t threads) {
  const auto ratio = RatioOf(*row.cells[threads][level].over_below);
  return ratio ? RatioText(*ratio) : kUndefined;
}

// "1.62x over sse4_1", of several numbers of threads "1.62x over sse4_1 at 1 thread, 1.58x at 2".
std::string GainOfLevel(const Ladder& ladder, const LevelEffect& effect) {
  const std::size_t first = effect.faster.front();
  std::string text = fmt::format("{} over {}", RatioAt(ladder.latency, effect.level, first),
                                 BelowOf(ladder, effect.level, first));
  if (ladder.threads.size() == 1) return text;
  text += " at " + ThreadsText(ladder.threads[first]);
  for (std::size_t i = 1; i < effect.faster.size(); ++i) {
    text += fmt::format(", {} at {}", RatioAt(ladder.latency, effect.level, effect.faster[i]),
                        ladder.threads[effect.faster[i]]);
  }
  return text;
}

std::vector<LadderSetting> Tied(const LadderBest& best) {
  std::vector<LadderSetting> tied;
  for (const LadderBest::Other& other : best.others) {
    if (other.against.verdict != Verdict::kFaster) tied.push_back(other.setting);
  }
  return tied;
}

std::string MarginText(const Report& report) {
  const double margin = report.run.schedule.margin > 0 ? report.run.schedule.margin : CompareOptions{}.margin;
  return fmt::format("{:.3g} %", margin * 100);
}

}  // namespace

std::string ThreadsText(int threads) { return fmt::format("{} thread{}", threads, threads == 1 ? "" : "s"); }

std::string SettingText(const Ladder& ladder, const LadderSetting& setting) {
  const std::string& level = ladder.levels[setting.level].name;
  return ladder.threads.size() == 1 ? level : level + " at " + ThreadsText(ladder.threads[setting.threads]);
}

std::string Headline(const Report& report) {
  const Ladder& ladder = *report.ladder;
  if (report.emulated) return "the CPU was emulated: times mean nothing; what changes is names and structure";
  std::vector<LevelEffect> effects = LevelEffects(ladder, ladder.latency);
  std::vector<std::string> hurts;
  bool unknown = false;
  bool any = false;
  for (const LevelEffect& effect : effects) {
    any = any || !effect.faster.empty() || !effect.slower.empty() || !effect.same.empty();
    unknown = unknown || !effect.unknown.empty();
    if (effect.slower.empty()) continue;
    std::string text = ladder.levels[effect.level].name + " hurts";
    if (ladder.threads.size() > 1) text += " at " + ThreadsOf(ladder, effect.slower);
    hurts.push_back(
        fmt::format("{} ({})", text, RatioAt(ladder.latency, effect.level, effect.slower.back())));
  }
  std::erase_if(effects, [](const LevelEffect& effect) { return effect.faster.empty(); });
  std::stable_sort(effects.begin(), effects.end(),
                   [](const LevelEffect& a, const LevelEffect& b) { return a.most > b.most; });
  std::vector<std::string> clauses;
  if (effects.empty()) {
    clauses.push_back(unknown || !any ? "no level is shown to pay"
                                      : fmt::format("no level pays: all within {}", MarginText(report)));
  } else {
    clauses.push_back(fmt::format("{} pays{}: {}", ladder.levels[effects[0].level].name,
                                  effects.size() > 1 ? " most" : "", GainOfLevel(ladder, effects[0])));
  }
  std::vector<std::string> others;
  for (std::size_t i = 1; i < effects.size(); ++i) {
    if (i == 4 && effects.size() > 5) {
      others.push_back(fmt::format("{} more", effects.size() - i));
      break;
    }
    others.push_back(fmt::format("{} {}{}", ladder.levels[effects[i].level].name,
                                 effects[i].faster.size() > 1 ? "up to " : "", RatioText(effects[i].most)));
  }
  if (!others.empty()) clauses.push_back("then " + Listed(others, ", "));
  clauses.insert(clauses.end(), hurts.begin(), hurts.end());
  if (ladder.best) {
    const std::vector<LadderSetting> tied = Tied(*ladder.best);
    std::string text = "best: " + SettingText(ladder, ladder.best->setting);
    if (tied.size() == 1) text += " or " + SettingText(ladder, tied[0]);
    if (tied.size() > 1) text += fmt::format(" or {} others", tied.size());
    const std::size_t settings = ladder.best->others.size() + 1;
    if (tied.size() + 1 == settings)
      text = fmt::format("none of {} {} is shown to be best", settings,
                         ladder.threads.size() == 1 ? "levels" : "settings");
    clauses.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(clauses, "; "));
}

std::string BestText(const Report& report) {
  const Ladder& ladder = *report.ladder;
  if (!ladder.best) return "";
  const LadderBest& best = *ladder.best;
  const auto ns = ladder.latency.At(best.setting).ns;
  std::string text = SettingText(ladder, best.setting);
  if (ns) text += ", " + FormatMilliseconds(*ns);
  std::vector<std::string> alike;
  std::vector<std::string> unclear;
  const LadderBest::Other* next = nullptr;
  for (const LadderBest::Other& other : best.others) {
    if (other.against.verdict == Verdict::kFaster) {
      if (next == nullptr) next = &other;
      continue;
    }
    std::string item = SettingText(ladder, other.setting);
    // One that spans more than a factor of four says nothing in so much room.
    if (other.against.estimate && other.against.estimate->half_width() < 1)
      item += " " + IntervalText(other.against);
    (other.against.verdict == Verdict::kSame ? alike : unclear).push_back(std::move(item));
  }
  if (!alike.empty()) text += fmt::format("; the same within {}: {}", MarginText(report), Listed(alike));
  if (unclear.size() > kMostUnclear) {
    const std::size_t more = unclear.size() - kMostUnclear;
    unclear.resize(kMostUnclear);
    unclear.push_back(fmt::format("{} more", more));
  }
  if (!unclear.empty()) text += "; cannot be told from it: " + Listed(unclear);
  if (next != nullptr) {
    const VerdictWords words = WordsOf(next->against);
    const bool tied = !alike.empty() || !unclear.empty();
    text += fmt::format("; {} {} than {}, {}", words.verdict, words.interval,
                        SettingText(ladder, next->setting), tied ? "the next" : "the runner-up");
  }
  return text;
}

std::string UnchangedText(const Report& report, std::size_t named) {
  const Ladder& ladder = *report.ladder;
  if (report.emulated) return "";
  std::vector<std::string> same;
  std::vector<std::string> unknown;
  for (const LevelEffect& effect : LevelEffects(ladder, ladder.latency)) {
    if (!effect.faster.empty() || !effect.slower.empty()) continue;
    const std::string& name = ladder.levels[effect.level].name;
    if (!effect.unknown.empty()) {
      unknown.push_back(name);
    } else if (!effect.same.empty()) {
      same.push_back(name);
    }
  }
  const auto told = [&](const std::vector<std::string>& levels) {
    return levels.size() > named ? std::to_string(levels.size()) : Listed(levels);
  };
  std::string text;
  if (!same.empty()) {
    text = fmt::format("{} {} nothing (within {})", told(same), same.size() == 1 ? "changes" : "change",
                       MarginText(report));
  }
  if (!unknown.empty()) {
    text += fmt::format("{}of {} this measurement cannot tell, more time may (--max-seconds)",
                        text.empty() ? "" : "; ", told(unknown));
  }
  return text;
}

std::vector<std::string> Notes(const Report& report) {
  const Ladder& ladder = *report.ladder;
  std::vector<std::string> notes;
  std::map<std::string, std::vector<std::string>> failed;
  for (const LadderLevel& level : ladder.levels) {
    if (!level.error.empty()) failed[level.error].push_back(level.name);
  }
  for (const auto& [error, levels] : failed) {
    notes.push_back(
        fmt::format("{} {} not run: {}", Listed(levels), levels.size() == 1 ? "does" : "do", error));
  }
  if (ladder.portable_share >= kPortableWorthSaying) {
    notes.push_back(
        fmt::format("kernels outside of XNNPACK take {} of an inference at {}: they are compiled "
                    "for one level and ignore the mask",
                    PercentText(ladder.portable_share), ladder.levels[ladder.Highest()].name));
  }
  if (!ladder.interleaved && !report.emulated)
    notes.emplace_back("not all of this was measured alternately: drift cannot be told from an effect");
  return notes;
}

std::string SwingText(const Report& report, const LadderSwing& swing) {
  const Ladder& ladder = *report.ladder;
  const LadderRow& row = ladder.RowOf(swing);
  const auto where = [&](const std::vector<std::size_t>& threads) {
    std::vector<std::string> parts;
    for (const std::size_t t : threads) {
      const auto& over = row.cells[t][swing.level].over_below;
      parts.push_back(ThreadsText(ladder.threads[t]) + (over ? " (" + GainText(*over) + ")" : ""));
    }
    return Listed(parts);
  };
  return fmt::format("{} pays{} at {} and costs at {}", ladder.levels[swing.level].name,
                     swing.of == LadderSwing::Of::kLatency ? " on the whole" : " for " + row.name,
                     where(swing.helps), where(swing.hurts));
}

std::vector<Effect> EffectsOf(const Ladder& ladder, const LadderRow& row, std::size_t threads) {
  std::vector<Effect> effects;
  for (std::size_t l = 0; l < ladder.levels.size(); ++l) {
    const auto& over = row.cells[threads][l].over_below;
    if (!over || (over->verdict != Verdict::kFaster && over->verdict != Verdict::kSlower)) continue;
    const double ratio = RatioOf(*over).value_or(1);
    effects.push_back({ladder.levels[l].name + " " + RatioText(ratio), ratio});
  }
  std::stable_sort(effects.begin(), effects.end(), [](const Effect& a, const Effect& b) {
    return std::fabs(std::log(a.ratio)) > std::fabs(std::log(b.ratio));
  });
  return effects;
}

std::string EffectsText(const Report& report, const LadderRow& row, std::size_t threads, int columns) {
  const Ladder& ladder = *report.ladder;
  std::vector<std::string> items;
  if (const std::string only = OnlyText(ladder, row, threads); !only.empty()) items.push_back(only);
  for (const Effect& effect : EffectsOf(ladder, row, threads)) items.push_back(effect.text);
  if (items.empty()) {
    bool same = false;
    for (const LadderCell& cell : row.cells[threads]) {
      if (!cell.over_below) continue;
      if (cell.over_below->verdict != Verdict::kSame) return kUndefined;
      same = true;
    }
    return same ? "same" : kUndefined;
  }
  for (std::size_t shown = items.size(); shown > 0; --shown) {
    std::string text;
    for (std::size_t i = 0; i < shown; ++i) text += (i > 0 ? ", " : "") + items[i];
    if (shown < items.size()) text += fmt::format(", +{}", items.size() - shown);
    if (DisplayWidth(text) <= columns || shown == 1) return text;
  }
  return kUndefined;
}

std::string OnlyText(const Ladder& ladder, const LadderRow& row, std::size_t threads) {
  std::vector<std::size_t> with;
  std::size_t measured = 0;
  std::size_t last = 0;
  std::size_t first = ladder.levels.size();
  for (std::size_t l = 0; l < ladder.levels.size(); ++l) {
    if (!ladder.Measured({l, threads})) continue;
    ++measured;
    last = l;
    first = std::min(first, l);
    if (row.cells[threads][l].ns) with.push_back(l);
  }
  if (with.empty() || with.size() == measured) return "";
  const auto name = [&](std::size_t l) { return ladder.levels[l].name; };
  if (with.size() == 1) return "only " + name(with[0]);
  bool gap = false;
  for (std::size_t l = with.front(); l <= with.back(); ++l)
    gap = gap || (ladder.Measured({l, threads}) && !row.cells[threads][l].ns);
  if (!gap && with.back() == last) return "only from " + name(with.front());
  if (!gap && with.front() == first) return "only up to " + name(with.back());
  if (!gap) return fmt::format("only {} to {}", name(with.front()), name(with.back()));
  std::vector<std::string> names;
  for (const std::size_t l : with) names.push_back(name(l));
  return "only " + Listed(names);
}

std::string Spark(const LadderRow& row, std::size_t threads) {
  static const char* const kHeights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  double largest = 0;
  for (const LadderCell& cell : row.cells[threads]) largest = std::max(largest, cell.ns.value_or(0));
  std::string bars;
  for (const LadderCell& cell : row.cells[threads]) {
    if (!cell.ns || largest <= 0) {
      bars += "·";
      continue;
    }
    bars += kHeights[std::clamp(static_cast<int>(std::ceil(*cell.ns / largest * 8)) - 1, 0, 7)];
  }
  return bars;
}

std::string GainOver(const std::optional<Quantity>& quantity) { return quantity ? GainText(*quantity) : ""; }

std::string ScalingText(const Ladder& ladder, const LadderRow& row, const LadderSetting& setting) {
  const auto efficiency = EfficiencyAt(ladder, row, setting);
  const auto& over = row.At(setting).over_fewest;
  if (!efficiency || !over) return kUndefined;
  if (over->estimate && over->verdict == Verdict::kInconclusive) return kUndefined;
  return (over->estimate ? "" : "≈") + RatioText(*RatioOf(*over)) + ", " + PercentText(*efficiency);
}

}  // namespace etprof::ladder
