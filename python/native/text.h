#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

namespace etprof {

// A Python text. Names come from files: bytes that are not UTF-8 become U+FFFD.
inline nanobind::object Text(std::string_view text) {
  return nanobind::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

}  // namespace etprof
