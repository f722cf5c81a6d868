#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <sstream>

#include "core/golden_testing.h"
#include "core/json/json_members.h"
#include "core/text/escape.h"
#include "report/example_check.h"
#include "report/suite/example_suite.h"
#include "show/formats.h"
#include "show/formats/export/test_suite.h"
#include "show/formats/formats_testing.h"
#include "show/gates.h"

namespace etprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

using example::MakeCheck;
using example::MakeCheckPair;

std::string RenderCheckJunit(const CheckReport& check) {
  return read::RenderToString(RenderJunit, show::MakeTestSuite(check));
}
std::string RenderCheckJson(const CheckReport& check) {
  return read::RenderToString([&](std::ostream& out) { WriteJson(check, 2, out); });
}
std::string RenderCheckScreen(const TerminalOptions& options) {
  return read::RenderScreen(show::MakeCheckDocument(MakeCheck()), options);
}

pugi::xml_document RenderAndParseJunit(const CheckReport& check) {
  pugi::xml_document document;
  const std::string text = RenderCheckJunit(check);
  EXPECT_TRUE(document.load_string(text.c_str())) << text;
  return document;
}

std::string CheckHeadline(const CheckReport& check) {
  return ToText(show::MakeCheckDocument(check).answers.at(0).text, {});
}

TEST(CheckWording, Numbers) {
  EXPECT_EQ(show::ChangeText(0.02), "+2.00%");
  EXPECT_EQ(show::ChangeText(-0.25), "−25.0%");
  EXPECT_EQ(show::ChangeText(3), "+300%");
  EXPECT_EQ(show::ChangeText(0.09999), "+10.0%");
  EXPECT_EQ(show::ChangeText(0.1, -0.001, 0.123), "+10.0% [−0.1%, +12.3%]");
  EXPECT_EQ(show::ChangeText(0, -1, std::numeric_limits<double>::infinity()), "+0.00% [−100%, +∞]");
}

TEST(CheckWording, Conclusions) {
  CheckReport check = MakeCheck();
  EXPECT_EQ(CheckHeadline(check),
            "FAIL: 1 of 4 comparisons exceeds a limit, 1 of 4 comparisons could not be measured, 1 of 4 "
            "comparisons could not be decided");
  check.pairs.resize(1);
  check.decision = GateDecision::kPass;
  check.has_error = false;
  EXPECT_EQ(CheckHeadline(check), "PASS: 1 of 1 comparison is within its limits");
  check.pairs = {MakeCheckPair("open", GateDecision::kInconclusive, 0.02)};
  check.decision = GateDecision::kInconclusive;
  EXPECT_EQ(CheckHeadline(check), "INCONCLUSIVE: 1 of 1 comparison could not be decided");
  check.require_conclusive = true;
  EXPECT_EQ(CheckHeadline(check), "FAIL: 1 of 1 comparison could not be decided");
  check.pairs.clear();
  EXPECT_EQ(CheckHeadline(check), "FAIL: nothing to check");
}

// The exit code, the JUnit file, and the JSON agree.
TEST(CheckWording, FailedMeasurementIsAnErrorEvenWithRequireConclusive) {
  CheckReport check = MakeCheck();
  check.pairs.erase(check.pairs.begin(), check.pairs.begin() + 3);
  check.decision = GateDecision::kInconclusive;
  check.require_conclusive = true;
  EXPECT_EQ(CheckHeadline(check), "ERROR: 1 of 1 comparison could not be measured");
  EXPECT_EQ(check.Result(), "error");
  EXPECT_STREQ(RenderAndParseJunit(check).select_node("//testcase/error").node().attribute("type").value(),
               "measurement");
  SuiteReport suite = example::MakeSuite();
  suite.decision = GateDecision::kInconclusive;
  suite.require_conclusive = true;
  EXPECT_THAT(ToText(show::MakeSuiteDocument(suite).answers.at(0).text, {}),
              StartsWith("ERROR: 4 of 6 cells measured, 1 failed"));
}

