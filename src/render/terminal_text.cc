#include "render/terminal_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/table.h"

namespace etprof {
namespace {

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

std::string Printable(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

std::string Fitted(const std::string& text, int columns) {
  if (DisplayWidth(text) <= columns) return text;
  std::string cut;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t next = i + 1;
    while (next < text.size() && IsContinuation(text[next])) ++next;
    const std::string longer = cut + text.substr(i, next - i);
    if (DisplayWidth(longer) > columns - 1) break;
    cut = longer;
    i = next;
  }
  return cut + "…";
}

std::string FittedTail(const std::string& text, int columns) {
  if (DisplayWidth(text) <= columns) return text;
  std::size_t from = text.size();
  while (from > 0) {
    std::size_t before = from - 1;
    while (before > 0 && IsContinuation(text[before])) --before;
    if (DisplayWidth(text.substr(before)) > columns - 1) break;
    from = before;
  }
  return "…" + text.substr(from);
}

std::string FittedName(const std::string& name, int columns) {
  const std::size_t number = name.rfind(" #");
  if (DisplayWidth(name) <= columns || number == std::string::npos || name.size() - number > 6)
    return Fitted(name, columns);
  const std::string tail = name.substr(number);
  return Fitted(name.substr(0, number), columns - DisplayWidth(tail)) + tail;
}

std::string Blanks(int count) { return std::string(static_cast<std::size_t>(std::max(0, count)), ' '); }

std::string Bar(double share, int columns) {
  static const char* const kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (!(share > 0) || columns < 4) return "";
  const auto eighths = static_cast<int>(std::lround(std::min(share, 1.0) * columns * 8));
  if (eighths == 0) return "";
  std::string bar;
  for (int i = 0; i < eighths / 8; ++i) bar += "█";
  return bar + kEighths[eighths % 8];
}

std::string Paint(const std::string& text, Color color, bool colors) {
  if (!colors || text.empty()) return text;
  switch (color) {
    case Color::kGreen:
      return "\033[32m" + text + "\033[0m";
    case Color::kRed:
      return "\033[31m" + text + "\033[0m";
    case Color::kDim:
      return "\033[2m" + text + "\033[0m";
    case Color::kBold:
      return "\033[1m" + text + "\033[0m";
    case Color::kNone:
      break;
  }
  return text;
}

Color ColorOf(stats::Verdict verdict) {
  switch (verdict) {
    case stats::Verdict::kFaster:
      return Color::kGreen;
    case stats::Verdict::kSlower:
      return Color::kRed;
    case stats::Verdict::kInconclusive:
    case stats::Verdict::kEmulated:
      return Color::kDim;
    case stats::Verdict::kSame:
      break;
  }
  return Color::kNone;
}

void WriteWrapped(const std::string& first, const std::string& text, int indent, int width,
                  std::ostream& out) {
  std::string line = first + Blanks(indent - DisplayWidth(first));
  int column = indent;
  bool at_start = true;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    const int word_width = DisplayWidth(word);
    if (!at_start && column + 1 + word_width > width) {
      out << line << '\n';
      line = Blanks(indent);
      column = indent;
      at_start = true;
    }
    if (!at_start) {
      line += ' ';
      ++column;
    }
    line += word;
    column += word_width;
    at_start = false;
    at = end + 1;
  }
  out << line << '\n';
}

}  // namespace etprof
