#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <boost/archive/iterators/binary_from_base64.hpp>
#include <boost/archive/iterators/transform_width.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/csv_reader.h"
#include "core/text/escape.h"
#include "show/formats.h"

// Renders documents, and parses them back into tables of cells, for the tests that compare the formats with
// each other.
namespace etprof::read {

using Rows = std::vector<std::vector<std::string>>;

// Returns what `render` writes to the stream, which it takes after `values`.
template <typename Render, typename... Values>
std::string RenderToString(const Render& render, const Values&... values) {
  std::ostringstream out;
  render(values..., out);
  return out.str();
}
inline std::string RenderScreen(const show::Document& document, const TerminalOptions& options = {}) {
  return RenderToString(RenderDocumentTerminal, document, options);
}
inline std::string RenderPage(const show::Document& document) {
  return RenderToString([&](std::ostream& out) { RenderDocumentMarkdown(document, 1, out); });
}

inline std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Expects that no line is wider than `width` columns.
inline void ExpectWidth(const std::string& text, int width) {
  for (const std::string& line : Lines(text)) EXPECT_LE(DisplayWidth(line), width) << line;
}

inline std::vector<const show::Table*> AllTables(const show::Document& document) {
  std::vector<const show::Table*> tables;
  for (const show::Section* const section : show::AllSections(document)) {
    for (const show::Part& part : section->parts) {
      if (const auto* const table = std::get_if<show::Table>(&part)) tables.push_back(table);
    }
  }
  return tables;
}

inline const show::Table& FindTable(const show::Document& document, std::string_view id) {
  for (const show::Table* const table : AllTables(document)) {
    if (table->id == id) return *table;
  }
  throw std::runtime_error("no table " + std::string(id));
}

// The row with this text in its first cell.
inline const show::Row& FindRow(const show::Table& table, std::string_view name) {
  for (const show::Row& row : table.rows) {
    if (ToText(row.cells[0]) == name) return row;
  }
  throw std::runtime_error("no row " + std::string(name));
}

inline const show::Table::Column& FindColumn(const show::Table& table, std::string_view id) {
  for (const show::Table::Column& column : table.columns) {
    if (column.id == id) return column;
  }
  throw std::runtime_error("no column " + std::string(id));
}

inline const show::Cell& FindCell(const show::Table& table, std::size_t row, std::string_view column) {
  return table.rows.at(row).cells.at(
      static_cast<std::size_t>(&FindColumn(table, column) - table.columns.data()));
}

// A table and the cells of its heading.
struct ParsedTable {
  std::vector<std::string> header;
  Rows rows;
};

// Undoes the escaping of page/document_markdown.cc.
inline std::string UnescapeMarkdown(const std::string& cell) {
  std::string text;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    if (cell.compare(i, 4, "&lt;") == 0) {
      text += '<';
      i += 3;
    } else if (cell.compare(i, 4, "&gt;") == 0) {
      text += '>';
      i += 3;
    } else if (cell[i] == '\\' && i + 1 < cell.size()) {
      text += cell[++i];
    } else {
      text += cell[i];
    }
  }
  return text;
}

// "| a | b |" -> a, b.
inline std::vector<std::string> MarkdownCells(const std::string& line) {
  std::vector<std::string> cells;
  std::string cell;
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size()) {
      cell += line[i];
      cell += line[++i];
    } else if (line[i] == '|') {
      const std::size_t from = cell.find_first_not_of(' '), to = cell.find_last_not_of(' ');
      cells.push_back(from == std::string::npos ? "" : UnescapeMarkdown(cell.substr(from, to - from + 1)));
      cell.clear();
    } else {
      cell += line[i];
    }
  }
  return cells;
}

inline std::vector<ParsedTable> MarkdownTables(const std::string& text) {
  std::vector<ParsedTable> tables;
  const std::vector<std::string> lines = Lines(text);
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    if (!lines[i].starts_with("| ") || !lines[i + 1].starts_with("| ---")) continue;
    ParsedTable& table = tables.emplace_back();
    table.header = MarkdownCells(lines[i]);
    for (i += 2; i < lines.size() && lines[i].starts_with("|"); ++i) {
      table.rows.push_back(MarkdownCells(lines[i]));
      if (table.rows.back().size() != table.header.size())
        throw std::runtime_error("a row has another number of cells than its heading: " + lines[i]);
    }
  }
  return tables;
}

inline ParsedTable ParseCsv(const std::string& text) {
  ParsedTable table;
  CsvReader reader(text, "");
  std::vector<std::string_view> fields;
  while (reader.Next(fields)) {
    std::vector<std::string> cells(fields.begin(), fields.end());
    if (table.header.empty()) {
      table.header = std::move(cells);
    } else {
      table.rows.push_back(std::move(cells));
    }
  }
  return table;
}

// The cells of a line on the screen, which are separated by at least two spaces. Bars are left out.
inline std::vector<std::string> ScreenCells(const std::string& line) {
  std::vector<std::string> cells;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(' ', at)) != std::string::npos) {
    const std::size_t end = std::min(line.find("  ", at), line.size());
    const std::string cell = line.substr(at, end - at);
    static const std::string kBlocks = "█▏▎▍▌▋▊▉";
    const bool bar = cell.size() >= 3 && kBlocks.find(cell.substr(0, 3)) != std::string::npos;
    if (!bar) cells.push_back(cell);
    at = end;
  }
  return cells;
}

// Splits text at blank lines into blocks, each with the cells of its lines.
inline std::vector<Rows> ScreenBlocks(const std::string& text) {
  std::vector<Rows> blocks(1);
  for (const std::string& line : Lines(text)) {
    if (!line.empty()) {
      blocks.back().push_back(ScreenCells(line));
    } else if (!blocks.back().empty()) {
      blocks.emplace_back();
    }
  }
  if (blocks.back().empty()) blocks.pop_back();
  return blocks;
}

// The JSON in the page's element with this id, which is gzip in base64.
inline std::string ExtractPageJson(const std::string& page, const std::string& id = "etprof-report") {
  const std::size_t element = page.find("id=\"" + id + "\"");
  const std::size_t from = page.find('>', element) + 1;
  std::string base64 = page.substr(from, page.find('<', from) - from);
  while (!base64.empty() && base64.back() == '=') base64.pop_back();
  using namespace boost::archive::iterators;
  using Bytes = transform_width<binary_from_base64<std::string::const_iterator>, 8, 6>;
  // Leftover bits that do not fill a byte are padding.
  const std::size_t size = base64.size() * 6 / 8;
  std::string packed;
  Bytes byte(base64.cbegin());
  for (std::size_t i = 0; i < size; ++i) packed += *byte++;

  z_stream stream{};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) throw std::runtime_error("zlib");
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string json;
  int result = Z_OK;
  while (result == Z_OK) {
    char chunk[1 << 14];
    stream.next_out = reinterpret_cast<Bytef*>(chunk);
    stream.avail_out = sizeof(chunk);
    result = inflate(&stream, Z_NO_FLUSH);
    json.append(chunk, sizeof(chunk) - stream.avail_out);
  }
  inflateEnd(&stream);
  if (result != Z_STREAM_END) throw std::runtime_error("the page's report is no gzip");
  return json;
}

}  // namespace etprof::read
