#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "say/document.h"

namespace etprof {

// The texts of a document's table. All times have one unit, named in the heading of the first column, and the
// same digits, and parts add up as printed. The formats only differ in how they draw these texts.
struct TableText {
  struct Cell {
    std::string text;
    say::Tone tone = say::Tone::kPlain;
    std::optional<double> bar = {};  // 0 to 1, where the column has bars
    bool usual = true;               // false: shown only on pages, and on screens that show all
  };
  struct Row {
    std::vector<Cell> cells;  // as many as titles
    int depth = 0;
  };
  std::vector<std::string> titles;
  std::vector<Row> rows;
  std::string left;  // describes the rows that are not shown: "and 12 more (potential saving 0.34 ms)"; "":
                     // all are shown
};

// The first `most` rows for which `shows` is true.
TableText TextOf(const say::Table& table, std::size_t most,
                 const std::function<bool(const say::Row&)>& shows);
// All rows, except those that only screens show (kRest).
TableText TextOf(const say::Table& table);

}  // namespace etprof
