#include "checkout/build_log.h"

#include <gtest/gtest.h>

namespace etprof {
namespace {

TEST(IsDownloadFailure, KnowsWhatCMakeAndGitSay) {
  EXPECT_TRUE(IsDownloadFailure("fatal: unable to access 'https://a/b/': Could not resolve host: a"));
  EXPECT_TRUE(IsDownloadFailure(
      "CMake Error at kleidiai-subbuild/x.cmake:39 (message):\n  Failed to clone repository:"));
  EXPECT_TRUE(IsDownloadFailure("error: downloading 'https://a/b.zip' failed\n  status_code: 28"));
  EXPECT_TRUE(IsDownloadFailure("  Each download failed!\n"));
  EXPECT_TRUE(IsDownloadFailure("error: RPC failed; curl 92 HTTP/2 stream 5 was not closed cleanly"));
}

TEST(IsDownloadFailure, IsNotEveryFailure) {
  EXPECT_FALSE(IsDownloadFailure(""));
  EXPECT_FALSE(IsDownloadFailure("a.cc:1:2: error: expected ';'\nninja: build stopped: subcommand failed."));
  EXPECT_FALSE(
      IsDownloadFailure("-- Downloading KleidiAI\n-- Cloning into 'kleidiai'\nCMake Error: no toolchain"));
}

TEST(LastLines, AreAtMostThatMany) {
  EXPECT_EQ(LastLines("a\nb\nc\n\n", 2), "b\nc");
  EXPECT_EQ(LastLines("a\nb", 5), "a\nb");
  EXPECT_EQ(LastLines("\na\nb", 2), "a\nb");
  EXPECT_EQ(LastLines("", 5), "");
  EXPECT_EQ(LastLines("\n\n", 5), "");
}

TEST(ParseNinjaProgress, ReadsItsDefaultStatus) {
  const std::optional<NinjaProgress> progress = ParseNinjaProgress("[12/345] Building CXX object a.o");
  ASSERT_TRUE(progress);
  EXPECT_EQ(progress->done, 12);
  EXPECT_EQ(progress->total, 345);
  for (const char* other :
       {"", "[", "[12", "[12/", "[12/3", "[a/3] x", "12/3", "[12 3]", "[99999999999/1] x"}) {
    EXPECT_FALSE(ParseNinjaProgress(other)) << other;
  }
}

}  // namespace
}  // namespace etprof
