#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "core/units.h"
#include "core/views.h"
#include "report/report.h"
#include "show/subjects/run/report_parts.h"
#include "show/wording.h"

namespace etprof::show {
namespace {

using stats::Verdict;

constexpr double kMinPortableShare = 0.01;
constexpr double kMinLadderRowShare = 0.01;  // share of the latency below which a row is hidden on screens
constexpr std::size_t kMaxLevelsWithOperators = 8;  // with more levels, a screen has no room for operators
constexpr std::size_t kScreenLadderOperators = 5;
constexpr std::size_t kScreenThreadDependences = 1;
constexpr std::size_t kMaxNamedLevels = 4;  // levels or settings
constexpr std::size_t kMaxNamedEffects = 3;
constexpr int kEffectsWidth = 26;

// "a", "a and b", "a, b, and c"; if there are more than `max`: "a, b, and 3 more".
std::string JoinWithAnd(std::vector<std::string> items, std::size_t max = SIZE_MAX) {
  if (items.size() > max) {
    items[max] = fmt::format("{} more", items.size() - max);
    items.resize(max + 1);
  }
  if (items.size() > 2) items.back().insert(0, "and ");
  return fmt::format("{}", fmt::join(items, items.size() == 2 ? " and " : ", "));
}

// The times of a row over the levels as bars: "██▃"; "·" for an absent time.
std::string LevelBars(const std::vector<LadderCell>& cells) {
  static const char* const kHeights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  double largest = 0;
  for (const LadderCell& cell : cells) largest = std::max(largest, cell.ns.value_or(0));
  std::string bars;
  for (const LadderCell& cell : cells) {
    const int height = cell.ns && largest > 0 ? static_cast<int>(std::ceil(*cell.ns / largest * 8)) : 0;
    bars += cell.ns ? kHeights[std::clamp(height - 1, 0, 7)] : "·";
  }
  return bars;
}

class LadderDocument {
 public:
  explicit LadderDocument(const Report& report) : report_(report), ladder_(*report.ladder) {}

  std::vector<Answer> Answers() const {
    if (report_.emulated)
      return {{"Emulated CPU: timings are not meaningful; operator names and structure are.", "",
               Tone::kUnknown}};
    std::vector<Answer> answers = {{EffectsSentence(), "", Tone::kPlain}};
    if (ladder_.best) answers.push_back(FastestAnswer(*ladder_.best));
    return answers;
  }

  std::vector<Section> Sections() const {
    Section main{"ISA ladder", Visibility::kBrief};
    for (const std::string& text : Paragraphs()) main.AddText(text);
    main.AddUnlessEmpty(MakeThreadDependenceList());
    const bool one_count = ladder_.threads.size() == 1;
    main.parts.emplace_back(one_count ? MakeLevelsTable(0) : MakeSettingsTable());
    if (!one_count) main.parts.emplace_back(MakeScalingTable());
    main.parts.emplace_back(MakeRowsTable("ladder_groups", "self time", ladder_.groups));
    Table categories = MakeRowsTable("ladder_categories", "category", ladder_.categories);
    categories.visibility = Visibility::kPage;
    main.parts.emplace_back(std::move(categories));
    Table operators = MakeRowsTable("ladder_operators", "operator", ladder_.operators);
    if (ladder_.levels.size() > kMaxLevelsWithOperators) operators.visibility = Visibility::kPage;
    operators.screen_rows = kScreenLadderOperators;
    operators.hidden_rows_hint = "operators in the tables by level";
    main.parts.emplace_back(std::move(operators));
    Facts features{"ladder_features", ""};
    for (const LadderLevel& level : ladder_.levels)
      features.facts.push_back({level.name, fmt::format("{}", fmt::join(level.added_features, " "))});
    std::vector<Section> sections = {std::move(main),
                                     {"Features of each level", Visibility::kPage, {std::move(features)}}};
    for (std::size_t t = 0; t < ladder_.threads.size(); ++t) sections.push_back(MakeLevelsSection(t));
    return sections;
  }

 private:
  // The effect of a level on the latency, at each number of threads.
  struct Effect {
    std::size_t level = 0;
    std::map<Verdict, std::vector<std::size_t>> threads = {};  // indices of the numbers of threads
    double largest_ratio = 1;                                  // largest ratio among the verdicts "faster"

    bool Has(Verdict verdict) const { return threads.contains(verdict); }
  };

