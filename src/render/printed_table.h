#pragma once

#include <functional>
#include <optional>

#include "say/document.h"

namespace etprof {

// The first `most` rows of a table for which `shows` is true, as they are printed: each cell has its text and
// its tone. All times have one unit, named in the heading of the first column, and the same digits, and parts
// add up as printed. The formats only differ in how they draw these texts.
say::Table PrintedTable(const say::Table& table, std::size_t most,
                        const std::function<bool(const say::Row&)>& shows);
// All rows, except those that only screens show (kRest).
say::Table PrintedTable(const say::Table& table);

// A value with its text and its tone; `span`, the document's, determines the unit and digits of its times.
say::Cell PrintedCell(const say::Value& of, const std::optional<say::Span>& span = {});

}  // namespace etprof
