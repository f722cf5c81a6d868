#pragma once

#include <fmt/format.h>

#include <iostream>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/error.h"
#include "core/escape.h"

namespace etprof {

// What `value` is in a message: texts, which may be anybody's, on one line (OneLine), all else itself.
template <typename Value>
decltype(auto) Said(const Value& value) {
  if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
    return OneLine(value);
  } else {
    return (value);
  }
}

// Writes `text` to stderr as it is. A message is never worth a measurement: one that cannot be written (a
// full disk) is noted for MessagesLost(), and nothing is thrown.
void SayText(std::string_view text) noexcept;

// The same, formatted as fmt::print does, with texts among `values` as Said.
template <typename... Values>
void Say(fmt::format_string<Values...> format, Values&&... values) {
  const fmt::string_view pattern = format;
  SayText(fmt::format(fmt::runtime(pattern), Said(values)...));
}

// Writes an error as a person reads it: "error: ..." and, if it has a remedy, "hint: ...". `prefix` stands
// before what happened ("ssh:one: ").
void SayError(const Error& error, std::string_view prefix = "");

// Whether a message of this process was not written.
bool MessagesLost() noexcept;

// Formats as fmt::print does, to std::cout: what a terminal would obey is escaped there (EscapeStdout); texts
// among `values` may have several lines.
template <typename... Values>
void Print(fmt::format_string<Values...> format, Values&&... values) {
  std::cout << fmt::format(format, std::forward<Values>(values)...);
}

}  // namespace etprof
