#pragma once

#include <optional>
#include <vector>

#include "core/json/describe.h"
#include "measure/store/run_data.h"
#include "stats/ratio/launches.h"

namespace etprof {

// One burst of a sustained run.
struct SustainedPoint {
  double seconds = 0;
  double median_ns = 0;  // median of the burst's untraced runs
  double p95_ns = 0;
  std::size_t runs = 0;
  std::optional<double> mhz, cap_mhz, celsius;

  static void Describe(auto& v) {
    using S = SustainedPoint;
    v("seconds", &S::seconds, {.meaning = "its middle, from the start of the first burst", .min = 0});
    v("runs", &S::runs, {.meaning = "untraced runs of the burst"});
    v("median_ms", &S::median_ns, kNonNegativeMs.WithMeaning("of these runs"));
    v("p95_ms", &S::p95_ns, kNonNegativeMs.WithMeaning("95th percentile of these runs"));
    v("frequency_mhz", &S::mhz, {.meaning = "of the CPU that the main thread was on", .min = 0});
    v("frequency_cap_mhz", &S::cap_mhz, {.meaning = "the limit in force of that CPU's clock", .min = 0});
    v("temperature_c", &S::celsius, {.meaning = "degrees Celsius, of the device's hottest sensor"});
  }
};

// The course of an experiment during a sustained run (`--sustained`).
struct Sustained {
  std::vector<SustainedPoint> points;
  double seconds = 0;
  // Length of the first and last windows, which are compared: a quarter of the time, at most a minute.
  double window_seconds = 0;
  std::optional<double> first_ns, last_ns;  // medians of the bursts' medians in the two windows
  // The ratio first_ns / last_ns, estimated by stats::EstimateUnpaired from the bursts' medians. Absent if a
  // window has too few bursts, and on an emulated CPU.
  std::optional<stats::RatioEstimate> change;

  struct Change {
    const stats::RatioEstimate& estimate;

    static void Describe(auto& v) {
      v("ratio", [](const Change& value) { return value.estimate.ratio(); },
        {.meaning = "first_ms / last_ms: below 1, it became slower"});
      v("low", [](const Change& value) { return value.estimate.low(); },
        {.meaning = "lower bound of the ratio"});
      v("high", [](const Change& value) { return value.estimate.high(); },
        {.meaning = "upper bound of the ratio"});
      v("confidence", [](const Change& value) { return value.estimate.confidence; },
        {.meaning = "of the interval"});
    }
  };

  static constexpr const char* kSchemaName = "sustained";
  static void Describe(auto& v) {
    using S = Sustained;
    v("seconds", &S::seconds, {.meaning = "from the first burst's start to the last one's end", .min = 0});
    v("window_seconds", &S::window_seconds,
      {.meaning = "of beginning and end that are compared: a quarter of the time, a minute at most",
       .min = 0});
    v("first_ms", &S::first_ns,
      kNonNegativeMs.WithMeaning("median of the bursts' medians in the first window"));
    v("last_ms", &S::last_ns, kNonNegativeMs.WithMeaning("median of the bursts' medians in the last window"));
    v("change",
      [](const S& sustained) -> std::optional<Change> {
        if (!sustained.change) return std::nullopt;
        return Change{*sustained.change};
      },
      {.meaning = "from the first to the last window; null: too few bursts, or the CPU was emulated"});
    v("points", &S::points, {.meaning = "one for each burst, in the order of time"});
  }
};

// Summarizes the last launch. Absent if its bursts have no times of the device's clock.
std::optional<Sustained> SummarizeSustained(const ExperimentData& data);

// Condenses the points to at most `count` equal ranges of time for a chart: medians of the points in each
// range; ranges without bursts are left out. `count` > 0.
std::vector<SustainedPoint> CondenseSustained(const Sustained& sustained, std::size_t count);

}  // namespace etprof
