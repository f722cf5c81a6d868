#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "core/number.h"
#include "core/units.h"
#include "render/csv/table_csv.h"
#include "render/json/json.h"
#include "render/json/read_formats.h"
#include "render/page/html.h"
#include "render/page/markdown.h"
#include "render/screen/terminal.h"
#include "report/example_run.h"
#include "report/ladder/example_ladder.h"
#include "say/wording.h"

// Every number in every format comes from one Report value. A report is rendered in all of them, each is read
// back, and its tables are those that analysis_summary.json's numbers give when they are rounded by the one
// formatting helper (render/wording.h, core/units.h).

namespace etprof {
namespace {

using Json = nlohmann::json;
using read::Rows;
using Tables = std::map<std::string, Rows>;

std::string Rendered(const std::function<void(std::ostream&)>& render) {
  std::ostringstream out;
  render(out);
  return out.str();
}

struct Formats {
  std::string json, html, markdown, brief, screen, everything;  // the screen, and with --all
  std::map<std::string, std::string> csv;                       // by the table's name
};

Formats RenderAll(const Report& report) {
  Formats formats;
  formats.json = Rendered([&](std::ostream& out) { RenderAnalysisJson(report, out); });
  formats.html = Rendered([&](std::ostream& out) { RenderHtml(report, out); });
  formats.markdown = Rendered([&](std::ostream& out) { RenderMarkdown(report, out); });
  formats.brief = Rendered([&](std::ostream& out) { RenderBriefMarkdown(report, out); });
  TerminalOptions options;
  options.width = 120;  // wide enough that nothing is left out
  formats.screen = Rendered([&](std::ostream& out) { RenderTerminal(report, options, out); });
  options.all = true;
  formats.everything = Rendered([&](std::ostream& out) { RenderTerminal(report, options, out); });
  for (const std::string& name : ReportTableNames()) {
    formats.csv[name] = Rendered([&](std::ostream& out) { RenderReportTableCsv(report, name, out); });
  }
  return formats;
}

// --- what the JSON says, in the terms of the helpers ------------------------------------------------------

std::optional<double> Ns(const Json& ms) {
  return ms.is_null() ? std::nullopt : std::optional(ms.get<double>() * 1e6);
}
std::string Ms(const Json& ms) { return ms.is_null() ? kUndefined : FormatMilliseconds(*Ns(ms)); }
// In the unit of a table whose times these are: microseconds where none of them is a millisecond.
std::string InUnitOf(const std::vector<double>& times, const std::optional<double>& ns) {
  const bool milliseconds = std::ranges::any_of(times, [](double time) { return time >= 1e6; });
  return !ns ? kUndefined : milliseconds ? FormatNumber(*ns / 1e6) + " ms" : FormatNumber(*ns / 1e3) + " µs";
}
std::vector<double> TimesOf(const Json& rows, const char* key) {
  std::vector<double> times;
  for (const Json& row : rows) times.push_back(*Ns(row[key]));
  return times;
}
// Of latencies the smallest median decides.
std::vector<double> Medians(const Json& truth) {
  double smallest = 1e300;
  for (const Json& experiment : truth["experiments"])
    smallest = std::min(smallest, *Ns(experiment["latency_ms"]["p50"]));
  return {smallest};
}
std::string Percent(const Json& share) {
  return share.is_null() ? kUndefined : PercentText(share.get<double>());
}

Quantity QuantityOf(const Json& json) {
  Quantity quantity;
  if (json.contains("baseline_ms")) {
    quantity.baseline_ns = Ns(json["baseline_ms"]);
    quantity.candidate_ns = Ns(json["candidate_ms"]);
  }
  quantity.verdict = ValueNamed<stats::Verdict>(json["verdict"].get<std::string>()).value();
  if (!json["ratio"].is_null()) {
    quantity.estimate.emplace();
    quantity.estimate->log_ratio = std::log(json["ratio"].get<double>());
    quantity.estimate->log_low = std::log(json["ratio_low"].get<double>());
    quantity.estimate->log_high = std::log(json["ratio_high"].get<double>());
  }
  return quantity;
}

double Mean(const Json& total_ns, const Json& runs) { return total_ns.get<double>() / runs.get<double>(); }

TimeScale ScaleOf(const Json& truth) {
  double smallest = 1e300, largest = 0;
  for (const Json& experiment : truth["experiments"]) {
    smallest = std::min(smallest, *Ns(experiment["latency_ms"]["p50"]));
    largest = std::max(largest, *Ns(experiment["latency_ms"]["p50"]));
  }
  return ScaleFor(smallest, largest);
}

// The rows of a breakdown that take time, as printed: name, time; they add up to the median with the last
// one.
Rows AddedUp(const Json& experiment, const char* breakdown, const TimeScale& scale) {
  std::vector<double> means;
  std::vector<std::string> names;
  for (const Json& row : experiment[breakdown]["rows"]) {
    names.push_back(row["name"]);
    means.push_back(Mean(row["total_ns"], experiment[breakdown]["runs"]));
  }
  names.emplace_back(experiment["latency_from"] == "trace" ? "Mean to median" : "Tracer");
  means.push_back(*Ns(experiment["tracer_ms"]));
  const std::vector<std::string> texts = AddingUp(means, scale);
  Rows rows;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (means[i] != 0 || i + 1 == names.size()) rows.push_back({names[i], texts[i] + ' ' + scale.unit});
  }
  return rows;
}

const Json& RowNamed(const Json& rows, const std::string& name) {
  for (const Json& row : rows) {
    if (row["name"] == name) return row;
  }
  throw std::runtime_error("no row " + name);
}

// --- Markdown ---------------------------------------------------------------------------------------------

// By what their headings begin with; a heading that nobody knows here is an error, so that a new table gets
// its oracle.
std::string NameOfTable(const std::vector<std::string>& header) {
  static const std::map<std::string, std::string> kByFirst = {
      {"comparison", "pairs"},      {"beside the latency", "costs"},
      {"mean self time", "groups"}, {"category", "categories"},
      {"place", "places"},          {"portable operator", "portable"},
      {"condition", "conditions"},  {"kernels", "matrix kernels"},
      {"level", "levels"}};
  if (const auto known = kByFirst.find(header[0]); known != kByFirst.end()) return known->second;
  if (header[0] == "experiment") return header[1] == "median" ? "latency" : "experiments";
  if (header[0] == "operator")
    return header[1] == "group" ? "operators" : header[1] == "only in" ? "only" : "changed";
  throw std::runtime_error("a table that this test does not know: " + header[0]);
}

Tables ReadMarkdown(const std::string& text) {
  Tables tables;
  for (const read::FoundTable& table : read::MarkdownTables(text)) {
    Rows& rows = tables[NameOfTable(table.header)];
    rows.insert(rows.end(), table.rows.begin(), table.rows.end());
  }
  // "**on against off: 2.50x faster** [2.497, 2.497] (95 % interval, ...)"
  for (const std::string& line : read::Lines(text)) {
    const std::size_t end = line.find("**", 2);
    if (!line.starts_with("**") || end == std::string::npos || line.find(" against ") > end) continue;
    const std::size_t open = line.find('[', end), close = line.find(']', end);
    const bool interval = open != std::string::npos && close != std::string::npos;
    tables["answer"].push_back({read::Unescaped(line.substr(2, end - 2)),
                                interval ? read::Unescaped(line.substr(open, close + 1 - open)) : ""});
    if (std::string& last = tables["answer"].back()[1]; last.ends_with('\\')) last.pop_back();
  }
  return tables;
}

std::string Against(const Json& pair) {
  return pair["candidate"].get<std::string>() + " against " + pair["baseline"].get<std::string>();
}

Rows PairGroups(const Json& truth, const Json& pair, bool markdown, bool all = true) {
  const Json &before = truth["experiments"][0], &after = truth["experiments"][1];
  const TimeScale scale = ScaleOf(truth);
  const Rows first = AddedUp(before, "groups", scale), second = AddedUp(after, "groups", scale);
  Rows rows;
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i][0], second[i][0]);
    if (i + 1 == first.size()) {
      rows.push_back(
          markdown ? std::vector<std::string>{first[i][0], first[i][1], "", second[i][1], "", "", "", ""}
                   : std::vector<std::string>{first[i][0], first[i][1], second[i][1]});
      break;
    }
    const Json &a = RowNamed(before["groups"]["rows"], first[i][0]),
               &b = RowNamed(after["groups"]["rows"], first[i][0]),
               &delta = RowNamed(pair["groups"], first[i][0]);
    const Quantity quantity = QuantityOf(delta);
    const double saved = (a["mean_ms"].get<double>() - b["mean_ms"].get<double>()) * 1e6;
    if (markdown) {
      rows.push_back({first[i][0], first[i][1], Percent(a["share"]), second[i][1], Percent(b["share"]),
                      GainText(quantity), IntervalText(quantity), scale.Text(saved)});
    } else {
      rows.push_back({first[i][0], first[i][1], second[i][1], GainText(quantity), Percent(b["share"])});
      // One screen has no gain of next to nothing, and none where its times say otherwise.
      const bool nothing = a["share"] < 0.02 && b["share"] < 0.02;
      const bool otherwise = quantity.verdict == stats::Verdict::kFaster   ? saved <= 0
                             : quantity.verdict == stats::Verdict::kSlower ? saved >= 0
                                                                           : false;
      if (!all && (nothing || otherwise)) rows.back().erase(rows.back().begin() + 3);
    }
  }
  const Quantity latency = QuantityOf(pair["latency"]);
  const std::string first_median = scale.Text(Ns(before["latency_ms"]["p50"])),
                    second_median = scale.Text(Ns(after["latency_ms"]["p50"]));
  if (markdown) {
    rows.push_back({"Median latency", first_median, "", second_median, "", GainText(latency),
                    IntervalText(latency), ""});
  } else {
    rows.push_back({"Median latency", first_median, second_median, GainText(latency)});
  }
  return rows;
}