  std::vector<Effect> Effects() const {
    std::vector<Effect> effects;
    for (std::size_t l = 0; l < ladder_.levels.size(); ++l) {
      Effect& effect = effects.emplace_back(Effect{l});
      for (std::size_t t = 0; t < ladder_.threads.size(); ++t) {
        const auto& over = ladder_.latency.cells[t][l].over_level_below;
        if (!over) continue;
        effect.threads[over->verdict].push_back(t);
        if (over->verdict == Verdict::kFaster)
          effect.largest_ratio = std::max(effect.largest_ratio, SpeedupRatio(*over).value_or(1));
      }
    }
    return effects;
  }

  const std::string& GetName(std::size_t level) const { return ladder_.levels[level].name; }

  std::string GetName(const LadderSetting& setting) const {
    return GetName(setting.level) + AtThreads({setting.threads});
  }

  // " at 1 thread", " at 1 and 4 threads"; "" if the ladder has only one number of threads.
  std::string AtThreads(const std::vector<std::size_t>& threads) const {
    if (ladder_.threads.size() == 1) return "";
    if (threads.size() == 1) return " at " + CountedText(ladder_.threads[threads.front()], "thread");
    const auto count_text = [&](std::size_t t) { return std::to_string(ladder_.threads[t]); };
    return " at " + JoinWithAnd(MapEach(threads, count_text)) + " threads";
  }

  std::string RatioAt(std::size_t level, std::size_t threads) const {
    const auto ratio = SpeedupRatio(*ladder_.latency.cells[threads][level].over_level_below);
    return ratio ? RatioText(*ratio) : kUndefined;
  }

  // "1.62x over sse4_1", or for several numbers of threads "1.62x over sse4_1 at 1 thread, 1.58x at 2
  // threads".
  std::string SpeedupText(const Effect& effect) const {
    const std::vector<std::size_t>& faster = effect.threads.at(Verdict::kFaster);
    const std::size_t first = faster.front();
    std::string text = fmt::format("{} over {}{}", RatioAt(effect.level, first),
                                   GetName(ladder_.Below(effect.level)), AtThreads({first}));
    for (std::size_t i = 1; i < faster.size(); ++i)
      text += ", " + RatioAt(effect.level, faster[i]) + AtThreads({faster[i]});
    return text;
  }

  // "avx speeds up inference most: 1.62x over sse4_1, then fma3 1.21x. sme2 slows it down (0.59x)."
  std::string EffectsSentence() const {
    std::vector<Effect> effects = Effects();
    std::vector<std::string> sentences;
    const auto any_has = [&](Verdict verdict) {
      return std::ranges::any_of(effects, [&](const Effect& effect) { return effect.Has(verdict); });
    };
    const bool all_same =
        any_has(Verdict::kSame) && !any_has(Verdict::kInconclusive) && !any_has(Verdict::kContended);
    const bool all_contended =
        any_has(Verdict::kContended) && !any_has(Verdict::kSame) && !any_has(Verdict::kInconclusive);
    for (const Effect& effect : effects) {
      if (!effect.Has(Verdict::kSlower)) continue;
      const std::vector<std::size_t>& slower = effect.threads.at(Verdict::kSlower);
      sentences.push_back(fmt::format("{} slows down inference{} ({}).", GetName(effect.level),
                                      AtThreads(slower), RatioAt(effect.level, slower.back())));
    }
    std::erase_if(effects, [](const Effect& effect) { return !effect.Has(Verdict::kFaster); });
    std::ranges::stable_sort(effects, std::greater(), &Effect::largest_ratio);
    if (!effects.empty()) {
      std::string text = fmt::format("{} speeds up inference{}: {}", GetName(effects[0].level),
                                     effects.size() > 1 ? " most" : "", SpeedupText(effects[0]));
      std::vector<std::string> others;
      for (std::size_t i = 1; i < effects.size(); ++i)
        others.push_back(fmt::format("{} {}{}", GetName(effects[i].level),
                                     effects[i].threads[Verdict::kFaster].size() > 1 ? "up to " : "",
                                     RatioText(effects[i].largest_ratio)));
      if (!others.empty()) text += ", then " + JoinWithAnd(others, kMaxNamedLevels);
      sentences.insert(sentences.begin(), text + ".");
    } else if (sentences.empty()) {
      sentences.push_back(all_same        ? fmt::format("No level changes latency by more than {}.", Margin())
                          : all_contended ? "Contended: too few clean runs to compare levels."
                                          : "No level changes latency significantly.");
    }
    return fmt::format("{}", fmt::join(sentences, " "));
  }

