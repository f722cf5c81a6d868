#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file/file.h"
#include "measure/participants/participants.h"

namespace etprof {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

std::string ReadExampleLog() { return ReadTextFile(ETPROF_TEST_DATA "/toy_cnn.t1.log"); }

// stderr arrives in pieces of any length.
TEST(ThirdPartyLog, ParsesARealLogInPieces) {
  const std::string text = ReadExampleLog();
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, text.size()}) {
    ThirdPartyLog log;
    LineSplitter lines([&log](std::string_view line) { log.AddLine(line); });
    for (std::size_t at = 0; at < text.size(); at += piece)
      lines.Add(std::string_view(text).substr(at, piece));
    lines.End();
    ASSERT_THAT(log.iterations, SizeIs(20)) << piece;
    EXPECT_EQ(log.iterations.front(), 4'466'414);
    EXPECT_EQ(log.iterations.back(), 2'335'349);
    EXPECT_FALSE(log.nan_in_output);
  }
}

TEST(LineSplitter, PassesOnTheLastLineAtTheEnd) {
  std::vector<std::string> lines;
  LineSplitter splitter([&lines](std::string_view line) { lines.emplace_back(line); });
  splitter.Add("a\n\nb");
  EXPECT_THAT(lines, ElementsAre("a", ""));
  splitter.End();
  splitter.End();
  EXPECT_THAT(lines, ElementsAre("a", "", "b"));
}

}  // namespace
}  // namespace etprof