Rows LoneBreakdown(const Json& experiment, const char* breakdown, const TimeScale& scale, bool markdown) {
  Rows rows;
  for (const std::vector<std::string>& row : AddedUp(experiment, breakdown, scale)) {
    const bool tracer = row[0] == "Tracer" || row[0] == "Mean to median";
    const Json* of = tracer ? nullptr : &RowNamed(experiment[breakdown]["rows"], row[0]);
    const std::string count =
        tracer || (*of)["operators"] == 0 ? "" : std::to_string((*of)["operators"].get<int>());
    const std::string share = tracer ? "" : Percent((*of)["share"]);
    rows.push_back(markdown ? std::vector<std::string>{row[0], count, row[1], share}
                            : std::vector<std::string>{row[0], row[1]});
    if (!markdown && !tracer) rows.back().push_back(share);
  }
  const std::string median = scale.Text(Ns(experiment["latency_ms"]["p50"]));
  rows.push_back(markdown ? std::vector<std::string>{"Median latency", "", median, ""}
                          : std::vector<std::string>{"Median latency", median});
  return rows;
}

Rows CostRows(const Json& pair) {
  Rows rows;
  for (const auto& [name, key, unit] :
       {std::tuple{"load", "load", "ms"}, std::tuple{"first run", "first_run", "ms"},
        std::tuple{"peak memory", "peak_memory", "bytes"}}) {
    const Json& json = pair[key];
    const Json &before = json[std::string("baseline_") + unit],
               &after = json[std::string("candidate_") + unit];
    if (before.is_null() || after.is_null()) continue;
    SideCost cost;
    const Quantity quantity = QuantityOf(json);
    cost.estimate = quantity.estimate;
    cost.verdict = quantity.verdict;
    const auto text = [bytes = std::string_view(unit) == "bytes"](const Json& value) {
      return bytes ? FormatBytes(value.get<double>()) : Ms(value);
    };
    const std::string verdict = CostVerdict(cost);
    rows.push_back({fmt::format("{}: {}", name, Against(pair)), text(before), text(after),
                    verdict.empty() ? kUndefined : verdict, CostInterval(cost)});
  }
  return rows;
}

