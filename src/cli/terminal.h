#pragma once

#include <fmt/format.h>

#include <iostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/error.h"
#include "core/text/escape.h"
#include "render/screen/terminal.h"

// The terminal that stdout and stderr are.
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

// An error as a person reads it: "error: ..." and, if it has a remedy, "hint: ...", each a line. `prefix`
// stands before what happened ("ssh:one: "). An interruption is no error, and is not called one.
std::string ErrorText(const Error& error, std::string_view prefix = "");
// Writes it as Say does.
void SayError(const Error& error, std::string_view prefix = "");

// Whether a message of this process was not written.
bool MessagesLost() noexcept;

// Formats as fmt::print does, to std::cout: what a terminal would obey is escaped there (EscapeStdout); texts
// among `values` may have several lines.
template <typename... Values>
void Print(fmt::format_string<Values...> format, Values&&... values) {
  std::cout << fmt::format(format, std::forward<Values>(values)...);
}

// Whether the locale's character set is UTF-8, by the variables as POSIX ranks them (null or empty: not set).
// Where none is set it is taken for granted: containers and `adb shell` set none, and show it.
bool IsUtf8Locale(const char* lc_all, const char* lc_ctype, const char* lang);
// Likewise, of this process.
bool ShowsUtf8();

// Whether the file descriptor is a terminal that obeys escape sequences, by TERM (empty or "dumb": it does
// not).
bool TakesEscapeSequences(int descriptor);

// Width, colors and character set, NO_COLOR (no-color.org), COLUMNS and the locale kept.
TerminalOptions OptionsOfStdout();

// `text` as this terminal can show it.
std::string ForTerminal(const std::string& text);

// Throws Error where what was written to stdout did not arrive; where its reader has gone (`| head`) ends the
// process silently, as SIGPIPE does.
void FlushStdout();

}  // namespace etprof
