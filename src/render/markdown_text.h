#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/escape.h"
#include "core/number.h"
#include "core/table.h"
#include "render/wording.h"

// What the files that write Markdown share.
namespace etprof::markdown {

using Align = Table::Align;

// The times of one table, in the unit that the screen would give them: its digits are the value's own, so
// that what is not 0 never looks like it.
class Times {
 public:
  explicit Times(const TimeScale& scale) : unit_ns_(scale.unit_ns), unit_(scale.unit) {}
  // Of a table whose largest time is that.
  explicit Times(double largest_ns) : Times(ScaleFor(largest_ns, largest_ns)) {}

  std::string operator()(double ns) const { return FormatNumber(ns / unit_ns_) + ' ' + unit_; }
  std::string operator()(const std::optional<double>& ns) const { return ns ? (*this)(*ns) : kUndefined; }

 private:
  double unit_ns_;
  const char* unit_;
};

inline std::string E(const std::string& text) { return EscapeMarkdown(text); }

inline Table MakeTable(std::vector<std::pair<std::string, Align>> columns) {
  Table table;
  for (auto& [title, align] : columns) table.columns.push_back({std::move(title), align});
  return table;
}

}  // namespace etprof::markdown
