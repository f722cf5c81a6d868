#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/units.h"
#include "report/example_run.h"
#include "report/ladder/example_ladder.h"
#include "show/formats/csv/table_csv.h"
#include "show/formats/formats_testing.h"
#include "show/formats/json/json.h"
#include "show/formats/report.h"
#include "show/subjects/run/report.h"
#include "show/wording.h"

// Every number in every format comes from one Report value. These tests compare its document
// (show/subjects/run/report.h) with analysis_summary.json; document_test.cc compares each format with the
// document.

namespace etprof {
namespace {

using Json = nlohmann::json;
using read::Rows;

struct Formats {
  std::string json, html, markdown, screen;
  std::map<std::string, std::string> csv;  // keyed by the table's name
};

Formats RenderAll(const Report& report) {
  Formats formats;
  formats.json = read::RenderToString(RenderAnalysisJson, report);
  formats.html = read::RenderToString(RenderHtml, report);
  formats.markdown = read::RenderToString(RenderMarkdown, report);
  TerminalOptions options;
  options.width = 400;  // wide enough for every column
  formats.screen = read::RenderToString(RenderTerminal, report, options);
  for (const std::string& name : ReportTableNames())
    formats.csv[name] = read::RenderToString(RenderReportTableCsv, report, name);
  return formats;
}

// --- Values in the JSON ------------------------------------------------------------------------------------

std::optional<double> NsFromMs(const Json& ms) {
  return ms.is_null() ? std::nullopt : std::optional(ms.get<double>() * 1e6);
}

TimeComparison ParseTimeComparison(const Json& json) {
  TimeComparison time_comparison;
  time_comparison.verdict = ParseEnum<stats::Verdict>(json["verdict"].get<std::string>()).value();
  if (!json["ratio"].is_null()) {
    time_comparison.estimate.emplace();
    time_comparison.estimate->log_ratio = std::log(json["ratio"].get<double>());
    time_comparison.estimate->log_low = std::log(json["ratio_low"].get<double>());
    time_comparison.estimate->log_high = std::log(json["ratio_high"].get<double>());
  }
  return time_comparison;
}

double Mean(const Json& total_ns, const Json& runs) { return total_ns.get<double>() / runs.get<double>(); }

TimeScale MakeScale(const Json& truth) {
  double smallest = 1e300, largest = 0;
  for (const Json& experiment : truth["experiments"]) {
    smallest = std::min(smallest, *NsFromMs(experiment["latency_ms"]["p50"]));
    largest = std::max(largest, *NsFromMs(experiment["latency_ms"]["p50"]));
  }
  return ScaleFor(smallest, largest);
}

const Json& FindRow(const Json& rows, const std::string& name) {
  for (const Json& row : rows) {
    if (row["name"] == name) return row;
  }
  throw std::runtime_error("no row " + name);
}

// Expects that the cell of the column `id` has the JSON's value.
void ExpectValue(const show::Table& table, std::size_t row, const std::string& id, const Json& value,
                 double unit = 1e6) {
  const auto column = std::ranges::find(table.columns, id, &show::Table::Column::id);
  ASSERT_NE(column, table.columns.end()) << id;
  const show::Cell& cell =
      table.rows.at(row).cells.at(static_cast<std::size_t>(column - table.columns.begin()));
  SCOPED_TRACE(fmt::format("{} of row {}", id, row));
  if (value.is_null()) {
    EXPECT_TRUE(show::HasNoValue(cell));
  } else if (cell.kind == CellKind::kSpeedup) {
    EXPECT_EQ(cell.Verdict(), value["verdict"]);
    if (!value["ratio"].is_null()) {
      EXPECT_NEAR(*cell.value, value["ratio"].get<double>(), 1e-9);
      EXPECT_NEAR(*cell.low, value["ratio_low"].get<double>(), 1e-9);
    }
  } else if (cell.value) {
    EXPECT_NEAR(*cell.value, value.get<double>() * (cell.unit == "ns" ? unit : 1),
                1e-6 * std::abs(*cell.value));
  } else {
    EXPECT_EQ(show::ToText(cell), value.get<std::string>());
  }
}

void ExpectLatency(const Json& truth, const show::Table& table) {
  ASSERT_EQ(table.rows.size(), truth["experiments"].size());
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const Json &experiment = truth["experiments"][i], &latency = experiment["latency_ms"];
    for (const auto& [id, key] :
         {std::pair{"median", "p50"}, std::pair{"mean", "mean"}, std::pair{"min", "min"},
          std::pair{"max", "max"}, std::pair{"sd", "sd"}, std::pair{"cv", "cv"}, std::pair{"runs", "n"},
          std::pair{"outliers", "outliers"}})
      ExpectValue(table, i, id, latency[key]);
    // A quantile needs at least this many values.
    ExpectValue(table, i, "p90", latency["n"] >= 10 ? latency["p90"] : Json());
    ExpectValue(table, i, "p99", latency["n"] >= 100 ? latency["p99"] : Json());
    ExpectValue(table, i, "first_inference", experiment["first_run_ms"]);
    ExpectValue(table, i, "load", experiment["load_ms"]);
  }
}

void ExpectSelfTimes(const Json& truth, const char* breakdown, const show::Table& table) {
  const bool pair = !truth["comparisons"].empty();
  const Json &before = truth["experiments"][0], &after = truth["experiments"].back();
  std::set<std::string> names;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    if (table.rows[r].role != show::Row::Role::kPart) continue;
    const std::string name = show::ToText(table.rows[r].cells[0]);
    if (name == kTracingOverhead || name == "Mean to median") {
      ExpectValue(table, r, pair ? "candidate" : "mean", after["tracer_ms"]);
      continue;
    }
    names.insert(name);
    const Json &before_row = FindRow(before[breakdown]["rows"], name),
               &after_row = FindRow(after[breakdown]["rows"], name);
    ExpectValue(table, r, "share", after_row["share"]);
    ExpectValue(table, r, pair ? "candidate" : "mean", after_row["mean_ms"]);
    if (!pair) continue;
    ExpectValue(table, r, "baseline", before_row["mean_ms"]);
    ExpectValue(table, r, "speedup", FindRow(truth["comparisons"][0][breakdown], name));
  }
  for (const Json& row : after[breakdown]["rows"])
    EXPECT_EQ(names.contains(row["name"]), row["total_ns"] != 0) << row["name"];
}