TEST(CheckJunit, HasACaseForEachPair) {
  const pugi::xml_document document = RenderAndParseJunit(MakeCheck());
  const pugi::xml_node suite = document.child("testsuites").child("testsuite");
  EXPECT_EQ(suite.attribute("tests").as_int(), 4);
  EXPECT_EQ(suite.attribute("failures").as_int(), 1);
  EXPECT_EQ(suite.attribute("errors").as_int(), 1);
  EXPECT_EQ(suite.attribute("skipped").as_int(), 1);
  EXPECT_STREQ(suite.attribute("timestamp").value(), "2026-05-04T10:11:12");
  double seconds = 0;
  std::vector<std::string> outcomes;
  for (const pugi::xml_node test : suite.children("testcase")) {
    seconds += test.attribute("time").as_double();
    outcomes.emplace_back(test.first_child().name());
  }
  EXPECT_THAT(outcomes, ElementsAre("system-out", "failure", "skipped", "error"));
  EXPECT_DOUBLE_EQ(seconds, 8);
  // The model's unsafe name is escaped. The failure has the message of its first limit, then every limit,
  // the operators that changed or are only in one program, and the number of the others.
  ExpectGolden("show/check_junit", RenderCheckJunit(MakeCheck()));
  EXPECT_STREQ(suite.select_node("testcase[4]/error").node().attribute("message").value(),
               "the worker died: \"<x>\"");
}

TEST(CheckJunit, RequireConclusiveTurnsSkippedIntoFailure) {
  CheckReport check = MakeCheck();
  check.require_conclusive = true;
  const pugi::xml_document document = RenderAndParseJunit(check);
  const pugi::xml_node suite = document.child("testsuites").child("testsuite");
  EXPECT_EQ(suite.attribute("failures").as_int(), 2);
  EXPECT_EQ(suite.attribute("skipped").as_int(), 0);
  EXPECT_STREQ(suite.select_node("testcase[3]/failure").node().attribute("type").value(), "inconclusive");
}

TEST(CheckJson, ContainsEverything) {
  const auto json = nlohmann::json::parse(RenderCheckJson(MakeCheck()));
  EXPECT_EQ(json.at("result"), "fail");
  EXPECT_EQ(json.at("pairs").size(), 4U);
  EXPECT_EQ(json.at("pairs").at(3).at("result"), "error");
  EXPECT_EQ(json.at("pairs").at(1).at("checks").size(), 3U);
  EXPECT_EQ(json.at("pairs").at(1).at("checks").at(1).at("unit"), "bytes");
  EXPECT_NEAR(json.at("pairs").at(1).at("moved_operators").at(0).at("growth").get<double>(), 3, 1e-12);
  CheckReport infinite = MakeCheck();
  infinite.pairs[0].items[0].verdict.high = std::numeric_limits<double>::infinity();
  const auto infinite_json = nlohmann::json::parse(RenderCheckJson(infinite));
  EXPECT_TRUE(infinite_json.at("pairs").at(0).at("checks").at(0).at("growth_high").is_null());
}

TEST(CheckTerminal, ShowsEveryPairAndItsChanges) {
  const std::string text = RenderCheckScreen({.report_path = "here"});
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("Softmax")));  // operators that pass are counted, not listed
  EXPECT_THAT(RenderCheckScreen({.colors = true, .report_path = ""}), HasSubstr("\x1b[31mFAIL"));
  const std::string all_text = RenderCheckScreen({.all = true, .report_path = ""});
  EXPECT_THAT(all_text, HasSubstr("Softmax"));
  EXPECT_THAT(all_text, Not(HasSubstr("--all")));
  ExpectGolden("show/check_screen",
               GoldenState("short form", text) + GoldenState("long form (--all)", all_text));
  for (const int width : {60, 80, 120})
    read::ExpectWidth(RenderCheckScreen({.width = width, .all = true, .report_path = ""}), width);
}

TEST(CheckMarkdown, EveryRowHasAsManyCellsAsTheHeading) {
  const std::string text = read::RenderToString(
      [](std::ostream& out) { RenderDocumentMarkdown(show::MakeCheckDocument(MakeCheck()), 2, out); });
  ExpectGolden("show/check_page", text);  // names are escaped, and operators that pass are folded
  int rows = 0;
  for (const std::string& line : read::Lines(text)) {
    if (!line.starts_with("|")) continue;
    int cells = 0;
    for (std::size_t i = 1; i < line.size(); ++i) cells += line[i] == '|' && line[i - 1] != '\\';
    EXPECT_EQ(cells, 6) << line;
    ++rows;
  }
  EXPECT_EQ(rows,
            5 * 2 + 6);  // five tables with a heading of two lines; one check per pair, one for memory, and
                         // one passing operator
}

}  // namespace
}  // namespace etprof
