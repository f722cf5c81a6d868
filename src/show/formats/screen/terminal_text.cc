#include "show/formats/screen/terminal_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <sstream>
#include <string_view>

#include "core/text/escape.h"

namespace etprof {
namespace {

std::size_t NextCharacter(const std::string& text, std::size_t at) {
  return at + FirstCharacter(std::string_view(text).substr(at)).length;
}

// True if a line must not end between the two words: "0.64 ms", "IGEMM #2", "[1.0, 2.0] %".
bool MustStayTogether(const std::string& word, std::string next) {
  static constexpr std::array<std::string_view, 11> kUnits = {"ns", "µs", "ms", "s",   "B", "kB",
                                                              "MB", "GB", "%",  "GHz", "°C"};
  if (next.starts_with('#') || (word.starts_with('[') && word.find(']') == std::string::npos)) return true;
  if (word.empty() || std::string_view("0123456789]").find(word.back()) == std::string_view::npos)
    return false;
  while (!next.empty() && std::string_view(".,;:)").find(next.back()) != std::string_view::npos)
    next.pop_back();
  return std::ranges::find(kUnits, next) != kUnits.end();
}

}  // namespace

void DrawForTerminal(const TerminalOptions& options, std::ostream& out,
                     const std::function<void(const TerminalOptions&, std::ostream&)>& draw) {
  if (!options.ascii) {
    draw(options, out);
    return;
  }
  TerminalOptions narrow_options = options;
  narrow_options.width -= kAsciiReserve;
  std::ostringstream drawn;
  draw(narrow_options, drawn);
  // The ASCII text may end with spaces: bars of less than half a column become spaces.
  std::istringstream lines(ToAscii(drawn.str()));
  for (std::string line; std::getline(lines, line);) WriteLine(line, out);
}

void WriteLine(std::string line, std::ostream& out) {
  line.erase(line.find_last_not_of(' ') + 1);
  out << line << '\n';
}

std::string ToAscii(const std::string& text) {
  // Bars in eighths of a column (half a column or more is drawn), charts in eighths of a line, plots, and
  // text.
  static const std::map<std::string_view, std::string_view> kAsciiFor = {
      {"█", "#"}, {"▉", "#"}, {"▊", "#"},  {"▋", "#"},  {"▌", "#"},   {"▍", " "}, {"▎", " "},
      {"▏", " "}, {"▁", "."}, {"▂", ":"},  {"▃", "-"},  {"▄", "="},   {"▅", "+"}, {"▆", "*"},
      {"▇", "%"}, {"─", "-"}, {"┬", "+"},  {"┴", "+"},  {"│", "|"},   {"┤", "+"}, {"└", "+"},
      {"▲", "^"}, {"∙", "."}, {"•", "o"},  {"·", "-"},  {"—", "-"},   {"…", "~"}, {"≈", "~"},
      {"−", "-"}, {"µ", "u"}, {"→", "->"}, {"±", "+-"}, {"∞", "inf"}, {"°", ""}};
  std::string ascii;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = NextCharacter(text, at);
    const std::string character = text.substr(at, next - at);
    at = next;
    if (const auto entry = kAsciiFor.find(character); entry != kAsciiFor.end()) {
      ascii += entry->second;
    } else if (character.size() == 1 && static_cast<unsigned char>(character[0]) < 0x80) {
      ascii += character;
    } else {
      ascii.append(static_cast<std::size_t>(DisplayWidth(character)), '?');
    }
  }
  return ascii;
}

std::size_t BytesThatFit(const std::string& text, int columns) {
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const std::size_t next = NextCharacter(text, bytes);
    columns -= DisplayWidth(text.substr(bytes, next - bytes));
    if (columns < 0) break;
    bytes = next;
  }
  return bytes;
}

std::string TruncateEnd(const std::string& text, int columns) {
  return DisplayWidth(text) <= columns ? text : text.substr(0, BytesThatFit(text, columns - 1)) + "…";
}

std::string TruncateBeginning(const std::string& text, int columns) {
  int width = DisplayWidth(text);
  if (width <= columns) return text;
  std::size_t from = 0;
  while (from < text.size() && width > columns - 1) {
    const std::size_t next = NextCharacter(text, from);
    width -= DisplayWidth(text.substr(from, next - from));
    from = next;
  }
  return "…" + text.substr(from);
}

