#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/terminal/progress.h"

// The parts of etprof._native.
namespace etprof {

// Adds `arrow_stream`: columns of NumPy arrays as an Arrow C stream, without copying.
void BindArrow(nanobind::module_& module);
// Adds the functions that read and write a project's history.
void BindHistory(nanobind::module_& module);
// Adds the workflows that measure or start other programs.
void BindMeasuring(nanobind::module_& module);

// Converts to a Python string. Names come from files, so bytes that are not UTF-8 become U+FFFD.
inline nanobind::object Text(std::string_view text) {
  return nanobind::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

// Makes a Python list by converting each value.
nanobind::list MakeList(const auto& values, const auto& convert) {
  nanobind::list list;
  for (const auto& value : values) list.append(convert(value));
  return list;
}

// Returns what `render` writes to its stream.
std::string RenderToString(const auto& render) {
  std::ostringstream out;
  render(out);
  return std::move(out).str();
}

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
std::string RunOnWorkerThread(const nanobind::object& on_event,
                              const std::function<std::string(PythonProgress&)>& work);

}  // namespace etprof
