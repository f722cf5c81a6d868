#include "core/text/csv_members.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <sstream>

namespace etprof {
namespace {

enum class CellColor { kRed, kBlue };

struct CsvPair {
  int first = 0, second = 0;

  static void Describe(auto& v) {
    v("one", &CsvPair::first);
    v("two", &CsvPair::second);
  }
};

struct CsvExample {
  std::string name;
  std::int64_t time = 0;
  std::optional<double> share;
  std::optional<CsvPair> pair;
  CellColor color = CellColor::kRed;
  bool flag = false;

  static void Describe(auto& v) {
    using E = CsvExample;
    v("name", &E::name, {.pattern = "^[a-z]", .or_null = true});
    v("time", &E::time);
    v("time_ms", [](const E& example) { return example.time; }, {.scale = 1e6});
    v("share", &E::share, {.min = 0, .max = 1, .exclusive = true});
    v.Flat(&E::pair, {.or_null = true});
    v("color", &E::color);
    v("flag", &E::flag);
    v("part", [](const E& example) { return PercentShare{example.time, 3'000'000}; });
  }
};

}  // namespace
template <>
inline constexpr const char* kNames<CellColor>[] = {"red", "blue"};
namespace {

std::string Csv(const CsvExample& example) {
  std::ostringstream out;
  CsvWriter<CsvExample>(out).Row(example);
  return out.str();
}

TEST(CsvWriter, WritesAValuePerRow) {
  constexpr const char* kHeader = "name,time,time_ms,share,one,two,color,flag,part\n";
  EXPECT_EQ(Csv({"a,b", 1'000'001, 0.1, CsvPair{1, 2}, CellColor::kBlue, true}),
            std::string(kHeader) + "\"a,b\",1000001,1.000001,0.1,1,2,blue,1,33.3334\n");
  EXPECT_EQ(Csv({"=1+1", -500'000, std::nullopt, std::nullopt, CellColor::kRed, false}),
            std::string(kHeader) + "'=1+1,-500000,-0.5,,,,red,0,-16.6667\n");
  EXPECT_EQ(Csv({"", 0, std::numeric_limits<double>::infinity(), {}, CellColor::kRed, false}),
            std::string(kHeader) + ",0,0,,,,red,0,0.0000\n");
}

std::string Problem(const std::vector<std::string_view>& cells) {
  try {
    ReadCsvRow<CsvExample>(cells);
    return "";
  } catch (const std::invalid_argument& problem) {
    return problem.what();
  }
}

TEST(ReadCsvRow, ReturnsTheValueOrNamesTheInvalidCell) {
  const auto read = ReadCsvRow<CsvExample>({"a", "7", "", "0.5", "1", "2", "blue", "1", "left out"});
  EXPECT_EQ(read.name, "a");
  EXPECT_EQ(read.time, 7);
  EXPECT_EQ(read.share, 0.5);
  EXPECT_EQ(read.pair->second, 2);
  EXPECT_EQ(read.color, CellColor::kBlue);
  EXPECT_TRUE(read.flag);
  const auto empty = ReadCsvRow<CsvExample>({"", "0", "", "", "", "", "red", "0", ""});
  EXPECT_FALSE(empty.share || empty.pair);
  EXPECT_EQ(Problem({"", "-1", "", "", "", "", "red", "0", ""}), "\"time\" must be at least 0");
  EXPECT_EQ(Problem({"", "1-", "", "", "", "", "red", "0", ""}), "time is no number");
  EXPECT_EQ(Problem({"", "0", "", "inf", "", "", "red", "0", ""}), "\"share\" must be a finite number");
  EXPECT_EQ(Problem({"", "0", "", "0.001", "", "", "red", "0", ""}), "");
  EXPECT_EQ(Problem({"", "0", "", "0", "", "", "red", "0", ""}), "\"share\" must be above 0");
  EXPECT_EQ(Problem({"", "0", "", "0.999", "", "", "red", "0", ""}), "");
  EXPECT_EQ(Problem({"", "0", "", "1", "", "", "red", "0", ""}), "\"share\" must be below 1");
  EXPECT_EQ(Problem({"A", "0", "", "", "", "", "red", "0", ""}), "\"name\" must look like ^[a-z]");
  EXPECT_EQ(Problem({"", "0", "", "", "1", "", "red", "0", ""}), "one or two is no number");
  EXPECT_EQ(Problem({"", "0", "", "", "", "", "green", "0", ""}), "color is \"green\"");
  EXPECT_EQ(Problem({"", "0", "", "", "", "", "red", "2", ""}), "flag is neither 0 nor 1");
}

}  // namespace
}  // namespace etprof
