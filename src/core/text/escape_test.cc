#include "core/text/escape.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "core/json/json.h"

namespace etprof {
namespace {

using nlohmann::json;

TEST(EscapeToOneLine, KeepsTextAndEscapesUnsafeCharacters) {
  EXPECT_EQ(EscapeToOneLine("µ → 漢 😀 a"), "µ → 漢 😀 a");
  EXPECT_EQ(EscapeToOneLine("a\n\tb"), "a\\x0a\\x09b");
  EXPECT_EQ(EscapeToOneLine("\x1b[31m\r\x7f"), "\\x1b[31m\\x0d\\x7f");
  EXPECT_EQ(EscapeToOneLine(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(EscapeToOneLine("\u009b31m"), "\\u009b31m");               // the control character CSI
  EXPECT_EQ(EscapeToOneLine("\u202eabc\u2066"), "\\u202eabc\\u2066");  // bidirectional controls
  EXPECT_EQ(EscapeToOneLine("a\u2028b"), "a\\u2028b");
  EXPECT_EQ(EscapeToOneLine("a\xff\xc3"), "a\\xff\\xc3");
  EXPECT_EQ(EscapeToOneLine("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // an encoded surrogate
  EXPECT_EQ(EscapeToOneLine("\xef\xbf\xbf"), "\\uffff");
  EXPECT_EQ(EscapeToOneLine("\xc0\xaf"), "\\xc0\\xaf");  // overlong encoding of '/'
  EXPECT_EQ(EscapeToOneLine(""), "");
}

TEST(EscapeLines, KeepsLinesButNoColor) {
  EXPECT_EQ(EscapeLines("a\n\tb\r"), "a\n\tb\\x0d");
  EXPECT_EQ(EscapeLines("\x1b[32mfaster\x1b[0m"), "\\x1b[32mfaster\\x1b[0m");
}

TEST(EscapeMarkdown, EscapesMarkupMentionsAndLinks) {
  EXPECT_EQ(EscapeMarkdown("x|y<script>\n`z`"), "x\\|y&lt;script&gt; \\`z\\`");
  EXPECT_EQ(EscapeMarkdown("a\u202e\x1b"), "a\\u202e\\x1b");
  EXPECT_EQ(EscapeMarkdown("@octocat a@b.c @ @"), "@<!-- -->octocat a@<!-- -->b.c @ @");
  EXPECT_EQ(EscapeMarkdown("https://a.b/c: WWW.a.b"), "https\\://a.b/c: WWW\\.a.b");
  EXPECT_EQ(EscapeMarkdown("chrome://tracing"), "chrome://tracing");
}

TEST(CsvField, QuotesFieldsAndDefusesFormulas) {
  EXPECT_EQ(CsvField("a,\"b\""), "\"a,\"\"b\"\"\"");
  EXPECT_EQ(CsvField("a\nb\r"), "\"a\nb\\x0d\"");
  EXPECT_EQ(CsvField("=1+1"), "'=1+1");
  EXPECT_EQ(CsvField("@SUM(A1)"), "'@SUM(A1)");
  EXPECT_EQ(CsvField("-2+3+cmd|' /C calc'!A0"), "'-2+3+cmd|' /C calc'!A0");
  for (const char* const text : {"-sme2", "-0.5", "+1.5", "-avx512,-amx", "a=b", "", "-"})
    EXPECT_EQ(CsvField(text), std::string(text).find(',') == std::string::npos
                                  ? std::string(text)
                                  : '"' + std::string(text) + '"');
}

TEST(CsvField, IsReadBack) {
  for (const std::string text : {"=1+1", "'=1+1", "''@a", "-2+cmd|A0", "'-sme2", "'", "", "'a'", "-1"})
    EXPECT_EQ(UnescapeCsvFormula(CsvField(text)), text);
}

TEST(HtmlAttribute, CannotBeEndedByItsValue) { EXPECT_EQ(HtmlAttribute("a\"<&\n"), "a&quot;&lt;&amp;\\x0a"); }

TEST(SafeFileName, CannotLeaveItsFolder) {
  EXPECT_EQ(SafeFileName("../a\\b\n\u202e\xff"), ".._a_b___");
  EXPECT_EQ(SafeFileName(".."), "__");
  EXPECT_EQ(SafeFileName("größe.v2"), "größe.v2");
}

TEST(JsonText, EscapesUnsafeCharactersAndKeepsTheValue) {
  const json value = {{"a\u202e", "\x7f\u009b\n µ 漢 😀\u2028"}};
  for (const int indent : {-1, 2}) {
    const std::string text = JsonText(value, indent);
    EXPECT_EQ(json::parse(text), value);
    std::string flat;
    for (const char c : text) flat += c == '\n' ? ' ' : c;
    EXPECT_FALSE(FindUnsafeCharacter(flat, 0)) << text;
    EXPECT_NE(text.find("µ 漢 😀"), std::string::npos);
  }
  EXPECT_EQ(JsonText(json("a\xff")), "\"a\ufffd\"");
}

// The output of an EscapingBuffer that receives `text` in pieces of `piece` bytes.
std::string EscapedInPieces(const std::string& text, std::size_t piece) {
  std::ostringstream sink;
  {
    EscapingBuffer buffer(sink.rdbuf());
    std::ostream out(&buffer);
    for (std::size_t at = 0; at < text.size(); at += piece) out << text.substr(at, piece);
    out.put('\n').flush();
  }
  return sink.str();
}

TEST(EscapingBuffer, EscapesAllButEtprofsColorsForAllPieceLengths) {
  std::string text;
  std::string expected;
  for (int i = 0; i < 1000; ++i) {
    text += "\x1b[32mµ漢😀\x1b[0m\x1b[2J\u202e\xff\n";
    expected += "\x1b[32mµ漢😀\x1b[0m\\x1b[2J\\u202e\\xff\n";
  }
  for (const std::size_t piece : {1U, 2U, 3U, 5U, 7U, 4096U, 100'000U})
    EXPECT_EQ(EscapedInPieces(text, piece), expected + "\n");
  EXPECT_EQ(EscapedInPieces("a\xe6\xbc", 1), "a\\xe6\\xbc\n");  // a truncated character
}

}  // namespace
}  // namespace etprof