// "What gained most", "What lost most" and what cannot be vouched for, one table after the other.
Rows ChangedRows(const Json& pair) {
  struct Change {
    std::string name;
    double before, after;
    Quantity quantity;
  };
  std::vector<Change> changes;
  for (const Json& row : pair["operators"]) {
    if (!row.contains("baseline_key") || row["baseline_key"].is_null() || row["candidate_key"].is_null())
      continue;
    const auto label = [](const std::string& name) {
      const bool framework = name == "Method::execute" || name == "DELEGATE_CALL" || name == "OPERATOR_CALL";
      return framework ? name + " (overhead)" : name;
    };
    const std::string from = label(row["baseline_name"]), to = label(row["candidate_name"]);
    changes.push_back({from == to ? to : from + " → " + to,
                       Mean(row["baseline_total_ns"], pair["baseline_runs"]),
                       Mean(row["candidate_total_ns"], pair["candidate_runs"]), QuantityOf(row)});
  }
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::fabs(a.before - a.after) > std::fabs(b.before - b.after);
  });
  Rows rows;
  for (const auto verdict :
       {stats::Verdict::kFaster, stats::Verdict::kSlower, stats::Verdict::kInconclusive}) {
    std::vector<Change> listed;
    std::vector<double> times;
    for (const Change& change : changes) {
      const double whole = Mean(pair["whole"]["baseline_total_ns"], pair["baseline_runs"]);
      const bool worth = std::fabs(change.before - change.after) >= 0.001 * whole;
      if (change.quantity.verdict != verdict || (verdict == stats::Verdict::kInconclusive && !worth))
        continue;
      listed.push_back(change);
      times.insert(times.end(), {change.before, change.after});
    }
    for (const Change& change : listed) {
      rows.push_back({change.name, InUnitOf(times, change.before), InUnitOf(times, change.after),
                      InUnitOf(times, change.before - change.after), GainText(change.quantity),
                      IntervalText(change.quantity)});
    }
  }
  return rows;
}

