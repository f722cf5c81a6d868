#include <cmath>

#include "render/ladder_files.h"

namespace etprof {
namespace {

using Json = nlohmann::ordered_json;

Json Number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}
Json Ms(const std::optional<double>& ns) { return ns ? Number(*ns / 1e6) : Json(nullptr); }

// The interval means nothing where the CPU was emulated.
Json QuantityJson(const std::optional<Quantity>& quantity) {
  if (!quantity) return nullptr;
  const bool told = quantity->estimate && quantity->verdict != stats::Verdict::kEmulated;
  const auto of = [&](double (*value)(const stats::RatioEstimate&)) {
    return told ? Number(value(*quantity->estimate)) : Json(nullptr);
  };
  return {{"ratio", of([](const stats::RatioEstimate& e) { return e.ratio(); })},
          {"ratio_low", of([](const stats::RatioEstimate& e) { return e.low(); })},
          {"ratio_high", of([](const stats::RatioEstimate& e) { return e.high(); })},
          {"confidence", of([](const stats::RatioEstimate& e) { return e.confidence; })},
          {"p_value", told ? Number(quantity->estimate->p_value) : Json(nullptr)},
          {"verdict", stats::VerdictName(quantity->verdict)}};
}

Json RowJson(const Report& report, const LadderRow& row) {
  const Ladder& ladder = *report.ladder;
  Json json = {{"name", row.name}, {"cells", Json::array()}};
  for (std::size_t t = 0; t < ladder.threads.size(); ++t) {
    for (std::size_t l = 0; l < ladder.levels.size(); ++l) {
      const LadderCell& cell = row.cells[t][l];
      const Operator* op = nullptr;
      if (cell.op) op = &report.experiments[*ladder.experiments[t][l]].profile->operators[*cell.op];
      json["cells"].push_back({{"level", ladder.levels[l].name},
                               {"threads", ladder.threads[t]},
                               {"ms", Ms(cell.ns)},
                               {"name", op != nullptr ? Json(op->name) : Json(nullptr)},
                               {"key", op != nullptr ? Json(KeyText(op->key)) : Json(nullptr)},
                               {"over_below", QuantityJson(cell.over_below)},
                               {"over_lowest", QuantityJson(cell.over_lowest)},
                               {"over_fewest_threads", QuantityJson(cell.over_fewest)},
                               {"efficiency", Number(EfficiencyAt(ladder, row, {l, t}))}});
    }
  }
  return json;
}

}  // namespace

Json LadderJson(const Report& report) {
  const Ladder& ladder = *report.ladder;
  Json json = {{"levels", Json::array()}, {"threads", ladder.threads}, {"interleaved", ladder.interleaved}};
  for (const LadderLevel& level : ladder.levels) {
    json["levels"].push_back({{"name", level.name},
                              {"isa", level.isa},
                              {"adds", level.adds},
                              {"error", level.error.empty() ? Json(nullptr) : Json(level.error)}});
  }
  json["latency"] = RowJson(report, ladder.latency);
  const auto rows = [&](const std::vector<LadderRow>& of) {
    Json made = Json::array();
    for (const LadderRow& row : of) made.push_back(RowJson(report, row));
    return made;
  };
  json["groups"] = rows(ladder.groups);
  json["categories"] = rows(ladder.categories);
  json["operators"] = rows(ladder.operators);
  const auto setting = [&](const LadderSetting& of) {
    return Json{{"level", ladder.levels[of.level].name}, {"threads", ladder.threads[of.threads]}};
  };
  json["best"] = nullptr;
  if (ladder.best) {
    Json best = setting(ladder.best->setting);
    best["median_ms"] = Ms(ladder.latency.At(ladder.best->setting).ns);
    best["others"] = Json::array();
    for (const LadderBest::Other& other : ladder.best->others) {
      Json made = setting(other.setting);
      made["median_ms"] = Ms(ladder.latency.At(other.setting).ns);
      made["best_over_it"] = QuantityJson(other.against);
      best["others"].push_back(std::move(made));
    }
    json["best"] = std::move(best);
  }
  json["swings"] = Json::array();
  for (const LadderSwing& swing : ladder.swings) {
    const auto counts = [&](const std::vector<std::size_t>& threads) {
      Json made = Json::array();
      for (const std::size_t t : threads) made.push_back(ladder.threads[t]);
      return made;
    };
    const char* of = swing.of == LadderSwing::Of::kLatency ? "latency"
                     : swing.of == LadderSwing::Of::kGroup ? "group"
                                                           : "operator";
    json["swings"].push_back({{"of", of},
                              {"name", ladder.RowOf(swing).name},
                              {"level", ladder.levels[swing.level].name},
                              {"helps_at_threads", counts(swing.helps)},
                              {"hurts_at_threads", counts(swing.hurts)}});
  }
  json["portable_share"] = Number(ladder.portable_share);
  return json;
}

}  // namespace etprof
