#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/table.h"
#include "core/units.h"
#include "render/wording.h"

// What the files that write Markdown share.
namespace etprof::markdown {

using Align = Table::Align;

inline std::string Ms(double ns) { return FormatMilliseconds(ns); }
inline std::string Ms(const std::optional<double>& ns) { return ns ? Ms(*ns) : kUndefined; }
inline std::string E(const std::string& text) { return EscapeMarkdown(text); }

inline Table MakeTable(std::vector<std::pair<std::string, Align>> columns) {
  Table table;
  for (auto& [title, align] : columns) table.columns.push_back({std::move(title), align});
  return table;
}

}  // namespace etprof::markdown
