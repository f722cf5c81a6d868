#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "show/formats/screen/terminal.h"

// Helpers to draw text on a terminal: truncation, wrapping, colors, bars, and ASCII fallback.
namespace etprof {

inline constexpr int kAsciiReserve = 4;  // columns reserved per line: in ASCII, a few characters become two

// Calls `draw`. If the terminal shows only ASCII, converts what `draw` writes (ToAscii) and narrows the width
// a little, since "±" and "→" then take two columns.
void DrawForTerminal(const TerminalOptions& options, std::ostream& out,
                     const std::function<void(const TerminalOptions&, std::ostream&)>& draw);

// Replaces the characters that etprof draws and writes beyond ASCII. All but "±", "→", and "∞" keep their
// width; characters without a counterpart become "?".
std::string ToAscii(const std::string& text);

// Writes the line without trailing spaces.
void WriteLine(std::string line, std::ostream& out);

// The number of bytes of the longest prefix that takes at most `columns`.
std::size_t BytesThatFit(const std::string& text, int columns);
// Truncates text to `columns` at a code point. "…" replaces the end (TruncateEnd) or the beginning
// (TruncateBeginning).
std::string TruncateEnd(const std::string& text, int columns);
std::string TruncateBeginning(const std::string& text, int columns);
// Truncates an operator's name but keeps its number, which distinguishes operators of one type: "Convolution
// (NHWC… IGEMM #2".
std::string TruncateOperatorName(const std::string& name, int columns);

// Truncates each name to `columns`. Too long names first lose their common beginning and end, then their
// middle: "…resnet18…" and "…mobilenet…" for "net.resnet18_fp32" and "net.mobilenet_fp32".
std::vector<std::string> ShortenNames(std::vector<std::string> names, int columns);

std::string Spaces(int count);

// A bar "███▏" for a `share` (0 to 1) of `columns`, in eighths of a column; empty for fewer than four
// columns.
std::string Bar(double share, int columns);

// Text in one of the colors of core/text/escape.h (sgr); unchanged if `color` is empty or `colors` is false.
std::string Paint(const std::string& text, std::string_view color, bool colors);

// Writes `first`, then `text` (EscapeToOneLine) from the column `indent` on, wrapped at spaces to `width`;
// every line is ended. A number and its unit, a name and its "#3", and an interval stay on one line. Words
// wider than a line are broken, except paths.
void WriteWrapped(const std::string& first, const std::string& text, int indent, int width,
                  std::ostream& out);

}  // namespace etprof
