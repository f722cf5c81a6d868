#include "render/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "core/csv_reader.h"
#include "core/error.h"
#include "core/table.h"
#include "say/counters.h"

namespace etprof {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Quantity TwiceAsFast() {
  Quantity quantity;
  quantity.estimate.emplace();
  quantity.estimate->log_ratio = std::log(2.0);
  quantity.estimate->log_low = std::log(1.9);
  quantity.estimate->log_high = std::log(2.1);
  quantity.verdict = stats::Verdict::kFaster;
  return quantity;
}

// Every kind of value and part.
say::Document OneOfEach() {
  say::Table table{"values",
                   "Values",
                   {{"name", "name"}, {"value", "value", true}, {"note", "note"}},
                   {{"words", "a|b", "x"},
                    {"nothing", say::Cell(), "x"},
                    {"duration", say::Duration{1.5e6}, "x"},
                    {"time", say::Time{2.5e6}, "x"},
                    {"size", say::Size{2e6}, "x"},
                    {"count", say::Count{1204}, "x"},
                    {"amount", say::Amount{67.1e6}, "x"},
                    {"number", say::Number{3.25, "GHz"}, "x"},
                    {"bounded", say::Number{0.05, "", 0.04, 0.06}, "x"},
                    {"share", say::Share{0.54}, "x"},
                    {"speedup", say::Speedup{TwiceAsFast()}, "x"},
                    {"interval", say::Interval{TwiceAsFast()}, "x"},
                    {"change", say::Change{0.1, 0.09, 0.11}, say::Cell("worse", say::Tone::kBad)}}};
  say::Table more{"more", "More", {{"name", "name"}}, {{"folded away"}}, say::Level::kFolded};
  say::Table few{"few", "", {{"name", "name"}}, {{"first"}, {"second"}, {"third"}}};
  few.usual_rows = 1;
  say::Table elsewhere = few;
  elsewhere.id = "elsewhere";
  elsewhere.elsewhere = "in a file";
  say::Table points{"points",
                    "",
                    {{"point", "point"}, {"time", "time", true}},
                    {{"placed", say::Time{4e6}}, {"small", say::Time{1e6}}}};
  points.columns[1].sums = true;
  points.rows[1].level = say::Level::kFolded;
  points.elsewhere = "in a file";
  say::Document document;
  document.title = "all <of> it";
  document.sections_are = "section";
  document.facts = {"a fact"};
  document.answers = {{"the answer", "", say::Tone::kGood}};
  document.concludes = true;
  document.notes = {"a note"};
  document.method = "the method";
  document.sections = {
      {"one",
       say::Level::kUsual,
       {say::Paragraph{"usual words"}, say::Paragraph{"words of a page", say::Level::kPage},
        say::List{"some lines", {"line 1", "line 2"}, 1}, std::move(table), std::move(more), std::move(few),
        say::Chart{{{"rising",
                     {1.0, 2.0, std::nullopt, 3.0},
                     [](double ms) { return say::Cell(say::Duration{ms * 1e6}); }}}},
        say::Facts{"facts", "", {{"known", "a value"}}}}},
      {"two", say::Level::kPage, {std::move(elsewhere)}},
      {"three",
       say::Level::kFolded,
       {say::Roofs{"FLOP/B", "FLOP/s", {{true, 1e9, "top"}}, {{{1.0, 1e8}}, std::nullopt}, 10, "below"},
        std::move(points)}}};
  return document;
}

std::string OnScreen(const say::Document& document, const TerminalOptions& options) {
  std::ostringstream out;
  RenderDocumentTerminal(document, options, out);
  return out.str();
}
std::string OnPage(const say::Document& document) {
  std::ostringstream out;
  RenderDocumentMarkdown(document, 1, out);
  return out.str();
}
std::string AsCsv(const say::Document& document, const std::string& table) {
  std::ostringstream out;
  RenderDocumentCsv(document, table, out);
  return out.str();
}

TEST(DocumentTerminal, ShowsTheUsualAndSaysWhatElseThereIs) {
  const std::string text = OnScreen(OneOfEach(), {.more = "there"});
  EXPECT_THAT(text, testing::StartsWith("all <of> it · a fact\n"));
  EXPECT_THAT(text, testing::EndsWith("the answer\n"));
  EXPECT_THAT(text, AllOf(HasSubstr("usual words"), Not(HasSubstr("words of a page")), Not(HasSubstr("two")),
                          HasSubstr("More (--all shows them)"), Not(HasSubstr("folded away")),
                          HasSubstr("and 1 more (--all shows them)"), Not(HasSubstr("line 2")),
                          HasSubstr("and 2 more (--all shows them)"), Not(HasSubstr("second"))));
  EXPECT_THAT(text, AllOf(HasSubstr("name, ms"), HasSubstr("2.500"), HasSubstr("2.00 MB"), HasSubstr("1,204"),
                          HasSubstr("3.25 GHz"), HasSubstr("+10.0 % [+9.0, +11.0] %"), HasSubstr("—")));
  EXPECT_THAT(text, AllOf(HasSubstr("67.1 M"), HasSubstr("0.050 [0.040, 0.060]"),
                          HasSubstr("  known  a value"), Not(HasSubstr("three")), Not(HasSubstr("FLOP"))));
  EXPECT_THAT(text, AllOf(HasSubstr("rising      ▁▅ █  1.00 ms to 3.00 ms"), HasSubstr("note  a note"),
                          HasSubstr("more  there")));
  EXPECT_THAT(OnScreen(OneOfEach(), {.colors = true, .more = ""}),
              AllOf(HasSubstr("\x1b[31mworse"), HasSubstr("\x1b[32mthe answer")));
}

TEST(DocumentTerminal, ShowsEverythingWhereAllIsAskedFor) {
  const std::string text = OnScreen(OneOfEach(), {.all = true, .more = ""});
  EXPECT_THAT(text, AllOf(HasSubstr("words of a page"), HasSubstr("line 2"), HasSubstr("folded away"),
                          HasSubstr("third"), HasSubstr("two"), Not(HasSubstr("--all"))));
  EXPECT_THAT(text,
              AllOf(HasSubstr("  FLOP/s\n"), HasSubstr("top"), HasSubstr("  below\n"),
                    HasSubstr("     point, ms   time\n  A  placed     4.000\n     small      1.000\n")));
}

TEST(DocumentTerminal, KeepsToItsWidth) {
  say::Document document = OneOfEach();
  auto& table = std::get<say::Table>(document.sections[0].parts[3]);
  table.rows.push_back({std::string(90, 'n'), say::Cell(), std::string(90, 'x')});
  for (const int width : {60, 80, 120}) {
    std::istringstream lines(OnScreen(document, {.width = width, .all = true, .more = ""}));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), width) << line;
  }
}