void ExpectOperators(const Json& truth, const show::Table& table) {
  const Json& operators = truth["experiments"].back()["operators"];
  ASSERT_EQ(table.rows.size(), operators.size());
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    ExpectValue(table, r, "operator", operators[r]["name"]);
    ExpectValue(table, r, "mean", operators[r]["mean_ms"]);
    ExpectValue(table, r, "share", operators[r]["share"]);
    ExpectValue(table, r, "p50", operators[r]["self_ms"]["p50"]);
    ExpectValue(table, r, "cv", operators[r]["self_ms"]["cv"]);
  }
}

// All operators of a pair are in one table, by decreasing time of the slower variant.
void ExpectComparedOperators(const Json& pair, const show::Table& table) {
  std::size_t matched = 0;
  for (const Json& row : pair["operators"]) matched += row["name"] == "Clipped" ? 0U : 1U;
  EXPECT_EQ(table.rows.size(), matched);
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const std::string name = show::ToText(table.rows[r].cells[0]);
    const Json& row = FindRow(pair["operators"], name.substr(0, name.find(" (overhead)")));
    ExpectValue(table, r, "baseline", Mean(row["baseline_total_ns"], pair["baseline_runs"]), 1);
    ExpectValue(table, r, "candidate", Mean(row["candidate_total_ns"], pair["candidate_runs"]), 1);
    ExpectValue(table, r, "speedup", row);
  }
}

