#include "show/formats/screen/terminal_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace etprof {
namespace {

using testing::ElementsAre;

TEST(TerminalText, AsciiKeepsTheColumns) {
  const std::string drawn = "█▉▊▋▌▍▎▏▁▂▃▄▅▆▇─┬┴│└▲•·—…≈µ−";
  EXPECT_EQ(ToAscii(drawn).size(), 28U);
  EXPECT_EQ(ToAscii("known to ±1 µs: 1 → ∞"), "known to +-1 us: 1 -> inf");
  EXPECT_EQ(ToAscii("模型 é \xff"), "???? ? ?");
  EXPECT_EQ(ToAscii("\033[1mplain\033[0m"), "\033[1mplain\033[0m");
}

TEST(TerminalText, ANumberStaysWithItsUnit) {
  std::ostringstream out;
  WriteWrapped("", "takes 0.64 ms. It is 52% of IGEMM #2, 3 of 40, [1, 2] ms", 0, 10, out);
  EXPECT_EQ(out.str(), "takes\n0.64 ms.\nIt is 52%\nof\nIGEMM #2,\n3 of 40,\n[1, 2] ms\n");
}

TEST(TerminalText, BreaksHashesButNotPaths) {
  std::ostringstream out;
  WriteWrapped("", "ab 0123456789abcdef /a/long/path cd", 0, 10, out);
  EXPECT_EQ(out.str(), "ab\n0123456789\nabcdef\n/a/long/path\ncd\n");
}

TEST(TerminalText, TruncatesTheBeginningAtACodePoint) {
  EXPECT_EQ(TruncateBeginning("abc", 3), "abc");
  EXPECT_EQ(TruncateBeginning(std::string(1'000'000, 'a') + "bc", 3),
            "…bc");  // truncation takes a single pass over a long name from a file
  EXPECT_EQ(TruncateBeginning("abcd", 3), "…cd");
  EXPECT_EQ(TruncateBeginning("aäöü", 3), "…öü");
}

// The common beginning and end of names is dropped first, then the middle; short names stay unchanged.
TEST(TerminalText, ShortenedNamesStayDistinct) {
  EXPECT_THAT(ShortenNames({"tv_resnet18_xnnpack_fp32", "off", "tv_resnet18_xnnpack_int8"}, 14),
              ElementsAre("…fp32", "off", "…int8"));
  EXPECT_THAT(ShortenNames({"net/with_long_name/float", "other/with_long_name/float"}, 14),
              ElementsAre("net…", "other…"));
  EXPECT_THAT(ShortenNames({"model_resnet18_x_fp32_t1", "model_mobilenet_fp32_t1"}, 14),
              ElementsAre("…resnet18_x…", "…mobilenet…"));
  EXPECT_THAT(ShortenNames({"abcdefghijklmnop"}, 9), ElementsAre("abcd…mnop"));
  EXPECT_THAT(ShortenNames({"äöüäöüäöü"}, 5), ElementsAre("äö…öü"));
  EXPECT_THAT(ShortenNames({"a_same_long_name", "a_same_long_name"}, 10), ElementsAre("…name", "…name"));
}

}  // namespace
}  // namespace etprof