TEST(DocumentMarkdown, HasEverythingThatIsNowhereElse) {
  const std::string text = OnPage(OneOfEach());
  EXPECT_THAT(text, testing::StartsWith("# all &lt;of&gt; it · a fact\n\n**the answer**\n"));
  EXPECT_THAT(text, AllOf(HasSubstr("## one\n"), HasSubstr("### Values\n"), HasSubstr("## two\n"),
                          HasSubstr("words of a page"), HasSubstr("- line 2\n"),
                          HasSubstr("| words | a\\|b | x |"), HasSubstr("| name, ms |"),
                          HasSubstr("| time | 2.500 | x |"), HasSubstr("| speedup | 2.00x | x |"),
                          HasSubstr("third"), HasSubstr("<details><summary>More</summary>\n\n| name |"),
                          HasSubstr("and 2 more in a file"), HasSubstr("| known | a value |"),
                          HasSubstr("| amount | 67.1 M | x |"),
                          HasSubstr("<details><summary>three</summary>"), HasSubstr("| placed | 4.000 |"),
                          Not(HasSubstr("| small |")), HasSubstr("and 1 more (time 1.000 ms) in a file"),
                          Not(HasSubstr("FLOP")), HasSubstr("- a note"), HasSubstr("the method")));
}

TEST(DocumentTables, PartsAddUpAsPrinted) {
  using Role = say::Row::Role;
  say::Document document;
  say::Table table{"parts",
                   "",
                   {{"part", "part"}, {"time", "time", true}, {"share", "share", true, 0, true}},
                   {{{"a", say::Time{1.0004e6}, say::Share{0.5}}, Role::kPart},
                    {{"b", say::Time{1.0003e6}, say::Share{0.25}}, Role::kPart},
                    {{"sum", say::Time{2.0007e6}}, Role::kSum},
                    {{"rest", say::Time{0.0003e6}}, Role::kPart},
                    {{"whole", say::Time{2.0010e6}}, Role::kSum},
                    {{"tiny", say::Time{1}}}}};
  for (say::Row& row : table.rows) row.cells.resize(3, std::string());
  document.sections = {{"", say::Level::kUsual, {std::move(table)}}};
  EXPECT_EQ(OnScreen(document, {.width = 60, .more = ""}),
            "\n\n\n"
            "  part, ms    time  share\n"
            "  a          1.001   50 %  ████████████████\n"
            "  b          1.000   25 %  ████████\n"
            "  sum        2.001\n"
            "  rest      <0.001\n"
            "  whole      2.001\n"
            "  tiny      <0.001\n\n");
  EXPECT_THAT(OnPage(document), AllOf(HasSubstr("| a | 1.001 | 50 % |"), HasSubstr("| whole | 2.001 |  |")));
}

