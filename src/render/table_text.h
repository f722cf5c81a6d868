#pragma once

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
    std::optional<double> bar;  // 0 to 1, where the column has bars
  };
  std::vector<std::string> titles;
  std::vector<std::vector<Cell>> rows;  // titles.size() cells each
};

TableText TextOf(const say::Table& table);

}  // namespace etprof
