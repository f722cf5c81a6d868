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
// (src/plugins/intel_cpu/src/perf_count.h: PerfHelper, std::chrono::high_resolution_clock). What the plugin
// tells of its layers is the average of all inferences so far in whole microseconds, in which a layer of 0.9
// µs is not executed; the moments are known here.
//
// Which two readings are whose, the plugin says itself: in a numbered inference the k-th reading is
// NumberedTime(k) instead of a time, and every difference of two such numbers occurs once. One inference runs
// at a time.
class LayerClock {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 16;  // readings of an inference

  enum class Mode : std::uint8_t { kOff, kTimes, kNumbers };

  void Begin(Mode mode);
  // Of the inference since Begin, CLOCK_MONOTONIC, ns; empty: more than kMost, or by several threads, whose
  // order another inference need not repeat.
  std::span<const std::int64_t> End();

  // What the plugin is to be told, ns; nullopt: the time, because nobody listens.
  std::optional<std::int64_t> Read();

 private:
  std::atomic<Mode> mode_{Mode::kOff};
  std::atomic<std::size_t> count_{0};
  std::atomic<bool> one_thread_{true};
  std::atomic<std::thread::id> thread_;
  std::array<std::int64_t, kMost> times_{};
};

// ns; a multiple of 1000.
std::int64_t NumberedTime(std::size_t reading);

// The readings, by their places, between which a layer ran.
struct LayerReadings {
  std::size_t begin = 0, end = 0;
};

// From the differences that the plugin tells of its layers, in µs, after one numbered inference of
// `readings`. A time is no difference of numbers: the layer ran while the model was compiled, or not at all,
// and its readings are both 0. nullopt: not every reading is explained, by being one layer's or inside of one
// (of a loop's body, for example), so none is known with certainty.
std::optional<std::vector<LayerReadings>> ReadingsOf(std::span<const std::int64_t> differences_us,
                                                     std::size_t readings);

}  // namespace etprof::runner
