#pragma once

#include <string>
#include <vector>

namespace etprof {

// The number of terminal columns that a UTF-8 text takes: code points, with combining marks as 0 and the
// common wide East Asian ranges as 2. Invalid bytes count as 1.
int DisplayWidth(const std::string& text);

// A table of text cells. Cells are plain text: each format escapes them here (core/escape.h).
struct Table {
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // every row has columns.size() cells

  void AddRow(std::vector<std::string> cells);

  // A GitHub-flavoured Markdown table.
  std::string ToMarkdown() const;
};

}  // namespace etprof