void ExpectDocument(const Json& truth, const show::Document& document) {
  std::set<std::string> seen_ids;
  for (const show::Table* const table : read::AllTables(document)) {
    SCOPED_TRACE(table->id);
    seen_ids.insert(table->id);
    EXPECT_THAT(ReportTableNames(),
                testing::Not(testing::Contains(table->id)));  // ids are unique among all tables
    if (table->id == "report_latency") ExpectLatency(truth, *table);
    if (table->id == "self_times") ExpectSelfTimes(truth, "groups", *table);
    if (table->id == "report_operators") ExpectOperators(truth, *table);
    if (table->id == "compared_operators") ExpectComparedOperators(truth["comparisons"][0], *table);
  }
  for (const char* const id : {"report_latency", "self_times", "report_operators"})
    EXPECT_TRUE(seen_ids.contains(id)) << id;
  EXPECT_EQ(seen_ids.contains("compared_operators"), !truth["comparisons"].empty());
  if (truth["comparisons"].empty()) return;
  const VerdictTexts texts = MakeVerdictTexts(ParseTimeComparison(truth["comparisons"][0]["latency"]));
  EXPECT_THAT(ToText(document.answers.at(0).text, {}), testing::HasSubstr(texts.verdict));
  EXPECT_EQ(ToText(document.answers.at(0).precision, {}), "95% CI " + texts.interval);
}

// --- CSV --------------------------------------------------------------------------------------------------

// Expects that the cell has the same double as the JSON.
void ExpectCell(const read::ParsedTable& table, std::size_t row, const std::string& column,
                const Json& value) {
  const auto at = std::find(table.header.begin(), table.header.end(), column);
  ASSERT_NE(at, table.header.end()) << column;
  const std::string& cell = table.rows.at(row).at(static_cast<std::size_t>(at - table.header.begin()));
  const std::string location = fmt::format("{} of row {}: {}", column, row, cell);
  if (value.is_null()) {
    EXPECT_EQ(cell, "") << location;
  } else if (value.is_string()) {
    EXPECT_EQ(cell, value.get<std::string>()) << location;
  } else {
    ASSERT_NE(cell, "") << location;
    EXPECT_DOUBLE_EQ(std::stod(cell), value.get<double>()) << location;
  }
}

void ExpectCsv(const Json& truth, const std::map<std::string, std::string>& csv) {
  const read::ParsedTable latency = read::ParseCsv(csv.at("latency")),
                          groups = read::ParseCsv(csv.at("groups")),
                          categories = read::ParseCsv(csv.at("categories")),
                          operators = read::ParseCsv(csv.at("operators")),
                          comparison = read::ParseCsv(csv.at("comparison"));
  std::size_t group = 0, category = 0, op = 0;
  for (std::size_t i = 0; i < truth["experiments"].size(); ++i) {
    const Json& experiment = truth["experiments"][i];
    const Json& d = experiment["latency_ms"];
    for (const auto& [column, key] :
         {std::pair{"median_ms", "p50"}, std::pair{"mean_ms", "mean"}, std::pair{"p90_ms", "p90"},
          std::pair{"p99_ms", "p99"}, std::pair{"min_ms", "min"}, std::pair{"max_ms", "max"},
          std::pair{"sd_ms", "sd"}, std::pair{"cv", "cv"}, std::pair{"runs", "n"}})
      ExpectCell(latency, i, column, d[key]);
    const Json& interval = experiment["latency_interval_ms"];
    ExpectCell(latency, i, "interval_low_ms", interval.is_null() ? Json() : interval["low"]);
    ExpectCell(latency, i, "interval_high_ms", interval.is_null() ? Json() : interval["high"]);
    ExpectCell(latency, i, "label", experiment["label"]);
    for (const Json& row : experiment["groups"]["rows"]) {
      ExpectCell(groups, group, "group", row["name"]);
      ExpectCell(groups, group++, "mean_ms", row["mean_ms"]);
    }
    for (const Json& row : experiment["categories"]["rows"]) {
      ExpectCell(categories, category, "category", row["name"]);
      ExpectCell(categories, category++, "mean_ms", row["mean_ms"]);
    }
    for (const Json& row : experiment["operators"]) {
      ExpectCell(operators, op, "name", row["name"]);
      ExpectCell(operators, op, "key", row["key"]);
      ExpectCell(operators, op, "p50_ms", row["self_ms"]["p50"]);
      ExpectCell(operators, op++, "mean_ms", row["mean_ms"]);
    }
  }
  EXPECT_EQ(latency.rows.size(), truth["experiments"].size());
  EXPECT_EQ(groups.rows.size(), group);
  EXPECT_EQ(categories.rows.size(), category);
  EXPECT_EQ(operators.rows.size(), op);
  std::size_t csv_row = 0;
  for (const Json& pair : truth["comparisons"]) {
    const auto expect = [&](const std::string& subject, const Json& row, bool has_verdict) {
      ExpectCell(comparison, csv_row, "what", subject);
      for (const char* const column : {"ratio", "ratio_low", "ratio_high", "confidence", "p_value"})
        ExpectCell(comparison, csv_row, column, row[column]);
      if (row.contains("baseline_total_ns") && subject != "operator") {
        ExpectCell(comparison, csv_row, "baseline_ms",
                   Mean(row["baseline_total_ns"], pair["baseline_runs"]) / 1e6);
        ExpectCell(comparison, csv_row, "candidate_ms",
                   Mean(row["candidate_total_ns"], pair["candidate_runs"]) / 1e6);
      }
      ExpectCell(comparison, csv_row, "verdict", has_verdict ? row["verdict"] : Json(""));
      ++csv_row;
    };
    expect("latency", pair["latency"], true);
    ++csv_row;  // the row of the whole has no verdict
    for (const auto& [subject, rows] :
         {std::pair{"group", "groups"}, std::pair{"category", "categories"}, std::pair{"layer", "layers"},
          std::pair{"source", "by_source"}, std::pair{"delegate", "by_delegate"},
          std::pair{"operator", "operators"}}) {
      for (const Json& row : pair[rows]) {
        ExpectCell(comparison, csv_row, "name", row["name"]);
        expect(subject, row, row["name"] != "Clipped");
      }
    }
  }
  EXPECT_EQ(comparison.rows.size(), csv_row);
}