  double Median(const LadderSetting& setting) const {
    return ladder_.latency.At(setting).ns.value_or(std::numeric_limits<double>::infinity());
  }

  Answer FastestAnswer(const LadderBest& best) const {
    const auto with_median = [&](const LadderSetting& setting) {
      const auto ns = ladder_.latency.At(setting).ns;
      return ns ? FormatText("{}, {}", GetName(setting), Time{*ns}) : Text(GetName(setting));
    };
    const Text setting = with_median(best.setting);
    std::map<Verdict, std::vector<std::string>> others;  // settings that are not significantly slower
    LadderSetting lowest = best.setting;
    const LadderBest::OtherSetting* next = nullptr;
    for (const LadderBest::OtherSetting& other : best.others) {
      if (Median(other.setting) < Median(lowest)) lowest = other.setting;
      const Verdict verdict = other.best_comparison.verdict;
      if (verdict == Verdict::kFaster) {
        if (next == nullptr) next = &other;
        continue;
      }
      std::string item = GetName(other.setting);
      const auto& estimate = other.best_comparison.estimate;
      if (verdict != Verdict::kContended && estimate &&
          estimate->high() < kMaxIntervalFactor * estimate->low())
        item += " " + IntervalText(other.best_comparison);
      others[verdict == Verdict::kSlower ? Verdict::kInconclusive : verdict].push_back(std::move(item));
    }
    if (next == nullptr && !best.others.empty()) {
      return {fmt::format("None of {} {} is significantly the fastest.", best.others.size() + 1,
                          ladder_.threads.size() == 1 ? "levels" : "settings"),
              FormatText("Lowest median: {}.", with_median(lowest))};
    }
    std::vector<std::string> comparisons;
    for (const auto& [verdict, description] : {std::pair{Verdict::kSame, "The same within " + Margin()},
                                               {Verdict::kInconclusive, "Statistically tied with"},
                                               {Verdict::kContended, "Not compared, contended"}}) {
      if (others.contains(verdict))
        comparisons.push_back(
            fmt::format("{}: {}.", description, JoinWithAnd(others[verdict], kMaxNamedLevels)));
    }
    if (next != nullptr) {
      const VerdictTexts words = MakeVerdictTexts(next->best_comparison);
      comparisons.push_back(
          fmt::format("{} than {} {}.", words.verdict, GetName(next->setting), words.interval));
    }
    return {FormatText("Fastest: {}.", setting), fmt::format("{}", fmt::join(comparisons, " ")), Tone::kGood};
  }

  std::string Margin() const { return fmt::format("{:.3g}%", SameMargin(report_) * 100); }

  // Levels without a visible effect, and caveats: levels that did not run, kernels that ignore the mask,
  // drift.
  std::vector<std::string> Paragraphs() const {
    std::vector<std::string> texts;
    std::map<Verdict, std::vector<std::string>>
        without_effect;                    // levels, keyed by the main reason why they have no effect
    std::vector<std::string> undecidable;  // inconclusive levels that more launches cannot decide
    constexpr Verdict kReasons[] = {Verdict::kContended, Verdict::kInconclusive, Verdict::kSame};
    for (const Effect& effect : Effects()) {
      if (effect.Has(Verdict::kFaster) || effect.Has(Verdict::kSlower) || report_.emulated) continue;
      const auto reason =
          std::ranges::find_if(kReasons, [&](Verdict verdict) { return effect.Has(verdict); });
      if (reason == std::end(kReasons)) continue;
      const bool is_undecidable =
          *reason == Verdict::kInconclusive &&
          std::ranges::none_of(effect.threads.at(*reason), [&](std::size_t t) {
            return ladder_.latency.cells[t][effect.level].over_level_below->MoreLaunchesMayDecide(
                SameMargin(report_));
          });
      (is_undecidable ? undecidable : without_effect[*reason]).push_back(GetName(effect.level));
    }
    const auto add = [&](const std::vector<std::string>& levels, const std::string& before,
                         const char* after) {
      if (levels.empty()) return;
      texts.push_back(
          before +
          (levels.size() > kMaxNamedLevels ? fmt::format("{} levels", levels.size()) : JoinWithAnd(levels)) +
          after);
    };
    add(without_effect[Verdict::kSame], fmt::format("Same within {}: ", Margin()), ".");
    add(without_effect[Verdict::kInconclusive], "Inconclusive for ", "; increase --max-seconds.");
    add(undecidable, "Inconclusive for ",
        ": the threads waited for a processor. Measure again on an idle machine.");
    add(without_effect[Verdict::kContended], "Contended at ", ": measure again on an idle machine.");
    std::map<std::string, std::vector<std::string>> failed;
    for (const LadderLevel& level : ladder_.levels) {
      if (!level.error.empty()) failed[level.error].push_back(level.name);
    }
    for (const auto& [error, names] : failed)
      texts.push_back(
          fmt::format("{} {} not run: {}", JoinWithAnd(names), names.size() == 1 ? "does" : "do", error));
    if (ladder_.portable_share >= kMinPortableShare) {
      texts.push_back(fmt::format("Kernels outside of XNNPACK take {} of the time at {} and ignore the mask.",
                                  PercentText(ladder_.portable_share), GetName(ladder_.Highest())));
    }
    if (!ladder_.interleaved && !report_.emulated)
      texts.emplace_back(
          "Not all levels were interleaved: drift between them can be mistaken for a difference.");
    return texts;
  }

