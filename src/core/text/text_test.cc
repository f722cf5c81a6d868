#include "core/text/text.h"

#include <gmock/gmock.h>

namespace etprof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Text, TrimsBlanksAtBothEnds) {
  EXPECT_EQ(Trimmed(" \t a b\r\n"), "a b");
  EXPECT_EQ(Trimmed("a"), "a");
  EXPECT_EQ(Trimmed(" \r\n"), "");
  EXPECT_EQ(Trimmed(""), "");
}

TEST(Text, LastLineSkipsBlankLines) {
  EXPECT_EQ(LastLine("one\n  two \n\n \r\n"), "  two");
  EXPECT_EQ(LastLine("one"), "one");
  EXPECT_EQ(LastLine("\n \n"), "");
  EXPECT_EQ(LastLine(""), "");
}

TEST(Text, SplitAtKeepsEmptyParts) {
  EXPECT_THAT(SplitAt("a,b c,,d,", ','), ElementsAre("a", "b c", "", "d", ""));
  EXPECT_THAT(SplitAt("", ','), ElementsAre(""));
}

TEST(Text, ReplaceAllDoesNotSearchReplacements) {
  EXPECT_EQ(ReplaceAll("a'b'", "'", "'\\''"), "a'\\''b'\\''");
  EXPECT_EQ(ReplaceAll("aaaa", "aa", "a"), "aa");
  EXPECT_EQ(ReplaceAll("&amp;lt;", "&amp;", "&"), "&lt;");
  EXPECT_EQ(ReplaceAll("/tmp/x and /tmp/x", "/tmp/x", ""), " and ");
  EXPECT_EQ(ReplaceAll("", "a", "b"), "");
}

TEST(Text, LowerChangesAsciiLettersOnly) { EXPECT_EQ(Lower("QD8, F32 \xc3\x84[`"), "qd8, f32 \xc3\x84[`"); }

TEST(Text, ParsesAWholeTextAsANumber) {
  EXPECT_EQ(AsNumber<int>("12"), 12);
  EXPECT_EQ(AsNumber<int>("-12"), -12);
  EXPECT_EQ(AsNumber<double>("1e3"), 1000);
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "x"})
    EXPECT_EQ(AsNumber<int>(text), std::nullopt) << text;
  EXPECT_EQ(AsNumber<unsigned>("-1"), std::nullopt);
  EXPECT_EQ(AsNumber<int>("99999999999"), std::nullopt);
}

TEST(Text, SplitsWordsAtBlanks) {
  EXPECT_THAT(Words("  qemu -cpu\tmax\n"), ElementsAre("qemu", "-cpu", "max"));
  EXPECT_THAT(Words(" \n"), IsEmpty());
}

TEST(ParseLeadingInteger, StopsAfterTheDigits) {
  EXPECT_EQ(ParseLeadingInteger("16384 kB"), 16384);
  EXPECT_EQ(ParseLeadingInteger("-5"), -5);
  EXPECT_EQ(ParseLeadingInteger("kB"), std::nullopt);
  EXPECT_EQ(ParseLeadingInteger(""), std::nullopt);
  EXPECT_EQ(ParseLeadingInteger("99999999999999999999"), std::nullopt);
}

TEST(Text, ShortensBetweenCharacters) {
  EXPECT_EQ(Shorten("", 0), "");
  EXPECT_EQ(Shorten("abc", 3), "abc");
  EXPECT_EQ(Shorten("abcd", 3), "abc...");
  EXPECT_EQ(Shorten("ab\u00e4", 3), "ab...");  // 2 bytes
  EXPECT_EQ(Shorten("a\u00e4b", 3), "a\u00e4...");
  EXPECT_EQ(Shorten("\x80\x80", 1), "...");  // not UTF-8
}

TEST(Text, ShortensNamesByWholeWords) {
  using Names = std::vector<std::string>;
  const auto shorten = [](const Names& names) { return DropCommonWords(names).names; };
  EXPECT_EQ(shorten({"tv_resnet18_xnnpack_fp32", "tv_resnet18_xnnpack_fp16", "tv_resnet18_xnnpack_int8"}),
            (Names{"fp32", "fp16", "int8"}));
  EXPECT_EQ(shorten({"timm_model.a_fp32", "timm_model.b_fp32"}), (Names{"a", "b"}));
  EXPECT_EQ(shorten({"toy.sme2_off", "toy.sme2_on"}), (Names{"sme2_off", "sme2_on"}));
  EXPECT_EQ(shorten({"net_batch_1_t1", "net_batch_8_t1"}), (Names{"batch_1", "batch_8"}));
  EXPECT_EQ(shorten({"net", "net_fp16"}), (Names{"net", "net_fp16"}));
  EXPECT_EQ(shorten({"fp16_net", "net"}), (Names{"fp16_net", "net"}));
  EXPECT_EQ(shorten({"net_xnnpack_fp32", "net_encoder_xnnpack_fp32"}), (Names{"net", "net_encoder"}));
  EXPECT_EQ(shorten({"net18", "net50"}), (Names{"net18", "net50"}));
  EXPECT_EQ(shorten({"a", "a"}), (Names{"a", "a"}));
  EXPECT_EQ(shorten({"net_a"}), (Names{"net_a"}));
  EXPECT_EQ(shorten({"", "_"}), (Names{"", "_"}));
  EXPECT_TRUE(shorten({}).empty());
  EXPECT_EQ(DropCommonWords({"toy_cnn.sme2_off", "toy_cnn.sme2_on"}).shared, "toy_cnn.");
}

}  // namespace
}  // namespace etprof