std::string TruncateOperatorName(const std::string& name, int columns) {
  const std::size_t number = name.rfind(" #");
  if (DisplayWidth(name) <= columns || number == std::string::npos || name.size() - number > 6)
    return TruncateEnd(name, columns);
  std::string tail = name.substr(number);
  // Numbers are counted separately for "IGEMM" and "DWConv", so the kind stays, too.
  if (const std::size_t close = name.rfind(')', number); close != std::string::npos) {
    const std::string kind = name.substr(close + 1);
    if (2 * DisplayWidth(kind) <= columns) tail = kind;
  }
  return TruncateEnd(name.substr(0, number), columns - DisplayWidth(tail)) + tail;
}

std::vector<std::string> ShortenNames(std::vector<std::string> names, int columns) {
  static const std::string kEllipsis = "…", kSeparators = "_-./:, ";
  std::vector<std::string*> long_names;
  for (std::string& name : names) {
    if (DisplayWidth(name) > columns) long_names.push_back(&name);
  }
  // The length of the common beginning and end, up to a separator.
  std::size_t common_prefix = 0, common_suffix = 0;
  for (std::size_t i = 1; i < long_names.size(); ++i) {
    const std::string &a = *long_names[0], &b = *long_names[i];
    const auto first = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
    const auto last = static_cast<std::size_t>(
        std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend()).first - a.rbegin());
    const std::size_t from = first == 0 ? std::string::npos : a.find_last_of(kSeparators, first - 1);
    const std::size_t to = a.find_first_of(kSeparators, a.size() - last);
    const std::size_t prefix = from == std::string::npos ? 0 : from + 1;
    const std::size_t suffix = to == std::string::npos ? 0 : a.size() - to;
    common_prefix = i == 1 ? prefix : std::min(common_prefix, prefix);
    common_suffix = i == 1 ? suffix : std::min(common_suffix, suffix);
  }
  for (std::string* const name : long_names) {
    if (common_prefix > 0 && common_prefix < name->size()) {
      std::string shortened = kEllipsis + name->substr(common_prefix);
      if (DisplayWidth(shortened) > columns && common_prefix + common_suffix < name->size())
        shortened =
            shortened.substr(0, shortened.size() - common_suffix) + (common_suffix > 0 ? kEllipsis : "");
      *name = std::move(shortened);
    } else if (common_suffix > 0 && common_suffix < name->size()) {
      *name = name->substr(0, name->size() - common_suffix) + kEllipsis;
    }
    if (DisplayWidth(*name) <= columns) continue;
    const int head = (columns - 1) / 2, tail = columns - 1 - head;
    *name = TruncateEnd(*name, head + 1) + TruncateBeginning(*name, tail + 1).substr(kEllipsis.size());
  }
  return names;
}

std::string Spaces(int count) { return std::string(static_cast<std::size_t>(std::max(0, count)), ' '); }

std::string Bar(double share, int columns) {
  static const char* const kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (!(share > 0) || columns < 4) return "";
  const auto eighths = static_cast<int>(std::lround(std::min(share, 1.0) * columns * 8));
  if (eighths == 0) return "";
  std::string bar;
  for (int i = 0; i < eighths / 8; ++i) bar += "█";
  return bar + kEighths[eighths % 8];
}

std::string Paint(const std::string& text, std::string_view color, bool colors) {
  return !colors || text.empty() || color.empty() ? text : fmt::format("{}{}{}", color, text, sgr::kPlain);
}

void WriteWrapped(const std::string& first, const std::string& paragraph, int indent, int width,
                  std::ostream& out) {
  const std::string text = EscapeToOneLine(paragraph);
  std::string line = first + Spaces(indent - DisplayWidth(first));
  int column = indent;
  bool at_start = true;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = std::min(text.find(' ', at), text.size());
    while (end < text.size()) {
      const std::size_t next_end = std::min(text.find(' ', end + 1), text.size());
      if (!MustStayTogether(text.substr(at, end - at), text.substr(end + 1, next_end - end - 1))) break;
      end = next_end;
    }
    const std::string word = text.substr(at, end - at);
    const int word_width = DisplayWidth(word);
    if (!at_start && column + 1 + word_width > width) {
      out << line << '\n';
      line = Spaces(indent);
      column = indent;
      at_start = true;
    }
    if (!at_start) {
      line += ' ';
      ++column;
    }
    // Break words without spaces, such as hashes; keep paths whole, so that they can be copied.
    std::string remaining = word;
    while (indent < width && column + DisplayWidth(remaining) > width &&
           remaining.find('/') == std::string::npos) {
      const std::size_t fits = BytesThatFit(remaining, width - column);
      if (fits == 0) break;
      out << line << remaining.substr(0, fits) << '\n';
      remaining.erase(0, fits);
      line = Spaces(indent);
      column = indent;
    }
    line += remaining;
    column += DisplayWidth(remaining);
    at_start = false;
    at = end + 1;
  }
  out << line << '\n';
}

}  // namespace etprof
