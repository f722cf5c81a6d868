#pragma once

#include <string>

namespace etprof {

inline constexpr int kMinTerminalWidth = 60;  // columns: narrower terminals are treated as this wide

struct TerminalOptions {
  int width = 80;           // columns; at least kMinTerminalWidth are used
  bool colors = false;      // ANSI colors: green for faster, red for slower, dim for inconclusive
  bool all = false;         // show everything, however long: every operator, layer, and finding, and plots
  bool ascii = false;       // the terminal cannot show UTF-8
  std::string report_path;  // path of the whole report; "": no report
};

}  // namespace etprof