void ExpectMarkdown(const Json& truth, const Tables& tables) {
  Rows latency, operators, places, portable, categories;
  const auto time = [&](const Json& ms) { return InUnitOf(Medians(truth), Ns(ms)); };
  for (const Json& experiment : truth["experiments"]) {
    const Json& d = experiment["latency_ms"];
    const bool ten = d["n"] >= 10, hundred = d["n"] >= 100;
    latency.push_back({experiment["label"], time(d["p50"]), time(d["mean"]),
                       ten ? time(d["p90"]) : kUndefined, hundred ? time(d["p99"]) : kUndefined,
                       time(d["min"]), time(d["max"]), time(d["sd"]), Percent(d["cv"]),
                       std::to_string(d["n"].get<int>()), std::to_string(d["outliers"].get<int>()),
                       time(experiment["first_run_ms"]), time(experiment["load_ms"])});
  }
  EXPECT_EQ(tables.at("latency"), latency);
  const bool paired = !truth["comparisons"].empty();
  const Json& subject = truth["experiments"].back();
  const std::vector<double> means = TimesOf(subject["operators"], "mean_ms");
  std::vector<double> portable_means;
  for (const Json& op : subject["operators"]) {
    if (op["portable"]) portable_means.push_back(*Ns(op["mean_ms"]));
  }
  for (const Json& op : subject["operators"]) {
    const Json& self = op["self_ms"];
    operators.push_back(
        {op["name"], op["group"],
         op["portable"]            ? "portable"
         : op["backend"].is_null() ? "delegate"
                                   : op["backend"],
         op["call"].is_null() ? kUndefined : std::to_string(op["call"].get<int>()),
         InUnitOf(means, Ns(op["mean_ms"])), Percent(op["share"]), InUnitOf(means, Ns(self["p50"])),
         self["n"] >= 100 ? InUnitOf(means, Ns(self["p99"])) : kUndefined, Percent(self["cv"])});
    if (op["portable"])
      portable.push_back(
          {op["type"], op["category"], InUnitOf(portable_means, Ns(op["mean_ms"])), Percent(op["share"])});
  }
  EXPECT_EQ(tables.at("operators"), operators);
  EXPECT_EQ(tables.at("portable"), portable);
  for (const Json& row : subject["places"]["rows"]) {
    if (row["total_ns"] == 0 && row["operators"] == 0) continue;
    places.push_back({row["name"], std::to_string(row["operators"].get<int>()),
                      InUnitOf(TimesOf(subject["places"]["rows"], "mean_ms"), Ns(row["mean_ms"])),
                      Percent(row["share"])});
  }
  EXPECT_EQ(tables.at("places"), places);
  if (!paired) {
    EXPECT_EQ(tables.at("groups"), LoneBreakdown(subject, "groups", ScaleOf(truth), true));
    EXPECT_EQ(tables.at("categories"), LoneBreakdown(subject, "categories", ScaleOf(truth), true));
    return;
  }
  const Json& pair = truth["comparisons"][0];
  const Quantity ratio = QuantityOf(pair["latency"]);
  const std::string sample = fmt::format("{} launches x {} rounds", pair["launches"].get<int>(),
                                         pair["rounds"].get<int>() / pair["launches"].get<int>());
  EXPECT_EQ(
      tables.at("pairs"),
      (Rows{{Against(pair), time(pair["latency"]["baseline_ms"]), time(pair["latency"]["candidate_ms"]),
             RatioText(ratio.estimate->ratio()), IntervalText(ratio), pair["latency"]["verdict"], sample}}));
  EXPECT_EQ(tables.at("answer"),
            (Rows{{Against(pair) + ": " + WordsOf(ratio).verdict, WordsOf(ratio).interval}}));
  EXPECT_EQ(tables.at("groups"), PairGroups(truth, pair, true));
  EXPECT_EQ(tables.at("costs"), CostRows(pair));
  EXPECT_EQ(tables.at("changed"), ChangedRows(pair));
  std::vector<double> both;
  for (const Json& row : pair["categories"]) {
    both.push_back(Mean(row["baseline_total_ns"], pair["baseline_runs"]));
    both.push_back(Mean(row["candidate_total_ns"], pair["candidate_runs"]));
  }
  for (const Json& row : pair["categories"]) {
    const Quantity quantity = QuantityOf(row);
    if (row["baseline_total_ns"] == 0 && row["candidate_total_ns"] == 0) continue;
    categories.push_back({row["name"], InUnitOf(both, Mean(row["baseline_total_ns"], pair["baseline_runs"])),
                          InUnitOf(both, Mean(row["candidate_total_ns"], pair["candidate_runs"])),
                          GainText(quantity), IntervalText(quantity)});
  }
  EXPECT_EQ(tables.at("categories"), categories);
}

