#pragma once

#include <fmt/format.h>

#include <iostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/error.h"
#include "core/text/escape.h"
#include "show/formats/screen/terminal.h"

// Output to the terminals of stdout and stderr.
namespace etprof {

// A value in a message. Texts may come from users, so they are put on one line (EscapeToOneLine); all other
// values are unchanged.
template <typename Value>
decltype(auto) MessageArgument(const Value& value) {
  if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
    return EscapeToOneLine(value);
  } else {
    return (value);
  }
}

// Writes `text` to stderr unchanged. Never throws, since a failed message (full disk) must not end a
// measurement; MessagesLost() reports the failure.
void WriteToStderr(std::string_view text) noexcept;

// Formats as fmt::print does and writes to stderr, with texts among `values` on one line (MessageArgument).
template <typename... Values>
void PrintMessage(fmt::format_string<Values...> format, Values&&... values) {
  const fmt::string_view pattern = format;
  WriteToStderr(fmt::format(fmt::runtime(pattern), MessageArgument(values)...));
}

// The text of an error: "error: ..." and, if it has a remedy, "hint: ...", one line each. `prefix` precedes
// the problem ("ssh:one: "). An interruption is not an error, so it has no "error: ".
std::string ErrorText(const Error& error, std::string_view prefix = "");
// Writes ErrorText to stderr.
void PrintError(const Error& error, std::string_view prefix = "");

// True if this process failed to write a message.
bool MessagesLost() noexcept;

// Formats as fmt::print does, to std::cout, which escapes control characters (EscapeStdout). Texts among
// `values` may have several lines.
template <typename... Values>
void Print(fmt::format_string<Values...> format, Values&&... values) {
  std::cout << fmt::format(format, std::forward<Values>(values)...);
}

// True if the locale's character set is UTF-8, by the variables in POSIX's order (null or empty: not set). If
// no variable is set, UTF-8 is assumed: containers and `adb shell` set no variable, and display UTF-8.
bool IsUtf8Locale(const char* lc_all, const char* lc_ctype, const char* lang);

// True if the file descriptor is a terminal that supports escape sequences; TERM empty or "dumb" means that
// it does not.
bool SupportsEscapeSequences(int descriptor);

// Width, colors, and character set of stdout, from NO_COLOR (no-color.org), COLUMNS, and the locale.
TerminalOptions StdoutOptions();

// Converts `text` to the terminal's character set.
std::string EncodeForTerminal(const std::string& text);

// Throws Error if output to stdout was lost. If the reader of the pipe has gone (`| head`), ends the process
// silently, as SIGPIPE does.
void FlushStdout();

}  // namespace etprof
