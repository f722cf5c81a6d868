#pragma once

#include <optional>
#include <vector>

#include "core/json/describe.h"
#include "measure/store/run_data.h"
#include "stats/ratio/launches.h"

namespace etprof {

// One burst of a sustained run.
struct SustainedPoint {
  double seconds = 0;    // its middle, from the start of the first burst
  double median_ns = 0;  // of its untraced runs
  double p95_ns = 0;
  std::size_t runs = 0;
  std::optional<double> mhz, cap_mhz, celsius;

  static void Describe(auto& v) {
    using S = SustainedPoint;
    v("seconds", &S::seconds, {.least = 0});
    v("runs", &S::runs);
    v("median_ms", &S::median_ns, kMsOfTime);
    v("p95_ms", &S::p95_ns, kMsOfTime);
    v("frequency_mhz", &S::mhz, {.least = 0});
    v("frequency_cap_mhz", &S::cap_mhz, {.least = 0});
    v("temperature_c", &S::celsius);
  }
};

// How an experiment went over the time of a sustained run (`--sustained`).
struct Sustained {
  std::vector<SustainedPoint> points;  // in the order of time; at least one
  double seconds = 0;                  // from the first burst's start to the last one's end
  // The beginning is compared with the end: windows of a quarter of the time, a minute at most.
  double window_seconds = 0;
  std::optional<double> first_ns, last_ns;  // medians of the bursts' medians in the two windows
  // first / last with its interval, by stats::EstimateUnpaired over the bursts' medians; absent where a
  // window has too few bursts, and for an emulated CPU.
  std::optional<stats::RatioEstimate> change;

  struct Change {
    const stats::RatioEstimate& estimate;

    static void Describe(auto& v) {
      v("ratio", [](const Change& of) { return of.estimate.ratio(); });
      v("low", [](const Change& of) { return of.estimate.low(); });
      v("high", [](const Change& of) { return of.estimate.high(); });
      v("confidence", [](const Change& of) { return of.estimate.confidence; });
    }
  };

  static constexpr const char* kSchemaName = "sustained";
  static void Describe(auto& v) {
    using S = Sustained;
    v("seconds", &S::seconds, {.least = 0});
    v("window_seconds", &S::window_seconds, {.least = 0});
    v("first_ms", &S::first_ns, kMsOfTime);
    v("last_ms", &S::last_ns, kMsOfTime);
    v("change", [](const S& sustained) -> std::optional<Change> {
      if (!sustained.change) return std::nullopt;
      return Change{*sustained.change};
    });
    v("points", &S::points);
  }
};

// Absent where there is no burst with times of the device's clock. Of several launches, the last one.
std::optional<Sustained> DescribeSustained(const ExperimentData& data);

// `points` put together to at most `count`, equal stretches of time, for a chart: medians of what falls into
// a stretch; stretches without a burst are left out. `count` > 0.
std::vector<SustainedPoint> Condensed(const Sustained& sustained, std::size_t count);

}  // namespace etprof