  List MakeThreadDependenceList() const {
    List list{.title = "Depends on the number of threads", .screen_items = kScreenThreadDependences};
    for (const ThreadDependentLevel& dependence : ladder_.thread_dependent_levels) {
      if (dependence.row_kind == ThreadDependentLevel::RowKind::kLatency)
        continue;  // the answer already covers the latency
      const auto cell_texts = [](const std::vector<LadderCell>& cells) {
        return JoinWithAnd(MapEach(cells, [](const LadderCell& cell) {
          return fmt::format("{} ({})", CountedText(cell.threads, "thread"),
                             ToText(CellOrBlank<Speedup>(cell.over_level_below)));
        }));
      };
      list.items.emplace_back(fmt::format("{} speeds up {} at {} but slows it down at {}.", dependence.level,
                                          dependence.name, cell_texts(dependence.faster_cells),
                                          cell_texts(dependence.slower_cells)));
    }
    return list;
  }

  // "95% CI".
  std::string Confidence() const {
    for (const auto& levels : ladder_.latency.cells) {
      for (const LadderCell& cell : levels) {
        if (cell.over_level_below && cell.over_level_below->estimate)
          return fmt::format("{:.3g}% CI", 100 * cell.over_level_below->estimate->confidence);
      }
    }
    return "CI";
  }

  Table MakeLevelsTable(std::size_t t) const {
    Table table{.id = "ladder_levels",
                .columns = {Left("level"),
                            {"median", "median", true, 0, !report_.emulated},
                            Right("over_below", "vs. below"),
                            Left("over_below", Confidence()).WithDropPriority(2),
                            Right("over_lowest", "vs. " + GetName(ladder_.Lowest())),
                            Left("over_lowest", Confidence()).WithDropPriority(1)},
                .visibility = Visibility::kBrief};
    for (std::size_t l = 0; l < ladder_.levels.size(); ++l) {
      const LadderCell& cell = ladder_.latency.cells[t][l];
      table.AddRow(
          GetName(l), ladder_.IsMeasured({l, t}) ? OptionalCell<Time>(cell.ns) : Cell("does not run"),
          CellOrBlank<Speedup>(cell.over_level_below), CellOrBlank<Interval>(cell.over_level_below),
          CellOrBlank<Speedup>(cell.over_lowest_level), CellOrBlank<Interval>(cell.over_lowest_level));
    }
    return table;
  }

  // Adds a column of times and a column of speedups for each number of threads.
  void AddThreads(const char* over, Table& table) const {
    for (const int threads : ladder_.threads) {
      const std::string id = fmt::format("threads_{}", threads);
      table.AddColumns(Right(id, CountedText(threads, "thread")), Right(id + over, ""));
    }
  }
  Row MakeThreadsRow(const std::string& name, const LadderRow& ladder_row, std::size_t level,
                     const auto& speedup) const {
    Row row{name};
    for (const std::vector<LadderCell>& levels : ladder_row.cells)
      row.Add(OptionalCell<Time>(levels[level].ns), speedup(levels[level]));
    return row;
  }

  static Cell ScalingCell(const LadderCell& cell) {
    return cell.over_fewest_threads ? Cell(Speedup{*cell.over_fewest_threads, cell.efficiency}) : Cell("");
  }

