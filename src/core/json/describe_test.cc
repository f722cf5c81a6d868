#include "core/json/describe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/golden_testing.h"
#include "core/json/json_line.h"
#include "core/json/json_members.h"
#include "core/json/json_schema_of.h"

namespace etprof {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::Not;

enum class Color { kRed, kGreen, kNameless };

struct Point {
  int x = 0;
  double y = 0.5;

  static constexpr const char* kSchemaName = "point";
  static void Describe(auto& v) {
    v("x", &Point::x, {.min = -3, .max = 3});
    v("y", &Point::y, {.or_null = true});
  }
};

struct Bounds {
  int left = 0, right = 0;

  static constexpr bool kRequiresAllKeys = true;
  static void Check(const Bounds& bounds) {
    if (bounds.left > bounds.right) throw std::invalid_argument("left is beyond right");
  }
  static void Describe(auto& v) {
    v("left", &Bounds::left);
    v("right", &Bounds::right);
  }
};

struct Inner {
  std::string note;

  static void Describe(auto& v) { v("note", &Inner::note, {.omit_if_empty = true}); }
};

struct Everything {
  bool flag = true;
  std::uint64_t large = 0;
  std::string text, maybe, object;
  std::filesystem::path file;
  Color color = Color::kRed;
  std::optional<Point> point;
  std::vector<Point> points;
  std::vector<Bounds> wholes;
  std::map<std::string, std::string> words;
  Inner inner;
  int half = 0;

  static void Describe(auto& v) {
    v.Constant("version", 1);
    v("flag", &Everything::flag);
    v("large", &Everything::large);
    v("text", &Everything::text, {.meaning = "what it says", .choices = "|one|two words"});
    v("maybe", &Everything::maybe, {.or_null = true});
    v("object", &Everything::object, {.json = true});
    v("file", &Everything::file, {.or_null = true, .relative = true});
    v("color", &Everything::color);
    v("point", &Everything::point);
    v("points", &Everything::points, {.non_empty = true});
    v("wholes", &Everything::wholes);
    v("words", &Everything::words);
    v.Flat(&Everything::inner);
    v.Object("nested", [](auto& nested) {
      nested.Converted(
          "twice", [](const Everything& all) { return 2 * all.half; },
          [](Everything& all, int twice) { all.half = twice / 2; });
    });
    v("count", [](const Everything& all) { return all.points.size(); });
  }
};

}  // namespace

template <>
inline constexpr const char* kNames<Color>[] = {"red", "green"};

