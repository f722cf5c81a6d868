#include "report/devices.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/golden_testing.h"
#include "core/text/escape.h"
#include "report/example_devices.h"
#include "show/formats.h"
#include "show/formats/formats_testing.h"
#include "show/formats/json/json.h"
#include "show/subjects.h"

namespace etprof {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string RenderDevicesMarkdownText(const DevicesReport& report) {
  return read::RenderPage(show::MakeDeviceComparisonDocument(report));
}
std::string RenderDevicesTerminalText(const DevicesReport& report, int width = 80) {
  return read::RenderScreen(show::MakeDeviceComparisonDocument(report),
                            {.width = width, .report_path = "runs/devices_report.md"});
}
nlohmann::json RenderDevicesJsonValue(const DevicesReport& report) {
  return nlohmann::json::parse(read::RenderToString(RenderDevicesJson, report));
}

DevicesReport MakeTwoRunsOfOneDevice() {
  return AssembleDevicesReport(
      {example::MakePairReportOn("local", 1), example::MakePairReportOn("local", 2)});
}

DevicesReport MakeThreeRunsOfTwoDevices() {
  std::vector<Report> runs = {example::MakePairReportOn("a", 1), example::MakePairReportOn("b", 1),
                              example::MakePairReportOn("b", 1)};
  for (Report& run : runs) run.run.method = "decode";
  return AssembleDevicesReport(std::move(runs));
}

DevicesReport MakeTwoModels() {
  std::vector<Report> runs = {example::MakePairReportOn("a", 1), example::MakePairReportOn("b", 1)};
  runs[1].model_id = "other";
  runs[1].run.model_sha256 = "c";
  return AssembleDevicesReport(std::move(runs));
}

// Every device has its verdict, its row in the tables of devices, latencies, and speedups, and its column in
// the tables of categories. The emulated device is called emulated wherever it is named, and has no speedup.
// Notes say that speedups between devices are unpaired, and that emulated timings are not meaningful.
TEST(DevicesMarkdown, HasTheKitsCombinedSections) {
  ExpectGolden("show/devices_page", GoldenState("3 devices, the last emulated",
                                                RenderDevicesMarkdownText(example::MakeDevices())) +
                                        GoldenState("2 models", RenderDevicesMarkdownText(MakeTwoModels())));
}

TEST(DevicesDocument, EmulatedDevicesHaveNoSpeedup) {
  const show::Document document = show::MakeDeviceComparisonDocument(example::MakeDevices());
  std::size_t speedups = 0;
  for (const show::Table* const table : read::AllTables(document)) {
    if (table->id != "latency" && table->id != "speedups") continue;
    for (const show::Row& row : table->rows) {
      const bool emulated = ToText(row.cells.at(1)) == "adb:phone (emulated)";
      for (const show::Cell& cell : row.cells) {
        if (cell.kind != CellKind::kSpeedup) continue;
        EXPECT_EQ(cell.Verdict() == "emulated", emulated);
        EXPECT_EQ(cell.value.has_value(), !emulated);
        ++speedups;
      }
    }
  }
  EXPECT_EQ(speedups, 2 * 2 + 3U);  // two settings on all devices but the first; one pair on each device
}

TEST(DevicesDocument, TitleHasTheNumbersOfRunsAndDevices) {
  const auto title = [](const DevicesReport& report) {
    return show::MakeDeviceComparisonDocument(report).title;
  };
  EXPECT_EQ(title(MakeTwoRunsOfOneDevice()), "net_xnnpack_fp32: 2 runs of one device");
  const DevicesReport two = MakeThreeRunsOfTwoDevices();
  EXPECT_EQ(title(two), "net_xnnpack_fp32, method decode: 3 runs of 2 devices");
  EXPECT_EQ(RenderDevicesJsonValue(two)["models"][0]["method"], "decode");
  EXPECT_EQ(RenderDevicesJsonValue(two)["devices"][1]["method"], "decode");
}

// A candidate may be compared with several baselines, so a verdict without a ratio names its baseline, too.
TEST(DevicesDocument, VerdictsWithoutARatioNameTheBaseline) {
  std::vector<Report> runs = {example::MakePairReportOn("a", 1), example::MakePairReportOn("b", 1)};
  for (Report& run : runs) run.comparisons[0].comparison.latency.verdict = stats::Verdict::kContended;
  const show::Document document = show::MakeDeviceComparisonDocument(AssembleDevicesReport(std::move(runs)));
  ASSERT_FALSE(document.answers.empty());
  EXPECT_THAT(ToText(document.answers[0].text, {}), HasSubstr("on compared with off: contended"));
}

TEST(DevicesMarkdown, GroupsAddUpToTheWholeAsPrinted) {
  const show::Document document = show::MakeDeviceComparisonDocument(example::MakeDevices());
  std::size_t tables = 0;
  for (const show::Section& section : document.sections) {
    if (!section.title.starts_with("Categories per platform")) continue;
    const auto& table = std::get<show::Table>(section.parts.front());
    ++tables;
    EXPECT_EQ(table.rows.back().role, show::Row::Role::kSum);
    for (std::size_t device = 0; device < 3; ++device) {
      double sum = 0;
      for (std::size_t r = 0; r + 1 < table.rows.size(); ++r)
        sum += *table.rows[r].cells[1 + 2 * device].value;
      EXPECT_NEAR(sum, *table.rows.back().cells[1 + 2 * device].value, 1e-6 * sum);
    }
  }
  EXPECT_EQ(tables, 2u);
}

TEST(DevicesMarkdown, HostileNamesAreEscaped) {
  std::vector<Report> runs = {example::MakePairReportOn("a|b<script>", 1), example::MakePairReportOn("c", 1)};
  runs[0].experiments[0].label = "x|y";
  const std::string text = RenderDevicesMarkdownText(AssembleDevicesReport(std::move(runs)));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("<script>")), Not(HasSubstr("a|b")), Not(HasSubstr("x|y"))));
}

