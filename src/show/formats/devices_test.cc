#include "report/devices.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "core/text/display_width.h"
#include "report/example_devices.h"
#include "show/formats.h"
#include "show/formats/json/json.h"
#include "show/subjects.h"

namespace etprof {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string MarkdownOf(const DevicesReport& report) {
  std::ostringstream out;
  RenderDocumentMarkdown(show::MakeDevicesDocument(report), 1, out);
  return out.str();
}
std::string TerminalOf(const DevicesReport& report, int width = 80) {
  std::ostringstream out;
  TerminalOptions options;
  options.width = width;
  options.report_path = "runs/devices_report.md";
  RenderDocumentTerminal(show::MakeDevicesDocument(report), options, out);
  return out.str();
}
nlohmann::json JsonOf(const DevicesReport& report) {
  std::ostringstream out;
  RenderDevicesJson(report, out);
  return nlohmann::json::parse(out.str());
}

std::string LineWith(const std::string& text, const std::string& words) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(words) != std::string::npos) return line;
  }
  return "";
}

TEST(DevicesMarkdown, HasTheKitsCombinedSections) {
  const std::string text = MarkdownOf(example::MakeDevices());
  for (const char* section :
       {"# net\\_xnnpack\\_fp32 on 3 devices", "## Devices", "## Latency across platforms",
        "## Speedup per platform", "## Categories per platform: on, 1 thread"})
    EXPECT_THAT(text, HasSubstr(section));
  EXPECT_THAT(LineWith(text, "CPU of ssh:board"),
              AllOf(HasSubstr("avx2 avx"), HasSubstr("performance"), HasSubstr("Debian, Linux 6.1")));
  EXPECT_THAT(LineWith(text, "on vs. off | local"), AllOf(HasSubstr("2.50x"), HasSubstr("faster")));
  EXPECT_THAT(text, HasSubstr("**local, on: 2.50x faster than off** 95"));
  EXPECT_THAT(text, HasSubstr("Speedups between devices are unpaired"));
  EXPECT_THAT(LineWith(text, "| on, 1 thread | ssh:board"), HasSubstr("| local | 0.67x | \\[0."));
}

TEST(DevicesMarkdown, EmulationIsStatedEverywhere) {
  const std::string text = MarkdownOf(example::MakeDevices());
  EXPECT_THAT(LineWith(text, "**adb:phone (emulated), on: "), HasSubstr("emulated"));
  EXPECT_THAT(LineWith(text, "CPU of adb:phone"), HasSubstr("adb:phone (emulated)"));
  EXPECT_THAT(LineWith(text, "on vs. off | adb:phone"),
              AllOf(HasSubstr("| emulated |"), Not(HasSubstr("x |"))));
  EXPECT_THAT(text, HasSubstr("- Where a CPU was emulated, timings are not meaningful"));
  EXPECT_THAT(LineWith(text, "| self time"), HasSubstr("adb:phone (emulated)"));
  EXPECT_THAT(LineWith(text, "| on, 1 thread | adb:phone"),
              AllOf(HasSubstr("| emulated |"), Not(HasSubstr("x |"))));
}

TEST(DevicesMarkdown, RunsOfOneDeviceAreCalledRuns) {
  const DevicesReport one =
      AssembleDevices({example::MakePairOn("local", 1), example::MakePairOn("local", 2)});
  const std::string text = MarkdownOf(one);
  EXPECT_THAT(text, HasSubstr("# net\\_xnnpack\\_fp32: 2 runs of one device\n"));
  EXPECT_THAT(text, AllOf(HasSubstr("Speedups between runs are unpaired"), Not(HasSubstr("2 devices"))));
  EXPECT_THAT(TerminalOf(one), HasSubstr(": 2 runs of one device\n"));
  std::vector<Report> three = {example::MakePairOn("a", 1), example::MakePairOn("b", 1),
                               example::MakePairOn("b", 1)};
  for (Report& run : three) run.run.method = "decode";
  const DevicesReport two = AssembleDevices(std::move(three));
  EXPECT_THAT(MarkdownOf(two), HasSubstr("# net\\_xnnpack\\_fp32, method decode: 3 runs of 2 devices\n"));
  EXPECT_EQ(JsonOf(two)["models"][0]["method"], "decode");
  EXPECT_EQ(JsonOf(two)["devices"][1]["method"], "decode");
}

