#include <gtest/gtest.h>

#include <algorithm>

#include "format/etdump/reader.h"
#include "format/etdump/testing.h"
#include "profile/compare/comparison.h"

namespace etprof {
namespace {

using ::etprof::handmade::TraceBuilder;
const std::string kTraces = ETPROF_TEST_DATA;

Profile ReadProfile(const std::string& name) { return Attribute(ReadEtdumpFile(kTraces + "/" + name), {}); }

// A run of delegate calls with these operators, 10 ns each.
Profile MakeDelegatesProfile(const std::vector<std::vector<std::string>>& delegates) {
  TraceBuilder builder;
  builder.Block("Execute");
  Nanoseconds at = 0;
  for (std::size_t instruction = 0; instruction < delegates.size(); ++instruction) {
    const Nanoseconds start = at + 5;
    at += 10;
    for (const std::string& name : delegates[instruction]) {
      builder.Backend(static_cast<int>(instruction), name, at, at + 10);
      at += 10;
    }
    at += 5;
    builder.Framework(static_cast<int>(instruction), "DELEGATE_CALL", start, at);
  }
  builder.Framework(-1, "Method::execute", 0, at + 5);
  return Attribute(builder.Take(), {});
}

Profile MakeProfile(const std::vector<std::string>& operators) { return MakeDelegatesProfile({operators}); }

std::vector<std::string> MatchLines(const Profile& a, const Profile& b) {
  std::vector<std::string> lines;
  for (const NodePair& pair : MatchOperators(a, b)) {
    const std::string left = pair.baseline ? a.operators[*pair.baseline].name : "-";
    const std::string right = pair.candidate ? b.operators[*pair.candidate].name : "-";
    lines.push_back(left + " | " + right);
  }
  return lines;
}

class SmePairs : public ::testing::TestWithParam<const char*> {};

TEST_P(SmePairs, MatchesEveryOperatorOfTheEmulatedRuns) {
  const Profile off = ReadProfile(std::string("sme2_emulated/") + GetParam() + ".sme2_off.etdump");
  const Profile on = ReadProfile(std::string("sme2_emulated/") + GetParam() + ".sme2_on.etdump");
  const std::vector<NodePair> pairs = MatchOperators(off, on);
  std::size_t renamed = 0;
  for (const NodePair& pair : pairs) {
    ASSERT_TRUE(pair.baseline && pair.candidate);
    renamed += off.operators[*pair.baseline].type != on.operators[*pair.candidate].type ? 1U : 0U;
    EXPECT_EQ(off.operators[*pair.baseline].type.substr(0, 4),
              on.operators[*pair.candidate].type.substr(0, 4));
  }
  EXPECT_EQ(pairs.size(), off.operators.size());
  EXPECT_EQ(pairs.size(), on.operators.size());
  EXPECT_GT(renamed, 0U);  // otherwise the test would be void
}

INSTANTIATE_TEST_SUITE_P(DataTypes, SmePairs, ::testing::Values("toy_cnn", "toy_fp16", "toy_q8"));

TEST(MatchOperators, LeavesAPackingOperatorUnmatched) {
  const Profile off = MakeProfile({"Convolution (NHWC, F32) IGEMM #1", "Fully Connected (NC, F32) GEMM #1",
                                   "Fully Connected (NC, F32) GEMM #2"});
  const Profile on = MakeProfile({"Convolution (NHWC, PF32) IGEMM #1", "Pack LH (PF32) #1",
                                  "Fully Connected (NC, PF32) GEMM #1", "Fully Connected (NC, F32) GEMM #1"});
  EXPECT_EQ(MatchLines(off, on), (std::vector<std::string>{
                                     "Convolution (NHWC, F32) IGEMM #1 | Convolution (NHWC, PF32) IGEMM #1",
                                     "- | Pack LH (PF32) #1",
                                     "Fully Connected (NC, F32) GEMM #1 | Fully Connected (NC, PF32) GEMM #1",
                                     "Fully Connected (NC, F32) GEMM #2 | Fully Connected (NC, F32) GEMM #1",
                                     "DELEGATE_CALL | DELEGATE_CALL", "Method::execute | Method::execute"}));
}

TEST(MatchOperators, DifferentOperationsAreNeverMatched) {
  const Profile a = MakeProfile({"Add (ND) #1"});
  const Profile b = MakeProfile({"Multiply (ND) #1"});
  EXPECT_EQ(MatchLines(a, b),
            (std::vector<std::string>{"Add (ND) #1 | -", "- | Multiply (ND) #1",
                                      "DELEGATE_CALL | DELEGATE_CALL", "Method::execute | Method::execute"}));
}

TEST(MatchOperators, DoesNotMatchOneDelegateWithTheManyThatItReplaces) {
  const Profile three_delegates =
      MakeDelegatesProfile({{"Convolution (NHWC, F32) IGEMM #1"}, {"Add (ND) #1"}, {"Multiply (ND) #1"}});
  const Profile one_delegate =
      MakeProfile({"Convolution (NHWC, F32) IGEMM #1", "Add (ND) #1", "Multiply (ND) #1"});
  EXPECT_EQ(MatchLines(three_delegates, one_delegate),
            (std::vector<std::string>{"Convolution (NHWC, F32) IGEMM #1 | Convolution (NHWC, F32) IGEMM #1",
                                      "DELEGATE_CALL | -", "Add (ND) #1 | Add (ND) #1", "DELEGATE_CALL | -",
                                      "Multiply (ND) #1 | Multiply (ND) #1", "DELEGATE_CALL | -",
                                      "- | DELEGATE_CALL", "Method::execute | Method::execute"}));
  // One delegate is not matched with the many in the other direction either.
  for (const std::string& line : MatchLines(one_delegate, three_delegates))
    EXPECT_NE(line, "DELEGATE_CALL | DELEGATE_CALL");
  // A delegate with one operator more is still matched.
  const Profile with_extra_clamp = MakeDelegatesProfile(
      {{"Convolution (NHWC, F32) IGEMM #1", "Clamp (ND) #1"}, {"Add (ND) #1"}, {"Multiply (ND) #1"}});
  const Profile base = MakeDelegatesProfile(
      {{"Convolution (NHWC, F32) IGEMM #1", "Sigmoid (ND) #1", "Clamp (ND) #1"}, {"Multiply (ND) #1"}});
  const std::vector<std::string> lines = MatchLines(base, with_extra_clamp);
  EXPECT_EQ(std::ranges::count(lines, "DELEGATE_CALL | DELEGATE_CALL"), 2);
  EXPECT_EQ(std::ranges::count(lines, "- | DELEGATE_CALL"), 1);
}

TEST(MatchOperators, DoesNotMatchOpenvinoLayersWithXnnpackOperators) {
  const Profile a = MakeProfile({"Convolution (NHWC, F32) IGEMM #1"});
  const Profile b = MakeProfile({"Convolution: conv (brgconv_avx512_f32)"});
  EXPECT_EQ(MatchLines(a, b),
            (std::vector<std::string>{"Convolution (NHWC, F32) IGEMM #1 | -",
                                      "- | Convolution: conv (brgconv_avx512_f32)",
                                      "DELEGATE_CALL | DELEGATE_CALL", "Method::execute | Method::execute"}));
  EXPECT_EQ(MatchLines(b, b)[0],
            "Convolution: conv (brgconv_avx512_f32) | Convolution: conv (brgconv_avx512_f32)");
}

TEST(MatchOperators, ListsEveryOperatorOfBothProfilesOnce) {
  const Profile a = ReadProfile("sme2_emulated/toy_cnn.sme2_off.etdump");
  const Profile b = ReadProfile("sme2_emulated/toy_q8.sme2_on.etdump");  // another model: few pairs
  std::vector<int> seen_a(a.operators.size(), 0);
  std::vector<int> seen_b(b.operators.size(), 0);
  for (const NodePair& pair : MatchOperators(a, b)) {
    if (pair.baseline) ++seen_a[*pair.baseline];
    if (pair.candidate) ++seen_b[*pair.candidate];
  }
  EXPECT_EQ(seen_a, std::vector<int>(a.operators.size(), 1));
  EXPECT_EQ(seen_b, std::vector<int>(b.operators.size(), 1));
}

}  // namespace
}  // namespace etprof
