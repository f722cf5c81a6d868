#pragma once

#include <cstddef>
#include <string>

#include "core/error.h"
#include "measure/schedule/progress.h"

namespace etprof {

// Receives a workflow's messages and progress, and tells the workflow whether to stop. Workflows report in no
// other way before they return. All members may be called from any thread. This base class ignores
// everything.
class WorkflowProgress {
 public:
  virtual ~WorkflowProgress() = default;
  virtual bool Interrupted() const { return false; }
  // One line that stays on the screen.
  virtual void Message(const std::string&) {}
  // The current activity. It is step `done` of `total`; total 0: the steps are not counted.
  virtual void Step(const std::string&, int /*done*/ = 0, int /*total*/ = 0) {}
  // State, messages, and measurement progress of the device with this index, for measurements on several
  // devices. A state is what a device does while nothing is measured on it ("connecting"). The progress is
  // null if it is not displayed.
  virtual void State(std::size_t, const std::string&) {}
  virtual void Message(std::size_t, const std::string& text) { Message(text); }
  virtual Progress* GetDeviceProgress(std::size_t) { return nullptr; }

  // Throws Error (kInterrupted, with `message`) if the workflow is to stop.
  void StopWhenInterrupted(const std::string& message = "interrupted") const {
    if (Interrupted()) throw Error(ExitCode::kInterrupted, message);
  }
};

}  // namespace etprof
