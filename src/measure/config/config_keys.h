#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "core/json/describe.h"
#include "device/conditions/power_mode.h"

// Common parts of the descriptions of configurations (config.h) and suites (suite_config.h). They describe
// the keys of the file; the reader (json_fields.h) and docs/schema are generated from them.
namespace etprof {

// A key that a description only documents. The reader of the object reads the key's value, which has the type
// T. The key is written only if a member or function of the object returns its value (`written`, which the
// writer in core/json/json_members.h uses).
template <typename T, typename Written = std::monostate>
struct DocumentedKey {
  using Form = T;
  Written written = {};
};
template <typename T>
inline constexpr auto kDocumentedKey = [](const auto&) { return DocumentedKey<T>(); };
template <typename T>
constexpr auto DocumentedMember(auto get) {
  return [get](const auto& object) {
    return DocumentedKey<T, std::decay_t<decltype(std::invoke(get, object))>>{std::invoke(get, object)};
  };
}

// Marks a key as optional; it may also be null.
constexpr MemberInfo Key(MemberInfo info) {
  info.omit_if_empty = true;
  info.or_null = true;
  return info;
}

constexpr std::string_view kModes = "timing|xnntrace";
constexpr double kMaxRuns = 1e6;
constexpr double kMaxThreads = 1024;
constexpr double kMaxCpu = 1023;
// The name of a folder. The pattern lists the ASCII characters that are not allowed: first for the first
// character, then for the others. Readers use IsFolderName, which accepts the same names.
bool IsFolderName(const std::string& name);
constexpr const char* kFolderNamePattern =
    "^[^\\u0000-*,-/:-<>-@\\[-^`{-\\u007f][^\\u0000-*,/:-<>-@\\[-^`{-\\u007f]{0,99}$";
constexpr const char* kVariablePattern = "^[A-Za-z_][A-Za-z0-9_]*$";  // accepts the same as IsVariableName
constexpr const char* kDevicePattern = "^(local|adb|(ssh|adb):[^-].*)$";

// Describes the schedule and the conditions of a measurement: members that a configuration and a suite have
// in common.
template <typename T>
void DescribeSchedule(auto& v) {
  v("launches", &T::launches,
    Key({.meaning = "exact number of processes per experiment; without it as many as precision and time "
                    "require: at least 10 if they fit, never below 2",
         .min = 2,
         .max = 1e4}));
  v("rounds", &T::rounds,
    Key({.meaning = "bursts of every experiment in a launch; 7 without it, fewer for slow models",
         .min = 1,
         .max = 1000}));
  v("margin", &T::margin,
    Key({.meaning = "relative differences within ± this count as *same*", .min = 1e-6, .max = 1}));
  v("precision", &T::precision,  // `min` is half of the `min` of the margin
    Key({.meaning = "target half-width of the interval, relative; half of `margin` without it",
         .min = 5e-7,
         .max = 1}));
  v("peaks", &T::peaks,
    Key({.meaning = "measure machine peaks, too (docs/guides/bottlenecks.md#machine-peaks)"}));
  v("power_mode", &T::power_mode,
    Key({.meaning =
             "Android: settings while measuring (docs/concepts/power.md#android); unchanged without it",
         .choices = kPowerModeNames}));
  v("max_temp", &T::max_temp,
    Key({.meaning =
             "degrees Celsius: before a round, wait while the skin (the hottest CPU sensor if there is "
             "none for the skin) is above it; no waiting without it",
         .min = 0,
         .max = 150}));
  v("max_temp_wait", &T::max_temp_wait,
    Key({.meaning = "maximum seconds to wait for that, per round; six times that in total",
         .min = 0,
         .max = 1e6}));
  v("wait_minutes", &T::wait_minutes,
    Key({.meaning =
             "maximum minutes to wait for a quiet and cool device "
             "(docs/concepts/measurement.md#waiting-for-a-quiet-device) before it begins, or before each "
             "cell of a suite",
         .min = 0,
         .max = 1e4}));
}

}  // namespace etprof
