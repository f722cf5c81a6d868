#pragma once

#include <string>

#include "render/screen/terminal.h"

// The terminal that stdout is.
namespace etprof {

// Whether the locale's character set is UTF-8, by the variables as POSIX ranks them (null or empty: not set).
// Where none is set it is taken for granted: containers and `adb shell` set none, and show it.
bool IsUtf8Locale(const char* lc_all, const char* lc_ctype, const char* lang);
// Likewise, of this process.
bool ShowsUtf8();

// Width, colours and character set, NO_COLOR (no-color.org), COLUMNS and the locale kept.
TerminalOptions OptionsOfStdout();

// `text` as this terminal can show it.
std::string ForTerminal(const std::string& text);

// Throws Error where what was written to stdout did not arrive; where its reader has gone (`| head`) ends the
// process silently, as SIGPIPE does.
void FlushStdout();
[[noreturn]] void FailStdout();  // the same, where it is known that it did not

}  // namespace etprof
