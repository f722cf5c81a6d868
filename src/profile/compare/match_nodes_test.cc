#include "profile/compare/match_nodes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

namespace etprof {
namespace {

MatchNode MakeNode(const std::string& kind, const std::string& module = "", const std::string& shapes = "") {
  MatchNode node;
  node.kind = node.type = kind;
  node.has_module = !module.empty();
  node.module = module;
  node.shapes = shapes;
  return node;
}

// "0=0 1=2 +1 -2": pairs of indices ("!": moved), and nodes that only one list has.
std::string MatchText(const std::vector<MatchNode>& a, const std::vector<MatchNode>& b) {
  std::string text;
  for (const NodePair& pair : MatchNodes(a, b)) {
    if (!text.empty()) text += ' ';
    if (!pair.baseline)
      text += '+' + std::to_string(*pair.candidate);
    else if (!pair.candidate)
      text += '-' + std::to_string(*pair.baseline);
    else
      text +=
          std::to_string(*pair.baseline) + '=' + std::to_string(*pair.candidate) + (pair.moved ? "!" : "");
  }
  return text;
}

TEST(MatchNodes, MatchesAProgramWithItself) {
  const std::vector<MatchNode> nodes = {MakeNode("Conv2d"), MakeNode("Add"), MakeNode("Conv2d")};
  EXPECT_EQ(MatchText(nodes, nodes), "0=0 1=1 2=2");
  EXPECT_EQ(MatchText(nodes, {}), "-0 -1 -2");
  EXPECT_EQ(MatchText({}, nodes), "+0 +1 +2");
}

TEST(MatchNodes, UsesKindsAndOrderWithoutAProgram) {
  EXPECT_EQ(MatchText({MakeNode("Conv2d"), MakeNode("Add"), MakeNode("Linear")},
                      {MakeNode("Conv2d"), MakeNode("Pool"), MakeNode("Linear")}),
            "0=0 -1 +1 2=2");
}

TEST(MatchNodes, FindsALayerInsertedBetweenIdenticalOnes) {
  const std::vector<MatchNode> a = {MakeNode("Conv2d", "layer1.0", "8|8"),
                                    MakeNode("Conv2d", "layer1.1", "8|8"),
                                    MakeNode("Conv2d", "layer2.0", "8|8")};
  std::vector<MatchNode> b = a;
  b.insert(b.begin() + 2, MakeNode("Conv2d", "layer1.2", "8|8"));
  EXPECT_EQ(MatchText(a, b), "0=0 1=1 +2 2=3");
}

TEST(MatchNodes, ShapesDistinguishRenumberedFromInsertedLayers) {
  // A torch.nn.Sequential renumbers the layers after an inserted layer.
  const std::vector<MatchNode> a = {MakeNode("Conv2d", "0", "3|8"), MakeNode("Conv2d", "1", "8|16"),
                                    MakeNode("Conv2d", "2", "16|32")};
  const std::vector<MatchNode> b = {MakeNode("Conv2d", "0", "3|8"), MakeNode("Conv2d", "1", "8|8"),
                                    MakeNode("Conv2d", "2", "8|16"), MakeNode("Conv2d", "3", "16|32")};
  std::vector<MatchNode> weighed_a = a, weighed_b = b;
  for (auto* nodes : {&weighed_a, &weighed_b}) {
    for (MatchNode& node : *nodes) node.weights = "w" + node.shapes;
  }
  EXPECT_EQ(MatchText(weighed_a, weighed_b), "0=0 +1 1=2 2=3");
}

TEST(MatchNodes, ContentsDistinguishIdenticalBlocks) {
  std::vector<MatchNode> a, b;
  for (const char* content : {"x", "y", "z"}) {
    a.push_back(MakeNode("Linear", "blocks." + std::to_string(a.size()), "8|8"));
    a.back().contents = content;
  }
  for (const char* content : {"x", "new", "y", "z"}) {
    b.push_back(MakeNode("Linear", "blocks." + std::to_string(b.size()), "8|8"));
    b.back().contents = content;
  }
  EXPECT_EQ(MatchText(a, b), "0=0 +1 1=2 2=3");
}

TEST(MatchNodes, ReportsMovedNodesAsMoved) {
  const std::vector<MatchNode> a = {MakeNode("Conv2d", "conv", "8|8"), MakeNode("Clamp", "act", "8|8"),
                                    MakeNode("Pool", "pool", "8|4")};
  const std::vector<MatchNode> b = {MakeNode("Conv2d", "conv", "8|8"), MakeNode("Pool", "pool", "8|4"),
                                    MakeNode("Clamp", "act", "4|4")};
  const std::string matched = MatchText(a, b);
  EXPECT_TRUE(matched == "0=0 1=2! 2=1" || matched == "0=0 1=2 2=1!") << matched;
}

TEST(MatchNodes, IgnoresTheModulePrefixOfAWrapper) {
  const std::vector<MatchNode> a = {MakeNode("Conv2d", "conv1"), MakeNode("Conv2d", "conv2")};
  const std::vector<MatchNode> b = {MakeNode("Conv2d", "module.conv1"), MakeNode("Conv2d", "module.conv2")};
  EXPECT_EQ(MatchText(a, b), "0=0 1=1");
  for (const NodePair& pair : MatchNodes(a, b)) {
    const std::vector<std::string> names = EvidenceNames(pair.evidence);
    EXPECT_NE(std::ranges::find(names, "module"), names.end());
    EXPECT_NE(std::ranges::find(names, "order"), names.end());
  }
}

// Blocks of four operators, many of them equal. With `changed`, one operator is added near the beginning and
// one is missing near the end, so that everything between has to be aligned.
std::vector<MatchNode> MakeLargeProgram(std::size_t blocks, bool modules, bool changed) {
  std::vector<MatchNode> nodes;
  for (std::size_t block = 0; block < blocks; ++block) {
    if (changed && block == 1) nodes.push_back(MakeNode("Softmax", modules ? "extra" : "", "9|9"));
    for (const char* kind : {"Conv2d", "Clamp", "Linear", "Add"}) {
      if (changed && block == blocks - 2 && std::string(kind) == "Linear") continue;
      const std::string path = modules ? "layers." + std::to_string(block) + '.' + kind : "";
      nodes.push_back(MakeNode(kind, path, modules ? "8|8" : ""));
    }
  }
  return nodes;
}

TEST(MatchNodes, MatchesLargePrograms) {
  for (const bool modules : {false, true}) {
    for (const std::size_t blocks : {std::size_t{1250}, std::size_t{5000}}) {
      const std::vector<MatchNode> a = MakeLargeProgram(blocks, modules, false),
                                   b = MakeLargeProgram(blocks, modules, true);
      const auto start = std::chrono::steady_clock::now();
      const std::vector<NodePair> pairs = MatchNodes(a, b);
      const std::chrono::duration<double> duration = std::chrono::steady_clock::now() - start;
      RecordProperty((modules ? "with_modules_" : "by_kind_") + std::to_string(4 * blocks),
                     std::to_string(duration.count()) + " s");
      std::vector<std::size_t> only_a, only_b;
      for (const NodePair& pair : pairs) {
        if (!pair.candidate) only_a.push_back(*pair.baseline);
        if (!pair.baseline) only_b.push_back(*pair.candidate);
      }
      ASSERT_EQ(only_b, (std::vector<std::size_t>{4})) << blocks;
      ASSERT_EQ(only_a, (std::vector<std::size_t>{4 * (blocks - 2) + 2})) << blocks;
    }
  }
}

}  // namespace
}  // namespace etprof
