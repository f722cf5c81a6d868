#include "format/xnnpack/kernel_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/file/file.h"

namespace etprof::xnnpack {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kUsing =
    "Using igemm microkernel 'xnn_f32_igemm_minmax_ukernel_7x32__avx512f_broadcast'. (init_f32_igemm_config, "
    "/src/XNNPACK/src/configs/gemm-config.c:1469)";

std::string ReadRealLog() { return ReadTextFile(ETPROF_TEST_DATA "/toy_cnn.t1.log"); }

TEST(ParseKernelLog, ReadsAWholeRealLog) {
  const KernelLog log = ParseKernelLog(ReadRealLog());
  EXPECT_EQ(log.lines, 666U);
  EXPECT_EQ(log.xnnpack_lines, 631U);
  EXPECT_EQ(log.truncated_lines, 0U);
  ASSERT_THAT(log.graphs, SizeIs(1));
  EXPECT_EQ(log.graphs[0].calls, 20U);
  ASSERT_THAT(log.graphs[0].operators, SizeIs(11));
  const LoggedOperator& convolution = log.graphs[0].operators[1];
  EXPECT_EQ(convolution.name, "Convolution (NHWC, F32) IGEMM");
  EXPECT_EQ(convolution.tile, (Tile{12544, 32, 7, 32}));
  EXPECT_TRUE(log.graphs[0].operators[6].skipped);
  EXPECT_FALSE(log.graphs[0].operators[0].tile);
  std::size_t lines = 0;
  for (const Registration& registration : log.registrations) lines += registration.count;
  EXPECT_EQ(lines, 47U);
  EXPECT_EQ(log.registrations[0].role, "copy");
  EXPECT_EQ(log.registrations[0].config, "init_transpose_config");
  EXPECT_EQ(log.registrations[0].file, "transpose-config.c");
  EXPECT_EQ(log.registrations[0].line, 90);
}

class Prefixes : public testing::TestWithParam<const char*> {};

TEST_P(Prefixes, AreRecognized) {
  const KernelLog log =
      ParseKernelLog(std::string("something else\n") + GetParam() + kUsing + "\nI/Other ( 1): x\n");
  ASSERT_THAT(log.registrations, SizeIs(1)) << GetParam();
  EXPECT_EQ(log.registrations[0].kernel, "xnn_f32_igemm_minmax_ukernel_7x32__avx512f_broadcast");
  EXPECT_EQ(log.registrations[0].line, 1469);
  EXPECT_EQ(log.xnnpack_lines, 1U);
  EXPECT_TRUE(IsTraceEnabled(std::string(GetParam()) + kUsing));
}

INSTANTIATE_TEST_SUITE_P(
    All, Prefixes,
    testing::Values("Note (XNNPACK): ", "Debug (XNNPACK): ", "I 00:00:00.1 x Note (XNNPACK): ",
                    "I/XNNPACK ( 1234): ", "D/XNNPACK(31234): ", "I/XNNPACK: ",
                    "11-21 20:40:43.863 I/XNNPACK ( 1234): ", "11-21 20:40:43.863  1234  1240 I XNNPACK : ",
                    "2026-11-21 20:40:43.863  1234  1240 D XNNPACK : "));

TEST(ParseKernelLog, ReadsTheProcessFormat) {
  const KernelLog log = ParseKernelLog(std::string("I( 1234) ") + kUsing + "  (XNNPACK)\n");
  ASSERT_THAT(log.registrations, SizeIs(1));
}

TEST(ParseKernelLog, AcceptsEveryLineEnd) {
  const std::string line = std::string("Note (XNNPACK): ") + kUsing;
  for (const char* end : {"\n", "\r\n", "\r"}) {
    const KernelLog log = ParseKernelLog(line + end + "x" + end + line + end);
    EXPECT_EQ(log.lines, 3U);
    ASSERT_THAT(log.registrations, SizeIs(1));
    EXPECT_EQ(log.registrations[0].count, 2U);
  }
}

TEST(ParseKernelLog, IgnoresSimilarLines) {
  const KernelLog log = ParseKernelLog(
      "cc /src/third-party/XNNPACK/src/x.c: Using igemm microkernel 'a'\n"
      "Using igemm microkernel 'b'\n"
      "Something (XNNPACK): Using igemm microkernel 'c'\n"
      "I/XNNPACK ( 12: Using igemm microkernel 'd'\n"
      "Debug (XNNPACK): Using `nr2` GEMM config for Fully Connected (NC, F32) op.\n");
  EXPECT_THAT(log.registrations, IsEmpty());
  EXPECT_EQ(log.xnnpack_lines, 1U);
}

TEST(ParseKernelLog, ReadsInterruptedLines) {
  // A block of stdout ended within a line, and a line of stderr was inserted.
  const KernelLog log =
      ParseKernelLog(std::string("Debug (XNNPACK): reshaping operator 1 (ConvoluNote (XNNPACK): ") + kUsing +
                     "\ntion (NHWC, F32)) (x, y.c:1)\n");
  ASSERT_THAT(log.registrations, SizeIs(1));
  EXPECT_EQ(log.truncated_lines, 1U);
}

// A truncated log yields a part of the whole log's contents, and nothing else.
TEST(ParseKernelLog, ReadsTruncatedLogs) {
  std::string text = ReadRealLog();
  text.resize(std::min<std::size_t>(text.size(), text.find("Iteration 2 of")));
  const KernelLog whole = ParseKernelLog(text);
  for (std::size_t end = 0; end < text.size(); end += 7) {
    const KernelLog log = ParseKernelLog(std::string_view(text).substr(0, end));
    for (const Registration& registration : log.registrations) {
      ASSERT_TRUE(std::any_of(whole.registrations.begin(), whole.registrations.end(),
                              [&](const Registration& r) { return r.kernel == registration.kernel; }))
          << registration.kernel;
    }
    for (const LoggedGraph& graph : log.graphs) {
      ASSERT_LE(graph.operators.size(), whole.graphs[0].operators.size());
      for (std::size_t i = 0; i < graph.operators.size(); ++i)
        ASSERT_EQ(graph.operators[i], whole.graphs[0].operators[i]);
    }
  }
}

constexpr const char* kTableHeader =
    "Debug (XNNPACK): Running unary subgraph to make LUT (run_subgraph_to_make_lut, /src/subgraph.c:1835)\n";

TEST(ParseKernelLog, IgnoresGraphsThatFillTables) {
  const std::string table =
      "Debug (XNNPACK): reshaping operator 0 (Convert (NC)) (xnn_reshape_runtime, /src/runtime.c:887)\n"
      "Debug (XNNPACK): running operator 0:0 (Convert (NC) Default) (x, /src/operator-run.c:2001)\n"
      "Debug (XNNPACK): running operator 1:0 (Sigmoid (NC) Default) (x, /src/operator-run.c:2001)\n";
  const std::string real = ReadRealLog();
  const KernelLog log = ParseKernelLog(kTableHeader + table + kTableHeader + table + real);
  ASSERT_THAT(log.graphs, SizeIs(1));
  EXPECT_EQ(log.graphs[0].calls, 20U);
  EXPECT_EQ(log.graphs[0].operators, ParseKernelLog(real).graphs[0].operators);
  // If creating a table's graph failed, the graph does not run, so the next run is the model's.
  ASSERT_THAT(ParseKernelLog(kTableHeader + real).graphs, SizeIs(1));
  EXPECT_EQ(ParseKernelLog(kTableHeader + real).graphs[0].calls, 20U);
  // A graph of the same operators that fills no table belongs to the model.
  EXPECT_THAT(ParseKernelLog(table + kTableHeader + table).graphs, SizeIs(1));
}

std::string Reshape(int index, const char* type) {
  return "Debug (XNNPACK): reshaping operator " + std::to_string(index) + " (" + type +
         ") (f, a/runtime.c:1)\n";
}
std::string TileLine(int m, int n, int mr, int nr) {
  return "Debug (XNNPACK): Tile size for GEMM with num_groups=1, m=" + std::to_string(m) +
         ", n=" + std::to_string(n) + " and mr=" + std::to_string(mr) + ", nr=" + std::to_string(nr) +
         " set to [7, 32] (1 tiles) (f, a/b.c:1)\n";
}
std::string RunLine(int index, const char* name) {
  return "Debug (XNNPACK): running operator " + std::to_string(index) + ":0 (" + name + ") (f, a/run.c:1)\n";
}
constexpr const char* kFc = "Fully Connected (NC, F32)";
constexpr const char* kFcGemm = "Fully Connected (NC, F32) GEMM";

TEST(ParseKernelLog, DistinguishesAlternatingGraphs) {
  std::string text;
  for (int run = 0; run < 3; ++run) {
    text += Reshape(0, kFc) + TileLine(64, 64, 7, 32) + RunLine(0, kFcGemm);
    text += Reshape(0, kFc) + TileLine(32, 96, 7, 32) + Reshape(1, "Softmax (NC, F32)") +
            RunLine(0, kFcGemm) + RunLine(1, "Softmax (NC, F32) Default");
  }
  const KernelLog log = ParseKernelLog(text);
  ASSERT_THAT(log.graphs, SizeIs(2));
  EXPECT_THAT(log.graphs, ElementsAre(Field(&LoggedGraph::calls, 3U), Field(&LoggedGraph::calls, 3U)));
  EXPECT_EQ(log.graphs[0].operators[0].tile, (Tile{64, 64, 7, 32}));
  EXPECT_EQ(log.graphs[1].operators[0].tile, (Tile{32, 96, 7, 32}));
}

TEST(ParseKernelLog, ARunWithAnAmbiguousReshapeHasNoTile) {
  // Two runtimes are reshaped before either runs, so the log does not tell to which of them a run belongs.
  const std::string two_reshapes =
      Reshape(0, kFc) + TileLine(64, 64, 7, 32) + Reshape(0, kFc) + TileLine(8, 96, 7, 32);
  const KernelLog log = ParseKernelLog(two_reshapes + RunLine(0, kFcGemm) + RunLine(0, kFcGemm));
  for (const LoggedGraph& graph : log.graphs) EXPECT_FALSE(graph.operators[0].tile);
  // The second run has no reshape.
  const KernelLog two_runs =
      ParseKernelLog(Reshape(0, kFc) + TileLine(64, 64, 7, 32) + RunLine(0, kFcGemm) + RunLine(0, kFcGemm));
  ASSERT_THAT(two_runs.graphs, SizeIs(2));
  EXPECT_TRUE(two_runs.graphs[0].operators[0].tile);
  EXPECT_FALSE(two_runs.graphs[1].operators[0].tile);
}

TEST(ParseKernelLog, ATileThatMayBelongToAMissingOperatorIsIgnored) {
  // The line of operator 1 is missing or truncated, so the tile after operator 0 may belong to operator 1.
  for (const std::string& missing :
       {std::string(), std::string("Debug (XNNPACK): reshaping operator 1 (Fully Con\n")}) {
    const KernelLog log =
        ParseKernelLog(Reshape(0, kFc) + missing + TileLine(64, 64, 7, 32) + Reshape(2, kFc) +
                       TileLine(8, 96, 7, 32) + RunLine(0, kFcGemm) + RunLine(2, kFcGemm));
    ASSERT_THAT(log.graphs, SizeIs(1));
    EXPECT_FALSE(log.graphs[0].operators[0].tile);
    EXPECT_TRUE(log.graphs[0].operators[1].tile);
  }
  // Two tiles for one operator are ambiguous.
  const KernelLog log = ParseKernelLog(Reshape(0, kFc) + TileLine(64, 64, 7, 32) + TileLine(8, 96, 7, 32) +
                                       RunLine(0, kFcGemm));
  EXPECT_FALSE(log.graphs[0].operators[0].tile);
}

TEST(ParseKernelLog, AnOperatorOfAnotherTypeThanReshapedHasNoTile) {
  const KernelLog log =
      ParseKernelLog(Reshape(0, "Convolution (NHWC, F32)") + TileLine(64, 64, 7, 32) + RunLine(0, kFcGemm));
  EXPECT_FALSE(log.graphs[0].operators[0].tile);
}

TEST(IsTraceEnabled, RequiresLinesOfLevel4Or5) {
  EXPECT_TRUE(IsTraceEnabled(ReadRealLog()));
  EXPECT_TRUE(IsTraceEnabled("x\nNote (XNNPACK): l1_data_cache_bytes=32768\n"));
  EXPECT_FALSE(IsTraceEnabled(""));
  EXPECT_FALSE(IsTraceEnabled("I 00:00:00.1 executorch:x.cpp:1] Iteration 1 of 2: 2.0 ms\n"));
  EXPECT_FALSE(
      IsTraceEnabled("Error (XNNPACK): failed to create\nWarning (XNNPACK): x\nE/XNNPACK ( 1): y\n"));
}

}  // namespace
}  // namespace etprof::xnnpack