namespace {

Everything Example() {
  Everything all;
  all.flag = false;
  all.large = std::numeric_limits<std::uint64_t>::max();
  all.text = "two words";
  all.object = R"({"a":[1]})";
  all.file = "/run/a/b.csv";
  all.color = Color::kGreen;
  all.points = {{-3, 1.25}, {3, std::nan("")}};
  all.wholes = {{1, 2}};
  all.words = {{"k", "v"}};
  all.inner.note = "n";
  all.half = 4;
  return all;
}

TEST(Describe, WritesEveryMember) {
  EXPECT_EQ(json(ToJson(Example(), "/run")), json::parse(R"({
    "version": 1, "flag": false, "large": 18446744073709551615, "text": "two words", "maybe": null,
    "object": {"a": [1]}, "file": "a/b.csv", "color": "green", "point": null,
    "points": [{"x": -3, "y": 1.25}, {"x": 3, "y": null}], "wholes": [{"left": 1, "right": 2}],
    "words": {"k": "v"}, "note": "n", "nested": {"twice": 8}, "count": 2})"));
  EXPECT_EQ(ToJson<JsonLine>(Example(), "/run").Text(), ToJson(Example(), "/run").dump());
  EXPECT_FALSE(ToJson(Everything()).contains("note"));
  EXPECT_EQ(ToJson(Example())["file"], "/run/a/b.csv");
}

TEST(Describe, ReadsBackWrittenValues) {
  const nlohmann::ordered_json written = ToJson(Example(), "/run");
  Everything read;
  EXPECT_EQ(ReadJsonTolerantly(json(written), read, "/run"), 0);
  EXPECT_EQ(read.file, "/run/a/b.csv");
  EXPECT_EQ(read.points[1].y, 0.5) << "null leaves the default, as a missing key does";
  read.points[1].y = std::nan("");
  EXPECT_EQ(ToJson(read, "/run"), written);
  Everything strict;
  FromJson(json(written), strict, ReadMode::kMissingKeepsDefault);
  EXPECT_TRUE(std::isnan(strict.points[1].y));
}

std::string DescribeProblem(const char* text, ReadMode mode = ReadMode::kMissingKeepsDefault) {
  try {
    Everything all;
    FromJson(json::parse(text), all, mode);
  } catch (const std::invalid_argument& problem) {
    return problem.what();
  }
  return "";
}

TEST(Describe, NamesTheProblem) {
  EXPECT_EQ(DescribeProblem("{}"), "");
  EXPECT_EQ(DescribeProblem("{}", ReadMode::kAllKeysRequired), "\"version\" is missing");
  EXPECT_EQ(DescribeProblem("[]"), "must be a JSON object");
  EXPECT_EQ(DescribeProblem(R"({"point": {"x": 4}})"), "in \"point\": \"x\" must be at most 3");
  EXPECT_EQ(DescribeProblem(R"({"points": [{"x": -4}]})"), "in \"points\": \"x\" must be at least -3");
  EXPECT_EQ(DescribeProblem(R"({"points": [{"y": "1"}]})"), "in \"points\": \"y\" must be a number");
  EXPECT_EQ(DescribeProblem(R"({"points": {}})"), "\"points\" must be an array");
  EXPECT_EQ(DescribeProblem(R"({"text": "three"})"), "\"text\" has a value that is not known");
  EXPECT_EQ(DescribeProblem(R"({"color": "blue"})"), "\"color\" has a value that is not known");
  EXPECT_EQ(DescribeProblem(R"({"words": {"k": 1}})"), "\"words\" must be a string");
  EXPECT_EQ(DescribeProblem(R"({"nested": 1})"), "must be a JSON object");
  EXPECT_EQ(DescribeProblem(R"({"wholes": [{"left": 1}]})"), "in \"wholes\": \"right\" is missing");
  EXPECT_EQ(DescribeProblem(R"({"wholes": [{"left": 3, "right": 2}]})"),
            "in \"wholes\": left is beyond right");
}

TEST(Describe, ATolerantReaderKeepsValidValuesAndCountsOthers) {
  Everything all;
  const json value = json::parse(R"({
    "flag": 1, "large": -1, "text": "three", "color": "blue", "point": {"x": 9, "y": 7},
    "points": [{"x": 1}, 5, {"x": 2}], "wholes": [{"left": 1}, {"left": 1, "right": 1}], "maybe": null})");
  EXPECT_EQ(ReadJsonTolerantly(value, all, {}), 6);
  EXPECT_TRUE(all.flag);
  EXPECT_EQ(all.text, "three") << "a newer program's word is kept";
  EXPECT_EQ(all.color, Color::kRed);
  ASSERT_TRUE(all.point);
  EXPECT_EQ(all.point->x, 0);
  EXPECT_EQ(all.point->y, 7);
  ASSERT_EQ(all.points.size(), 2U);
  EXPECT_EQ(all.points[1].x, 2);
  ASSERT_EQ(all.wholes.size(), 1U) << "an element that lacks a key is left out";
  EXPECT_EQ(all.wholes[0].right, 1);
}