  // For several numbers of threads: one row per level.
  Table MakeSettingsTable() const {
    Table table{.id = "ladder_settings", .columns = {Left("level")}, .visibility = Visibility::kBrief};
    AddThreads("_over_below", table);
    table.AddColumns(Right("scaling"));
    const LadderRow& latency = ladder_.latency;
    for (std::size_t l = 0; l < ladder_.levels.size(); ++l) {
      Row row = MakeThreadsRow(GetName(l), latency, l, [](const LadderCell& cell) {
        return CellOrBlank<Speedup>(cell.over_level_below);
      });
      Cell scaling("");  // at the largest number of threads that has a value
      for (const std::vector<LadderCell>& levels : latency.cells) {
        if (levels[l].over_fewest_threads) scaling = ScalingCell(levels[l]);
      }
      row.Add(std::move(scaling));
      table.rows.push_back(std::move(row));
    }
    return table;
  }

  Table MakeScalingTable() const {
    Table table{"ladder_scaling", "Scaling over threads", {Left("of", "")}, {}, Visibility::kPage};
    AddThreads("_scaling", table);
    const auto add = [&](const std::string& name, const LadderRow& row, std::size_t l) {
      table.rows.push_back(MakeThreadsRow(name, row, l, ScalingCell));
    };
    for (std::size_t l = 0; l < ladder_.levels.size(); ++l) add(GetName(l), ladder_.latency, l);
    for (const LadderRow& row : ladder_.groups)
      add(row.name + " at " + GetName(ladder_.Highest()), row, ladder_.Highest());
    return table;
  }

  // A table of rows. For one number of threads, it has the lowest and the highest level, and bars over all
  // levels; for several, it names the levels that change the time at each number.
  Table MakeRowsTable(const char* id, const char* title, const std::vector<LadderRow>& rows) const {
    const std::size_t lowest = ladder_.Lowest(), highest = ladder_.Highest();
    const bool one_count = ladder_.threads.size() == 1;
    std::vector<Table::ColumnWithCells<LadderRow>> columns = {
        {NameColumn("name", title), &LadderRow::name},
        {Right("lowest", GetName(lowest)),
         [=](const LadderRow& row) { return OptionalCell<Time>(row.cells[0][lowest].ns); }, one_count},
        {Right("highest", GetName(highest)),
         [=](const LadderRow& row) { return OptionalCell<Time>(row.cells[0][highest].ns); }, one_count},
        {Right("over_lowest", "speedup"),
         [=](const LadderRow& row) { return CellOrBlank<Speedup>(row.cells[0][highest].over_lowest_level); },
         one_count},
        {Left("levels").WithDropPriority(1),
         [&](const LadderRow& row) { return report_.emulated ? Cell("") : Cell(LevelBars(row.cells[0])); },
         one_count}};
    for (std::size_t t = 0; t < ladder_.threads.size(); ++t) {
      const int threads = ladder_.threads[t];
      columns.push_back(
          {(one_count ? Left("changed_by", "changed by")
                      : Left(fmt::format("threads_{}", threads), CountedText(threads, "thread")))
               .NeverDropped(),
           [this, t](const LadderRow& row) { return ChangedBy(row, t); }});
    }
    Table table{.id = id};
    table.Fill(columns, rows);
    for (std::size_t i = 1; i < table.columns.size(); ++i) table.columns[i].max_width = kEffectsWidth;
    for (std::size_t i = 0; i < rows.size(); ++i)
      table.rows[i].visibility = IsLargeEnoughForScreen(rows[i]) ? Visibility::kDefault : Visibility::kPage;
    return table;
  }

  bool IsLargeEnoughForScreen(const LadderRow& row) const {
    for (std::size_t t = 0; t < row.cells.size(); ++t) {
      for (std::size_t l = 0; l < row.cells[t].size(); ++l) {
        const auto& latency_ns = ladder_.latency.cells[t][l].ns;
        if (latency_ns && row.cells[t][l].ns.value_or(0) >= kMinLadderRowShare * *latency_ns) return true;
      }
    }
    return false;
  }

