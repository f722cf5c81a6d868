#include "validate/difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/file/file.h"

namespace etprof {
namespace {

using nlohmann::json;
using testing::Eq;
using testing::Optional;

// What is said of a file that says `said` where the data give `made`.
std::optional<std::string> Of(const std::string& name, const std::string& said, const std::string& made) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("etprof_difference_" + std::to_string(::getpid()));
  WriteFileAtomically(folder / name, said);
  const std::optional<std::string> told =
      DescribeDifference(folder / name, [&](std::ostream& out) { out << made; });
  std::filesystem::remove_all(folder);
  return told;
}

TEST(DescribeDifference, OfJsonNamesTheKeyAndBothValues) {
  const std::string made = R"({"a": [{"b": 1.5}, {"b": null}], "c": "x"})";
  EXPECT_EQ(Of("a.json", made, made), std::nullopt);
  EXPECT_EQ(Of("a.json", R"({"c":"x","a":[{"b":1.50},{"b":null}]})", made), std::nullopt);
  EXPECT_THAT(Of("a.json", R"({"a": [{"b": 1.5}, {"b": 2}], "c": "x"})", made),
              Optional(Eq("a[1].b is 2, the data give null")));
  EXPECT_THAT(Of("a.json", R"({"a": [{"b": 1.5}], "c": "x"})", made),
              Optional(Eq("a has 1 entries, the data give 2")));
  EXPECT_THAT(Of("a.json", R"({"a": [{"b": 1.5}, {}], "c": "x"})", made),
              Optional(Eq("a[1].b is not there, the data give null")));
  EXPECT_THAT(Of("a.json", R"({"a": [{"b": 1.5}, {"b": null}], "c": "x", "d": 3})", made),
              Optional(Eq("d is 3, the data give no such key")));
  EXPECT_THAT(Of("a.json", "[1]", "{}"), Optional(Eq("the whole is [1], the data give {}")));
  EXPECT_THAT(Of("a.json", made.substr(0, 20), made), Optional(Eq("is not JSON, or is cut short")));
}

TEST(DescribeDifference, OfCsvNamesTheRowAndTheColumn) {
  const std::string made = "name,ms\nconv,1.5\n\"a, b\",2\n";
  EXPECT_EQ(Of("a.csv", made, made), std::nullopt);
  EXPECT_THAT(Of("a.csv", "name,ms\nconv,1.5\n\"a, b\",3\n", made),
              Optional(Eq(R"(row 2 (a, b), column ms, is "3", the data give "2")")));
  EXPECT_THAT(Of("a.csv", "name,us\nconv,1.5\n\"a, b\",2\n", made),
              Optional(Eq(R"(the header's field 2 is "us", the data give "ms")")));
  EXPECT_THAT(Of("a.csv", "name,ms\nconv,1.5\n", made), Optional(Eq("has 2 lines, the data give 3")));
}

TEST(DescribeDifference, OfTextNamesTheLine) {
  const std::string made = "# Report\n\nThe median is 1.79 ms of it all\nlast\n";
  EXPECT_EQ(Of("a.md", made, made), std::nullopt);
  EXPECT_THAT(Of("a.md", "# Report\n\nThe median is 2.79 ms of it all\nlast\n", made),
              Optional(Eq(R"(line 3 has "The median is 2.79 ms of it all", the data give )"
                          R"("The median is 1.79 ms of it all")")));
  EXPECT_THAT(Of("a.md", "# Report\n\nThe median", made),
              Optional(Eq("ends within line 3: it is cut short")));
  EXPECT_THAT(Of("a.md", "# Report\n\n", made), Optional(Eq("ends before line 3: it is cut short")));
  EXPECT_THAT(Of("a.md", made + "more\n", made),
              Optional(Eq("has more than the 4 lines that the data give")));
}

// A value of many bytes is cut between characters.
TEST(DescribeDifference, ShortensValues) {
  std::string long_text;
  for (int i = 0; i < 40; ++i) long_text += "\u00e4";  // 2 bytes each
  const auto found = DescribeDifference(json{{"k", long_text}}, json{{"k", "x"}});
  EXPECT_THAT(found, Optional(testing::StartsWith("k is \"\u00e4")));
  EXPECT_LT(found->size(), 100);
  EXPECT_EQ(json(*found).dump().size(), found->size() + 2 + 3);  // valid UTF-8; 3 quotes are escaped
}

}  // namespace
}  // namespace etprof
