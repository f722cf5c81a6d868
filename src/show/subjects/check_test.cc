#include "report/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "show/gates.h"

namespace etprof::show {
namespace {

using testing::HasSubstr;

std::string MessageWith(const OperatorOrigin& origin) {
  CheckReport check;
  CheckPair& pair = check.pairs.emplace_back();
  pair.decision = GateDecision::kFail;
  CheckItem& item = pair.items.emplace_back();
  item.kind = CheckItem::Kind::kOperator;
  item.name = "Add (ND) #1";
  item.origin = origin;
  item.verdict.decision = GateDecision::kFail;
  pair.moved.push_back({"Add (ND) #1", "forward/0/backend/0", origin, 1e6, 2e6, 1, 0.9, 1.1});
  const TestSuite::Case of = MakeTestSuite(check).cases.at(0);
  EXPECT_EQ(of.lines.size(), origin.frame ? 1U : 0U);
  for (const TestSuite::Line& line : of.lines) EXPECT_EQ(line.text, of.message);
  const std::string named = of.message.substr(0, of.message.find(": "));
  EXPECT_THAT(of.details, HasSubstr("operators that changed:\n  " + named + ": "));
  return named;
}

TEST(MakeCheckDocument, NamesTheOperatorsLayerAndLine) {
  const SourceFrame frame{"/home/me/net.py", 68, "forward", ""};
  EXPECT_EQ(MessageWith({"", "layer1.2", frame}), "Add (ND) #1 in layer1.2, net.py:68");
  EXPECT_EQ(MessageWith({"", "layer1.2", std::nullopt}), "Add (ND) #1 in layer1.2");
  EXPECT_EQ(MessageWith({"", "", frame}), "Add (ND) #1 in net.py:68");
  EXPECT_EQ(MessageWith({"", "", std::nullopt}), "Add (ND) #1");
}

}  // namespace
}  // namespace etprof::show
