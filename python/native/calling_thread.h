#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "workflow/progress.h"

namespace etprof {

// What a workflow says, for Python, and whether Python wants it to stop.
class PythonProgress : public WorkflowProgress {
 public:
  // The devices by their place; empty: of whatever device there is.
  virtual void SetDevices(std::vector<std::string> names) = 0;
};

// Runs `work` on a thread of its own, and returns what it returns. The calling thread, which has the GIL only
// meanwhile, gives what the work says to `said`, a Python function of one dict, or None; and it runs Python's
// signal handlers. What one of these raises (KeyboardInterrupt) interrupts the work, and is raised once that
// has ended, when no process of it is left and what was measured is merged. So no thread of the work ever
// waits for Python.
std::string Attended(const nanobind::object& said, const std::function<std::string(PythonProgress&)>& work);

}  // namespace etprof
