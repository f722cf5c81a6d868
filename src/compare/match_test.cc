#include <gtest/gtest.h>

#include "compare/comparison.h"
#include "etdump/reader.h"
#include "etdump/testing.h"

namespace etprof {
namespace {

using ::etprof::handmade::TraceBuilder;
const std::string kTraces = ETPROF_TEST_DATA;

Profile ProfileOfFile(const std::string& name) { return Attribute(ReadEtdumpFile(kTraces + "/" + name), {}); }

// A run of one delegate with these operators, 10 ns each.
Profile ProfileOf(const std::vector<std::string>& operators) {
  TraceBuilder builder;
  builder.Block("Execute");
  Nanoseconds at = 10;
  for (const std::string& name : operators) {
    builder.Backend(0, name, at, at + 10);
    at += 10;
  }
  builder.Framework(0, "DELEGATE_CALL", 5, at + 5).Framework(-1, "Method::execute", 0, at + 10);
  return Attribute(builder.Take(), {});
}

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
