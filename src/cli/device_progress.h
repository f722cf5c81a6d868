#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cli/progress_line.h"
#include "measure/schedule/progress.h"

namespace etprof {

// The progress of several measurements at once, one a device, each told by a thread of its own. On a terminal
// one line a device, drawn anew; else lines with the device's name in front, of each device at most every
// five seconds, while it only waits every half minute.
class DeviceProgress {
 public:
  using Write = std::function<void(const std::string&)>;
  using Screen = std::function<ScreenSize()>;  // asked anew for each drawing: a window may change its size
  DeviceProgress(std::vector<std::string> devices, Write write, Screen screen);
  ~DeviceProgress();
  DeviceProgress(const DeviceProgress&) = delete;
  DeviceProgress& operator=(const DeviceProgress&) = delete;

  // For the measurement on that device; lives as long as this object.
  Progress& Of(std::size_t device);
  // What a device does while nothing is measured there: "connecting", "failed", "done".
  void State(std::size_t device, const std::string& text);
  // A line that stays, the device's name in front where it does not begin with it.
  void Message(std::size_t device, const std::string& text);

 private:
  class One;
  struct Line {
    std::string text;
    std::chrono::steady_clock::time_point last_written, last_waiting;
  };
  void Update(std::size_t device, const ProgressUpdate& update);
  void Waiting(std::size_t device, const std::string& text);
  void Draw(bool at_once);
  std::string Erased() const;  // what puts the cursor to where the lines begin, and takes them away
  std::string Named(std::size_t device, const std::string& text) const;

  const std::vector<std::string> devices_;
  const Write write_;
  const Screen screen_;
  const bool terminal_;
  std::mutex mutex_;  // of all that follows, and of what is written
  std::vector<Line> lines_;
  std::vector<std::unique_ptr<One>> ones_;
  int drawn_ = 0;  // lines on the screen, below which the cursor is
  std::chrono::steady_clock::time_point last_drawn_;
};

}  // namespace etprof
