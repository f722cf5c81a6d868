#pragma once

#include <nanobind/nanobind.h>

#include <sstream>
#include <string>
#include <string_view>
#include <utility>

// The parts of etprof._native.
namespace etprof {

// Adds `arrow_stream`: columns of NumPy arrays as an Arrow C stream, not copied.
void BindArrow(nanobind::module_& module);
// Adds what reads and writes the history of a project.
void BindHistory(nanobind::module_& module);
// Adds what measures, and what starts other programs.
void BindMeasuring(nanobind::module_& module);

// A Python text. Names come from files: bytes that are not UTF-8 become U+FFFD.
inline nanobind::object Text(std::string_view text) {
  return nanobind::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

// What `of` makes of each value.
nanobind::list ListOf(const auto& values, const auto& of) {
  nanobind::list all;
  for (const auto& value : values) all.append(of(value));
  return all;
}

std::string Written(const auto& render) {
  std::ostringstream out;
  render(out);
  return std::move(out).str();
}

}  // namespace etprof