void ExpectBrief(const Json& truth, const Tables& tables) {
  Rows latency;
  const auto time = [&](const Json& ms) { return InUnitOf(Medians(truth), Ns(ms)); };
  for (const Json& experiment : truth["experiments"]) {
    const Json& d = experiment["latency_ms"];
    latency.push_back({experiment["label"], time(d["p50"]), time(d["p90"]), time(d["p99"]),
                       std::to_string(d["n"].get<int>())});
  }
  EXPECT_EQ(tables.at("latency"), latency);
  if (truth["comparisons"].empty()) return;
  const Json& pair = truth["comparisons"][0];
  const VerdictWords words = WordsOf(QuantityOf(pair["latency"]));
  EXPECT_EQ(tables.at("groups"), PairGroups(truth, pair, true));
  EXPECT_EQ(tables.at("answer"), (Rows{{Against(pair) + ": " + words.verdict, words.interval}}));
}

// --- the screen -------------------------------------------------------------------------------------------

Tables ReadScreen(const std::string& text) {
  Tables tables;
  const std::vector<Rows> blocks = read::ScreenBlocks(text);
  // After the header: a line an experiment, then what the medians are of.
  for (const std::vector<std::string>& row : blocks.at(1)) {
    if (row.size() > 1) tables["latency"].push_back(row);
  }
  for (const Rows& block : blocks) {
    const std::string& title = block[0][0];
    const std::string name = title == "mean self time"                             ? "groups"
                             : title == "category"                                 ? "categories"
                             : title == "runs in"                                  ? "delegates"
                             : title.ends_with("operators") && block[0].size() > 1 ? "operators"
                             : title == "level"                                    ? "levels"
                                                                                   : "";
    if (!name.empty()) tables[name].assign(block.begin() + 1, block.end());
  }
  return tables;
}

void ExpectScreen(const Json& truth, const Tables& tables, bool all) {
  const TimeScale scale = ScaleOf(truth);
  const bool paired = !truth["comparisons"].empty();
  Rows latency;
  for (std::size_t i = 0; i < truth["experiments"].size(); ++i) {
    const Json& experiment = truth["experiments"][i];
    const Json& d = experiment["latency_ms"];
    const bool hundred = d["n"] >= 100;
    latency.push_back({paired ? experiment["label"].get<std::string>() : "latency", scale.Text(Ns(d["p50"])),
                       (hundred ? "p99 " : "max ") + scale.Number(*Ns(d[hundred ? "p99" : "max"]))});
    if (!paired || i == 0) continue;
    const VerdictWords words = WordsOf(QuantityOf(truth["comparisons"][0]["latency"]));
    latency.back().push_back(words.verdict);
    latency.back().push_back(words.interval);
  }
  EXPECT_EQ(tables.at("latency"), latency);
  if (!paired) {
    const Json& experiment = truth["experiments"][0];
    EXPECT_EQ(tables.at("groups"), LoneBreakdown(experiment, "groups", scale, false));
    Rows operators;
    for (const Json& op : experiment["operators"]) {
      operators.push_back(
          {op["name"], scale.Text(Ns(op["mean_ms"])), Percent(op["share"]), Percent(op["self_ms"]["cv"])});
    }
    EXPECT_EQ(tables.at("operators"), operators);
    return;
  }
  const Json& pair = truth["comparisons"][0];
  EXPECT_EQ(tables.at("groups"), PairGroups(truth, pair, false, all));
  if (!all) return;
  const auto sorted = [&](const Json& rows, bool by_larger) {
    std::vector<Json> list;
    for (const Json& row : rows) {
      if (row["name"] != "Clipped" && (row["baseline_total_ns"] != 0 || row["candidate_total_ns"] != 0))
        list.push_back(row);
    }
    std::stable_sort(list.begin(), list.end(), [&](const Json& a, const Json& b) {
      const auto of = [&](const Json& row) {
        const double before = Mean(row["baseline_total_ns"], pair["baseline_runs"]),
                     after = Mean(row["candidate_total_ns"], pair["candidate_runs"]);
        return by_larger ? std::max(before, after) : after;
      };
      return of(a) > of(b);
    });
    return list;
  };
  Rows operators, categories;
  for (const Json& row : sorted(pair["operators"], true)) {
    const Quantity quantity = QuantityOf(row);
    const std::string name = row["name"];
    const bool framework = name.find('(') == std::string::npos && !name.starts_with("native_call_");
    operators.push_back({framework ? name + " (overhead)" : name,
                         scale.Text(Mean(row["baseline_total_ns"], pair["baseline_runs"])),
                         scale.Text(Mean(row["candidate_total_ns"], pair["candidate_runs"])),
                         GainText(quantity), IntervalText(quantity)});
  }
  EXPECT_EQ(tables.at("operators"), operators);
  for (const Json& row : sorted(pair["categories"], false)) {
    const Quantity quantity = QuantityOf(row);
    const double share =
        row["candidate_total_ns"].get<double>() / pair["whole"]["candidate_total_ns"].get<double>();
    categories.push_back({row["name"], scale.Text(Mean(row["baseline_total_ns"], pair["baseline_runs"])),
                          scale.Text(Mean(row["candidate_total_ns"], pair["candidate_runs"])),
                          PercentText(share), GainText(quantity), IntervalText(quantity)});
  }
  EXPECT_EQ(tables.at("categories"), categories);
}

