#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "render/screen/terminal.h"
#include "render/screen/terminal_text.h"

namespace etprof {

// A table as wide as the terminal at most. Where it is too wide, columns are left out in the order that they
// give, then the first column's names are cut, though never below 16 columns.
struct ScreenTable {
  struct Column {
    std::string title;
    bool right = false;  // aligned
    int goes = 0;        // 1: the first to be left out, 2: the next, ...; 0: stays
  };
  struct Cell {
    std::string text;
    Color color = Color::kNone;
  };
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  // every row has columns.size() cells
  bool ends_tell = false;               // of a name that is cut the end stays: "….py:86"

  // Two blanks before every line and between columns; no trailing blanks.
  void Draw(const TerminalOptions& options, std::ostream& out) const;

 private:
  void DrawShown(const TerminalOptions& options, std::ostream& out) const;
};

}  // namespace etprof
