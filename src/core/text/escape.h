#pragma once

#include <cstddef>
#include <optional>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

// Text that somebody else wrote (the names of operators, experiments, models, files and devices, what a
// device says) on its way into a format: one function at the border of each. What harms is the same for all:
// control characters (C0, DEL, C1), which a terminal obeys; Unicode's bidirectional marks, after which
// everything is shown in another order than it has; line and paragraph separators; bytes that are no UTF-8.
// JSON's border is JsonText (core/json/json.h); a shell's is ShellQuoted (device/device.h).
namespace etprof {

struct Character {
  std::size_t at = 0, length = 1;  // bytes
  std::optional<char32_t> code;    // absent: a byte that is no UTF-8
};
// That a text begins with (RFC 3629: no overlong forms, no surrogates).
Character FirstCharacter(std::string_view text);
// The next one from `from` on that harms.
std::optional<Character> NextHarm(std::string_view text, std::size_t from);

// On one line: what harms as "\x1b" (bytes) or "\u202e" (code points), line ends and tabs too.
std::string OneLine(std::string_view text);
// The same where line ends and tabs are meant.
std::string ManyLines(std::string_view text);

// What Markdown shows as `text`, on one line; line ends become blanks. GitHub-flavored Markdown makes no link
// of an address, and notifies nobody whose name stands behind an "@".
std::string EscapeMarkdown(std::string_view text);

// A field of CSV (RFC 4180), quoted where it needs it. A text that a spreadsheet would compute gets an
// apostrophe in front: one that begins with "=" or "@", or with "+" or "-" and calls or pipes something
// ("-2+cmd|…"). Masks ("-sme2") and numbers stay as they are.
std::string CsvField(std::string_view text);

// The value of an attribute in HTML's double quotes.
std::string HtmlAttribute(std::string_view text);

// The name of a file or folder that lies in the folder it is put into: what harms, "/" and "\" become "_".
std::string AsFileName(std::string_view text);

// etprof's colors on a terminal (ECMA-48's SGR).
namespace sgr {
inline constexpr std::string_view kPlain = "\x1b[0m", kBold = "\x1b[1m", kDim = "\x1b[2m", kRed = "\x1b[31m",
                                  kGreen = "\x1b[32m", kYellow = "\x1b[33m";
}

// Passes on what is written as ManyLines has it, and etprof's colors, for a terminal.
class EscapingBuffer : public std::streambuf {
 public:
  explicit EscapingBuffer(std::streambuf* sink) : sink_(sink) {}
  ~EscapingBuffer() override { Flush(); }
  EscapingBuffer(EscapingBuffer&&) = delete;

 protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize count) override;
  int sync() override;

 private:
  // Passes on what is whole: a character may come in parts.
  bool Pass();
  bool Flush();

  std::streambuf* sink_;
  std::string pending_;
};

// From here on, std::cout is such a buffer; RawStdout() is where bytes go that are no text.
void EscapeStdout();
std::ostream& RawStdout();

}  // namespace etprof