// --- CSV --------------------------------------------------------------------------------------------------

// A cell's number as the JSON has it: the same double.
void ExpectCell(const read::FoundTable& table, std::size_t row, const std::string& column,
                const Json& value) {
  const auto at = std::find(table.header.begin(), table.header.end(), column);
  ASSERT_NE(at, table.header.end()) << column;
  const std::string& cell = table.rows.at(row).at(static_cast<std::size_t>(at - table.header.begin()));
  const std::string where = fmt::format("{} of row {}: {}", column, row, cell);
  if (value.is_null()) {
    EXPECT_EQ(cell, "") << where;
  } else if (value.is_string()) {
    EXPECT_EQ(cell, value.get<std::string>()) << where;
  } else {
    ASSERT_NE(cell, "") << where;
    EXPECT_DOUBLE_EQ(std::stod(cell), value.get<double>()) << where;
  }
}

void ExpectCsv(const Json& truth, const std::map<std::string, std::string>& csv) {
  const read::FoundTable latency = read::Csv(csv.at("latency")), groups = read::Csv(csv.at("groups")),
                         categories = read::Csv(csv.at("categories")),
                         operators = read::Csv(csv.at("operators")),
                         comparison = read::Csv(csv.at("comparison"));
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
  std::size_t at = 0;
  for (const Json& pair : truth["comparisons"]) {
    const auto expect = [&](const std::string& what, const Json& row, bool judged) {
      ExpectCell(comparison, at, "what", what);
      for (const char* const column : {"ratio", "ratio_low", "ratio_high", "confidence", "p_value"})
        ExpectCell(comparison, at, column, row[column]);
      if (row.contains("baseline_total_ns") && what != "operator") {
        ExpectCell(comparison, at, "baseline_ms",
                   Mean(row["baseline_total_ns"], pair["baseline_runs"]) / 1e6);
        ExpectCell(comparison, at, "candidate_ms",
                   Mean(row["candidate_total_ns"], pair["candidate_runs"]) / 1e6);
      }
      ExpectCell(comparison, at, "verdict", judged ? row["verdict"] : Json(""));
      ++at;
    };
    expect("latency", pair["latency"], true);
    ++at;  // the whole: without a verdict of its own
    for (const auto& [what, rows] :
         {std::pair{"group", "groups"}, std::pair{"category", "categories"}, std::pair{"layer", "layers"},
          std::pair{"source", "by_source"}, std::pair{"delegate", "by_delegate"},
          std::pair{"operator", "operators"}}) {
      for (const Json& row : pair[rows]) {
        ExpectCell(comparison, at, "name", row["name"]);
        expect(what, row, row["name"] != "Clipped");
      }
    }
  }
  EXPECT_EQ(comparison.rows.size(), at);
}

// --- the ladder -------------------------------------------------------------------------------------------

void ExpectLadder(const Json& truth, const Formats& formats) {
  const Json& ladder = truth["ladder"];
  const TimeScale scale = ScaleOf(truth);
  Rows markdown, screen;
  for (std::size_t i = 0; i < ladder["levels"].size(); ++i) {
    const Json &level = ladder["levels"][i], &cell = ladder["latency"]["cells"][i];
    std::string adds;
    for (const Json& feature : level["adds"]) adds += (adds.empty() ? "" : " ") + feature.get<std::string>();
    markdown.push_back({level["name"], adds, Ms(cell["ms"])});
    screen.push_back({level["name"], scale.Text(Ns(cell["ms"]))});
    for (const char* const over : {"over_below", "over_lowest"}) {
      const bool known = !cell[over].is_null();
      markdown.back().push_back(known ? GainText(QuantityOf(cell[over])) : "");
      markdown.back().push_back(known ? IntervalText(QuantityOf(cell[over])) : "");
      if (!known) continue;
      screen.back().push_back(GainText(QuantityOf(cell[over])));
      if (std::string(over) == "over_below") screen.back().push_back(IntervalText(QuantityOf(cell[over])));
    }
  }
  Rows found = ReadMarkdown(formats.markdown).at("levels");
  for (auto& row : found) row.pop_back();  // the bar
  EXPECT_EQ(found, markdown);
  EXPECT_EQ(ReadScreen(formats.screen).at("levels"), screen);
  const read::FoundTable csv = read::Csv(formats.csv.at("ladder"));
  std::size_t at = 0;
  for (const auto& rows :
       {Json::array({ladder["latency"]}), ladder["groups"], ladder["categories"], ladder["operators"]}) {
    for (const Json& row : rows) {
      for (const Json& cell : row["cells"]) {
        ExpectCell(csv, at, "level", cell["level"]);
        ExpectCell(csv, at, "ms", cell["ms"]);
        for (const std::string over : {"over_below", "over_lowest"}) {
          const bool known = !cell[over].is_null();
          ExpectCell(csv, at, over, known ? cell[over]["ratio"] : Json());
          ExpectCell(csv, at, over + "_low", known ? cell[over]["ratio_low"] : Json());
          ExpectCell(csv, at, over + "_verdict", known ? cell[over]["verdict"] : Json(""));
        }
        ++at;
      }
    }
  }
  EXPECT_EQ(csv.rows.size(), at);
}

