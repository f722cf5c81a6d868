#include "validate/difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/error.h"
#include "core/file/file.h"

namespace etprof {
namespace {

using nlohmann::json;
using testing::Eq;
using testing::Optional;

// Returns the reported difference between a file with the text `stored` and the text `expected`.
std::optional<std::string> Difference(const std::string& name, const std::string& stored,
                                      const std::string& expected) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("etprof_difference_" + std::to_string(::getpid()));
  WriteFileAtomically(folder / name, stored);
  const std::optional<std::string> difference =
      DescribeDifference(folder / name, [&](std::ostream& out) { out << expected; });
  std::filesystem::remove_all(folder);
  return difference;
}

TEST(FirstDifferentLine, ReturnsTheFirstDifferentLine) {
  const std::filesystem::path file =
      std::filesystem::path(testing::TempDir()) / ("etprof_difference_" + std::to_string(::getpid()));
  WriteFileAtomically(file, std::string("one\ntwo\nthree\n"));
  const auto line = [&](const std::string& text) {
    return FirstDifferentLine(file, [&](std::ostream& out) {
      for (const char c : text) out << c;  // one write per character
    });
  };
  EXPECT_EQ(line("one\ntwo\nthree\n"), std::nullopt);
  EXPECT_EQ(line("One\ntwo\nthree\n"), 1U);
  EXPECT_EQ(line("one\ntwo\nthrEe\n"), 3U);
  EXPECT_EQ(line("one\ntwo\n"), 3U);               // the file is longer
  EXPECT_EQ(line("one\ntwo\nthree\nfour\n"), 4U);  // the text is longer
  EXPECT_EQ(line(""), 1U);
  EXPECT_EQ(line("one\nX\nthree\none\ntwo\nthree\n"), 2U);  // the comparison does not resynchronize
  std::filesystem::remove(file);
  EXPECT_THROW(line(""), Error);
}

TEST(DescribeDifference, NamesTheKeyAndBothValuesInJson) {
  const std::string expected = R"({"a": [{"b": 1.5}, {"b": null}], "c": "x"})";
  EXPECT_EQ(Difference("a.json", expected, expected), std::nullopt);
  EXPECT_EQ(Difference("a.json", R"({"c":"x","a":[{"b":1.50},{"b":null}]})", expected), std::nullopt);
  EXPECT_THAT(Difference("a.json", R"({"a": [{"b": 1.5}, {"b": 2}], "c": "x"})", expected),
              Optional(Eq("a[1].b is 2, the data give null")));
  EXPECT_THAT(Difference("a.json", R"({"a": [{"b": 1.5}], "c": "x"})", expected),
              Optional(Eq("a has 1 entries, the data give 2")));
  EXPECT_THAT(Difference("a.json", R"({"a": [{"b": 1.5}, {}], "c": "x"})", expected),
              Optional(Eq("a[1].b is not there, the data give null")));
  EXPECT_THAT(Difference("a.json", R"({"a": [{"b": 1.5}, {"b": null}], "c": "x", "d": 3})", expected),
              Optional(Eq("d is 3, the data give no such key")));
  EXPECT_THAT(Difference("a.json", "[1]", "{}"), Optional(Eq("the whole is [1], the data give {}")));
  EXPECT_THAT(Difference("a.json", expected.substr(0, 20), expected),
              Optional(Eq("is not JSON, or is cut short")));
}

TEST(DescribeDifference, NamesTheRowAndTheColumnInCsv) {
  const std::string expected = "name,ms\nconv,1.5\n\"a, b\",2\n";
  EXPECT_EQ(Difference("a.csv", expected, expected), std::nullopt);
  EXPECT_THAT(Difference("a.csv", "name,ms\nconv,1.5\n\"a, b\",3\n", expected),
              Optional(Eq(R"(row 2 (a, b), column ms, is "3", the data give "2")")));
  EXPECT_THAT(Difference("a.csv", "name,us\nconv,1.5\n\"a, b\",2\n", expected),
              Optional(Eq(R"(the header's field 2 is "us", the data give "ms")")));
  EXPECT_THAT(Difference("a.csv", "name,ms\nconv,1.5\n", expected),
              Optional(Eq("has 2 lines, the data give 3")));
}

TEST(DescribeDifference, NamesTheLineInText) {
  const std::string expected = "# Report\n\nThe median is 1.79 ms of it all\nlast\n";
  EXPECT_EQ(Difference("a.md", expected, expected), std::nullopt);
  EXPECT_THAT(Difference("a.md", "# Report\n\nThe median is 2.79 ms of it all\nlast\n", expected),
              Optional(Eq(R"(line 3 has "The median is 2.79 ms of it all", the data give )"
                          R"("The median is 1.79 ms of it all")")));
  EXPECT_THAT(Difference("a.md", "# Report\n\nThe median", expected),
              Optional(Eq("ends within line 3: it is cut short")));
  EXPECT_THAT(Difference("a.md", "# Report\n\n", expected),
              Optional(Eq("ends before line 3: it is cut short")));
  EXPECT_THAT(Difference("a.md", expected + "more\n", expected),
              Optional(Eq("has more than the 4 lines that the data give")));
}

// A long value is cut between characters.
TEST(DescribeDifference, ShortensValues) {
  std::string long_text;
  for (int i = 0; i < 40; ++i) long_text += "\u00e4";  // 2 bytes each
  const auto difference = DescribeDifference(json{{"k", long_text}}, json{{"k", "x"}});
  EXPECT_THAT(difference, Optional(testing::StartsWith("k is \"\u00e4")));
  EXPECT_LT(difference->size(), 100);
  EXPECT_EQ(json(*difference).dump().size(),
            difference->size() + 2 + 3);  // valid UTF-8; 3 quotes are escaped
}

}  // namespace
}  // namespace etprof
