#include "core/json/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace etprof {
namespace {

std::string Nested(int depth, const std::string& open, const std::string& close) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += open;
  text += "1";
  for (int i = 0; i < depth; ++i) text += close;
  return text;
}

TEST(ParseJson, ReadsJsonAndDiscardsInvalidText) {
  EXPECT_EQ(ParseJson(R"({"a": [1, null]})")["a"][0], 1);
  for (const char* text : {"", "{", "[1,]", "nan", "{\"a\": 1} x", "\"\xff\"", "// c\n1"})
    EXPECT_TRUE(ParseJson(text).is_discarded()) << text;
}

TEST(ParseJson, RefusesNestingThatCouldOverflowTheStack) {
  EXPECT_TRUE(ParseJson(Nested(kMaxJsonNesting, "[", "]")).is_array());
  EXPECT_TRUE(ParseJson(Nested(kMaxJsonNesting + 1, "[", "]")).is_discarded());
  EXPECT_TRUE(ParseJson(Nested(1'000'000, R"({"a":)", "}")).is_discarded());
  EXPECT_TRUE(ParseJson(std::string(1'000'000, '[')).is_discarded());
}

TEST(NestsTooDeep, CountsNestingAndNotBrackets) {
  std::string wide = "[0";
  for (int i = 0; i < 1000; ++i) wide += ",[],{}";
  EXPECT_FALSE(NestsTooDeep(wide + "]"));
  EXPECT_FALSE(NestsTooDeep("\"" + std::string(1000, '[') + "\""));
  EXPECT_FALSE(NestsTooDeep("// " + std::string(1000, '[') + "\n1", true));
  EXPECT_TRUE(NestsTooDeep("/* \" */" + std::string(1000, '['), true));
}

TEST(NullForNonFinite, ReplacesWordsOutsideOfStrings) {
  EXPECT_EQ(NullForNonFinite(R"({"a": -Infinity, "b": [Infinity,NaN], "c": 1})"),
            R"({"a": null, "b": [null,null], "c": 1})");
  const std::string untouched = R"({"NaN": "say \"Infinity\" \\", "d": "-Infinity"})";
  EXPECT_EQ(NullForNonFinite(untouched), untouched);
  for (const char* cut : {"", "\"", "\"a", "\"a\\", "-", "-Infinit", "[NaN, \""})
    EXPECT_LE(NullForNonFinite(cut).size(), std::string_view(cut).size() + 1);
}

}  // namespace
}  // namespace etprof
