#include "render/terminal_text.h"

#include <fmt/format.h>

#include <algorithm>

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

std::string Blanks(int count) { return std::string(static_cast<std::size_t>(std::max(0, count)), ' '); }

}  // namespace etprof
