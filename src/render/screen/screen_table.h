#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "render/screen/terminal.h"
#include "render/screen/terminal_text.h"
#include "say/document.h"

namespace etprof {

// A table as wide as the terminal at most. Where it is too wide, and not all is asked for, columns are left
// out in the order that they give, then the first column's names are cut, though never below 16 columns. What
// may not be left out and does not fit is counted, or with TerminalOptions::all in further tables below,
// which repeat the first column.
struct ScreenTable {
  struct Column {
    std::string title;   // "": it stays beside the column before it
    bool right = false;  // aligned
    int goes = 0;        // 1: the first to be left out, 2: the next, ...; 0: stays
  };
  struct Cell {
    std::string text;             // OneLine
    std::string_view color = {};  // as Paint
    std::optional<double> bar =
        {};  // drawn at the end of the row where there is room, of the table's largest
  };
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;              // every row has columns.size() cells
  say::Table::Keep keep = say::Table::Keep::kName;  // of the first column's names, where they are cut
  int name_columns = 16;                            // that the first column keeps before others are left out

  // Two blanks before every line and between columns; no trailing blanks. How many columns were left out.
  std::size_t Draw(const TerminalOptions& options, std::ostream& out) const;

 private:
  void DrawColumns(const std::vector<std::size_t>& shown, const std::vector<int>& widths,
                   const TerminalOptions& options, std::ostream& out) const;
};

// Cut to a number of columns, what is kept staying.
std::string FittedTo(const std::string& text, int columns, say::Table::Keep keep);

}  // namespace etprof
