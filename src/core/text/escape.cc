#include "core/text/escape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <map>

#include "core/text/text.h"

namespace etprof {
namespace {
constexpr std::array kColors = {sgr::kPlain, sgr::kBold, sgr::kDim, sgr::kRed, sgr::kGreen, sgr::kYellow};
constexpr std::size_t kMaxSequenceBytes = 5;  // bytes of the longest character or color sequence
constexpr std::size_t kFlushBytes = 4096;

// Unicode's Bidi_Control, line and paragraph separators, and characters that XML 1.0 forbids.
bool IsUnsafe(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c || code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0xfffe ||
         code == 0xffff;
}

std::string Escaped(const Character& unsafe, char byte) {
  if (unsafe.code && *unsafe.code >= 0x80)
    return fmt::format("\\u{:04x}", static_cast<unsigned>(*unsafe.code));
  return fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
}

// Replaces each unsafe character in `text`. `replace` gets the text from the unsafe character on, and the
// character. It may increase the length of the character to replace more bytes.
template <typename Replace>
std::string ReplaceUnsafe(std::string_view text, const Replace& replace) {
  std::string out;
  std::size_t from = 0;
  while (auto unsafe = FindUnsafeCharacter(text, from)) {
    out += text.substr(from, unsafe->offset - from);
    out += replace(text.substr(unsafe->offset), *unsafe);
    from = unsafe->offset + unsafe->length;
  }
  return out += text.substr(from);
}

std::string EscapeExceptLineEnds(std::string_view text, bool keep_colors) {
  return ReplaceUnsafe(text, [&](std::string_view rest, Character& unsafe) {
    if (rest[0] == '\n' || rest[0] == '\t') return std::string(1, rest[0]);
    for (const std::string_view color : kColors) {
      if (!keep_colors || !rest.starts_with(color)) continue;
      unsafe.length = color.size();
      return std::string(color);
    }
    return Escaped(unsafe, rest[0]);
  });
}

int CodePointWidth(char32_t code) {
  if (code < 0x20 || code == 0x7f) return 0;
  if (code >= 0x300 && code <= 0x36f) return 0;
  const bool wide = (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
                    (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
                    (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
                    (code >= 0x1f300 && code <= 0x1faff) || (code >= 0x20000 && code <= 0x3fffd);
  return wide ? 2 : 1;
}

// True for a text that a spreadsheet would evaluate, also behind apostrophes.
bool IsFormula(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of('\''), text.size()));
  if (text.empty()) return false;
  const bool is_signed_formula =
      (text[0] == '+' || text[0] == '-') && text.find_first_of("(|!=") != std::string_view::npos;
  return text[0] == '=' || text[0] == '@' || is_signed_formula;
}

}  // namespace

Character FirstCharacter(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = byte(0);
  if (first < 0x80) return {0, 1, first};
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length == 0 || first > 0xf4) return {};
  char32_t code = first & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    code = code << 6U | (byte(i) & 0x3fU);
  }
  static constexpr char32_t kMinCode[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kMinCode[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {0, length, code};
}

std::optional<Character> FindUnsafeCharacter(std::string_view text, std::size_t from) {
  constexpr std::size_t kBlockBytes = 32;  // the compiler vectorizes loops of a fixed length
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7f; };
  const auto all_plain = [&](const char* bytes) {
    unsigned others = 0;
    for (std::size_t i = 0; i < kBlockBytes; ++i) others += is_plain(bytes[i]) ? 0U : 1U;
    return others == 0;
  };
  for (std::size_t at = from; at < text.size();) {
    while (at + kBlockBytes <= text.size() && all_plain(text.data() + at)) at += kBlockBytes;
    while (at < text.size() && is_plain(text[at])) ++at;
    if (at == text.size()) break;
    Character character = FirstCharacter(text.substr(at));
    character.offset = at;
    if (!character.code || IsUnsafe(*character.code)) return character;
    at += character.length;
  }
  return std::nullopt;
}

int DisplayWidth(const std::string& text) {
  int width = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const Character first = FirstCharacter(rest);
    width += first.code ? CodePointWidth(*first.code) : 1;
    rest.remove_prefix(first.length);
  }
  return width;
}

