#pragma once

#include <cstddef>
#include <optional>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

// Escapes untrusted text (names of operators, experiments, models, files and devices, output of a device) for
// a format: one function per format. The same characters are unsafe in all of them: control characters (C0,
// DEL, C1), which a terminal obeys; Unicode's bidirectional marks, which change the displayed order; line and
// paragraph separators; invalid UTF-8. JSON has JsonText (core/json/json.h), and the shell has ShellQuoted
// (device/device.h).
namespace etprof {

struct Character {
  std::size_t offset = 0, length = 1;  // bytes
  std::optional<char32_t> code;        // absent: an invalid UTF-8 byte
};
// Decodes the first character of a text (RFC 3629: no overlong forms, no surrogates).
Character FirstCharacter(std::string_view text);
// The first unsafe character at or after `from`.
std::optional<Character> FindUnsafeCharacter(std::string_view text, std::size_t from);

// The number of terminal columns that a UTF-8 text takes: code points, with combining marks as 0 and the
// common wide East Asian ranges as 2. Invalid bytes count as 1.
int DisplayWidth(const std::string& text);

// Escapes unsafe characters, including line ends and tabs, as "\x1b" (bytes) or "\u202e" (code points).
std::string EscapeToOneLine(std::string_view text);
// Escapes unsafe characters, but keeps line ends and tabs.
std::string EscapeLines(std::string_view text);

// Escapes a text for one line of Markdown; line ends become blanks. GitHub-flavored Markdown makes no link
// from an address in it and notifies nobody whose name follows an "@".
std::string EscapeMarkdown(std::string_view text);

// Formats a CSV field (RFC 4180), quoted if necessary. A text that a spreadsheet would evaluate gets an
// apostrophe in front: a text that begins with "=" or "@", or that begins with "+" or "-" and calls or pipes
// something ("-2+cmd|…"). Masks ("-sme2") and numbers are unchanged. Such a text behind apostrophes gets one
// more, so that UnescapeCsvFormula restores every text.
std::string CsvField(std::string_view text);
// Removes the apostrophe of CsvField.
std::string_view UnescapeCsvFormula(std::string_view field);

// Escapes the value of an HTML attribute in double quotes.
std::string HtmlAttribute(std::string_view text);

// Makes a text a file name that cannot leave its folder: unsafe characters, "/" and "\" become "_".
std::string SafeFileName(std::string_view text);

// etprof's colors on a terminal (ECMA-48's SGR).
namespace sgr {
inline constexpr std::string_view kPlain = "\x1b[0m", kBold = "\x1b[1m", kDim = "\x1b[2m", kRed = "\x1b[31m",
                                  kGreen = "\x1b[32m", kYellow = "\x1b[33m";
}

// A stream buffer for a terminal that escapes its text as EscapeLines does, but passes etprof's own colors.
class EscapingBuffer : public std::streambuf {
 public:
  explicit EscapingBuffer(std::streambuf* sink) : sink_(sink) {}
  ~EscapingBuffer() override { Write(pending_.size()); }
  EscapingBuffer(EscapingBuffer&&) = delete;

 protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize count) override;
  int sync() override;

 private:
  // Passes complete characters to the sink; an incomplete character stays pending.
  bool WriteComplete();
  // Passes the first `pending_size` bytes of pending_ to the sink, and removes them.
  bool Write(std::size_t pending_size);

  std::streambuf* sink_;
  std::string pending_;
};

// Replaces std::cout's buffer by an EscapingBuffer. RawStdout() writes bytes that are not text.
void EscapeStdout();
std::ostream& RawStdout();

}  // namespace etprof
