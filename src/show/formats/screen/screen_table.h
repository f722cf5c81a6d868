#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "show/document.h"
#include "show/formats/screen/terminal.h"
#include "show/formats/screen/terminal_text.h"

namespace etprof {

// A table that is at most as wide as the terminal. If it is too wide and TerminalOptions::all is false,
// columns are dropped in the order of their drop priority, then names in the first column are truncated, but
// never below 16 columns. Columns that may not be dropped and do not fit are counted; with
// TerminalOptions::all they are drawn in further tables below, which repeat the first column. For a column
// with `never_dropped`, texts of other columns are shortened, then other columns are dropped. If there is
// still no room, this column is drawn in a further table.
//
// Texts are single lines (EscapeToOneLine). A bar is relative to the longest bar of the table.
struct ScreenTable : show::Table {
  // Draws every line after two spaces, columns two spaces apart, and without trailing spaces. Returns the
  // number of hidden columns.
  std::size_t Draw(const TerminalOptions& options, std::ostream& out) const;

  void EraseColumn(std::size_t column);

 private:
  // Drops columns and shortens texts until the columns with `never_dropped` fit into `width`, if they can.
  void MakeRoom(int width);
  int ColumnWidth(std::size_t column) const;
  int Width() const;  // width with the first column at its minimum
  void DropColumn(std::size_t column);
  std::size_t DrawFitted(const TerminalOptions& options, std::ostream& out) const;
  void DrawColumns(const std::vector<std::size_t>& column_indices, const std::vector<int>& widths,
                   const TerminalOptions& options, std::ostream& out) const;
};

std::string_view ToneColor(show::Tone tone);

// Truncates text to `columns`.
std::string Truncate(const std::string& text, int columns, show::Table::Truncation truncation);

}  // namespace etprof
