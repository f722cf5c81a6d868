#pragma once

#include <string>

namespace etprof {

inline constexpr int kLeastWidth = 60;  // columns: narrower terminals are drawn on as if they had them

struct TerminalOptions {
  int width = 80;       // columns; at least kLeastWidth are used
  bool colors = false;  // ANSI: green faster, red slower, dim what the measurement cannot tell
  bool all = false;     // everything, however many screens: every operator, layer and insight, plots
  bool ascii = false;   // the terminal shows no UTF-8
  std::string more;     // where the whole report is; empty: nowhere
};

}  // namespace etprof
