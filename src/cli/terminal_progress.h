#pragma once

#include <signal.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "workflow/progress.h"

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

// While it lives, SIGINT, SIGTERM and SIGHUP interrupt the workflows; the second one ends etprof at once.
class InterruptionScope {
 public:
  InterruptionScope();
  ~InterruptionScope();
  InterruptionScope(InterruptionScope&&) = delete;

 private:
  struct sigaction old_[3] = {};
};

// What a workflow says, on stderr. On a terminal what goes on is one line, or one for each of several
// devices, drawn anew; else lines, of each device at most every five seconds, while it only waits every half
// minute. While it lives, Ctrl-C interrupts the workflow.
class TerminalProgress : public WorkflowProgress {
 public:
  using Write = std::function<void(const std::string&)>;
  using Screen = std::function<ScreenSize()>;  // asked anew for each drawing: a window may change its size
  // Empty: of whatever device there is, without its name.
  explicit TerminalProgress(std::vector<std::string> devices = {});
  TerminalProgress(std::vector<std::string> devices, Write write, Screen screen);
  ~TerminalProgress() override;
  TerminalProgress(TerminalProgress&&) = delete;

  bool Interrupted() const override;
  void Message(const std::string& text) override;
  void Step(const std::string& text, int done, int total) override;
  void State(std::size_t device, const std::string& text) override;
  // The device's name in front where the text does not begin with it.
  void Message(std::size_t device, const std::string& text) override;
  Progress* Of(std::size_t device) override { return ones_.at(device).get(); }

 private:
  class One;
  struct Line {
    std::string text;
    std::chrono::steady_clock::time_point last_written, last_waiting;
  };
  void Update(std::size_t device, const ProgressUpdate& update);
  void Waiting(std::size_t device, const std::string& text);
  void Keep(const std::string& line);
  void Draw(bool at_once);
  int NameWidth() const;       // of the names and what is between them and the text
  std::string Erased() const;  // what puts the cursor to where the lines begin, and takes them away
  std::string Named(std::size_t device, const std::string& text) const;

  const InterruptionScope interruption_;
  const std::vector<std::string> devices_;
  const Write write_;
  const Screen screen_;
  const bool terminal_;
  std::mutex mutex_;  // of all that follows, and of what is written
  std::vector<Line> lines_;
  std::vector<std::unique_ptr<Progress>> ones_;
  int drawn_ = 0;  // lines on the screen, below which the cursor is
  std::chrono::steady_clock::time_point last_drawn_;
};

// What a workflow makes of what it is given, its progress on stderr until then.
template <typename Workflow>
auto WithProgress(const Workflow& workflow, const auto&... given) {
  TerminalProgress progress;
  return workflow(given..., progress);
}

}  // namespace etprof
