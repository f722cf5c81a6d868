#pragma once

#include <ostream>
#include <string>

#include "stats/verdict.h"

// Text as a terminal shows it, for the files that draw on it.
namespace etprof {

// Control characters of a hostile name, escaped: they must not reach the terminal.
std::string Printable(const std::string& text);

// Cut to a number of columns at a code point, the end or (FittedTail) the beginning replaced by "…".
std::string Fitted(const std::string& text, int columns);
std::string FittedTail(const std::string& text, int columns);
// "Convolution (NHWC, F… #2": what tells two operators of one type apart stays.
std::string FittedName(const std::string& name, int columns);

std::string Blanks(int count);

// "███▏": `share` (0 to 1) of `columns` in eighths of a column; empty for less than four columns.
std::string Bar(double share, int columns);

enum class Color { kNone, kGreen, kRed, kDim, kBold };
// As ANSI; `text` itself where colours are off.
std::string Paint(const std::string& text, Color color, bool colors);
// Green faster, red slower, dim what cannot be told.
Color ColorOf(stats::Verdict verdict);

// `first`, then `text` from the column `indent` on, wrapped at blanks to `width`; every line is ended.
void WriteWrapped(const std::string& first, const std::string& text, int indent, int width,
                  std::ostream& out);

}  // namespace etprof
