#include "format/program/source/etrecord.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <minizip/zip.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>

#include "core/error.h"
#include "core/file/file.h"
#include "core/golden_testing.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

const std::string kEdge = R"J({"graph_module": {"graph": {"inputs": [], "nodes": [
  {"name": "image", "target": "placeholder", "metadata": {}},
  {"name": "aten_convolution_default", "target": "executorch.exir.dialects.edge.ops.aten.convolution.default",
   "inputs": [{"arg": {"as_tensor": {"name": "image"}}}],
   "metadata": {"debug_handle": "7", "from_node": "[]",
     "nn_module_stack": "L__self__,,model.Net;L__self__features,features,torch.nn.modules.conv.Conv2d",
     "stack_trace": "File \"model.py\", line 12, in forward\n    return self.features(x)\n  File \"x/site-packages/torch/nn/modules/conv.py\", line 565, in forward\n    return f()"}},
  {"name": "aten_relu_default", "target": "aten.relu.default", "metadata": {"debug_handle": "7"}}]}}})J";

// Writes a zip with these entries, packed at `level` (0: stored).
fs::path WriteZip(const std::vector<std::pair<std::string, std::string>>& entries, int level = 6) {
  static const struct Scratch {
    fs::path file = fs::temp_directory_path() / ("etprof_etrecord_" + std::to_string(getpid()) + ".etrecord");
    ~Scratch() { fs::remove(file); }
  } scratch;
  const fs::path& path = scratch.file;
  fs::remove(path);
  zipFile zip = zipOpen64(path.c_str(), 0);
  for (const auto& [name, text] : entries) {
    zipOpenNewFileInZip64(zip, name.c_str(), nullptr, nullptr, 0, nullptr, 0, nullptr,
                          level == 0 ? 0 : Z_DEFLATED, level, 0);
    zipWriteInFileInZip(zip, text.data(), static_cast<unsigned>(text.size()));
    zipCloseFileInZip(zip);
  }
  zipClose(zip, nullptr);
  return path;
}

std::string EtrecordProblem(const fs::path& path) {
  try {
    ReadEtrecord(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kBadInput);
    return ReplaceAll(error.Message(), path.string(), "a.etrecord");
  }
  return "";
}

const std::string kForward = "edge_dialect_exported_program/forward";

TEST(Etrecord, ReadsSourcesOfInstructions) {
  for (const int level : {0, 6}) {
    const SourceMap map =
        ReadEtrecord(WriteZip({{"debug_handle_map", R"({"forward": {"0": 7, "3": [7, 9]}})"},
                               {kForward, kEdge},
                               {kForward + "_state_dict", "\x80 no JSON"}},
                              level));
    ASSERT_EQ(map.methods.size(), 1U);
    const MethodSources& forward = map.methods.at("forward");
    EXPECT_THAT(forward.instructions.at(0), ElementsAre(7));
    EXPECT_THAT(forward.instructions.at(3), ElementsAre(7, 9));
    ASSERT_EQ(forward.FindNodes(7).size(), 2U);
    const SourceNode& conv = *forward.FindNodes(7)[0];
    EXPECT_EQ(conv.target, "aten.convolution.default");
    EXPECT_THAT(conv.modules, ElementsAre(SourceModule{"", "model.Net"},
                                          SourceModule{"features", "torch.nn.modules.conv.Conv2d"}));
    ASSERT_EQ(conv.frames.size(), 2U);
    ASSERT_NE(ModelFrame(conv), nullptr);
    EXPECT_EQ(*ModelFrame(conv), (SourceFrame{"model.py", 12, "forward", "return self.features(x)"}));
    EXPECT_TRUE(forward.FindNodes(9).empty());
  }
}

TEST(Etrecord, RefusesTruncatedAndDamagedFiles) {
  const fs::path whole = WriteZip({{kForward, kEdge}, {"debug_handle_map", R"({"forward": {"0": 7}})"}});
  const std::string bytes = ReadTextFile(whole);
  const fs::path cut = whole.string() + ".cut";
  for (std::size_t size = 0; size < bytes.size(); size += 7) {
    WriteFileAtomically(cut, bytes.substr(0, size));
    EXPECT_NE(EtrecordProblem(cut), "") << size;
  }
  // The checksum detects a damaged byte.
  std::string damaged = bytes;
  damaged[100] = static_cast<char>(damaged[100] ^ 1);
  WriteFileAtomically(cut, damaged);
  EXPECT_NE(EtrecordProblem(cut), "");
  fs::remove(cut);
}