TEST(DevicesDocument, EveryModelHasItsSections) {
  const show::Document document = show::MakeDeviceComparisonDocument(MakeTwoModels());
  std::vector<std::string> models;
  for (const show::Section& section : document.sections) {
    const auto* const table = std::get_if<show::Table>(&section.parts.front());
    if (table == nullptr || table->id != "latency") continue;
    models.push_back(section.title.substr(0, section.title.find(": ")));
    EXPECT_EQ(section.parts.size(), 1U) << "nothing is compared, so nothing is unpaired";
  }
  EXPECT_THAT(models, testing::ElementsAre("net_xnnpack_fp32", "other"));
}

// The verdicts of all devices come first, then tables with one row or column per device. Two runs of one
// device are called runs.
TEST(DevicesTerminal, ShowsEachDeviceThenAllSideBySide) {
  ExpectGolden(
      "show/devices_screen",
      GoldenState("3 devices, the last emulated", RenderDevicesTerminalText(example::MakeDevices())) +
          GoldenState("2 runs of one device", RenderDevicesTerminalText(MakeTwoRunsOfOneDevice())));
}

TEST(DevicesTerminal, KeepsToTheWidth) {
  for (const int width : {60, 80, 120})
    read::ExpectWidth(RenderDevicesTerminalText(example::MakeDevices(), width), width);
}

TEST(DevicesTerminal, ControlCharactersInNamesAreRemoved) {
  std::vector<Report> runs = {example::MakePairReportOn("a\x1b[2J", 1), example::MakePairReportOn("b", 1)};
  runs[0].experiments[0].label = "x\x1b[2J";
  runs[0].warnings.push_back("\x07");
  const std::string text = RenderDevicesTerminalText(AssembleDevicesReport(std::move(runs)));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\x07"))));
}

TEST(DevicesJson, MatchesTheReport) {
  const nlohmann::json json = RenderDevicesJsonValue(example::MakeDevices());
  EXPECT_EQ(json["devices"].size(), 3u);
  EXPECT_EQ(json["devices"][1]["governor"], "performance");
  EXPECT_EQ(json["devices"][2]["emulated"], true);
  const nlohmann::json& on = json["models"][0]["experiments"][1];
  EXPECT_EQ(on["label"], "on");
  EXPECT_TRUE(on["devices"][0]["against_first"].is_null());
  const nlohmann::json& speedup = on["devices"][1]["against_first"];
  EXPECT_EQ(speedup["device"], "local");
  EXPECT_EQ(speedup["paired"], false);
  EXPECT_EQ(speedup["verdict"], "slower");
  EXPECT_LT(speedup["ratio_low"].get<double>(), speedup["ratio"].get<double>());
  EXPECT_EQ(on["devices"][2]["against_first"]["verdict"], "emulated");
  EXPECT_TRUE(on["devices"][2]["against_first"]["ratio"].is_null());
  EXPECT_TRUE(on["devices"][2]["median_low_ms"].is_null());
  const nlohmann::json& pair = json["models"][0]["comparisons"][0];
  EXPECT_EQ(pair["devices"][0]["pairing"], "launches");
  EXPECT_EQ(pair["devices"][2]["verdict"], "emulated");
  double share = 0;
  for (const nlohmann::json& group : on["devices"][0]["groups"]) share += group["share"].get<double>();
  EXPECT_NEAR(share, 1, 1e-9);
}

// A value and its interval share an id. Where the interval is missing, a text says why.
TEST(DevicesCsv, ColumnsHaveDistinctNames) {
  const auto header = [](const DevicesReport& report) {
    return read::Lines(
        read::RenderToString(RenderDocumentCsv, show::MakeDeviceComparisonDocument(report), "latency"))[0];
  };
  EXPECT_EQ(header(example::MakeDevices()),
            "section,experiment,device,median,median_unit,median_low,median_high,median_note,against,speedup,"
            "speedup_verdict,speedup_low,speedup_high,launches");
  EXPECT_EQ(header(AssembleDevicesReport({example::MakeBareEtdumpReport()})),
            "section,experiment,device,median,median_unit,median_note,against,launches");
}

TEST(DevicesJson, OddRunsMakeValidJson) {
  std::vector<Report> runs;
  runs.push_back(Report{});
  runs.push_back(example::MakeBareEtdumpReport());
  const nlohmann::json json = RenderDevicesJsonValue(AssembleDevicesReport(std::move(runs)));
  EXPECT_EQ(json["models"].size(), 2u);
}

TEST(DevicesJson, ThreadsOfABareEtdumpAreNotKnown) {
  const DevicesReport report = AssembleDevicesReport({example::MakeBareEtdumpReport()});
  EXPECT_TRUE(RenderDevicesJsonValue(report)["models"][0]["experiments"][0]["threads"].is_null());
  EXPECT_THAT(RenderDevicesMarkdownText(report), Not(HasSubstr("thread")));
}

}  // namespace
}  // namespace etprof