// --- The ladder -------------------------------------------------------------------------------------------

void ExpectLadder(const Json& truth, const Formats& formats) {
  const Json& ladder = truth["ladder"];
  const TimeScale scale = MakeScale(truth);
  Rows page, screen = {{}};
  for (std::size_t i = 0; i < ladder["levels"].size(); ++i) {
    const Json& cell = ladder["latency"]["cells"][i];
    auto& row = page.emplace_back(
        std::vector<std::string>{ladder["levels"][i]["name"], scale.Number(NsFromMs(cell["ms"]).value())});
    for (const char* const speedup : {"over_below", "over_lowest"}) {
      const bool has_speedup = !cell[speedup].is_null();
      row.push_back(has_speedup ? SpeedupOrDash(ParseTimeComparison(cell[speedup])) : "");
      row.push_back(has_speedup ? IntervalText(ParseTimeComparison(cell[speedup])) : "");
    }
    screen.push_back(row);
    std::erase(screen.back(), "");
  }
  bool found = false;
  for (const read::ParsedTable& table : read::MarkdownTables(formats.markdown)) {
    if (table.header.front() != "level, ms") continue;
    EXPECT_EQ(table.rows, page);
    screen.front() = table.header;
    found = true;
  }
  EXPECT_TRUE(found);
  EXPECT_THAT(read::ScreenBlocks(formats.screen), testing::Contains(screen));
  const read::ParsedTable csv = read::ParseCsv(formats.csv.at("ladder"));
  std::size_t csv_row = 0;
  for (const auto& rows :
       {Json::array({ladder["latency"]}), ladder["groups"], ladder["categories"], ladder["operators"]}) {
    for (const Json& row : rows) {
      for (const Json& cell : row["cells"]) {
        ExpectCell(csv, csv_row, "level", cell["level"]);
        ExpectCell(csv, csv_row, "ms", cell["ms"]);
        for (const std::string speedup : {"over_below", "over_lowest"}) {
          const bool has_speedup = !cell[speedup].is_null();
          ExpectCell(csv, csv_row, speedup, has_speedup ? cell[speedup]["ratio"] : Json());
          ExpectCell(csv, csv_row, speedup + "_low", has_speedup ? cell[speedup]["ratio_low"] : Json());
          ExpectCell(csv, csv_row, speedup + "_verdict", has_speedup ? cell[speedup]["verdict"] : Json(""));
        }
        ++csv_row;
      }
    }
  }
  EXPECT_EQ(csv.rows.size(), csv_row);
}

