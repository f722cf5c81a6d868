#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <thread>
#include <vector>

namespace etprof::runner {

// The clock that OpenVINO's CPU plugin reads before and after each layer
// (src/plugins/intel_cpu/src/perf_count.h: PerfHelper, std::chrono::high_resolution_clock). The plugin itself
// reports the average of all inferences so far in whole microseconds, so that a layer of 0.9 µs appears as
// not executed; this class records the times.
//
// The plugin's own report shows which readings belong to which layer: in a numbered inference the k-th
// reading returns NumberedTime(k) instead of a time, and every difference of two such numbers is unique. Only
// one inference runs at a time.
class LayerClock {
 public:
  static constexpr std::size_t kMaxReadings = std::size_t{1} << 16;  // maximum readings per inference

  enum class Mode : std::uint8_t { kOff, kTimes, kNumbers };

  void Begin(Mode mode);
  // The times of the inference since Begin, CLOCK_MONOTONIC, ns; empty: more than kMaxReadings readings, or
  // readings by several threads, whose order may differ between inferences.
  std::span<const std::int64_t> End();

  // The time to return to the plugin, ns; nullopt: the current time, since nothing is recorded.
  std::optional<std::int64_t> Read();

 private:
  std::atomic<Mode> mode_{Mode::kOff};
  std::atomic<std::size_t> count_{0};
  std::atomic<bool> one_thread_{true};
  std::atomic<std::thread::id> thread_;
  std::array<std::int64_t, kMaxReadings> times_{};
};

// The fake time of a reading, ns; a multiple of 1000.
std::int64_t NumberedTime(std::size_t reading);

// Indexes of the readings at the begin and end of a layer.
struct LayerReadings {
  std::size_t begin = 0, end = 0;
};

// Derives the readings from the differences, in µs, that the plugin reports for its layers after one numbered
// inference with `readings` readings. A difference that is a real time means that the layer ran during
// compilation, or not at all; its readings are both 0. nullopt: a reading belongs to no layer, and is not
// inside of a layer either (as readings of a loop's body are), so that no assignment is certain.
std::optional<std::vector<LayerReadings>> FindLayerReadings(std::span<const std::int64_t> differences_us,
                                                            std::size_t readings);

}  // namespace etprof::runner
