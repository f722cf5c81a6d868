#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

// How the JSON files write values.
namespace etprof {

using Json = nlohmann::ordered_json;  // keys in the order in which they were set

// What is not defined or not finite is null.
inline Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
inline Json Number(const std::optional<double>& value) { return value ? Number(*value) : Json(nullptr); }
inline Json Ms(const std::optional<double>& ns) { return ns ? Number(*ns / 1e6) : Json(nullptr); }
inline Json Text(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace etprof
