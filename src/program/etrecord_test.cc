#include "program/etrecord.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <minizip/zip.h>
#include <unistd.h>

#include <fstream>

#include "core/error.h"
#include "core/file.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kEdge = R"J({"graph_module": {"graph": {"inputs": [], "nodes": [
  {"name": "image", "target": "placeholder", "metadata": {}},
  {"name": "aten_convolution_default", "target": "executorch.exir.dialects.edge.ops.aten.convolution.default",
   "inputs": [{"arg": {"as_tensor": {"name": "image"}}}],
   "metadata": {"debug_handle": "7", "from_node": "[]",
     "nn_module_stack": "L__self__,,model.Net;L__self__features,features,torch.nn.modules.conv.Conv2d",
     "stack_trace": "File \"model.py\", line 12, in forward\n    return self.features(x)\n  File \"x/site-packages/torch/nn/modules/conv.py\", line 565, in forward\n    return f()"}},
  {"name": "aten_relu_default", "target": "aten.relu.default", "metadata": {"debug_handle": "7"}}]}}})J";

// A zip of these entries, packed at `level` (0: stored).
fs::path Zip(const std::vector<std::pair<std::string, std::string>>& entries, int level = 6) {
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

std::string Refusal(const fs::path& path) {
  try {
    ReadEtrecord(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kBadInput);
    return error.Message();
  }
  return "";
}

const std::string kForward = "edge_dialect_exported_program/forward";

TEST(Etrecord, SaysWhereInstructionsComeFrom) {
  for (const int level : {0, 6}) {
    const SourceMap map = ReadEtrecord(Zip({{"debug_handle_map", R"({"forward": {"0": 7, "3": [7, 9]}})"},
                                            {kForward, kEdge},
                                            {kForward + "_state_dict", "\x80 no JSON"}},
                                           level));
    ASSERT_EQ(map.methods.size(), 1U);
    const MethodSources& forward = map.methods.at("forward");
    EXPECT_THAT(forward.instructions.at(0), ElementsAre(7));
    EXPECT_THAT(forward.instructions.at(3), ElementsAre(7, 9));
    ASSERT_EQ(forward.Of(7).size(), 2U);
    const SourceNode& conv = *forward.Of(7)[0];
    EXPECT_EQ(conv.target, "aten.convolution.default");
    EXPECT_THAT(conv.modules, ElementsAre(SourceModule{"", "model.Net"},
                                          SourceModule{"features", "torch.nn.modules.conv.Conv2d"}));
    ASSERT_EQ(conv.frames.size(), 2U);
    ASSERT_NE(ModelFrame(conv), nullptr);
    EXPECT_EQ(*ModelFrame(conv), (SourceFrame{"model.py", 12, "forward", "return self.features(x)"}));
    EXPECT_TRUE(forward.Of(9).empty());
  }
}

TEST(Etrecord, WhatIsNoneIsRefused) {
  EXPECT_THAT(Refusal("/no/such.etrecord"), HasSubstr("no such file"));
  EXPECT_THAT(Refusal(fs::temp_directory_path()), HasSubstr("is not a file"));
  EXPECT_THAT(Refusal(Zip({{"debug_handle_map", "{}"}})), HasSubstr("no edge program"));
  EXPECT_THAT(Refusal(Zip({{kForward, "{}"}})), HasSubstr("is no exported program"));
  EXPECT_THAT(Refusal(Zip({{kForward, "[1"}})), HasSubstr("is no exported program"));
  EXPECT_THAT(Refusal(Zip({{kForward, kEdge}, {"debug_handle_map", "[]"}})), HasSubstr("is no JSON object"));
}

TEST(Etrecord, EachCutIsRefused) {
  const fs::path whole = Zip({{kForward, kEdge}, {"debug_handle_map", R"({"forward": {"0": 7}})"}});
  const std::string bytes = ReadTextFile(whole);
  const fs::path cut = whole.string() + ".cut";
  for (std::size_t size = 0; size < bytes.size(); size += 7) {
    WriteFileAtomically(cut, bytes.substr(0, size));
    EXPECT_NE(Refusal(cut), "") << size;
  }
  // A spoilt byte of the contents is found by the checksum.
  std::string spoilt = bytes;
  spoilt[100] = static_cast<char>(spoilt[100] ^ 1);
  WriteFileAtomically(cut, spoilt);
  EXPECT_NE(Refusal(cut), "");
  fs::remove(cut);
}

TEST(SourceMap, ModuleStacksAndTracesOfOtherShapes) {
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