std::string EscapeToOneLine(std::string_view text) {
  return ReplaceUnsafe(
      text, [](std::string_view rest, const Character& unsafe) { return Escaped(unsafe, rest[0]); });
}

std::string EscapeLines(std::string_view text) { return EscapeExceptLineEnds(text, false); }

std::string EscapeMarkdown(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(line, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const std::string_view rest = std::string_view(line).substr(i + 1);
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else {
      // GitHub's Markdown turns URLs into links (GFM, "Autolinks (extension)").
      const std::string preceding =
          Lower(std::string_view(line).substr(i < 5 ? 0 : i - 5, std::min<std::size_t>(i, 5)));
      const bool in_url =
          (c == ':' && rest.starts_with("//") &&
           (preceding.ends_with("http") || preceding.ends_with("https") || preceding.ends_with("ftp"))) ||
          (c == '.' && preceding.ends_with("www"));
      if (in_url || std::string_view("|\\`*_[]#~").find(c) != std::string_view::npos) out += '\\';
      out += c;
      // A backslash does not prevent a mention: GitHub and GitLab search the rendered page for names.
      if (c == '@' && !rest.empty() && rest.front() != ' ') out += "<!-- -->";
    }
  }
  return EscapeToOneLine(out);
}

std::string CsvField(std::string_view text) {
  std::string line = EscapeLines(text);
  if (IsFormula(line)) line = "'" + line;
  if (line.find_first_of(",\"\n") == std::string::npos) return line;
  std::string quoted = "\"";
  for (const char c : line) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string_view UnescapeCsvFormula(std::string_view field) {
  return field.starts_with('\'') && IsFormula(field) ? field.substr(1) : field;
}

std::string HtmlAttribute(std::string_view text) {
  static const std::map<char, std::string_view> kEntities = {{'&', "&amp;"}, {'"', "&quot;"}, {'<', "&lt;"}};
  std::string out;
  for (const char c : EscapeToOneLine(text)) {
    const auto entity = kEntities.find(c);
    out += entity != kEntities.end() ? entity->second : std::string_view(&c, 1);
  }
  return out;
}

std::string SafeFileName(std::string_view text) {
  std::string out = ReplaceUnsafe(text, [](std::string_view, const Character&) { return "_"; });
  std::ranges::replace_if(out, [](char c) { return c == '/' || c == '\\'; }, '_');
  if (out == ".") return "_";
  return out == ".." ? "__" : out;
}

std::streambuf::int_type EscapingBuffer::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  pending_ += traits_type::to_char_type(c);
  return pending_.size() < kFlushBytes || WriteComplete() ? c : traits_type::eof();
}

std::streamsize EscapingBuffer::xsputn(const char* text, std::streamsize count) {
  pending_.append(text, static_cast<std::size_t>(count));
  return pending_.size() < kFlushBytes || WriteComplete() ? count : 0;
}

int EscapingBuffer::sync() { return Write(pending_.size()) && sink_->pubsync() == 0 ? 0 : -1; }

bool EscapingBuffer::WriteComplete() {
  // An incomplete character or color sequence begins among the last four bytes.
  std::size_t complete_size = pending_.size();
  for (std::size_t back = 1; back < kMaxSequenceBytes && back <= pending_.size(); ++back) {
    const auto byte = static_cast<unsigned char>(pending_[pending_.size() - back]);
    if (byte == 0x1b || byte >= 0xc2) complete_size = pending_.size() - back;
  }
  return Write(complete_size);
}

bool EscapingBuffer::Write(std::size_t pending_size) {
  const std::string out = EscapeExceptLineEnds(std::string_view(pending_).substr(0, pending_size), true);
  pending_.erase(0, pending_size);
  const auto size = static_cast<std::streamsize>(out.size());
  return sink_->sputn(out.data(), size) == size;
}

std::ostream& RawStdout() {
  static std::ostream raw(std::cout.rdbuf());
  return raw;
}

void EscapeStdout() {
  RawStdout();  // the first call stores the original buffer
  // Never destroyed, because std::cout is flushed after all other objects are gone.
  static auto* const escaping = new EscapingBuffer(std::cout.rdbuf());
  std::cout.rdbuf(escaping);
}

}  // namespace etprof
