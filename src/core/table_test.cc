#include "core/table.h"

#include <gtest/gtest.h>

namespace etprof {
namespace {

Table ExampleTable() {
  Table table{{{"name", Table::Align::kLeft}, {"time", Table::Align::kRight}}, {}};
  table.AddRow({"größe", "7.92 ms"});
  table.AddRow({"日本", "51 ns"});
  return table;
}

TEST(Table, AlignsByDisplayWidthNotBytes) {
  EXPECT_EQ(ExampleTable().ToText(2),
            "  name      time\n"
            "  größe  7.92 ms\n"
            "  日本     51 ns\n");
}

TEST(Table, MarkdownEscapesWhatWouldBreakATable) {
  Table table{{{"a", Table::Align::kLeft}, {"b", Table::Align::kRight}}, {}};
  table.AddRow({"x|y<script>\n`z`", "1"});
  EXPECT_EQ(table.ToMarkdown(), "| a | b |\n| --- | ---: |\n| x\\|y&lt;script&gt; \\`z\\` | 1 |\n");
}

TEST(DisplayWidth, CountsInvalidBytesAsOne) {
  EXPECT_EQ(DisplayWidth("a\xff\xc3"), 3);
  EXPECT_EQ(DisplayWidth(""), 0);
}

}  // namespace
}  // namespace etprof
