#include "show/formats/screen/screen_table.h"

#include <gtest/gtest.h>

#include <sstream>

#include "core/text/escape.h"

namespace etprof {
namespace {

struct TestColumn {
  std::string title;
  bool right = false;
  int drop_priority = 0;
  bool never_dropped = false;
};

ScreenTable MakeTable(const std::vector<TestColumn>& columns,
                      const std::vector<std::vector<std::string>>& rows) {
  ScreenTable table;
  for (const auto& [title, right, drop_priority, never_dropped] : columns) {
    show::Table::Column& column = table.columns.emplace_back();
    column.title = title;
    column.align_right = right;
    column.drop_priority = drop_priority;
    column.never_dropped = never_dropped;
  }
  table.columns.front().truncation = show::Table::Truncation::kKeepNameEnds;
  for (const std::vector<std::string>& row : rows)
    table.rows.emplace_back(std::vector<show::Cell>(row.begin(), row.end()));
  return table;
}

ScreenTable MakeExampleScreenTable() {
  return MakeTable({{"name"}, {"layer", false, 2}, {"time", true}, {"interval", false, 1}},
                   {{{"Convolution (NHWC, F32) IGEMM #12"}, {"features"}, {"1.0 ms"}, {"[1, 2]"}},
                    {{"Add"}, {""}, {"12.0 ms"}, {""}}});
}

std::string DrawAtWidth(const ScreenTable& table, int width, bool colors = false, bool all = false) {
  TerminalOptions options;
  options.all = all;
  options.width = width;
  options.colors = colors;
  std::ostringstream out;
  table.Draw(options, out);
  return out.str();
}

TEST(ScreenTable, IsAlignedAndHasNoTrailingBlanks) {
  EXPECT_EQ(DrawAtWidth(MakeExampleScreenTable(), 80),
            "  name                               layer        time  interval\n"
            "  Convolution (NHWC, F32) IGEMM #12  features   1.0 ms  [1, 2]\n"
            "  Add                                          12.0 ms\n");
}

TEST(ScreenTable, DropsColumnsByPriorityAfterTruncatingNames) {
  // Names are truncated first, down to sixteen columns.
  EXPECT_EQ(DrawAtWidth(MakeExampleScreenTable(), 48),
            "  name               layer        time  interval\n"
            "  Convolution … #12  features   1.0 ms  [1, 2]\n"
            "  Add                          12.0 ms\n");
  EXPECT_EQ(DrawAtWidth(MakeExampleScreenTable(), 44),
            "  name                     layer        time\n"
            "  Convolution … IGEMM #12  features   1.0 ms\n"
            "  Add                                12.0 ms\n");
  EXPECT_EQ(DrawAtWidth(MakeExampleScreenTable(), 30),
            "  name                    time\n"
            "  Convolution (N… #12   1.0 ms\n"
            "  Add                  12.0 ms\n");
  // Columns that may not be dropped stay, however narrow the terminal is.
  EXPECT_EQ(DrawAtWidth(MakeExampleScreenTable(), 5).substr(0, 28), "  name                 time\n");
}

TEST(ScreenTable, AllShowsHiddenColumnsBelow) {
  const ScreenTable table = MakeTable({{"name"}, {"1 thread", true}, {"2 threads", true}, {"", true}},
                                      {{{"a"}, {"1.000"}, {"0.500"}, {"2.00x, 100%"}}});
  const std::string one_line = "  name  1 thread  2 threads\n  a        1.000      0.500  2.00x, 100%\n";
  EXPECT_EQ(DrawAtWidth(table, 60), one_line);
  EXPECT_EQ(DrawAtWidth(table, 38), "  name  1 thread\n  a        1.000\n");
  EXPECT_EQ(DrawAtWidth(table, 38, false, true),
            "  name  1 thread\n  a        1.000\n\n  name  2 threads\n  a         0.500  2.00x, 100%\n");
  // Columns with a drop priority also go into the further tables.
  const ScreenTable droppable =
      MakeTable({{"name"}, {"one", true, 1}, {"two", true}}, {{{"a"}, {"1"}, {"2"}}});
  EXPECT_EQ(DrawAtWidth(droppable, 12), "  name  two\n  a       2\n");
  EXPECT_EQ(DrawAtWidth(droppable, 12, false, true),
            "  name  one\n  a       1\n\n  name  two\n  a       2\n");
}

TEST(ScreenTable, DecidingColumnsAreNeverDropped) {
  const ScreenTable pairs =
      MakeTable({{"name"},
                 {"device"},
                 {"launches", true, 1},
                 {"speedup", true, 2, true},
                 {"95% CI"},
                 {"verdict", false, 0, true}},
                {{"a", "pixel-8-pro-of-the-lab", "10", "2.00x", "[1.90, 2.10]", "faster"},
                 {"b", "pixel-9-pro-of-the-lab", "10", "1.00x", "[0.99, 1.01]", "same"}});
  EXPECT_EQ(DrawAtWidth(pairs, 66),
            "  name  device                  speedup  95% CI        verdict\n"
            "  a     pixel-8-pro-of-the-lab    2.00x  [1.90, 2.10]  faster\n"
            "  b     pixel-9-pro-of-the-lab    1.00x  [0.99, 1.01]  same\n");
  EXPECT_EQ(DrawAtWidth(pairs, 40),
            "  name  device  speedup  verdict\n"
            "  a     …8…       2.00x  faster\n"
            "  b     …9…       1.00x  same\n");
  EXPECT_EQ(DrawAtWidth(pairs, 20),
            "  name  speedup\n"
            "  a       2.00x\n"
            "  b       1.00x\n"
            "\n"
            "  name  verdict\n"
            "  a     faster\n"
            "  b     same\n");
  // A speedup takes over the title of the time beside it.
  const ScreenTable matrix = MakeTable(
      {{"name"}, {"off", true}, {"on", true}, {"", true, 0, true}, {"more", true}, {"", true, 0, true}},
      {{"a", "3.000", "2.000", "1.50x", "1.000", "3.00x"}});
  EXPECT_EQ(DrawAtWidth(matrix, 34),
            "  name    off     on          more\n  a     3.000  2.000  1.50x  3.00x\n");
}

TEST(ScreenTable, BarIsAtTheEndOfTheRow) {
  ScreenTable table = MakeTable({{"name"}, {"time", true}, {"speedup", true}},
                                {{{"a"}, {"2.0"}, {""}}, {{"b"}, {"1.0"}, {"2.00x"}}});
  table.rows[0].cells[1].bar = 2;
  table.rows[1].cells[1].bar = 1;
  EXPECT_EQ(DrawAtWidth(table, 40),
            "  name  time  speedup\n"
            "  a      2.0           ████████████████\n"
            "  b      1.0    2.00x  ████████\n");
}

TEST(ScreenTable, KeepsTheEndOfNames) {
  ScreenTable table = MakeTable({{"line"}}, {{{"a_long_folder/mobilenet_v3.py:117"}}});
  table.columns.front().truncation = show::Table::Truncation::kKeepEnd;
  EXPECT_EQ(DrawAtWidth(table, 20), "  line\n  …bilenet_v3.py:117\n");
}

TEST(ScreenTable, ColorsTakeNoColumns) {
  ScreenTable table = MakeExampleScreenTable();
  table.rows[0].cells[2].tone = show::Tone::kGood;
  const std::string colored = DrawAtWidth(table, 80, true);
  EXPECT_NE(colored.find("   \033[32m1.0 ms\033[0m  [1, 2]\n"), std::string::npos);
  std::string plain = colored;
  for (const char* const code : {"\033[32m", "\033[2m", "\033[0m"}) {
    for (std::size_t at = plain.find(code); at != std::string::npos; at = plain.find(code))
      plain.erase(at, std::string(code).size());
  }
  EXPECT_EQ(plain, DrawAtWidth(table, 80));
}

}  // namespace
}  // namespace etprof
