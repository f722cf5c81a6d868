#pragma once

#include <optional>
#include <vector>

#include "core/json/describe.h"
#include "core/views.h"
#include "render/json/comparison_json.h"
#include "report/report.h"

// JSON views of "ladder" in analysis_summary.json (docs/guides/isa.md).
namespace etprof {

struct LadderCellJson {
  const Report& report;
  const LadderRow& row;
  LadderSetting at;

  const Ladder& Of() const { return *report.ladder; }
  const LadderCell& Cell() const { return row.At(at); }
  const Operator* Op() const {
    if (!Cell().op) return nullptr;
    return &report.experiments[*Of().experiments[at.threads][at.level]].profile->operators[*Cell().op];
  }

  static void Describe(auto& v) {
    using J = const LadderCellJson&;
    v("level", [](J json) { return json.Of().levels[json.at.level].name; }, {.meaning = "of the ISA"});
    v("threads", [](J json) { return json.Of().threads[json.at.threads]; },
      {.meaning = "of the runner's thread pool", .least = 1});
    v(
        "ms", [](J json) { return json.Cell().ns; },
        kMs.WithMeaning("median of the latency, else mean self time; null: not there, or not measured"));
    v("name", [](J json) { return MaybeName(json.Op()); }, {.meaning = "of the operator at this setting"});
    v("key", [](J json) { return MaybeKey(json.Op()); }, {.meaning = "of the operator at this setting"});
    v("over_below", [](J json) { return MakeOptionalView<RatioAndVerdict>(json.Cell().over_below); },
      {.meaning = "against the next lower level that was measured, at the same threads; null: not at these"});
    v("over_lowest", [](J json) { return MakeOptionalView<RatioAndVerdict>(json.Cell().over_lowest); },
      {.meaning = "against the lowest level that was measured, at the same threads"});
    v("over_fewest_threads",
      [](J json) { return MakeOptionalView<RatioAndVerdict>(json.Cell().over_fewest); },
      {.meaning = "against the fewest threads at the same level"});
    v("efficiency", [](J json) { return EfficiencyAt(json.Of(), json.row, json.at); },
      {.meaning = "that speedup over the ratio of the threads; 1 is perfect"});
  }
};

struct LadderRowJson {
  const Report& report;
  const LadderRow& row;

  static constexpr const char* kSchemaName = "ladder_row";
  static void Describe(auto& v) {
    using J = const LadderRowJson&;
    v("name", [](J json) { return json.row.name; },
      {.meaning =
           "median latency, a group, a category, or an operator as the highest level that has it calls it"});
    v("cells",
      [](J json) {
        std::vector<LadderCellJson> cells;
        for (std::size_t threads = 0; threads < json.row.cells.size(); ++threads) {
          for (std::size_t level = 0; level < json.row.cells[threads].size(); ++level)
            cells.push_back({json.report, json.row, {level, threads}});
        }
        return cells;
      },
      {.meaning = "every level at every number of threads"});
  }
};

struct LadderSettingJson {
  const Ladder& ladder;
  LadderSetting setting;

  static void Describe(auto& v) {
    using J = const LadderSettingJson&;
    v("level", [](J json) { return json.ladder.levels[json.setting.level].name; }, {.meaning = "of the ISA"});
    v("threads", [](J json) { return json.ladder.threads[json.setting.threads]; },
      {.meaning = "of the runner's thread pool", .least = 1});
    v(
        "median_ms", [](J json) { return json.ladder.latency.At(json.setting).ns; },
        kMs.WithMeaning("of the latency"));
  }
};

struct LadderOtherJson {
  const Ladder& ladder;
  const LadderBest::Other& other;

  static void Describe(auto& v) {
    using J = const LadderOtherJson&;
    v.Flat([](J json) { return LadderSettingJson{json.ladder, json.other.setting}; });
    v("best_over_it", [](J json) { return RatioAndVerdict{json.other.against}; },
      {.meaning = "how much faster the best setting is"});
  }
};

struct LadderBestJson {
  const Ladder& ladder;
  const LadderBest& best;

  static void Describe(auto& v) {
    using J = const LadderBestJson&;
    v.Flat([](J json) { return LadderSettingJson{json.ladder, json.best.setting}; });
    v("others", [](J json) { return MakeViews<LadderOtherJson>(json.best.others, json.ladder); },
      {.meaning = "every other setting, the nearest first; judged together"});
  }
};

struct LadderSwingJson {
  const Ladder& ladder;
  const ThreadDependentLevel& swing;

  std::vector<int> ThreadGroup(const std::vector<std::size_t>& indices) const {
    return MapEach(indices, [&](std::size_t index) { return ladder.threads[index]; });
  }

  static void Describe(auto& v) {
    using J = const LadderSwingJson&;
    v("of", [](J json) { return json.swing.of; }, {.meaning = "what the row is"});
    v("name", [](J json) { return json.ladder.RowOf(json.swing).name; }, {.meaning = "of the row"});
    v("level", [](J json) { return json.ladder.levels[json.swing.level].name; }, {.meaning = "of the ISA"});
    v("helps_at_threads", [](J json) { return json.ThreadGroup(json.swing.helps); },
      {.meaning = "numbers of threads at which the level is faster than the one below"});
    v("hurts_at_threads", [](J json) { return json.ThreadGroup(json.swing.hurts); },
      {.meaning = "numbers of threads at which the level is slower than the one below"});
  }
};

struct LadderJson {
  const Report& report;
  const Ladder& of;

  std::vector<LadderRowJson> Rows(const std::vector<LadderRow>& rows) const {
    return MakeViews<LadderRowJson>(rows, report);
  }

  static constexpr const char* kSchemaName = "ladder";
  static void Describe(auto& v) {
    using J = const LadderJson&;
    v("levels", &Ladder::levels, {.meaning = "of the ISA, the lowest first", .some = true});
    v("threads", &Ladder::threads, {.meaning = "that were measured, rising", .least = 1, .some = true});
    v("interleaved", &Ladder::interleaved, {.meaning = "false: drift cannot be told from an effect"});
    v("latency", [](J json) { return LadderRowJson{json.report, json.of.latency}; }, {.meaning = "medians"});
    v("groups", [](J json) { return json.Rows(json.of.groups); },
      {.meaning = "mean self times of groups that take time anywhere"});
    v("categories", [](J json) { return json.Rows(json.of.categories); },
      {.meaning = "mean self times of categories that take time anywhere"});
    v("operators", [](J json) { return json.Rows(json.of.operators); },
      {.meaning = "mean self times, by falling time"});
    v("best", [](J json) { return MakeOptionalView<LadderBestJson>(json.of.best, json.of); },
      {.meaning = "the fastest setting; null: emulated, or not two settings with times"});
    v("swings", [](J json) { return MakeViews<LadderSwingJson>(json.of.thread_dependent_levels, json.of); },
      {.meaning = "levels that help at some numbers of threads and hurt at others"});
    v("portable_share", &Ladder::portable_share,
      {.meaning = "of an inference at the highest level: kernels that no mask reaches",
       .least = 0,
       .or_null = true});
  }
};

}  // namespace etprof
