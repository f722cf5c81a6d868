#include "show/formats/screen/plots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "core/golden_testing.h"
#include "core/text/escape.h"
#include "report/example_run.h"
#include "show/formats.h"
#include "show/formats/formats_testing.h"
#include "show/formats/screen/terminal_text.h"
#include "show/subjects/run/report.h"
#include "show/subjects/run/report_parts.h"

namespace etprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A report of experiments with these latencies, and one plot of them.
Report MakeReportWithLatencies(
    const std::vector<std::pair<std::string, std::vector<Nanoseconds>>>& experiments) {
  RunData run;
  for (const auto& [label, latencies] : experiments) {
    ExperimentData data;
    data.name = data.label = label;
    Launch launch;
    launch.bursts.emplace_back().recorded = latencies;
    data.launches.push_back(launch);
    run.experiments.push_back(std::move(data));
  }
  for (std::size_t i = 1; i < run.experiments.size(); ++i) run.pairs.push_back({0, i, "", "", "", {}});
  return Assemble(std::move(run), {});
}

std::string DrawLatencies(const Report& report, int width) {
  TerminalOptions options;
  options.width = width;
  std::ostringstream out;
  for (const show::Section& section : show::MakeReportDocument(report).sections) {
    for (const auto& part : section.parts) {
      if (const auto* distributions = std::get_if<show::Distributions>(&part))
        DrawDistributions(*distributions, options, out);
    }
  }
  return out.str();
}

std::vector<Nanoseconds> RepeatTimes(const std::vector<std::pair<Nanoseconds, int>>& counts) {
  std::vector<Nanoseconds> times;
  for (const auto& [time, count] : counts) times.insert(times.end(), static_cast<std::size_t>(count), time);
  return times;
}

// Ten bins of 1 ms from 1 to 11 ms, drawn five columns wide. "off" has 9, 10, and 11 ms at 1:4:2; "on" has
// only 1 and 2 ms.
Report MakeReportWithTwoVariants() {
  Report report =
      MakeReportWithLatencies({{"off", RepeatTimes({{9'000'000, 1}, {10'000'000, 4}, {11'000'000, 2}})},
                               {"on", RepeatTimes({{1'000'000, 2}, {2'000'000, 3}})}});
  stats::SharedHistogram& histogram = report.latency_plots.at(0).histogram;
  histogram = {1e6, 1e6, {{0, 0, 0, 0, 0, 0, 0, 0, 1, 6}, {2, 3, 0, 0, 0, 0, 0, 0, 0, 0}}, {0, 0}};
  histogram.above_axis[0] = 7;
  return report;
}