// An edge program with this number of nodes.
std::string MakeEdgeProgram(int nodes) {
  std::string text = R"({"graph_module": {"graph": {"nodes": [)";
  for (int i = 0; i < nodes; ++i) {
    if (i > 0) text += ',';
    text +=
        R"({"name": "n", "target": "t", "inputs": [{"arg": [{"name": 1}]}], "metadata": {"debug_handle": ")" +
        std::to_string(i) + R"(", "from_node": "[]"}})";
  }
  return text + "]}}}";
}

TEST(Etrecord, ReadsOnlyTheNodesOfTheGraph) {
  const SourceMap map = ReadEtrecord(WriteZip({{kForward, R"({"other": {"graph": {"nodes": [{"name": "a",
    "metadata": {"debug_handle": "1"}}]}}, "graph_module": {"graph": {"sub": {"nodes": [{"name": "b",
    "metadata": {"debug_handle": "2"}}]}, "nodes": [7, [{"metadata": {"debug_handle": "3"}}],
    {"name": "c", "inputs": [{"name": "d", "metadata": {"debug_handle": "4"}}], "value": -Infinity,
    "metadata": {"debug_handle": "5", "of": {"debug_handle": "6"}}}, {"name": "output", "metadata": {}}]}}})"}}));
  const MethodSources& forward = map.methods.at("forward");
  ASSERT_EQ(forward.nodes.size(), 1U);
  EXPECT_EQ(forward.nodes[0].name, "c");
  EXPECT_EQ(forward.FindNodes(5).size(), 1U);
}

TEST(Etrecord, TakesLinearTime) {
  // The CPU time in clock ticks for reading this number of nodes.
  const auto ticks = [](int nodes) {
    const fs::path file = WriteZip({{kForward, MakeEdgeProgram(nodes)}});
    const std::clock_t start = std::clock();
    EXPECT_EQ(ReadEtrecord(file).methods.at("forward").nodes.size(), static_cast<std::size_t>(nodes));
    return static_cast<double>(std::clock() - start);
  };
  // Twice the nodes take twice the time. A quadratic algorithm would take four times as long in every
  // attempt.
  double smallest_ratio = 1e9;
  for (int attempt = 0; attempt < 10 && smallest_ratio > 3; ++attempt)
    smallest_ratio = std::min(smallest_ratio, ticks(40'000) / std::max(1.0, ticks(20'000)));
  EXPECT_LE(smallest_ratio, 3);
}

TEST(Etrecord, RejectsFilesThatAreNoEtrecords) {
  const auto problem = [](const std::vector<std::pair<std::string, std::string>>& entries) {
    return EtrecordProblem(WriteZip(entries, 1));
  };
  const std::string half(std::size_t{129} << 20U, ' ');
  ExpectGoldenMessages(
      "format/etrecord_problems",
      {{"no file", EtrecordProblem("/no/such.etrecord")},
       {"a folder", EtrecordProblem(fs::temp_directory_path())},
       {"no edge program", problem({{"debug_handle_map", "{}"}})},
       {"edge program {}", problem({{kForward, "{}"}})},
       {"edge program [1", problem({{kForward, "[1"}})},
       {"debug handle map []", problem({{kForward, kEdge}, {"debug_handle_map", "[]"}})},
       {"edge program of 257 MiB", problem({{kForward, std::string(std::size_t{257} << 20U, ' ')}})},
       {"two edge programs of 129 MiB",
        problem({{kForward, MakeEdgeProgram(1) + half}, {kForward + "2", MakeEdgeProgram(1) + half}})},
       {"debug handle map of 17 MiB",
        problem({{"debug_handle_map", std::string(std::size_t{17} << 20U, ' ')}, {kForward, kEdge}})}});
}

TEST(SourceMap, ParsesUnusualModuleStacksAndTraces) {
  EXPECT_TRUE(ParseModuleStack("").empty());
  EXPECT_TRUE(ParseModuleStack("one;two").empty());
  EXPECT_THAT(ParseModuleStack("k,layers.0,a.B[c,d]"), ElementsAre(SourceModule{"layers.0", "a.B[c,d]"}));
  EXPECT_TRUE(ParseStackTrace("nothing of the kind\nFile \"x").empty());
  EXPECT_TRUE(ParseStackTrace("File \"a.py\", line -3, in f").empty());
  const std::vector<SourceFrame> frames =
      ParseStackTrace("  File \"a b.py\", line 3, in f\n    x = (\n        ^^^\n  File \"c.py\", line 4");
  EXPECT_THAT(frames, ElementsAre(SourceFrame{"a b.py", 3, "f", "x = ("}, SourceFrame{"c.py", 4, "", ""}));
}

}  // namespace
}  // namespace etprof
