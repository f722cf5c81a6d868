#pragma once

#include <functional>
#include <optional>

#include "show/document.h"

namespace etprof {

// The first `most` rows of a table for which `shows` is true, as they are printed: each cell has its text and
// its tone. All times have one unit, named in the heading of the first column, and the same digits, and parts
// add up as printed. The formats only differ in how they draw these texts.
show::Table PrintedTable(const show::Table& table, std::size_t most,
                         const std::function<bool(const show::Row&)>& shows);
// All rows, except those that only screens show (kRest).
show::Table PrintedTable(const show::Table& table);

// A value with its text and its tone; `span`, the document's, determines the unit and digits of its times.
show::Cell PrintedCell(const show::Value& of, const std::optional<show::Span>& span = {});

}  // namespace etprof
