#include "report/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "show/gates.h"

namespace etprof::show {
namespace {

using testing::HasSubstr;

std::string NameInFailureMessage(const OperatorOrigin& origin) {
  CheckReport check;
  CheckPair& pair = check.pairs.emplace_back();
  pair.decision = GateDecision::kFail;
  CheckItem& item = pair.items.emplace_back();
  item.kind = CheckItem::Kind::kOperator;
  item.name = "Add (ND) #1";
  item.origin = origin;
  item.verdict.decision = GateDecision::kFail;
  pair.time_changes.push_back({"Add (ND) #1", "forward/0/backend/0", origin, 1e6, 2e6, 1, 0.9, 1.1});
  const TestSuite::Case test_case = MakeTestSuite(check).cases.at(0);
  EXPECT_EQ(test_case.lines.size(), origin.frame ? 1U : 0U);
  for (const TestSuite::Line& line : test_case.lines) EXPECT_EQ(line.text, test_case.message);
  const std::string name = test_case.message.substr(0, test_case.message.find(": "));
  EXPECT_THAT(test_case.details, HasSubstr("\n  " + name + ": "));
  return name;
}

TEST(MakeCheckDocument, NamesTheOperatorsLayerAndLine) {
  const SourceFrame frame{"/home/me/net.py", 68, "forward", ""};
  EXPECT_EQ(NameInFailureMessage({"", "layer1.2", frame}), "Add (ND) #1 in layer1.2, net.py:68");
  EXPECT_EQ(NameInFailureMessage({"", "layer1.2", std::nullopt}), "Add (ND) #1 in layer1.2");
  EXPECT_EQ(NameInFailureMessage({"", "", frame}), "Add (ND) #1 in net.py:68");
  EXPECT_EQ(NameInFailureMessage({"", "", std::nullopt}), "Add (ND) #1");
}

}  // namespace
}  // namespace etprof::show