TEST(DevicesMarkdown, GroupsAddUpToTheWholeAsPrinted) {
  const show::Document document = show::MakeDevicesDocument(example::MakeDevices());
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
  std::vector<Report> runs = {example::MakePairOn("a|b<script>", 1), example::MakePairOn("c", 1)};
  runs[0].experiments[0].label = "x|y";
  const std::string text = MarkdownOf(AssembleDevices(std::move(runs)));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("<script>")), Not(HasSubstr("a|b")), Not(HasSubstr("x|y"))));
}

TEST(DevicesMarkdown, EveryModelHasItsSections) {
  std::vector<Report> runs = {example::MakePairOn("a", 1), example::MakePairOn("b", 1)};
  runs[1].model_id = "other";
  runs[1].run.model_sha256 = "c";
  const std::string text = MarkdownOf(AssembleDevices(std::move(runs)));
  EXPECT_THAT(text, AllOf(HasSubstr("\n## net\\_xnnpack\\_fp32: Latency across platforms\n"),
                          HasSubstr("\n## other: Latency across platforms\n")));
  EXPECT_THAT(text, Not(HasSubstr("unpaired")));  // nothing is compared
}

TEST(DevicesTerminal, ShowsEachDeviceThenAllSideBySide) {
  const std::string text = TerminalOf(example::MakeDevices());
  EXPECT_THAT(text, AllOf(HasSubstr("3 devices"), HasSubstr("2.50x faster than off"),
                          HasSubstr("adb:phone (emulated)"), HasSubstr("not meaningful"),
                          HasSubstr("runs/devices_report.md")));
  EXPECT_THAT(text, testing::ContainsRegex("on, 1 thread +ssh:board .* 0.67x"));
  EXPECT_THAT(LineWith(text, "Convolution"), HasSubstr("%"));
  EXPECT_LT(text.find("2.50x faster"), text.find("  median"));
}

TEST(DevicesTerminal, KeepsToTheWidth) {
  for (const int width : {60, 80, 120}) {
    std::istringstream lines(TerminalOf(example::MakeDevices(), width));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), width) << line;
  }
}

TEST(DevicesTerminal, ControlCharactersInNamesAreRemoved) {
  std::vector<Report> runs = {example::MakePairOn("a\x1b[2J", 1), example::MakePairOn("b", 1)};
  runs[0].experiments[0].label = "x\x1b[2J";
  runs[0].warnings.push_back("\x07");
  const std::string text = TerminalOf(AssembleDevices(std::move(runs)));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\x07"))));
}

TEST(DevicesJson, MatchesTheReport) {
  const nlohmann::json json = JsonOf(example::MakeDevices());
  EXPECT_EQ(json["devices"].size(), 3u);
  EXPECT_EQ(json["devices"][1]["governor"], "performance");
  EXPECT_EQ(json["devices"][2]["emulated"], true);
  const nlohmann::json& on = json["models"][0]["experiments"][1];
  EXPECT_EQ(on["label"], "on");
  EXPECT_TRUE(on["devices"][0]["against_first"].is_null());
  const nlohmann::json& against = on["devices"][1]["against_first"];
  EXPECT_EQ(against["device"], "local");
  EXPECT_EQ(against["paired"], false);
  EXPECT_EQ(against["verdict"], "slower");
  EXPECT_LT(against["ratio_low"].get<double>(), against["ratio"].get<double>());
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

TEST(DevicesJson, OddRunsMakeValidJson) {
  std::vector<Report> runs;
  runs.push_back(Report{});
  runs.push_back(example::MakeBare());
  const nlohmann::json json = JsonOf(AssembleDevices(std::move(runs)));
  EXPECT_EQ(json["models"].size(), 2u);
}

}  // namespace
}  // namespace etprof
