#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "render/screen/terminal.h"

// Text as a terminal shows it, for the files that draw on it.
namespace etprof {

inline constexpr int kLongerInAscii = 4;  // columns: a line holds few of the signs that become two characters

// Draws what the terminal can show: with `ascii`, what `draw` writes is put into ASCII (Ascii), a little
// narrower, since "±" and "→" take two columns then.
void DrawOn(const TerminalOptions& options, std::ostream& out,
            const std::function<void(const TerminalOptions&, std::ostream&)>& draw);

// The text with ASCII instead of what etprof draws and writes beyond it, column for column but for "±", "→"
// and "∞"; what has no likeness is "?".
std::string Ascii(const std::string& text);

// The line without blanks at its end.
void WriteLine(std::string line, std::ostream& out);

// Bytes of the text's first characters that take so many columns at most.
std::size_t BytesIn(const std::string& text, int columns);
// Cut to a number of columns at a code point, the end or (FittedTail) the beginning replaced by "…".
std::string Fitted(const std::string& text, int columns);
std::string FittedTail(const std::string& text, int columns);
// "Convolution (NHWC… IGEMM #2": what tells two operators of one type apart stays.
std::string FittedName(const std::string& name, int columns);

// Names in so many columns each. Of those that are too long what all of them begin and end with gives way
// first, then the middle: "…resnet18…" and "…mobilenet…" of "net.resnet18_fp32" and "net.mobilenet_fp32".
std::vector<std::string> Shortened(std::vector<std::string> names, int columns);

std::string Blanks(int count);

// "███▏": `share` (0 to 1) of `columns` in eighths of a column; empty for less than four columns.
std::string Bar(double share, int columns);

// In one of the colors of core/text/escape.h (sgr); `text` itself without one, or where `colors` are off.
std::string Paint(const std::string& text, std::string_view color, bool colors);

// `first`, then `text` (OneLine) from the column `indent` on, wrapped at blanks to `width`; every line is
// ended. A number and its unit, a name and its "#3", and an interval stay on one line; what is
// wider than a line is broken, a path aside.
void WriteWrapped(const std::string& first, const std::string& text, int indent, int width,
                  std::ostream& out);

}  // namespace etprof
