#pragma once

#include <functional>

#include "show/document.h"

namespace etprof {

// The first `max_rows` rows of a table for which `is_shown` is true, as they are printed: each cell has its
// text and its tone. All times have one unit, named in the heading of the first column, and the same digits,
// and parts add up as printed. The formats only differ in how they draw these texts.
show::Table PrintedTable(const show::Table& table, std::size_t max_rows,
                         const std::function<bool(const show::Row&)>& is_shown);
// All rows, except those that only screens show (kScreenOnly).
show::Table PrintedTable(const show::Table& table);

}  // namespace etprof
