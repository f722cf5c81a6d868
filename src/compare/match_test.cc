#include <gtest/gtest.h>

#include <algorithm>

#include "compare/comparison.h"
#include "etdump/reader.h"
#include "etdump/testing.h"

namespace etprof {
namespace {

using ::etprof::handmade::TraceBuilder;
const std::string kTraces = ETPROF_TEST_DATA;

Profile ProfileOfFile(const std::string& name) { return Attribute(ReadEtdumpFile(kTraces + "/" + name), {}); }

// A run of delegates with these operators, 10 ns each.
Profile ProfileOfDelegates(const std::vector<std::vector<std::string>>& delegates) {
  TraceBuilder builder;
  builder.Block("Execute");
  Nanoseconds at = 0;
  for (std::size_t instruction = 0; instruction < delegates.size(); ++instruction) {
    const Nanoseconds began = at + 5;
    at += 10;
    for (const std::string& name : delegates[instruction]) {
      builder.Backend(static_cast<int>(instruction), name, at, at + 10);
      at += 10;
    }
    at += 5;
    builder.Framework(static_cast<int>(instruction), "DELEGATE_CALL", began, at);
  }
  builder.Framework(-1, "Method::execute", 0, at + 5);
  return Attribute(builder.Take(), {});
}

Profile ProfileOf(const std::vector<std::string>& operators) { return ProfileOfDelegates({operators}); }

std::vector<std::string> Describe(const Profile& a, const Profile& b) {
  std::vector<std::string> lines;
  for (const NodePair& pair : MatchOperators(a, b)) {
    const std::string left = pair.baseline ? a.operators[*pair.baseline].name : "-";
    const std::string right = pair.candidate ? b.operators[*pair.candidate].name : "-";
    lines.push_back(left + " | " + right);
  }
  return lines;
}

class SmeTwins : public ::testing::TestWithParam<const char*> {};

TEST_P(SmeTwins, EveryOperatorOfTheEmulatedRunsHasItsTwin) {
  const Profile off = ProfileOfFile(std::string("sme2_emulated/") + GetParam() + ".sme2_off.etdump");
  const Profile on = ProfileOfFile(std::string("sme2_emulated/") + GetParam() + ".sme2_on.etdump");
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
  EXPECT_GT(renamed, 0U);  // else this would have tested nothing
}

INSTANTIATE_TEST_SUITE_P(DataTypes, SmeTwins, ::testing::Values("toy_cnn", "toy_fp16", "toy_q8"));

TEST(MatchOperators, APackingOperatorOfOneSideStaysAloneAndShiftsNothing) {
  const Profile off = ProfileOf({"Convolution (NHWC, F32) IGEMM #1", "Fully Connected (NC, F32) GEMM #1",
                                 "Fully Connected (NC, F32) GEMM #2"});
  const Profile on = ProfileOf({"Convolution (NHWC, PF32) IGEMM #1", "Pack LH (PF32) #1",
                                "Fully Connected (NC, PF32) GEMM #1", "Fully Connected (NC, F32) GEMM #1"});
  EXPECT_EQ(Describe(off, on), (std::vector<std::string>{
                                   "Convolution (NHWC, F32) IGEMM #1 | Convolution (NHWC, PF32) IGEMM #1",
                                   "- | Pack LH (PF32) #1",
                                   "Fully Connected (NC, F32) GEMM #1 | Fully Connected (NC, PF32) GEMM #1",
                                   "Fully Connected (NC, F32) GEMM #2 | Fully Connected (NC, F32) GEMM #1",
                                   "DELEGATE_CALL | DELEGATE_CALL", "Method::execute | Method::execute"}));
}

TEST(MatchOperators, DifferentOperationsAreNeverMatched) {
  const Profile a = ProfileOf({"Add (ND) #1"});
  const Profile b = ProfileOf({"Multiply (ND) #1"});
  EXPECT_EQ(Describe(a, b),
            (std::vector<std::string>{"Add (ND) #1 | -", "- | Multiply (ND) #1",
                                      "DELEGATE_CALL | DELEGATE_CALL", "Method::execute | Method::execute"}));
}

TEST(MatchOperators, ADelegateThatReplacesManyIsNoneOfThem) {
  const Profile many =
      ProfileOfDelegates({{"Convolution (NHWC, F32) IGEMM #1"}, {"Add (ND) #1"}, {"Multiply (ND) #1"}});
  const Profile one = ProfileOf({"Convolution (NHWC, F32) IGEMM #1", "Add (ND) #1", "Multiply (ND) #1"});
  EXPECT_EQ(Describe(many, one),
            (std::vector<std::string>{"Convolution (NHWC, F32) IGEMM #1 | Convolution (NHWC, F32) IGEMM #1",
                                      "DELEGATE_CALL | -", "Add (ND) #1 | Add (ND) #1", "DELEGATE_CALL | -",
                                      "Multiply (ND) #1 | Multiply (ND) #1", "DELEGATE_CALL | -",
                                      "- | DELEGATE_CALL", "Method::execute | Method::execute"}));
  // In the other direction, too.
  for (const std::string& line : Describe(one, many)) EXPECT_NE(line, "DELEGATE_CALL | DELEGATE_CALL");
  // One that only grew by an operator is still the same.
  const Profile grown = ProfileOfDelegates(
      {{"Convolution (NHWC, F32) IGEMM #1", "Clamp (ND) #1"}, {"Add (ND) #1"}, {"Multiply (ND) #1"}});
  const Profile base = ProfileOfDelegates(
      {{"Convolution (NHWC, F32) IGEMM #1", "Sigmoid (ND) #1", "Clamp (ND) #1"}, {"Multiply (ND) #1"}});
  const std::vector<std::string> lines = Describe(base, grown);
  EXPECT_EQ(std::ranges::count(lines, "DELEGATE_CALL | DELEGATE_CALL"), 2);
  EXPECT_EQ(std::ranges::count(lines, "- | DELEGATE_CALL"), 1);
}

TEST(MatchOperators, LayersOfOpenvinoAreNobodyElsesOperators) {
  const Profile a = ProfileOf({"Convolution (NHWC, F32) IGEMM #1"});
  const Profile b = ProfileOf({"Convolution: conv (brgconv_avx512_f32)"});
  EXPECT_EQ(Describe(a, b),
            (std::vector<std::string>{"Convolution (NHWC, F32) IGEMM #1 | -",
                                      "- | Convolution: conv (brgconv_avx512_f32)",
                                      "DELEGATE_CALL | DELEGATE_CALL", "Method::execute | Method::execute"}));
  EXPECT_EQ(Describe(b, b)[0],
            "Convolution: conv (brgconv_avx512_f32) | Convolution: conv (brgconv_avx512_f32)");
}

TEST(MatchOperators, EveryOperatorOfBothSidesStandsThereOnce) {
  const Profile a = ProfileOfFile("sme2_emulated/toy_cnn.sme2_off.etdump");
  const Profile b = ProfileOfFile("sme2_emulated/toy_q8.sme2_on.etdump");  // another model: few twins
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
