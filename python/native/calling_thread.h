#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <string>
#include <vector>

#include "commands/terminal/progress.h"

namespace etprof {

// Receives a workflow's messages and progress for Python, and tells the workflow whether Python wants it to
// stop.
class PythonProgress : public WorkflowProgress {
 public:
  // Sets the names of the devices by index. If `names` is empty, messages name no device.
  virtual void SetDevices(std::vector<std::string> names) = 0;
};

// Runs `work` on a separate thread and returns its result. Meanwhile the calling thread passes the
// workflow's messages to `on_event`, a Python function of one dict, or None, and runs Python's signal
// handlers. It holds the GIL only for these calls, so the work's threads never wait for Python. An exception
// raised by one of these calls (KeyboardInterrupt) interrupts the work, and is rethrown after the work has
// ended: all its processes have ended, and what was measured is merged.
std::string RunOnWorkerThread(const nanobind::object& on_event, const std::function<std::string(PythonProgress&)>& work);

}  // namespace etprof
