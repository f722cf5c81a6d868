#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "core/json/describe.h"
#include "device/conditions/power_mode.h"

// What the descriptions of configurations (config.h) and suites (suite_config.h) have in common. They are of
// the keys as they stand in the file: what reads them (json_fields.h) and docs/schema are made of them.
namespace etprof {

// A member of a description that is only told of: whoever reads the object reads the key, which has this
// form. It is not written, unless a member or a function of the object says as what (`written`, of which the
// writer of core/json/json_members.h knows).
template <typename T, typename Written = std::monostate>
struct Raw {
  using Form = T;
  Written written = {};
};
template <typename T>
inline constexpr auto kRaw = [](const auto&) { return Raw<T>(); };
template <typename T>
constexpr auto RawOf(auto get) {
  return [get](const auto& of) {
    return Raw<T, std::decay_t<decltype(std::invoke(get, of))>>{std::invoke(get, of)};
  };
}

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
// The name of a folder, with ASCII's other characters named: its first one, and the rest. IsFolderName is the
// same for the readers.
bool IsFolderName(const std::string& name);
constexpr const char* kFolderNamePattern =
    "^[^\\u0000-*,-/:-<>-@\\[-^`{-\\u007f][^\\u0000-*,/:-<>-@\\[-^`{-\\u007f]{0,99}$";
constexpr const char* kVariablePattern = "^[A-Za-z_][A-Za-z0-9_]*$";  // IsVariableName
constexpr const char* kDevicePattern = "^(local|adb|(ssh|adb):[^-].*)$";

// How to measure, and under which conditions: of a configuration, and of each cell of a suite, which have
// these members.
template <typename T>
void DescribeSchedule(auto& v) {
  v("launches", &T::launches,
    Key({.meaning = "exact number of processes per experiment; without it as many as precision and time "
                    "require: at least 10 if they fit, never below 2",
         .least = 2,
         .most = 1e4}));
  v("rounds", &T::rounds,
    Key({.meaning = "bursts of every experiment in a launch; 7 without it, fewer for slow models",
         .least = 1,
         .most = 1000}));
  v("margin", &T::margin,
    Key({.meaning = "relative differences within ± this count as *same*", .least = 1e-6, .most = 1}));
  v("precision", &T::precision,  // half of the least margin
    Key({.meaning = "target half-width of the interval, relative; half of `margin` without it",
         .least = 5e-7,
         .most = 1}));
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
         .least = 0,
         .most = 150}));
  v("max_temp_wait", &T::max_temp_wait,
    Key({.meaning = "maximum seconds to wait for that, per round; six times that in total",
         .least = 0,
         .most = 1e6}));
  v("wait_minutes", &T::wait_minutes,
    Key({.meaning =
             "maximum minutes to wait for a quiet and cool device "
             "(docs/concepts/measurement.md#waiting-for-a-quiet-device) before it begins, or before each "
             "cell of a suite",
         .least = 0,
         .most = 1e4}));
}

}  // namespace etprof
