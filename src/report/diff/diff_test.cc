#include "report/diff/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/analysis/join/join.h"
#include "profile/analysis/testing.h"

namespace etprof {
namespace {

using ::testing::SizeIs;

// A program with one call of a graph: `reshapes` reshapes, then Abs.
Program MakeReshapes(std::uint32_t reshapes) {
  std::vector<handmade::Node> nodes;
  for (std::uint32_t i = 0; i < reshapes; ++i) nodes.push_back({"XNNStaticReshape", {i}, {i + 1}});
  nodes.push_back({"XNNAbs", {reshapes}, {reshapes + 1}});
  handmade::MethodBuilder builder(2);
  builder.method.inputs = {0};
  builder.method.outputs = {1};
  builder.Call(handmade::MakeXnnGraph(nodes, {0}, {reshapes + 1}, {0, reshapes + 1}), {0, 1});
  builder.program.methods.push_back(builder.method);
  return builder.program;
}

Profile MakeJoinedProfile(const Program& program, const std::vector<std::string>& operators) {
  Profile profile = handmade::MakeProfile({{{0, operators}}, {{0, operators}}});
  profile.program = JoinProgram(profile, program, program.methods[0], nullptr);
  return profile;
}

// The difference between a program with two reshapes, of which these operators ran, and one with one reshape.
MethodDiff DiffReshapes(const std::vector<std::string>& baseline_operators) {
  const Program baseline = MakeReshapes(2), candidate = MakeReshapes(1);
  const Profile before = MakeJoinedProfile(baseline, baseline_operators);
  const Profile after = MakeJoinedProfile(candidate, {"Static Reshape #1", "Abs #1"});
  const ProgramDiff diff = DiffPrograms({&baseline, nullptr, {&before}}, {&candidate, nullptr, {&after}});
  EXPECT_THAT(diff.methods, SizeIs(1));
  return diff.methods.at(0);
}

TEST(Diff, ListsTimesOfRemovedNodes) {
  const MethodDiff method = DiffReshapes({"Static Reshape #1", "Static Reshape #2", "Abs #1"});
  ASSERT_THAT(method.operators, SizeIs(1));
  EXPECT_EQ(method.operators[0].change.kind, ProgramChange::Kind::kRemoved);
  EXPECT_EQ(method.operators[0].baseline.ns, 9);
  EXPECT_EQ(method.baseline->unlisted_ns, method.baseline->ns - 9);
}

// XNNPACK left out one of the two reshapes, so the time of the removed node is not known.
TEST(Diff, OmitsTimesOfAmbiguousNodes) {
  const MethodDiff method = DiffReshapes({"Static Reshape #1", "Abs #1"});
  ASSERT_THAT(method.operators, SizeIs(1));
  EXPECT_EQ(method.operators[0].change.kind, ProgramChange::Kind::kRemoved);
  EXPECT_FALSE(method.operators[0].baseline.ns);
  EXPECT_EQ(method.baseline->unlisted_ns, method.baseline->ns);
}

}  // namespace
}  // namespace etprof
