#pragma once

#include <string_view>

#include "core/json/describe.h"
#include "device/conditions/power_mode.h"

// What the descriptions of configurations (config.h) and suites (suite_config.h) have in common. They are of
// the keys as they stand in the file: what reads them (json_fields.h) and docs/schema are made of them.
namespace etprof {

// A member of a description that is only told of: whoever reads the object reads the key, which has this
// form.
template <typename T>
struct Raw {
  using Form = T;
};
template <typename T>
inline constexpr auto kRaw = [](const auto&) { return Raw<T>(); };

// A key that may be left out, or null.
constexpr About Key(About about) {
  about.if_any = true;
  about.or_null = true;
  return about;
}

constexpr std::string_view kModes = "timing|xnntrace";
constexpr double kMostRuns = 1e6;
constexpr double kMostThreads = 1024;
constexpr double kMostCpu = 1023;
// What IsSafeFileName takes, with ASCII's other characters named: of a folder, by its first character and the
// rest.
constexpr const char* kFolderNamePattern =
    "^[^\\u0000-*,-/:-<>-@\\[-^`{-\\u007f][^\\u0000-*,/:-<>-@\\[-^`{-\\u007f]{0,99}$";
constexpr const char* kVariablePattern = "^[A-Za-z_][A-Za-z0-9_]*$";  // IsVariableName
constexpr const char* kDevicePattern = "^(local|adb|(ssh|adb):[^-].*)$";

// How to measure, and under which conditions: of a configuration, and of each cell of a suite, which have
// these members.
template <typename T>
void DescribeSchedule(auto& v) {
  v("launches", &T::launches,
    Key({.meaning = "exactly so many processes of each experiment", .least = 2, .most = 1e4}));
  v("rounds", &T::rounds,
    Key({.meaning = "bursts of every experiment in a launch", .least = 1, .most = 1000}));
  v("margin", &T::margin,
    Key({.meaning = "a change within +- this is called the same", .least = 1e-6, .most = 1}));
  v("precision", &T::precision,  // half of the least margin
    Key({.meaning = "relative half-width of the interval asked for, half of margin without it",
         .least = 5e-7,
         .most = 1}));
  v("peaks", &T::peaks,
    Key({.meaning = "measure the machine's roofs, too (docs/guides/bottlenecks.md); true without it"}));
  v("power_mode", &T::power_mode,
    Key({.meaning = "Android: settings for the time of the measurement (docs/concepts/power.md)",
         .choices = kPowerModeNames}));
  v("max_temp", &T::max_temp,
    Key({.meaning = "degrees Celsius: before a round, wait while the hottest CPU or skin sensor is above",
         .least = 0,
         .most = 150}));
  v("max_temp_wait", &T::max_temp_wait,
    Key({.meaning = "seconds: for so long at most, before one round", .least = 0, .most = 1e6}));
  v("wait_minutes", &T::wait_minutes,
    Key({.meaning = "before it begins, wait for a quiet and cool device, for so long at most; 0 without it",
         .least = 0,
         .most = 1e4}));
}

}  // namespace etprof
