#include "build/checkout/build_log.h"

#include <gtest/gtest.h>

#include "core/golden_testing.h"

namespace etprof {
namespace {

TEST(IsDownloadFailure, RecognizesMessagesOfCMakeAndGit) {
  EXPECT_TRUE(IsDownloadFailure("fatal: unable to access 'https://a/b/': Could not resolve host: a"));
  EXPECT_TRUE(IsDownloadFailure(
      "CMake Error at kleidiai-subbuild/x.cmake:39 (message):\n  Failed to clone repository:"));
  EXPECT_TRUE(IsDownloadFailure("error: downloading 'https://a/b.zip' failed\n  status_code: 28"));
  EXPECT_TRUE(IsDownloadFailure("  Each download failed!\n"));
  EXPECT_TRUE(IsDownloadFailure("error: RPC failed; curl 92 HTTP/2 stream 5 was not closed cleanly"));
}

TEST(IsDownloadFailure, IgnoresOtherFailures) {
  EXPECT_FALSE(IsDownloadFailure(""));
  EXPECT_FALSE(IsDownloadFailure("a.cc:1:2: error: expected ';'\nninja: build stopped: subcommand failed."));
  EXPECT_FALSE(
      IsDownloadFailure("-- Downloading KleidiAI\n-- Cloning into 'kleidiai'\nCMake Error: no toolchain"));
}

TEST(LastLines, ReturnsAtMostCountLines) {
  EXPECT_EQ(LastLines("a\nb\nc\n\n", 2), "b\nc");
  EXPECT_EQ(LastLines("a\nb", 5), "a\nb");
  EXPECT_EQ(LastLines("\na\nb", 2), "a\nb");
  EXPECT_EQ(LastLines("", 5), "");
  EXPECT_EQ(LastLines("\n\n", 5), "");
}

// The log of ExecuTorch's configure step after a failed download of KleidiAI; it ends with a table of
// options.
constexpr const char* kFailedConfigure =
    "$ cmake -S /executorch --preset native\n"
    "CMake Error: an earlier attempt\n"
    "etprof: exited with 1\n"
    "$ cmake -S /executorch --preset native --fresh\n"
    "-- Downloading KleidiAI to /out/kleidiai-source (define KLEIDIAI_SOURCE_DIR to avoid it)\n"
    "CMake Error at kleidiai-stamp/download-kleidiai.cmake:170 (message):\n"
    "  Each download failed!\n"
    "\n"
    "    error: downloading 'https://gitlab.arm.com/kleidi/kleidiai.zip' failed\n"
    "          status_code: 6\n"
    "\n"
    "\n"
    "gmake: *** [CMakeFiles/kleidiai.dir/build.make:100: kleidiai] Error 1\n"
    "CMake Error at backends/xnnpack/third-party/XNNPACK/CMakeLists.txt:1137 (ADD_SUBDIRECTORY):\n"
    "  The source directory\n"
    "\n"
    "    /out/kleidiai-source\n"
    "\n"
    "  does not contain a CMakeLists.txt file.\n"
    "Call Stack (most recent call first):\n"
    "  CMakeLists.txt:600 (add_subdirectory)\n"
    "\n"
    "\n"
    "-- ======= ExecuTorch Build Options =======\n"
    "-- EXECUTORCH_BUILD_XNNPACK : ON\n"
    "-- Configuring incomplete, errors occurred!\n"
    "etprof: exited with 1\n";

TEST(ExtractFailure, ReturnsCMakesErrorsOfTheLastCommand) {
  ExpectGolden("build/failed_configure", ExtractFailure(kFailedConfigure, 30) + "\n");
  EXPECT_TRUE(IsDownloadFailure(kFailedConfigure));
  // Keeps the first lines if there is no room for all.
  EXPECT_EQ(ExtractFailure(kFailedConfigure, 2),
            "CMake Error at kleidiai-stamp/download-kleidiai.cmake:170 (message):\n  Each download failed!");
}

TEST(ExtractFailure, ReturnsTheLastLinesOfOtherFailures) {
  EXPECT_EQ(ExtractFailure("$ cmake --build out\n[1/2] a.cc\na.cc:1: error: x\nninja: stopped\n", 2),
            "a.cc:1: error: x\nninja: stopped");
  EXPECT_EQ(ExtractFailure("", 2), "");
}

TEST(ParseNinjaProgress, ParsesNinjasDefaultStatus) {
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
