#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "measure/schedule/progress.h"

namespace etprof {

// "launch 15 (next check at 20), round 3 of 7 · 1.84x faster ±0.9% · 93% clean · 12 s of 60 s max": what fits
// into `width` columns. With several estimates each has its name.
std::string ProgressText(const ProgressUpdate& update, int width);

// What stderr is: whether lines can be drawn anew there, and its size.
struct ScreenSize {
  bool terminal = false;
  int columns = 80, rows = 24;
};
ScreenSize SizeOfStderr();

// Draws the progress of a measurement on stderr: on a terminal one line that renews itself, else a line at
// most every five seconds.
class ProgressLine : public Progress {
 public:
  ProgressLine();
  ~ProgressLine() override;
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void Update(const ProgressUpdate& update) override;
  void Message(const std::string& text) override;
  void Waiting(const std::string& text) override;

 private:
  void Clear();
  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_;
  std::optional<std::chrono::steady_clock::time_point> last_waiting_;
};

}  // namespace etprof