TEST(Describe, MakesASchema) {
  const nlohmann::ordered_json schema = MakeSchema<Everything>("a title", "what it is");
  EXPECT_EQ(schema["title"], "a title");
  const auto& properties = schema["properties"];
  EXPECT_EQ(json(properties["version"]), json({{"const", 1}}));
  EXPECT_EQ(json(properties["text"]),
            json::parse(R"({"enum": ["", "one", "two words"], "description": "what it says"})"));
  EXPECT_EQ(json(properties["maybe"]["type"]), json({"string", "null"}));
  EXPECT_EQ(json(properties["color"]), json::parse(R"({"enum": ["red", "green"]})"));
  EXPECT_EQ(json(properties["point"]),
            json::parse(R"({"anyOf": [{"$ref": "#/$defs/point"}, {"type": "null"}]})"));
  EXPECT_EQ(properties["points"]["minItems"], 1);
  EXPECT_EQ(json(properties["words"]),
            json::parse(R"({"type": "object", "additionalProperties": {"type": "string"}})"));
  EXPECT_EQ(json(properties["count"]), json::parse(R"({"type": "integer", "minimum": 0})"));
  EXPECT_EQ(
      json(schema["$defs"]["point"]["properties"]),
      json::parse(
          R"({"x": {"type": "integer", "minimum": -3, "maximum": 3}, "y": {"type": ["number", "null"]}})"));
  EXPECT_THAT(schema["required"].get<std::vector<std::string>>(),
              AllOf(Contains("count"), Not(Contains("note"))));
}

TEST(WrapJson, IsTheSameValueInShortLines) {
  nlohmann::ordered_json value = {{"short", {1, 2}},
                                  {"deep", {{"text", std::string(80, 'x')}, {"b", {{"c", 1}}}}}};
  for (int i = 0; i < 100; ++i) value["many"].push_back("word " + std::to_string(i));
  const std::string text = WrapJson(value);
  EXPECT_EQ(nlohmann::ordered_json::parse(text), value);
  ExpectGolden("core/wrapped_json", text);
  std::size_t longest = 0, lines = 0;
  for (std::size_t from = 0, end = 0; (end = text.find('\n', from)) != std::string::npos;
       from = end + 1, ++lines)
    longest = std::max(longest, end - from);
  EXPECT_LE(longest, 110U);
  EXPECT_LT(lines, 25U);
}

struct Size {
  double width = 2, height = 3;

  static void Describe(auto& v) {
    v("width", &Size::width);
    v("height", &Size::height);
  }
};

// A struct that is only written, with stored and computed members.
struct View {
  std::optional<Size> size;
  std::vector<std::pair<std::string, std::int64_t>> counts = {{"b", 1'500'000}, {"a", 2}};

  static void Describe(auto& v) {
    v("name", [](const View&) -> std::string_view { return "x"; }, {.non_empty = true});
    v.Flat(&View::size);
    v("counts", &View::counts, {.scale = 1e6});
    v("pair", [](const View&) { return std::array{1, 2}; });
    v("share", [](const View&) { return 0.5; }, {.min = 0, .max = 1, .exclusive = true});
  }
};
struct Nulls {
  std::optional<Size> size;

  static void Describe(auto& v) { v.Flat(&Nulls::size, {.or_null = true}); }
};

TEST(Describe, WritesComputedMembers) {
  const auto written = [](const View& view) { return ToJson(view).dump(); };
  const std::string rest = R"("counts":{"b":1.5,"a":2e-06},"pair":[1,2],"share":0.5})";
  EXPECT_EQ(written({}), R"({"name":"x",)" + rest);
  EXPECT_EQ(written({Size(), {{"b", 1'500'000}, {"a", 2}}}),
            R"({"name":"x","width":2.0,"height":3.0,)" + rest);
  EXPECT_EQ(ToJson(Nulls()).dump(), R"({"width":null,"height":null})");
  EXPECT_EQ(ToJson(Nulls{Size()}).dump(), R"({"width":2.0,"height":3.0})");
}

// A row of a table; the table is in a report.
struct RowOfTable {
  int time = 0;

  int TimeIn(const struct TableOfRows& table) const;
  static void Describe(auto& v);
};
struct TableOfRows {
  int total = 0;
  std::vector<RowOfTable> rows = {};

  static void Describe(auto& v) { v("rows", &TableOfRows::rows); }
};
struct ReportOfTables {
  std::string unit;
  std::vector<TableOfRows> tables;
};
struct ReportView {
  const ReportOfTables& source;

  static void Describe(auto& v) { v("tables", &ReportOfTables::tables); }
};
int RowOfTable::TimeIn(const TableOfRows& table) const { return table.total - time; }
void RowOfTable::Describe(auto& v) {
  v("unit", &ReportOfTables::unit);
  v("rest", &RowOfTable::TimeIn);
  v("of", [](const RowOfTable& row, const TableOfRows& table, const ReportOfTables& report) {
    return std::to_string(row.time) + "/" + std::to_string(table.total) + report.unit;
  });
  v("tables", [](const ReportOfTables& report) { return report.tables.size(); });
}

TEST(Describe, MembersUseTheInnermostEnclosingObjectOfAType) {
  const ReportOfTables report{"ms", {{10, {{3}, {10}}}, {7, {{2}}}}};
  EXPECT_EQ(ToJson(ReportView{report})["tables"].dump(),
            R"([{"rows":[{"unit":"ms","rest":7,"of":"3/10ms","tables":2},)"
            R"({"unit":"ms","rest":0,"of":"10/10ms","tables":2}]},)"
            R"({"rows":[{"unit":"ms","rest":5,"of":"2/7ms","tables":2}]}])");
  EXPECT_THROW(ToJson(TableOfRows{1, {{1}}}), std::logic_error) << "no report around it";
  const json row = json(MakeSchema<RowOfTable>("", ""))["properties"];
  EXPECT_EQ(row["rest"]["type"], "integer");
  EXPECT_EQ(row["of"]["type"], "string");
}

// A struct that users write in a file.
struct UserConfig {
  int runs = 100, threads = 0;
  std::vector<std::string> types = {"fp32"}, names;
  std::optional<int> rounds;
  bool peaks = true;

  static constexpr bool kAllowsComments = true;
  static void Describe(auto& v) {
    v("runs", &UserConfig::runs, {.meaning = "how many", .omit_if_empty = true});
    v("threads", &UserConfig::threads, {.min = 1, .omit_if_empty = true});
    v("types", &UserConfig::types, {.omit_if_empty = true, .or_single = true});
    v("names", &UserConfig::names, {.omit_if_empty = true});
    v("rounds", &UserConfig::rounds, {.omit_if_empty = true});
    v("peaks", &UserConfig::peaks);
  }
};

TEST(Describe, ASchemaHasTheDefaultsOfOptionalKeys) {
  const json keys = json(MakeSchema<UserConfig>("", ""))["properties"];
  EXPECT_EQ(keys["runs"]["default"], 100);
  EXPECT_EQ(keys["runs"]["description"], "how many");
  EXPECT_EQ(keys["types"]["default"], "fp32");
  for (const char* key : {"threads", "names", "rounds", "peaks"})
    EXPECT_FALSE(keys[key].contains("default")) << key;
}

TEST(Describe, MakesASchemaOfComputedMembers) {
  const json schema = MakeSchema<View>("", "");
  EXPECT_EQ(schema["required"], json::parse(R"(["name", "counts", "pair", "share"])"));
  EXPECT_EQ(schema["dependentRequired"],
            json::parse(R"({"width": ["width", "height"], "height": ["width"]})"))
      << "all or none";
  EXPECT_EQ(schema["properties"]["name"], json::parse(R"({"type": "string", "minLength": 1})"));
  EXPECT_EQ(schema["properties"]["counts"]["additionalProperties"], json::parse(R"({"type": "number"})"));
  EXPECT_EQ(schema["properties"]["pair"]["maxItems"], 2);
  EXPECT_EQ(schema["properties"]["share"],
            json::parse(R"({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1})"));
  const json nulls = MakeSchema<Nulls>("", "");
  EXPECT_EQ(nulls["required"], json::parse(R"(["width", "height"])"));
  EXPECT_EQ(nulls["properties"]["width"]["type"], json::parse(R"(["number", "null"])"));
}

}  // namespace
}  // namespace etprof