// --- All formats -------------------------------------------------------------------------------------------

// Expects that values that occur twice in the report are equal.
void ExpectConsistentJson(const Json& truth) {
  for (const Json& pair : truth["comparisons"]) {
    const auto find_experiment = [&](const char* variant) {
      for (const Json& entry : truth["experiments"]) {
        if (entry["name"] == pair[std::string(variant) + "_experiment"]) return entry;
      }
      return Json();
    };
    for (const char* const variant : {"baseline", "candidate"}) {
      const Json measured = find_experiment(variant);
      EXPECT_EQ(pair["latency"][std::string(variant) + "_ms"], measured["latency_ms"]["p50"]);
      const std::string total = std::string(variant) + "_total_ns";
      EXPECT_EQ(pair["whole"][total], measured["groups"]["total_ns"]);
      for (const char* const breakdown : {"groups", "categories"}) {
        for (const Json& row : measured[breakdown]["rows"])
          EXPECT_EQ(FindRow(pair[breakdown], row["name"])[total], row["total_ns"]);
      }
      for (const Json& op : measured["operators"]) {
        const auto match = std::find_if(
            pair["operators"].begin(), pair["operators"].end(),
            [&](const Json& row) { return row.value(std::string(variant) + "_key", Json()) == op["key"]; });
        ASSERT_NE(match, pair["operators"].end()) << op["key"];
        EXPECT_EQ((*match)[total], op["total_ns"]);
      }
    }
  }
}

void ExpectFormatsAgree(const Report& report) {
  const Formats formats = RenderAll(report);
  const Json truth = Json::parse(formats.json);
  EXPECT_EQ(read::ExtractPageJson(formats.html), formats.json);
  ExpectCsv(truth, formats.csv);
  if (!truth["ladder"].is_null()) {
    ExpectLadder(truth, formats);
    return;
  }
  ExpectConsistentJson(truth);
  ExpectDocument(truth, show::MakeReportDocument(report));
}

TEST(Formats, AgreeOnAPair) { ExpectFormatsAgree(example::MakePairReport()); }
TEST(Formats, AgreeOnASingleTrace) { ExpectFormatsAgree(example::MakeBareEtdumpReport()); }
TEST(Formats, AgreeOnALadder) {
  std::vector<example::LadderPoint> points = example::MakeSme2Points();
  std::erase_if(points, [](const example::LadderPoint& point) { return point.threads != 1; });
  ExpectFormatsAgree(example::MakeLadder(points));
}

// A pair with other numbers and such a wide spread that no two quantiles print alike.
Report MakePairWith(double latency_of_candidate, Nanoseconds convolution) {
  RunData run = example::MakePairReport().run;
  int i = 0;
  for (ExperimentData& data : run.experiments) {
    const double factor = &data == &run.experiments[1] ? latency_of_candidate : 1;
    for (Launch& launch : data.launches) {
      for (Burst& burst : launch.bursts) {
        for (Nanoseconds& time : burst.recorded) {
          const double spread = std::pow(1.0 + (i++ * 37 % 101) / 101.0, 2);
          time = static_cast<Nanoseconds>(static_cast<double>(time) * factor * spread);
        }
      }
    }
  }
  std::vector<std::optional<Profile>> profiles;
  profiles.emplace_back(example::MakeProfile("off", 4'000'000));
  profiles.emplace_back(example::MakeProfile("on", convolution, "PF32"));
  return Assemble(std::move(run), std::move(profiles));
}

// The formats also agree on reports with other numbers.
TEST(Formats, AgreeOnOtherMeasurements) {
  for (const auto& [latency, convolution] :
       {std::pair{1.25, 1'300'000}, std::pair{0.9, 990'000}, std::pair{2.6, 5'000'000}})
    ExpectFormatsAgree(MakePairWith(latency, convolution));
}

}  // namespace
}  // namespace etprof
