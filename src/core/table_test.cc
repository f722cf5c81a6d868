#include "core/table.h"

#include <gtest/gtest.h>

namespace etprof {
namespace {

TEST(Table, MarkdownEscapesWhatWouldBreakATable) {
  Table table{{{"a", Table::Align::kLeft}, {"b", Table::Align::kRight}}, {}};
  table.AddRow({"x|y<script>\n`z`", "1"});
  EXPECT_EQ(table.ToMarkdown(), "| a | b |\n| --- | ---: |\n| x\\|y&lt;script&gt; \\`z\\` | 1 |\n");
}

TEST(DisplayWidth, IsThatOfLettersAndNotOfBytes) {
  EXPECT_EQ(DisplayWidth("größe"), 5);
  EXPECT_EQ(DisplayWidth("日本"), 4);
}

TEST(DisplayWidth, CountsInvalidBytesAsOne) {
  EXPECT_EQ(DisplayWidth("a\xff\xc3"), 3);
  EXPECT_EQ(DisplayWidth(""), 0);
}

}  // namespace
}  // namespace etprof