// --- all of it --------------------------------------------------------------------------------------------

// What the Report value says twice must be the same.
void ExpectOneTruth(const Json& truth) {
  for (const Json& pair : truth["comparisons"]) {
    const auto experiment = [&](const char* side) {
      for (const Json& one : truth["experiments"]) {
        if (one["name"] == pair[std::string(side) + "_experiment"]) return one;
      }
      return Json();
    };
    for (const char* const side : {"baseline", "candidate"}) {
      const Json of = experiment(side);
      EXPECT_EQ(pair["latency"][std::string(side) + "_ms"], of["latency_ms"]["p50"]);
      const std::string total = std::string(side) + "_total_ns";
      EXPECT_EQ(pair["whole"][total], of["groups"]["total_ns"]);
      for (const char* const breakdown : {"groups", "categories"}) {
        for (const Json& row : of[breakdown]["rows"])
          EXPECT_EQ(RowNamed(pair[breakdown], row["name"])[total], row["total_ns"]);
      }
      for (const Json& op : of["operators"]) {
        const auto match = std::find_if(
            pair["operators"].begin(), pair["operators"].end(),
            [&](const Json& row) { return row.value(std::string(side) + "_key", Json()) == op["key"]; });
        ASSERT_NE(match, pair["operators"].end()) << op["key"];
        EXPECT_EQ((*match)[total], op["total_ns"]);
      }
    }
  }
}

void ExpectAllTheSame(const Formats& formats) {
  const Json truth = Json::parse(formats.json);
  EXPECT_EQ(read::JsonOfPage(formats.html), formats.json);
  ExpectCsv(truth, formats.csv);
  if (!truth["ladder"].is_null()) {
    ExpectLadder(truth, formats);
    return;
  }
  ExpectOneTruth(truth);
  ExpectMarkdown(truth, ReadMarkdown(formats.markdown));
  ExpectBrief(truth, ReadMarkdown(formats.brief));
  ExpectScreen(truth, ReadScreen(formats.screen), false);
  ExpectScreen(truth, ReadScreen(formats.everything), true);
}

TEST(Formats, SayTheSameOfAPair) { ExpectAllTheSame(RenderAll(example::MakePair())); }
TEST(Formats, SayTheSameOfALoneTrace) { ExpectAllTheSame(RenderAll(example::MakeBare())); }
TEST(Formats, SayTheSameOfALadder) {
  std::vector<example::LadderPoint> points = example::Sme2Points();
  std::erase_if(points, [](const example::LadderPoint& point) { return point.threads != 1; });
  ExpectAllTheSame(RenderAll(example::MakeLadder(points)));
}