TEST(DocumentCsv, ATableWithoutRowsIsItsHeading) {
  say::Document document = OneOfEach();
  std::get<say::Table>(document.sections[0].parts[3]).rows.clear();
  EXPECT_EQ(AsCsv(document, "values"), "section,name,value,note\n");
  EXPECT_THAT(OnPage(document), Not(HasSubstr("### Values")));
  EXPECT_THAT(OnScreen(document, {.all = true, .more = ""}), Not(HasSubstr("value  note")));
}

TEST(DocumentCsv, EveryTableHasItsValuesWithTheirUnits) {
  const say::Document document = OneOfEach();
  EXPECT_THAT(TableIds(document), ElementsAre("values", "more", "few", "facts", "elsewhere", "points"));
  EXPECT_EQ(AsCsv(document, "values"),
            "section,name,value,value_unit,value_low,value_high,value_verdict,note\n"
            "one,words,a|b,,,,,x\n"
            "one,nothing,,,,,,x\n"
            "one,duration,1.5,ms,,,,x\n"
            "one,time,2.5,ms,,,,x\n"
            "one,size,2000000,bytes,,,,x\n"
            "one,count,1204,,,,,x\n"
            "one,amount,67100000,,,,,x\n"
            "one,number,3.25,GHz,,,,x\n"
            "one,bounded,0.05,,0.04,0.06,,x\n"
            "one,share,0.54,,,,,x\n"
            "one,speedup,2,,,,faster,x\n"
            "one,interval,,,1.9,2.1,,x\n"
            "one,change,0.1,,0.09,0.11,,worse\n");
  EXPECT_EQ(AsCsv(document, "facts"), "section,name,value\none,known,a value\n");
  EXPECT_EQ(AsCsv(document, "points"), "section,point,time,time_unit\nthree,placed,4,ms\nthree,small,1,ms\n");
  EXPECT_EQ(AsCsv(document, "few"), "section,name\none,first\none,second\none,third\n");
  try {
    AsCsv(document, "of nothing");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
    EXPECT_THAT(error.Message(), HasSubstr("Tables: values, more, few, facts, elsewhere, points"));
  }
}

CountersRow Counted(const std::string& key, const std::string& name, double time, double cycles) {
  return {key, name, 20, {{"task_clock_ns", time}, {"cycles", cycles}, {"instructions", 2 * cycles}}};
}

TEST(SayCounters, OperatorsByProcessorTimeUnderTheWhole) {
  const std::string text =
      OnPage(say::SayCounters({{"as it is",
                                {Counted("forward/0/backend/0", "small", 1000, 3000),
                                 Counted("forward/0/delegate_call/0", "DELEGATE_CALL", 1, 1),
                                 Counted("forward/0/backend/1", "large", 2000, 5000),
                                 Counted("forward/-1/method/0", "Method::execute", 4000, 9000)}}}));
  EXPECT_THAT(text, AllOf(HasSubstr("# Counters"), HasSubstr("## as it is"), Not(HasSubstr("DELEGATE")),
                          HasSubstr("GHz"), HasSubstr("| 2.50 |"), Not(HasSubstr("page faults"))));
  EXPECT_LT(text.find("Method::execute"), text.find("large"));
  EXPECT_LT(text.find("large"), text.find("small"));
}

TEST(SayCounters, NothingOfNothingAndLittleOfMuch) {
  EXPECT_TRUE(say::SayCounters({}).sections.empty());
  EXPECT_TRUE(say::SayCounters({{"a", {}}}).sections.empty());
  say::ExperimentCounters many{"many", {}};
  for (int i = 0; i < 26; ++i)
    many.rows.push_back(
        Counted("forward/0/backend/" + std::to_string(i), "op" + std::to_string(i) + ".", 100 + i, 300));
  const std::string text = OnPage(say::SayCounters({many}));
  EXPECT_THAT(text, AllOf(HasSubstr("and 5 more in its"), HasSubstr("op25."), Not(HasSubstr("op4."))));
}

}  // namespace
}  // namespace etprof
