#pragma once

#include <fmt/format.h>

#include <optional>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/escape.h"
#include "core/number.h"
#include "core/table.h"
#include "say/wording.h"

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

// A file of Markdown: what is written as a literal or a table is Markdown; every other text is anybody's, and
// is shown as it is (EscapeMarkdown).
class Out {
 public:
  explicit Out(std::ostream& out) : out_(out) {}

  // A literal: nobody else's text is of this type.
  Out& operator<<(const char* markup) {
    out_ << markup;
    return *this;
  }
  Out& operator<<(char markup) {
    out_ << markup;
    return *this;
  }
  Out& operator<<(int number) {
    out_ << number;
    return *this;
  }
  Out& operator<<(const std::string& text) {
    out_ << EscapeMarkdown(text);
    return *this;
  }
  Out& operator<<(const Table& table) {
    out_ << table.ToMarkdown();
    return *this;
  }
  // What another Out wrote.
  Out& Written(const std::string& markdown) {
    out_ << markdown;
    return *this;
  }
  // `format` is Markdown, texts among `values` are not.
  template <typename... Values>
  Out& Format(fmt::format_string<Values...> format, Values&&... values) {
    const fmt::string_view pattern = format;
    out_ << fmt::format(fmt::runtime(pattern), Shown(values)...);
    return *this;
  }

 private:
  template <typename Value>
  static decltype(auto) Shown(const Value& value) {
    if constexpr (std::is_same_v<Value, std::string>) {
      return EscapeMarkdown(value);
    } else {
      return (value);
    }
  }

  std::ostream& out_;
};

inline Table MakeTable(std::vector<std::pair<std::string, Align>> columns) {
  Table table;
  for (auto& [title, align] : columns) table.columns.push_back({std::move(title), align});
  return table;
}

}  // namespace etprof::markdown
