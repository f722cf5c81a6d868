#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/golden_testing.h"
#include "core/json/json.h"
#include "core/text/escape.h"
#include "core/views.h"
#include "report/example_devices.h"
#include "report/ladder/example_ladder.h"
#include "show/formats.h"
#include "show/formats/example_documents.h"
#include "show/formats/formats_testing.h"
#include "show/formats/printed_table.h"
#include "show/subjects/run/report_parts.h"

namespace etprof {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using example::MakeAllPartsDocument;
using example::MakeCountersRow;
using read::RenderPage;
using read::RenderScreen;
using Json = nlohmann::json;

std::string RenderCsv(const show::Document& document, const std::string& table) {
  return read::RenderToString(RenderDocumentCsv, document, table);
}
Json RenderJson(const show::Document& document) {
  return Json::parse(read::RenderToString(RenderDocumentJson, document));
}

TEST(DocumentTerminal, SettingsOfSeveralDevicesNameThem) {
  SuiteReport suite = example::MakeSuite();
  for (SuiteCellReport& cell : suite.cells) cell.device += ":127.0.0.1:20004";
  const std::string screen = RenderScreen(show::MakeSuiteDocument(suite), {});
  const std::string settings = screen.substr(screen.find("\n  Settings\n"));
  EXPECT_THAT(settings.substr(0, settings.find("Frontier:")), HasSubstr("ssh:b:127.0.0.1:20004"));
}

// The short form counts the rows, items, and lines that it leaves out, and has nothing of the parts for
// pages: "words of a page", the details of items, the folded table, and the sections "two" and "three". The
// long form has all of them, and does not mention --all. In colors, good values are green, and bad values are
// red.
TEST(DocumentTerminal, ShortFormCountsTheRowsOfTheLongForm) {
  const show::Document document = MakeAllPartsDocument();
  ExpectGolden(
      "show/document_screen",
      GoldenState("short form", RenderScreen(document, {.report_path = "there"})) +
          GoldenState("long form (--all)", RenderScreen(document, {.all = true, .report_path = ""})) +
          GoldenState("short form in colors",
                      EscapeLines(RenderScreen(document, {.colors = true, .report_path = ""}))));
}

TEST(DocumentTerminal, WrappedTextIsComplete) {
  const std::string path = "/a/" + std::string(90, 'p') + "/" + std::string(60, 'q');
  show::Document document;
  show::Table table{
      "few", "", {show::Left("name"), show::Left("where", "").WithWrapping()}, {{"x", "in " + path}}};
  document.sections = {{"", show::Visibility::kDefault, {std::move(table)}}};
  std::string joined_lines;
  for (const std::string& line : read::Lines(RenderScreen(document, {.width = 60, .report_path = ""}))) {
    EXPECT_LE(DisplayWidth(line), 60);
    if (line.size() > 9) joined_lines += line.substr(8);
  }
  EXPECT_THAT(joined_lines, HasSubstr(path));
}

TEST(DocumentTerminal, EmptyFirstColumnIsKept) {
  for (const std::string note : {"shown", ""}) {
    show::Document document;
    show::Table table{
        "cells", "", {show::Left("name"), show::Left("note"), show::Left("reason")}, {{"", note, ""}}};
    document.sections = {{"", show::Visibility::kDefault, {std::move(table)}}};
    for (const bool all : {false, true})
      EXPECT_THAT(RenderScreen(document, {.all = all, .report_path = ""}), HasSubstr(note));
    EXPECT_THAT(RenderPage(document), HasSubstr(note));
  }
}

TEST(DocumentTerminal, RemedyIsBelowTheFindingAndASeparateColumnInOtherFormats) {
  const show::Document document = example::MakeDoctorDocument();
  EXPECT_EQ(RenderScreen(document, {.report_path = ""}),
            "etprof doctor\n\n"
            "  profile\n\n"
            "  state    check       found\n"
            "  ok       runner      0.1.0, /here|there\n"
            "  warning  steadiness  a virtual machine\n"
            "                       -> use another\n\n"
            "  devices over adb\n\n"
            "  state    check  found\n"
            "  missing  adb    not found\n"
            "                  -> get it\n\n"
            "  not ready  devices over adb (no adb)\n\n"
            "this machine can measure\n");
  EXPECT_EQ(RenderCsv(document, "checks"),
            "commands,state,check,found,remedy\n"
            "profile,ok,runner,\"0.1.0, /here|there\",\n"
            "profile,warning,steadiness,a virtual machine,use another\n"
            "devices over adb,missing,adb,not found,get it\n");
}

TEST(DocumentTerminal, KeepsToItsWidth) {
  show::Document document = MakeAllPartsDocument();
  auto& table = std::get<show::Table>(document.sections[0].parts[3]);
  table.rows.push_back({std::string(90, 'n'), show::Cell(), std::string(90, 'x')});
  for (const int width : {60, 80, 120})
    read::ExpectWidth(RenderScreen(document, {.width = width, .all = true, .report_path = ""}), width);
}

// Parts without a hint where the rest is are complete; tables with a hint are cut, and charts are left out.
TEST(DocumentMarkdown, HasEverythingThatIsNotAvailableElsewhere) {
  const std::string page = RenderPage(MakeAllPartsDocument());
  EXPECT_THAT(page, AllOf(Not(HasSubstr("| small |")), Not(HasSubstr("FLOP"))));
  ExpectGolden("show/document_page", page);
}

TEST(DocumentMarkdown, EmptySectionHasNoHeading) {
  const show::Table empty{.id = "empty", .title = "no rows", .columns = {show::Left("name")}};
  show::Document document;
  document.title = "title";
  document.sections = {{"nothing", show::Visibility::kDefault, {empty}},
                       {"folded", show::Visibility::kFolded, {empty}}};
  EXPECT_EQ(RenderPage(document), "# title\n\n");
}

// Only JSON keeps the values in texts separate; the other formats write them in the unit and with the digits
// of the document.
TEST(DocumentTexts, EveryFormatWritesValuesInTexts) {
  const Json json = RenderJson(MakeAllPartsDocument());
  const Json& parts = json["sections"][0]["parts"];
  const Json& paragraph = parts[parts.size() - 2]["paragraph"];
  const Json& item = parts.back()["list"]["items"][0];
  const std::vector<std::string> texts = {paragraph["text"], item["text"], item["details"][0],
                                          json["notes"][1]};
  EXPECT_THAT(texts, ElementsAre("a part takes 0.500 of 1.500 ms (33%)", "an item of 2.500 ms",
                                 "or <0.001 ms", "a note of 1.250 ms"));
  const std::string screen = RenderScreen(MakeAllPartsDocument(), {.all = true, .report_path = ""});
  for (const std::string& text : texts) {
    EXPECT_THAT(screen, HasSubstr(text));
    EXPECT_THAT(read::UnescapeMarkdown(RenderPage(MakeAllPartsDocument())), HasSubstr(text));
  }
  const Json& values = paragraph["values"];
  ASSERT_EQ(values.size(), 3U);
  EXPECT_EQ(values[0], Json::parse(R"({"kind":"time","text":"0.500","value":500000.0,"unit":"ns"})"));
  EXPECT_EQ(values[1], Json::parse(R"({"kind":"time","text":"1.500 ms","value":1500000.0,"unit":"ns"})"));
  EXPECT_EQ(values[2]["kind"], "share");
  EXPECT_EQ(item["values"][0]["value"], 2.5e6);
  EXPECT_FALSE(parts[0]["paragraph"].contains("values"));
}

TEST(DocumentTables, PartsAddUpAsPrinted) {
  using Role = show::Row::Role;
  show::Document document;
  show::Table table{"parts",
                    "",
                    {{"part", "part"}, {"time", "time", true}, {"share", "share", true, 0, true}},
                    {{{"a", show::Time{1.0004e6}, show::Share{0.5}}, Role::kPart},
                     {{"b", show::Time{1.0003e6}, show::Share{0.25}}, Role::kPart},
                     {{"sum", show::Time{2.0007e6}}, Role::kSum},
                     {{"rest", show::Time{0.0003e6}}, Role::kPart},
                     {{"whole", show::Time{2.0010e6}}, Role::kSum},
                     {{"tiny", show::Time{1}}}}};
  for (show::Row& row : table.rows) row.cells.resize(3, std::string());
  document.sections = {{"", show::Visibility::kDefault, {std::move(table)}}};
  EXPECT_EQ(RenderScreen(document, {.width = 60, .report_path = ""}),
            "  part, ms    time  share\n"
            "  a          1.001    50%  ████████████████\n"
            "  b          1.000    25%  ████████\n"
            "  sum        2.001\n"
            "  rest      <0.001\n"
            "  whole      2.001\n"
            "  tiny      <0.001\n\n");
  EXPECT_EQ(read::MarkdownTables(RenderPage(document)).at(0).rows, (read::Rows{{"a", "1.001", "50%"},
                                                                               {"b", "1.000", "25%"},
                                                                               {"sum", "2.001", ""},
                                                                               {"rest", "<0.001", ""},
                                                                               {"whole", "2.001", ""},
                                                                               {"tiny", "<0.001", ""}}));
}

// A sum that is too short for the table's digits is not printed as 0.
TEST(DocumentTables, ShortSumsAreNotZero) {
  using Role = show::Row::Role;
  show::Document document;
  show::Table table{"parts", "", {{"part", "part"}, {"one", "one", true}, {"other", "other", true}}};
  table.rows = {{{"a", show::Time{200}, show::Time{20e6}}, Role::kPart},
                {{"b", show::Time{0}, show::Time{0}}, Role::kPart},
                {{"sum", show::Time{200}, show::Time{20e6}}, Role::kSum}};
  document.sections = {{"", show::Visibility::kDefault, {std::move(table)}}};
  EXPECT_EQ(read::MarkdownTables(RenderPage(document)).at(0).rows,
            (read::Rows{{"a", "<0.01", "20.00"}, {"b", "0.00", "0.00"}, {"sum", "<0.01", "20.00"}}));
}

TEST(DocumentCsv, EmptyTableGivesOnlyTheHeading) {
  show::Document document = MakeAllPartsDocument();
  std::get<show::Table>(document.sections[0].parts[3]).rows.clear();
  EXPECT_EQ(RenderCsv(document, "values"), "section,name,value,note\n");
  EXPECT_THAT(RenderPage(document), Not(HasSubstr("### Values")));
  EXPECT_THAT(RenderScreen(document, {.all = true, .report_path = ""}), Not(HasSubstr("value  note")));
}

TEST(DocumentCsv, EveryColumnHasATitle) {
  show::Document document;
  document.sections = {{"one", show::Visibility::kDefault, {MakeAllPartsDocument().sections[0].parts[3]}}};
  EXPECT_THAT(RenderCsv(document, "values"), testing::StartsWith("section,name,"));
  document.sections[0].title.clear();
  EXPECT_THAT(RenderCsv(document, "values"), testing::StartsWith("name,"));
  EXPECT_EQ(read::ParseCsv(RenderCsv(document, "values")).rows.at(0).at(0), "words");
}

TEST(DocumentCsv, UnknownIntervalHasItsColumns) {
  show::Document document = MakeAllPartsDocument();
  auto& table = std::get<show::Table>(document.sections[0].parts[3]);
  table.columns = {{"name", ""}, {"speedup", "speedup"}, {"speedup", "CI"}};
  TimeComparison contended;
  contended.verdict = stats::Verdict::kContended;
  table.rows.resize(1);
  table.rows[0].cells = {"a", show::Speedup{contended}, show::Interval{contended}};
  EXPECT_EQ(RenderCsv(document, "values"),
            "section,name,speedup,speedup_verdict,speedup_low,speedup_high\none,a,,contended,,\n");
  table.rows[0].cells[2] = show::Cell();
  EXPECT_EQ(RenderCsv(document, "values"), "section,name,speedup,speedup_verdict\none,a,,contended\n");
}

// Each pair of a report has such a table in a section without a title.
TEST(DocumentCsv, TitleOfATableReplacesThatOfItsSection) {
  show::Document document;
  for (const char* const pair : {"on over off", "all over off"}) {
    show::Table table{"startup", pair, {show::Left("name")}};
    table.AddRow("Load");
    document.sections.push_back({"", show::Visibility::kDefault, {std::move(table)}});
  }
  document.sections.push_back({"Notes", show::Visibility::kDefault, {}});
  EXPECT_EQ(RenderCsv(document, "startup"), "section,name\non over off,Load\nall over off,Load\n");
}

TEST(DocumentCsv, ColumnThatSectionsAreNamedAfterKeepsItsName) {
  show::Document document = MakeAllPartsDocument();
  document.section_kind = "name";
  EXPECT_EQ(RenderCsv(document, "few"), "section,name\none,first\none,second\none,third\n");
  EXPECT_THAT(RenderCsv(document, "points"), testing::StartsWith("name,point,"));
}

TEST(DocumentCsv, EveryTableHasItsValuesWithTheirUnits) {
  const show::Document document = MakeAllPartsDocument();
  EXPECT_THAT(TableIds(document),
              ElementsAre("values", "more", "few", "facts", "tree", "elsewhere", "points"));
  EXPECT_EQ(RenderCsv(document, "values"),
            "section,name,value,value_unit,value_low,value_high,value_verdict,value_efficiency,note\n"
            "one,words,a|b,,,,,,x\n"
            "one,nothing,,,,,,,x\n"
            "one,duration,1.5,ms,,,,,x\n"
            "one,time,2.5,ms,,,,,x\n"
            "one,size,2000000,bytes,,,,,x\n"
            "one,count,1204,,,,,,x\n"
            "one,amount,67100000,,,,,,x\n"
            "one,number,3.25,GHz,,,,,x\n"
            "one,bounded,0.05,,0.04,0.06,,,x\n"
            "one,share,0.54,,,,,,x\n"
            "one,speedup,2,,,,faster,,x\n"
            "one,interval,,,1.9,2.1,,,x\n"
            "one,scaling,2,,,,faster,0.5,x\n"
            "one,bounds,,ms,2,2.25,,,x\n"
            "one,ratio,2.5,,,,,,x\n"
            "one,change,0.1,,0.09,0.11,,,worse\n");
  EXPECT_EQ(RenderCsv(document, "facts"),
            "section,name,value\none,known,a value\none,note,one\none,note,other\n");
  EXPECT_EQ(RenderCsv(document, "points"),
            "section,point,time,time_unit\nthree,placed,4,ms\nthree,small,1,ms\n");
  EXPECT_EQ(RenderCsv(document, "few"), "section,name\none,first\none,second\none,third\n");
  try {
    RenderCsv(document, "of nothing");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
    EXPECT_THAT(error.remedy(), testing::EndsWith(fmt::format(" {}", fmt::join(TableIds(document), ", "))));
  }
}

// The rows of delegate calls are left out, and so are counters that no operator has.
TEST(MakeCountersDocument, OperatorsByProcessorTimeUnderTheWhole) {
  const std::string page = RenderPage(example::MakeCountersDocument());
  EXPECT_THAT(page, Not(HasSubstr("DELEGATE")));
  EXPECT_LT(page.find("Method::execute"), page.find("large"));
  EXPECT_LT(page.find("large"), page.find("small"));
  std::vector<CountersRow> counters;
  for (int i = 0; i < 26; ++i)
    counters.push_back(MakeCountersRow("forward/0/backend/" + std::to_string(i),
                                       "op" + std::to_string(i) + ".", 100 + i, 300));
  const std::string page_of_many =
      RenderPage(show::MakeCountersDocument(example::MakeRunWithCounters("many", counters)));
  EXPECT_THAT(page_of_many, AllOf(HasSubstr("op25."), Not(HasSubstr("op4."))));
  ExpectGolden("show/counters_page", GoldenState("two operators", page) +
                                         GoldenState("more operators than a page lists", page_of_many));
}

TEST(MakeCountersDocument, EmptyForNoCounters) {
  EXPECT_TRUE(show::MakeCountersDocument({}).sections.empty());
  EXPECT_TRUE(show::MakeCountersDocument(example::MakeRunWithCounters("a", {})).sections.empty());
}

TEST(MakeInstructionsDocument, HasSharesOnlyOfAKnownWhole) {
  RunData run;
  ExperimentData& data = run.experiments.emplace_back();
  data.instructions.resize(2);
  data.instructions[0].key = "forward/0/backend/0";
  data.instructions[0].instructions = 300;
  data.instructions[1].key = "forward/0/backend/1";
  data.instructions[1].instructions = 100;
  const auto share = [&](std::size_t row) {
    const show::Document document = show::MakeInstructionsDocument(run);
    return show::ToText(std::get<show::Table>(document.sections.at(0).parts.at(0)).rows.at(row).cells.at(2));
  };
  EXPECT_EQ(share(0), "—");
  data.instructions.emplace_back().key = "forward/-1/method/0";
  data.instructions.back().instructions = 600;
  EXPECT_EQ(share(0), "100%");
  EXPECT_EQ(share(1), "50%");
}

// --- Every format has every value of every table of every subject -----------------------------------------

using read::Rows;

struct ExampleTable {
  show::Table table;
  std::string section;
  Json json;     // from the page; equals the output of RenderDocumentJson
  Rows printed;  // the cells' texts on the page
  std::vector<std::string> titles;
};

Json ExtractDocumentJson(const show::Document& document) {
  return Json::parse(
      read::ExtractPageJson(read::RenderToString(RenderDocumentHtml, document), "etprof-document"));
}

Rows CellTexts(const show::Table& text) {
  Rows rows;
  for (const show::Row& row : text.rows) {
    std::vector<std::string>& texts = rows.emplace_back();
    for (const show::Cell& cell : row.cells) texts.push_back(cell.text);
  }
  return rows;
}

// Returns the tables that have rows, without the rows that only screens show.
std::vector<ExampleTable> MakeExampleTables(const show::Document& document, const Json& page) {
  std::vector<ExampleTable> tables;
  const std::vector<const show::Section*> sections = show::AllSections(document);
  for (std::size_t s = 0; s < sections.size(); ++s) {
    const show::Section& section = *sections[s];
    for (std::size_t p = 0, pictures = 0; p < section.parts.size(); ++p) {
      pictures += show::IsPicture(section.parts[p]) ? 1U : 0U;  // no page has pictures
      const auto* found = std::get_if<show::Table>(&section.parts[p]);
      if (found == nullptr || found->rows.empty()) continue;
      show::Table table = *found;
      const show::Table text = PrintedTable(table);
      std::erase_if(table.rows,
                    [](const show::Row& row) { return row.role == show::Row::Role::kScreenOnly; });
      tables.push_back({std::move(table), section.title,
                        page.at("sections")[s].at("parts")[p - pictures].at("table"), CellTexts(text),
                        MapEach(text.columns, &show::Table::Column::title)});
    }
  }
  return tables;
}

void ExpectInJson(const ExampleTable& example) {
  EXPECT_EQ(example.json.at("id"), example.table.id);
  ASSERT_EQ(example.json.at("columns").size(), example.titles.size());
  for (std::size_t c = 0; c < example.titles.size(); ++c)
    EXPECT_EQ(example.json.at("columns")[c].at("title"), example.titles[c]);
  ASSERT_EQ(example.json.at("rows").size(), example.printed.size());
  for (std::size_t r = 0; r < example.printed.size(); ++r) {
    const Json& cells = example.json.at("rows")[r].at("cells");
    ASSERT_EQ(cells.size(), example.printed[r].size());
    for (std::size_t c = 0; c < cells.size(); ++c) {
      EXPECT_EQ(cells[c].at("text"), example.printed[r][c]);
      const show::Value& value = example.table.rows[r].cells[c];
      EXPECT_EQ(cells[c].at("kind"), GetName(value.kind));
      EXPECT_EQ(cells[c].contains("value"), value.value.has_value());
      if (value.value) {
        EXPECT_EQ(cells[c]["value"], Json(*value.value));
      }
    }
  }
}

void ExpectInMarkdown(const ExampleTable& example, const std::string& page) {
  const show::Table& table = example.table;
  const bool has_all_rows = table.hidden_rows_hint.empty();
  const show::Table text = PrintedTable(
      table, has_all_rows ? SIZE_MAX : table.screen_rows,
      [&](const show::Row& row) { return has_all_rows || row.visibility != show::Visibility::kFolded; });
  Rows rows = CellTexts(text);
  if (rows.empty()) return;
  std::vector<std::string> titles = example.titles;
  for (std::size_t c = titles.size(); c-- > 0;) {  // pages leave out columns without texts
    if (std::ranges::any_of(rows, [&](const auto& row) { return !row[c].empty(); })) continue;
    const auto position = static_cast<std::ptrdiff_t>(c);
    titles.erase(titles.begin() + position);
    for (auto& row : rows) row.erase(row.begin() + position);
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (int level = 0; level < text.rows[r].depth; ++level) rows[r].front().insert(0, "· ");
  }
  std::vector<Rows> found;
  for (const read::ParsedTable& parsed : read::MarkdownTables(page)) {
    if (parsed.header == titles) found.push_back(parsed.rows);
  }
  EXPECT_THAT(found, testing::Contains(rows)) << page;
}

// Empty cells take no room on a screen, and a row may begin with a letter.
void ExpectOnScreen(const ExampleTable& example, const std::string& screen) {
  Rows lines;
  for (const Rows& block : read::ScreenBlocks(screen)) lines.insert(lines.end(), block.begin(), block.end());
  for (std::vector<std::string> row : example.printed) {
    std::erase(row, "");
    const bool found = std::ranges::any_of(lines, [&](const std::vector<std::string>& line) {
      return line.size() <= row.size() + 1 && line.size() >= row.size() &&
             std::equal(row.rbegin(), row.rend(), line.rbegin());
    });
    EXPECT_TRUE(found) << testing::PrintToString(row) << screen;
  }
}

// A cell of a row; empty if the column is absent.
std::string CsvField(const read::ParsedTable& csv, std::size_t row, const std::string& column) {
  const auto found = std::ranges::find(csv.header, column);
  return found == csv.header.end() ? "" : csv.rows[row][std::size_t(found - csv.header.begin())];
}

void ExpectInCsv(const ExampleTable& example, const read::ParsedTable& csv, std::size_t first_row) {
  for (std::size_t r = 0; r < example.table.rows.size(); ++r) {
    if (!example.section.empty()) {
      EXPECT_EQ(csv.rows[first_row + r].front(), example.section);
    }
    for (std::size_t c = 0; c < example.table.columns.size(); ++c) {
      const show::Cell& cell = example.table.rows[r].cells[c];
      const std::string& id = example.table.columns[c].id;
      const auto expect = [&](const std::string& field, const std::optional<double>& number, double scale) {
        if (!number || !std::isfinite(*number)) return;
        const std::string text = CsvField(csv, first_row + r, id + field);
        ASSERT_FALSE(text.empty()) << id << field << ' ' << r;
        EXPECT_DOUBLE_EQ(std::stod(text) * scale, *number) << id << field << ' ' << r;
      };
      if (cell.kind == CellKind::kText) {
        EXPECT_EQ(CsvField(csv, first_row + r, id), cell.text);
        continue;
      }
      expect("", cell.value, cell.unit == "ns" ? 1e6 : 1);
      EXPECT_EQ(CsvField(csv, first_row + r, id + "_verdict"), cell.Verdict());
      if (cell.kind == CellKind::kSpeedup) continue;
      expect("_low", cell.low, cell.unit == "ns" ? 1e6 : 1);
      expect("_high", cell.high, cell.unit == "ns" ? 1e6 : 1);
    }
  }
}

std::vector<show::Table*> MutableTables(show::Document& document) {
  std::vector<show::Table*> tables;
  for (auto* sections : {&document.sections, &document.appendix}) {
    for (show::Section& section : *sections) {
      for (show::Part& part : section.parts) {
        if (auto* table = std::get_if<show::Table>(&part)) tables.push_back(table);
      }
    }
  }
  return tables;
}

TEST(Documents, EveryFormatHasEveryValueOfEveryTable) {
  for (show::Document document : example::MakeDocuments()) {
    SCOPED_TRACE(document.title);
    for (show::Table* const table : MutableTables(document)) {
      for (show::Table::Column& column : table->columns) column.max_width = 0;  // no text is truncated
    }
    const Json page = RenderJson(document);
    show::Document without_hints = document;
    for (show::Table* const table : MutableTables(without_hints)) table->hidden_rows_hint = "";
    EXPECT_EQ(ExtractDocumentJson(without_hints), page);
    const std::string markdown = RenderPage(document);
    const std::string screen = RenderScreen(document, {.width = 1000, .all = true, .report_path = ""});
    std::map<std::string, std::size_t> rows;  // rows of the CSV tables with this id so far
    const std::vector<ExampleTable> tables = MakeExampleTables(document, page);
    EXPECT_FALSE(tables.empty());
    for (const ExampleTable& example : tables) {
      SCOPED_TRACE(example.table.id);
      ExpectInJson(example);
      ExpectInMarkdown(example, markdown);
      ExpectOnScreen(example, screen);
      std::size_t& first = rows[example.table.id];
      ExpectInCsv(example, read::ParseCsv(RenderCsv(document, example.table.id)), first);
      first += example.table.rows.size();
    }
    for (const auto& [id, count] : rows)
      EXPECT_EQ(read::ParseCsv(RenderCsv(document, id)).rows.size(), count) << id;
  }
}

// Speedups, verdicts, and results fit a screen of 80 columns, however long the names are.
TEST(Documents, NarrowScreensHaveTheDecidingColumns) {
  std::set<std::string> checked_tables;
  std::vector<show::Document> documents = example::MakeDocuments();
  documents.push_back(show::MakeDeviceComparisonDocument(example::MakeDevices()));
  for (const bool threads : {false, true}) {
    std::vector<example::LadderPoint> points = example::MakeSme2Points();
    if (!threads) std::erase_if(points, [](const example::LadderPoint& point) { return point.threads != 1; });
    documents.push_back(show::MakeReportDocument(example::MakeLadder(points)));
  }
  for (show::Document& document : documents) {
    SCOPED_TRACE(document.title);
    for (show::Table* const table : MutableTables(document)) {
      const auto never_dropped = [&](std::size_t c) {
        return table->columns[c].never_dropped || std::ranges::any_of(table->rows, [&](const show::Row& row) {
                 return row.cells[c].kind == CellKind::kSpeedup;
               });
      };
      for (std::size_t c = 0; c < table->columns.size(); ++c) {
        show::Table::Column& column = table->columns[c];
        if (column.truncation == show::Table::Truncation::kKeepDifference)
          column.title += " of a variant with a long name";
        if (c > 0 && (never_dropped(c) || column.align_right || column.title.empty())) continue;
        for (show::Row& row : table->rows) {
          if (std::string& text = row.cells[c].text; !text.empty())
            text += " that has a long name of its own";
        }
      }
      show::Document single;
      single.sections = {{"", show::Visibility::kDefault, {*table}}};
      const std::string screen = RenderScreen(single, {.width = 80, .report_path = ""});
      bool has_deciding_column = false;
      for (std::size_t c = 1; c < table->columns.size(); ++c)
        has_deciding_column = has_deciding_column || never_dropped(c);
      if (has_deciding_column) read::ExpectWidth(screen, 80);
      const show::Table printed = PrintedTable(*table, table->screen_rows, [](const show::Row& row) {
        return row.visibility <= show::Visibility::kDefault;
      });
      if (table->visibility > show::Visibility::kDefault) continue;
      for (std::size_t c = 1; c < table->columns.size(); ++c) {
        if (!never_dropped(c) || table->columns[c].visibility > show::Visibility::kDefault) continue;
        EXPECT_EQ(table->columns[c].drop_priority, 0) << table->id << ' ' << table->columns[c].id;
        for (const show::Row& row : printed.rows) {
          if (row.cells[c].visibility > show::Visibility::kDefault) continue;
          EXPECT_THAT(screen, HasSubstr(row.cells[c].text.substr(0, 20))) << table->id;
          checked_tables.insert(table->id);
        }
      }
    }
  }
  EXPECT_THAT(checked_tables, testing::IsSupersetOf({"self_times", "speedups", "verdicts", "variants",
                                                     "limit", "checks", "latency", "ladder_levels"}));
}

// A command must know the allowed values of --csv before it measures, so documents of empty results have
// every table, too.
TEST(Documents, EmptyResultsHaveEveryTable) {
  const auto ids = [](const std::vector<show::Document>& documents) {
    std::set<std::string> table_ids;
    for (const show::Document& document : documents) {
      for (const std::string& id : TableIds(document)) table_ids.insert(id);
    }
    return table_ids;
  };
  SuiteReport without_limit = example::MakeSuite();
  without_limit.limit.reset();
  EXPECT_EQ(ids({show::MakeCheckDocument({}), show::MakeStaticCheckDocument({})}),
            ids({show::MakeCheckDocument(example::MakeCheck()), example::MakeStaticCheckDocument()}));
  EXPECT_EQ(ids({show::MakeSuiteDocument({})}), ids({show::MakeSuiteDocument(example::MakeSuite())}));
  EXPECT_EQ(ids({show::MakeSuiteDocument({})}), ids({show::MakeSuiteDocument(without_limit)}));
  EXPECT_EQ(ids({show::MakeHistoryDocument({}, "")}), ids({example::MakeHistoryDocument(false)}));
  EXPECT_EQ(ids({show::MakeHistoryCheckDocument({}, "", false)}), ids({example::MakeHistoryDocument(true)}));
  EXPECT_EQ(ids({show::MakeBisectionDocument({})}), ids({example::MakeBisectionDocument()}));
  EXPECT_EQ(ids({show::MakePeaksDocument({}, "", false)}), ids({example::MakePeaksDocument()}));
  EXPECT_EQ(ids({show::MakeDoctorDocument({{DoctorGroup()}})}), ids({example::MakeDoctorDocument()}));
  EXPECT_EQ(ids({show::MakeQuickTestDocument({})}), ids({example::MakeQuickTestDocument()}));
  EXPECT_EQ(ids({show::MakeValidationDocument({{Validation()}})}), ids({example::MakeValidationsDocument()}));
}

// If no run has several launches, it is not known what more launches would change.
TEST(MakeHistoryDocument, RecommendsMoreLaunchesOnlyIfTheirEffectIsKnown) {
  HistoryReport history;
  Trend& trend = history.trends.emplace_back();
  for (const char* const commit : {"a", "b", "c"}) trend.data.points.emplace_back().commit = commit;
  trend.runs.resize(3);
  TrendChange& change = trend.changes.emplace_back();
  change.before = 0;
  change.first_run = change.after = 2;
  change.growth = 0.1;
  trend.run_sd = 0.1;
  const std::string recommendation = "as many launches would narrow this down";
  EXPECT_THAT(RenderPage(show::MakeHistoryDocument(history, "")), Not(HasSubstr(recommendation)));
  trend.between_sd = 0.001;
  EXPECT_THAT(RenderPage(show::MakeHistoryDocument(history, "")), HasSubstr(recommendation));
}

TEST(DocumentHtml, LeavesOutLongTablesThatAreAvailableElsewhere) {
  show::Row folded{"folded"};
  folded.visibility = show::Visibility::kFolded;
  show::Table short_table{"names", "", {{"name", "name"}}, {{"shown"}, folded}};
  short_table.hidden_rows_hint = "in `--csv=names`";
  show::Table all_folded = short_table, long_table = short_table;
  all_folded.rows = {folded};
  long_table.rows.resize(300, folded);
  show::Document document;
  document.sections = {{"", show::Visibility::kDefault, {all_folded, short_table, long_table}}};
  const Json unabridged = RenderJson(document).at("sections")[0].at("parts");
  EXPECT_EQ(unabridged[2].at("table").at("rows").size(), 300U);
  const Json parts = ExtractDocumentJson(document).at("sections")[0].at("parts");
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0], unabridged[1]);
  const Json& rows = parts[1].at("table").at("rows");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].at("cells")[0].at("text"), "shown");
  EXPECT_EQ(parts[2].at("paragraph").at("text"), "and 299 more in `--csv=names`");
}

