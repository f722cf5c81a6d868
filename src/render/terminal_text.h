#pragma once

#include <string>

// Text as a terminal shows it, for the files that draw on it.
namespace etprof {

// Control characters of a hostile name, escaped: they must not reach the terminal.
std::string Printable(const std::string& text);

// Cut to a number of columns at a code point, the end or (FittedTail) the beginning replaced by "…".
std::string Fitted(const std::string& text, int columns);
std::string FittedTail(const std::string& text, int columns);

std::string Blanks(int count);

}  // namespace etprof