  // "sme2 4.00x", "only sme2", "avx 1.62x, fma3 1.21x, +2"; "same" if every level is compared and none
  // changes the time.
  Cell ChangedBy(const LadderRow& row, std::size_t threads) const {
    struct Change {
      std::string text;
      double size;
    };
    std::vector<Change> changes;
    bool all_same = true, compared = false;
    for (std::size_t l = 0; l < ladder_.levels.size(); ++l) {
      const auto& over = row.cells[threads][l].over_level_below;
      if (!over) continue;
      compared = true;
      all_same = all_same && over->verdict == Verdict::kSame;
      if (over->verdict != Verdict::kFaster && over->verdict != Verdict::kSlower) continue;
      const double ratio = SpeedupRatio(*over).value_or(1);
      changes.push_back({GetName(l) + " " + RatioText(ratio), std::fabs(std::log(ratio))});
    }
    std::ranges::stable_sort(changes, std::greater(), &Change::size);
    std::vector<std::string> items;
    if (std::string only = OnlyAtLevels(row, threads); !only.empty()) items.push_back(std::move(only));
    for (Change& change : changes) items.push_back(std::move(change.text));
    if (items.empty()) return compared && all_same ? Cell("same") : Cell();
    if (items.size() > kMaxNamedEffects) {
      items[kMaxNamedEffects] = fmt::format("+{}", items.size() - kMaxNamedEffects);
      items.resize(kMaxNamedEffects + 1);
    }
    return fmt::format("{}", fmt::join(items, ", "));
  }

  // "only from sme2", "only up to sme", "only sme" if the row is not at every level; else "".
  std::string OnlyAtLevels(const LadderRow& row, std::size_t threads) const {
    std::vector<std::size_t> measured, with;
    for (std::size_t l = 0; l < ladder_.levels.size(); ++l) {
      if (!ladder_.IsMeasured({l, threads})) continue;
      measured.push_back(l);
      if (row.cells[threads][l].ns) with.push_back(l);
    }
    if (with.empty() || with.size() == measured.size()) return "";
    if (with.size() == 1) return "only " + GetName(with[0]);
    const auto place = [&](std::size_t level) {
      return std::ranges::find(measured, level) - measured.begin();
    };
    if (place(with.back()) - place(with.front()) + 1 == std::ssize(with)) {
      if (with.back() == measured.back()) return "only from " + GetName(with.front());
      if (with.front() == measured.front()) return "only up to " + GetName(with.back());
      return fmt::format("only {} to {}", GetName(with.front()), GetName(with.back()));
    }
    return "only " + JoinWithAnd(MapEach(with, [&](std::size_t level) { return GetName(level); }));
  }

  // All levels at one number of threads.
  Section MakeLevelsSection(std::size_t t) const {
    const bool one_count = ladder_.threads.size() == 1;
    Section section{
        "ISA ladder by level" + (one_count ? "" : ", " + CountedText(ladder_.threads[t], "thread")),
        Visibility::kPage,
        {Paragraph{
            AddUndefinedText(fmt::format("Speedups are over the level below unless a heading says otherwise, "
                                         "paired by launch. \"same\": within {}.",
                                         Margin()),
                             report_)}}};
    if (!one_count) section.parts.emplace_back(MakeLevelsTable(t));
    const auto add = [&](const char* id, const char* title, const char* name_title,
                         const std::vector<LadderRow>& rows, Visibility visibility) {
      Table table{id, title, {Left("name", name_title)}, {}, visibility};
      for (const LadderLevel& ladder_level : ladder_.levels) {
        table.AddColumns(Right(ladder_level.name), Right(ladder_level.name + "_over_below", ""));
      }
      for (const LadderRow& ladder_row : rows) {
        Row& row = table.AddRow(ladder_row.name);
        for (const LadderCell& cell : ladder_row.cells[t])
          row.Add(OptionalCell<Time>(cell.ns), CellOrBlank<Speedup>(cell.over_level_below));
      }
      section.parts.emplace_back(std::move(table));
    };
    add("ladder_groups_by_level", "", "self time", ladder_.groups, Visibility::kPage);
    add("ladder_categories_by_level", "Categories by level", "category", ladder_.categories,
        Visibility::kFolded);
    add("ladder_operators_by_level", "Operators by level", "operator", ladder_.operators,
        Visibility::kFolded);
    return section;
  }

  const Report& report_;
  const Ladder& ladder_;
};

}  // namespace

std::vector<Answer> LadderAnswers(const Report& report) { return LadderDocument(report).Answers(); }
std::vector<Section> MakeLadderSections(const Report& report) {
  return report.ladder ? LadderDocument(report).Sections() : std::vector<Section>();
}

}  // namespace etprof::show