TEST(DocumentJson, MarksTheAppendixAndLinksTables) {
  show::Document document;
  document.measured = "in 3 s";
  show::List list{"", {{"a finding", {}, show::Visibility::kDefault, "times"}}};
  document.sections = {{"", show::Visibility::kDefault, {std::move(list)}}};
  document.appendix = {{"behind", show::Visibility::kDefault, {}}};
  document.notes_title = "Quality";
  const Json json = RenderJson(document);
  EXPECT_EQ(json.at("measured"), "in 3 s");
  EXPECT_EQ(json.at("notes_title"), "Quality");
  EXPECT_FALSE(json.at("sections")[0].contains("appendix"));
  EXPECT_EQ(json.at("sections")[0].at("parts")[0].at("list").at("items")[0].at("table"), "times");
  EXPECT_EQ(json.at("sections")[1].at("appendix"), true);
}

TEST(DocumentJson, HasEveryKindOfPart) {
  const Json json = RenderJson(MakeAllPartsDocument());
  EXPECT_EQ(json.at("title"), "all <of> it");
  EXPECT_EQ(json.at("facts"), Json({"a fact"}));
  EXPECT_EQ(json.at("answers"), Json::array({{{"text", "the answer"}, {"tone", "good"}}}));
  EXPECT_EQ(json.at("notes"), Json({"a note", "a note of 1.250 ms"}));
  EXPECT_EQ(json.at("method"), "the method");
  const Json& parts = json.at("sections")[0].at("parts");
  EXPECT_EQ(parts[0], Json({{"paragraph", {{"text", "usual words"}, {"level", "usual"}}}}));
  EXPECT_EQ(parts[1].at("paragraph").at("level"), "page");
  const Json& list = parts[2].at("list");
  EXPECT_EQ(list.at("usual_items"), 1);
  EXPECT_EQ(list.at("items"), Json::array({{{"text", "line 1"}},
                                           {{"text", "line 2"}, {"details", Json::array({"a detail"})}}}));
  const auto cell = [&](std::size_t row) { return parts[3].at("table").at("rows")[row].at("cells")[1]; };
  EXPECT_EQ(cell(0), Json({{"kind", "text"}, {"text", "a|b"}}));
  EXPECT_EQ(cell(1), Json({{"kind", "nothing"}, {"text", "—"}}));
  EXPECT_EQ(cell(3), Json({{"kind", "time"}, {"text", "2.500"}, {"value", 2.5e6}, {"unit", "ns"}}));
  EXPECT_EQ(cell(4), Json({{"kind", "size"}, {"text", "2.00 MB"}, {"value", 2e6}, {"unit", "bytes"}}));
  const Json speedup = cell(10);
  EXPECT_DOUBLE_EQ(speedup.at("value"), 2);
  EXPECT_DOUBLE_EQ(speedup.at("low"), 1.9);
  EXPECT_DOUBLE_EQ(speedup.at("high"), 2.1);
  EXPECT_EQ(speedup.at("verdict"), "faster");
  EXPECT_EQ(speedup.at("tone"), "good");
  EXPECT_EQ(parts[4].at("table").at("level"), "folded");
  EXPECT_EQ(parts[5].at("table").at("usual_rows"), 1);
  const Json& tree = parts[8].at("table").at("rows");
  EXPECT_EQ(tree[1].at("depth"), 1);
  EXPECT_EQ(tree[1].at("role"), "part");
  EXPECT_EQ(tree[1].at("cells")[2].at("bar"), 0.5);
  EXPECT_EQ(tree[2].at("role"), "sum");
  EXPECT_EQ(parts[7].at("facts").at("facts")[0], Json({{"name", "known"}, {"value", "a value"}}));
  const Json& values = parts[6].at("chart").at("series")[0].at("values");
  EXPECT_EQ(values[0], Json({{"kind", "duration"}, {"text", "1.00 ms"}, {"value", 1e6}, {"unit", "ns"}}));
  EXPECT_EQ(values[2].at("kind"), "nothing");
}

}  // namespace
}  // namespace etprof
