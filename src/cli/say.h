#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace etprof {

// Writes `text` to stderr. A message is never worth a measurement: one that cannot be written (a full disk)
// is noted for MessagesLost(), and nothing is thrown.
void SayText(std::string_view text) noexcept;

// The same, formatted as fmt::print does.
template <typename... Values>
void Say(fmt::format_string<Values...> format, Values&&... values) {
  SayText(fmt::format(format, std::forward<Values>(values)...));
}

// Whether a message of this process was not written.
bool MessagesLost() noexcept;

}  // namespace etprof
