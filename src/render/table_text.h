#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "say/document.h"

namespace etprof {

// A table of a document as text: one unit and the same digits for all of its times, whose unit stands in the
// heading of the first column, and parts that add up as printed. Formats differ in how they draw it alone.
struct TableText {
  struct Cell {
    std::string text;
    say::Tone tone = say::Tone::kPlain;
    std::optional<double> bar = {};  // 0 to 1, where the column has bars
    bool usual = true;               // false: only a screen that shows all has it, and a page
  };
  struct Row {
    std::vector<Cell> cells;  // titles.size()
    int depth = 0;
  };
  std::vector<std::string> titles;
  std::vector<Row> rows;
  std::string left;  // "and 12 more (potential saving 0.34 ms)": what is not shown; "": all is
};

// Of the rows that `shows` says, the first `most`.
TableText TextOf(const say::Table& table, std::size_t most,
                 const std::function<bool(const say::Row&)>& shows);
// Of all rows.
TableText TextOf(const say::Table& table);

}  // namespace etprof
