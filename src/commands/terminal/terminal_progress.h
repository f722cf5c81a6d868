#pragma once

#include <signal.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "commands/terminal/progress.h"

namespace etprof {

// "launch 15 (next check at 20), round 3 of 7 · 1.84x faster ±0.9% · 93% clean · 12 s of 60 s max", truncated
// to the parts that fit into `width` columns. If there are several estimates, each is named.
std::string ProgressText(const ProgressUpdate& update, int width);

// The size of stderr, and whether it is a terminal on which lines can be redrawn.
struct ScreenSize {
  bool is_terminal = false;
  int columns = 80, rows = 24;
};
ScreenSize StderrSize();

// While an InterruptionScope exists, SIGINT, SIGTERM, and SIGHUP interrupt the workflows; a second signal
// ends etprof at once.
class InterruptionScope {
 public:
  InterruptionScope();
  ~InterruptionScope();
  InterruptionScope(InterruptionScope&&) = delete;

 private:
  struct sigaction old_actions_[3] = {};
};

// Shows the progress of a workflow on stderr. A terminal has one line, or one per device if there are
// several, which is redrawn. Otherwise, lines are appended: per device at most one every five seconds, or
// every half minute while it only waits. While the object exists, Ctrl-C interrupts the workflow.
class TerminalProgress : public WorkflowProgress {
 public:
  using WriteFunction = std::function<void(const std::string&)>;
  using Screen = std::function<ScreenSize()>;  // called for each drawing, since the window's size may change
  // If `devices` is empty, there is a single device, whose name is not shown.
  explicit TerminalProgress(std::vector<std::string> devices = {});
  TerminalProgress(std::vector<std::string> devices, WriteFunction write, Screen screen);
  ~TerminalProgress() override;
  TerminalProgress(TerminalProgress&&) = delete;

  bool Interrupted() const override;
  void Message(const std::string& text) override;
  void Step(const std::string& text, int done, int total) override;
  void State(std::size_t device, const std::string& text) override;
  // Prefixes the text with the device's name, unless the text begins with the name.
  void Message(std::size_t device, const std::string& text) override;
  Progress* GetDeviceProgress(std::size_t device) override { return device_progresses_.at(device).get(); }

 private:
  class DeviceProgress;
  struct Line {
    std::string text;
    std::chrono::steady_clock::time_point last_written, last_waiting;
  };
  void Update(std::size_t device, const ProgressUpdate& update);
  void Waiting(std::size_t device, const std::string& text);
  void WriteAbove(const std::string& line);
  void Draw(bool immediately);
  int NameWidth() const;              // columns of the longest name and the gap to the text
  std::string EraseSequence() const;  // moves the cursor to the first drawn line and erases from there on
  std::string WithDeviceName(std::size_t device, const std::string& text) const;

  const InterruptionScope interruption_;
  const std::vector<std::string> devices_;
  const WriteFunction write_;
  const Screen screen_;
  const bool terminal_;
  std::mutex mutex_;  // guards all members below, and the output
  std::vector<Line> lines_;
  std::vector<std::unique_ptr<Progress>> device_progresses_;
  int drawn_lines_ = 0;  // lines above the cursor
  std::chrono::steady_clock::time_point last_drawn_;
};

// Calls a workflow with its arguments and shows its progress on stderr.
template <typename Workflow>
auto WithProgress(const Workflow& workflow, auto&&... arguments) {
  TerminalProgress progress;
  return workflow(arguments..., progress);
}

}  // namespace etprof