// Only the bins 0, 1, 118, and 119 of 120 have runs. 53 columns merge three bins each, so that only the first
// and the last column have runs: 40 columns of 75 µs from 1.0 to 4.0 ms.
Report MakeReportWithDistantBins() {
  Report report = MakeReportWithLatencies({{"one", {1'000'000, 4'000'000}}});
  stats::SharedHistogram& histogram = report.latency_plots.at(0).histogram;
  histogram = {1e6, 25'000, {std::vector<std::int64_t>(120, 0)}, {0}};
  for (const std::size_t bin : {0u, 1u, 118u, 119u}) histogram.counts[0][bin] = 5;
  return report;
}

// Both variants are on one axis, with the runs beyond it counted. At any width, every run on the axis is
// drawn once, in merged whole bins.
TEST(LatencyPlot, DrawsEveryRunOnOneAxis) {
  const Report single_time = MakeReportWithLatencies({{"one", {5'000'000, 5'000'000}}});
  ExpectGolden(
      "show/latency_plot",
      GoldenState("two variants, runs beyond the axis", DrawLatencies(MakeReportWithTwoVariants(), 66)) +
          GoldenState("merged bins", DrawLatencies(MakeReportWithDistantBins(), 60)) +
          GoldenState("a single time", DrawLatencies(single_time, 80)));
}

TEST(LatencyPlot, KeepsToTheWidth) {
  const Report pair = example::MakePairReport();
  for (const int width : {60, 80, 120}) read::ExpectWidth(DrawLatencies(pair, width), width);
}

TEST(LatencyPlot, DrawsRareRuns) {
  Report report = MakeReportWithLatencies({{"one", {1'000'000, 2'000'000}}});
  report.latency_plots.at(0).histogram = {1e6, 1e6, {{100'000, 1}}, {0}};
  EXPECT_THAT(DrawLatencies(report, 60), HasSubstr("▁"));
}

TEST(LatencyPlot, ManyVariantsTakeOneLineEach) {
  std::vector<std::pair<std::string, std::vector<Nanoseconds>>> experiments;
  for (int i = 0; i < 5; ++i)
    experiments.emplace_back("level " + std::to_string(i),
                             std::vector<Nanoseconds>{i * 1'000'000 + 1'000'000});
  const std::string drawn = DrawLatencies(MakeReportWithLatencies(experiments), 80);
  // Five plots with their medians, two lines of axis, two of legend.
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), '\n'), 5 * 2 + 2 + 2);
}

// --- Roofline ---------------------------------------------------------------------------------------------

RooflineRow MakeRooflineRow(std::int64_t macs, Bytes bytes, double ns) {
  RooflineRow row;
  row.macs = macs;
  row.bytes = bytes;
  row.time.ns = ns;
  row.dtype = row.ceiling_dtype = "fp32";
  return row;
}

// A machine with 100 GFLOP/s, 100 GB/s from L1, and 10 GB/s from DRAM.
Roofline MakeExampleRoofline(std::vector<RooflineRow> rows) {
  Roofline roofline;
  roofline.rows = std::move(rows);
  roofline.ceilings = {{RooflineCeiling::Kind::kCompute, "fp32", 50e9},
                       {RooflineCeiling::Kind::kMemory, "L1", 100e9},
                       {RooflineCeiling::Kind::kMemory, "far", 10e9}};
  return roofline;
}

show::Section MakeRooflineSection(const Roofline& roofline) {
  Report report = example::MakeBareEtdumpReport();
  report.experiments[0].roofline = roofline;
  return show::MakeRooflineSections(report).at(0);
}

struct Picture {
  std::vector<std::string> rows;  // cells of the plot, from the top
  std::vector<std::string> letters;
  std::string text;
};

// Splits the cells into one character each.
Picture Draw(const Roofline& roofline, std::size_t lettered_rows, int width = 80) {
  TerminalOptions options;
  options.width = width;
  std::ostringstream out;
  Picture picture;
  auto chart = std::get<show::RooflineChart>(MakeRooflineSection(roofline).parts.at(1));
  chart.lettered_rows = lettered_rows;
  picture.letters = DrawRooflineChart(chart, options, out);
  picture.text = out.str();
  for (const std::string& line : read::Lines(ToAscii(picture.text))) {
    const bool is_row =
        line.size() > 8 &&
        (line[8] == '|' || (line[8] == '+' && line.find("--+") > 20 && line[7] == ' ' && line[6] != ' '));
    if (is_row) picture.rows.push_back(line.substr(9));
  }
  return picture;
}

// The column, and the row from the bottom, of a mark that occurs once.
std::pair<int, int> FindMark(const Picture& picture, char mark) {
  std::vector<std::pair<int, int>> found;
  for (std::size_t row = 0; row < picture.rows.size(); ++row) {
    for (std::size_t column = 0; column < picture.rows[row].size(); ++column) {
      if (picture.rows[row][column] == mark)
        found.emplace_back(static_cast<int>(column), static_cast<int>(picture.rows.size() - row));
    }
  }
  EXPECT_EQ(found.size(), 1U) << mark << '\n' << picture.text;
  return found.empty() ? std::pair(0, 0) : found.front();
}

// A and B differ by a factor of 100 in intensity and of 100 in speed; C is in the logarithmic middle of both.
TEST(RooflinePlot, BothAxesAreLogarithmic) {
  const Picture picture = Draw(MakeExampleRoofline({MakeRooflineRow(50'000'000, 1'000'000, 1e6),
                                                    MakeRooflineRow(500'000, 1'000'000, 1e6),
                                                    MakeRooflineRow(5'000'000, 1'000'000, 1e6)}),
                               3);
  EXPECT_THAT(picture.letters, ElementsAre("A", "B", "C"));
  const auto a = FindMark(picture, 'A'), b = FindMark(picture, 'B'), c = FindMark(picture, 'C');
  EXPECT_GT(a.first, b.first + 20);
  EXPECT_GT(a.second, b.second + 6);
  EXPECT_NEAR(c.first, (a.first + b.first) / 2.0, 1);
  EXPECT_NEAR(c.second, (a.second + b.second) / 2.0, 1);
}

// 100 FLOPs per byte at 100 GFLOP/s; half a FLOP per byte at 5 GFLOP/s, which is 10 GB/s; and a tenth of
// that.
Picture DrawRowsAtTheirCeiling() {
  return Draw(MakeExampleRoofline({MakeRooflineRow(50'000'000, 1'000'000, 1e6),
                                   MakeRooflineRow(250'000, 1'000'000, 1e5),
                                   MakeRooflineRow(250'000, 1'000'000, 1e6)}),
              3);
}

// An operator that reaches its ceiling is on the line; an operator far from its ceiling is below.
TEST(RooflinePlot, OperatorsAtTheirCeilingLieOnIt) {
  const Picture picture = DrawRowsAtTheirCeiling();
  const auto compute = FindMark(picture, 'A'), memory = FindMark(picture, 'B'),
             below = FindMark(picture, 'C');
  const std::string& top = picture.rows[picture.rows.size() - static_cast<std::size_t>(compute.second)];
  EXPECT_THAT(top, HasSubstr("---A")) << picture.text;
  const std::string& line = picture.rows[picture.rows.size() - static_cast<std::size_t>(memory.second)];
  EXPECT_THAT(line, HasSubstr("B...")) << picture.text;
  EXPECT_EQ(below.first, memory.first);
  EXPECT_LT(below.second, memory.second);
}

// The first and the third row are in one place, and the second has no MACs.
Picture DrawRowsInOnePlace() {
  return Draw(MakeExampleRoofline(
                  {MakeRooflineRow(5'000'000, 1'000'000, 1e6), MakeRooflineRow(0, 1'000'000, 1e6),
                   MakeRooflineRow(5'000'000, 1'000'000, 1e6), MakeRooflineRow(500'000, 1'000'000, 1e6),
                   MakeRooflineRow(50'000'000, 1'000'000, 1e7)}),
              4);
}

TEST(RooflinePlot, PointsInOnePlaceShareALetterAndHiddenPointsHaveNone) {
  const Picture picture = DrawRowsInOnePlace();
  EXPECT_THAT(picture.letters, ElementsAre("A", "", "A", "B"));
  EXPECT_THAT(picture.text, HasSubstr("•"));  // the fifth point has no letter
}

TEST(RooflinePlot, FitsTheWidthAndAcceptsNoCeiling) {
  Roofline roofline = MakeExampleRoofline({MakeRooflineRow(5'000'000, 1'000'000, 1e6)});
  for (const int width : {60, 80, 120}) read::ExpectWidth(Draw(roofline, 1, width).text, width);
  roofline.ceilings.clear();
  EXPECT_THAT(Draw(roofline, 1).text, HasSubstr("A"));
  roofline.rows = {MakeRooflineRow(0, 10, 1)};
  EXPECT_EQ(Draw(roofline, 1).text, "");
}

// The picture has the names of the ceilings, ticks with units on both axes, and a note that counts the
// operators without MACs. It is above a table whose rows begin with the letters of its points. The short form
// counts the rows that it leaves out, and sums their potential saving.
TEST(RooflineTerminal, ChartIsAboveItsTable) {
  Roofline roofline = MakeExampleRoofline(
      {MakeRooflineRow(5'000'000, 1'000'000, 1e6), MakeRooflineRow(500'000, 1'000'000, 1e6)});
  for (int i = 0; i < 12; ++i) roofline.rows.push_back(MakeRooflineRow(1000, 4000, 1e5));
  show::Document document;
  document.sections = {MakeRooflineSection(roofline)};
  document.sections[0].visibility = show::Visibility::kDefault;
  const std::string short_form = read::RenderScreen(document),
                    long_form = read::RenderScreen(document, {.all = true, .report_path = ""});
  EXPECT_THAT(long_form, Not(HasSubstr("--all")));
  ExpectGolden("show/roofline_plot", GoldenState("operators at their roof", DrawRowsAtTheirCeiling().text) +
                                         GoldenState("operators in one place", DrawRowsInOnePlace().text) +
                                         GoldenState("short form of the section", short_form) +
                                         GoldenState("long form of the section (--all)", long_form));
}

}  // namespace
}  // namespace etprof
