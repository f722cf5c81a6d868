#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "render/screen/terminal.h"
#include "render/screen/terminal_text.h"
#include "report/report.h"

namespace etprof {

// Many reports on one screen: a line an experiment. Each report is told to it and can go.
class ExperimentList {
 public:
  // `from` (a run directory; empty: none) precedes the labels.
  void Add(const Report& report, const std::string& from);
  void Draw(const TerminalOptions& options, std::ostream& out) const;

 private:
  struct Line {
    std::string label, median, tail, cv, runs, group, verdict;
    Color color = Color::kNone;  // of the verdict
  };
  void DrawLines(const TerminalOptions& options, std::ostream& out) const;
  std::vector<Line> lines_;
  std::vector<std::string> notes_;
};

}  // namespace etprof
