#pragma once

#include <nanobind/nanobind.h>

#include <sstream>
#include <string>
#include <string_view>
#include <utility>

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

}  // namespace etprof
