#pragma once

#include <cstddef>
#include <string>

#include "measure/schedule/progress.h"

namespace etprof {

// What a workflow says before its value is finished, and whether it is to stop: the one way in which it
// speaks. All of it may be called from any thread. This one is silent.
class WorkflowProgress {
 public:
  virtual ~WorkflowProgress() = default;
  virtual bool Interrupted() const { return false; }
  // One line that is to be kept.
  virtual void Message(const std::string&) {}
  // What goes on: the `done`th of `total` steps of it; 0: they are not counted.
  virtual void Step(const std::string&, int /*done*/ = 0, int /*total*/ = 0) {}
  // Of a measurement on several devices, by their place: what one does while nothing is measured there
  // ("connecting"), a line that is to be kept, and its measurement; null: nobody looks.
  virtual void State(std::size_t, const std::string&) {}
  virtual void Message(std::size_t, const std::string& text) { Message(text); }
  virtual Progress* Of(std::size_t) { return nullptr; }

  // Throws Error (kInterrupted, `what`) where it is to stop.
  void StopWhenInterrupted(const std::string& what = "interrupted") const;
};

}  // namespace etprof
