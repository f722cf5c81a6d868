#include "core/table.h"

#include <algorithm>
#include <cassert>
#include <cstdint>

namespace etprof {
namespace {

// Decodes the code point at `position` and advances; an invalid byte is returned as itself.
std::uint32_t NextCodePoint(const std::string& text, std::size_t& position) {
  const auto lead = static_cast<unsigned char>(text[position++]);
  int extra = 0;
  std::uint32_t code = lead;
  if (lead >= 0xf0 && lead < 0xf8) {
    extra = 3;
    code = lead & 0x07;
  } else if (lead >= 0xe0) {
    extra = 2;
    code = lead & 0x0f;
  } else if (lead >= 0xc0) {
    extra = 1;
    code = lead & 0x1f;
  }
  if (lead >= 0xf8) return lead;
  for (int i = 0; i < extra; ++i) {
    if (position >= text.size()) return lead;
    const auto next = static_cast<unsigned char>(text[position]);
    if ((next & 0xc0) != 0x80) return lead;
    code = (code << 6) | (next & 0x3f);
    ++position;
  }
  return code;
}

int CodePointWidth(std::uint32_t code) {
  if (code < 0x20 || code == 0x7f) return 0;
  if (code >= 0x300 && code <= 0x36f) return 0;
  const bool wide = (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
                    (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
                    (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
                    (code >= 0x1f300 && code <= 0x1faff) || (code >= 0x20000 && code <= 0x3fffd);
  return wide ? 2 : 1;
}

std::string Padded(const std::string& text, int width, Table::Align align) {
  const std::string blanks(static_cast<std::size_t>(std::max(0, width - DisplayWidth(text))), ' ');
  return align == Table::Align::kRight ? blanks + text : text + blanks;
}

}  // namespace

int DisplayWidth(const std::string& text) {
  int width = 0;
  for (std::size_t position = 0; position < text.size();)
    width += CodePointWidth(NextCodePoint(text, position));
  return width;
}

void Table::AddRow(std::vector<std::string> cells) {
  assert(cells.size() == columns.size());
  cells.resize(columns.size());
  rows.push_back(std::move(cells));
}

std::string Table::ToText(int indent) const {
  std::vector<int> widths;
  for (const Column& column : columns) widths.push_back(DisplayWidth(column.title));
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  std::string text;
  const auto add_line = [&](const auto& cell_of) {
    std::string line(static_cast<std::size_t>(indent), ' ');
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) line += "  ";
      line += Padded(cell_of(i), widths[i], columns[i].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  };
  add_line([&](std::size_t i) { return columns[i].title; });
  for (const auto& row : rows) add_line([&](std::size_t i) { return row[i]; });
  return text;
}

std::string Table::ToMarkdown() const {
  std::string text = "|";
  for (const Column& column : columns) text += ' ' + EscapeMarkdown(column.title) + " |";
  text += "\n|";
  for (const Column& column : columns) text += column.align == Align::kRight ? " ---: |" : " --- |";
  text += '\n';
  for (const auto& row : rows) {
    text += '|';
    for (const std::string& cell : row) text += ' ' + EscapeMarkdown(cell) + " |";
    text += '\n';
  }
  return text;
}

std::string EscapeMarkdown(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\n':
      case '\r':
        out += ' ';
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '|':
      case '\\':
      case '`':
      case '*':
      case '_':
      case '[':
      case ']':
      case '#':
      case '~':
        out += '\\';
        out += c;
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace etprof