// A pair that was measured anew, with other numbers, and so wide a spread that no two of its quantiles read
// alike.
Report PairOf(double latency_of_candidate, Nanoseconds convolution) {
  RunData run = example::MakePair().run;
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

// One number of the report is another one: every format that has it must say so. Were a format fed from
// elsewhere, its table would not change.
struct Mutation {
  const char* what;
  std::function<void(Report&)> apply;
  std::set<std::string> markdown, brief, screen, everything,
      csv;  // the tables that must change, and no others
};

std::set<std::string> Changed(const Tables& before, const Tables& after) {
  std::set<std::string> changed;
  for (const auto& [name, rows] : before) {
    if (after.at(name) != rows) changed.insert(name);
  }
  return changed;
}

TEST(Formats, ANumberThatChangesChangesEverywhere) {
  const auto wider = [](Quantity& quantity) {
    quantity.estimate->log_ratio += 0.1;
    quantity.estimate->log_low += 0.05;
    quantity.estimate->log_high += 0.2;
  };
  const std::vector<Mutation> mutations = {
      {"the candidate's median",
       [](Report& report) { *report.experiments[1].latency.p50 += 100'000; },
       {"latency", "groups"},
       {"latency", "groups"},
       {"latency", "groups"},
       {"latency", "groups"},
       {"latency"}},
      {"the ratio and its interval",
       [&](Report& report) { wider(report.comparisons[0].comparison.latency); },
       {"pairs", "answer", "groups"},
       {"answer", "groups"},
       {"latency", "groups"},
       {"latency", "groups"},
       {"comparison"}},
      {"the verdict",
       [](Report& report) {
         report.comparisons[0].comparison.latency.verdict = stats::Verdict::kInconclusive;
       },
       {"pairs", "answer", "groups"},
       {"answer", "groups"},
       {"latency", "groups"},
       {"latency", "groups"},
       {"comparison"}},
      {"a group's gain",
       [&](Report& report) { wider(report.comparisons[0].comparison.groups[0].quantity); },
       {"groups"},
       {"groups"},
       {"groups"},
       {"groups"},
       {"comparison"}},
      {"a group's time",
       [](Report& report) { report.experiments[1].groups.rows[0].total += 40 * 300'000; },
       {"groups"},
       {"groups"},
       {"groups"},
       {"groups"},
       {"groups"}},
      {"an operator's gain",
       [&](Report& report) {
         for (OperatorMatch& match : report.comparisons[0].comparison.operators) {
           if (match.quantity.verdict == stats::Verdict::kFaster) wider(match.quantity);
         }
       },
       {"changed"},
       {},
       {},
       {"operators"},
       {"comparison"}},
      {"an operator's time on its own side",
       [](Report& report) { report.experiments[1].operators[0].mean_self += 300'000; },
       {"operators"},
       {},
       {},
       {},
       {"operators"}},
  };
  const Formats before = RenderAll(example::MakePair());
  for (const Mutation& mutation : mutations) {
    SCOPED_TRACE(mutation.what);
    Report report = example::MakePair();
    mutation.apply(report);
    const Formats after = RenderAll(report);
    EXPECT_NE(before.json, after.json);
    EXPECT_EQ(read::JsonOfPage(after.html), after.json);
    EXPECT_EQ(Changed(ReadMarkdown(before.markdown), ReadMarkdown(after.markdown)), mutation.markdown);
    EXPECT_EQ(Changed(ReadMarkdown(before.brief), ReadMarkdown(after.brief)), mutation.brief);
    EXPECT_EQ(Changed(ReadScreen(before.screen), ReadScreen(after.screen)), mutation.screen);
    EXPECT_EQ(Changed(ReadScreen(before.everything), ReadScreen(after.everything)), mutation.everything);
    std::set<std::string> csv;
    for (const auto& [name, table] : before.csv) {
      if (after.csv.at(name) != table) csv.insert(name);
    }
    EXPECT_EQ(csv, mutation.csv);
  }
}

// Measured anew, everything moves together and stays the same in all.
TEST(Formats, SayTheSameOfOtherNumbers) {
  const Formats before = RenderAll(example::MakePair());
  for (const auto& [latency, convolution] :
       {std::pair{1.25, 1'300'000}, std::pair{0.9, 990'000}, std::pair{2.6, 5'000'000}}) {
    const Report report = PairOf(latency, convolution);
    const stats::Distribution& d = report.experiments[0].latency;
    std::set<std::string> alike;
    for (const auto& value : {d.p50, d.mean, d.p90, d.p95, d.p99, d.min, d.max, d.sd})
      EXPECT_TRUE(alike.insert(FormatMilliseconds(*value)).second) << "cannot be told apart: " << *value;
    const Formats after = RenderAll(report);
    ExpectAllTheSame(after);
    for (const char* const table : {"latency", "pairs", "answer", "groups", "categories", "operators"})
      EXPECT_NE(ReadMarkdown(before.markdown).at(table), ReadMarkdown(after.markdown).at(table)) << table;
    for (const char* const table : {"latency", "groups", "categories", "operators"})
      EXPECT_NE(ReadScreen(before.everything).at(table), ReadScreen(after.everything).at(table)) << table;
  }
}

// One digit that is wrong in one format is found: the tests above are able to fail.
TEST(Formats, AWrongDigitIsFound) {
  const Formats formats = RenderAll(example::MakePair());
  const Json truth = Json::parse(formats.json);
  const auto wrong = [](std::string text, const std::string& digits, const std::string& other) {
    const std::size_t at = text.find(digits);
    EXPECT_NE(at, std::string::npos) << digits;
    return text.replace(at, digits.size(), other);
  };
  EXPECT_NE(ReadMarkdown(wrong(formats.markdown, "| Convolution | 4.002 ms", "| Convolution | 4.003 ms"))
                .at("groups"),
            PairGroups(truth, truth["comparisons"][0], true));
  EXPECT_NE(ReadScreen(wrong(formats.screen, "3.99x", "3.98x")).at("groups"),
            PairGroups(truth, truth["comparisons"][0], false));
  EXPECT_THROW(ReadMarkdown("| surprise | time |\n| --- | ---: |\n| a | 1 ms |\n"), std::runtime_error);
  EXPECT_NE(read::JsonOfPage(formats.html), wrong(formats.json, "\"p50\": 5.", "\"p50\": 6."));
}

}  // namespace
}  // namespace etprof
