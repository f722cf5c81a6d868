#include "openvino/layer_clock.h"

#include "timing/operator_clock.h"

namespace etprof::runner {
namespace {

// The time of reading k is k * kReadingStep + k^2, in µs. The difference of readings a < b identifies both:
// it is (b - a) * kReadingStep + (b - a)(b + a), and (b - a)(b + a) < 2^32 < kReadingStep. All times are
// below 2^63 ns.
constexpr std::int64_t kReadingStep = std::int64_t{1} << 36;

}  // namespace

static_assert(LayerClock::kMaxReadings * LayerClock::kMaxReadings < static_cast<std::uint64_t>(kReadingStep));

void LayerClock::Begin(Mode mode) {
  count_ = 0;
  one_thread_ = true;
  thread_ = std::thread::id();
  mode_ = mode;
}

std::span<const std::int64_t> LayerClock::End() {
  mode_ = Mode::kOff;
  const std::size_t count = count_;
  if (count > kMaxReadings || !one_thread_) return {};
  return {times_.data(), count};
}

std::optional<std::int64_t> LayerClock::Read() {
  const Mode mode = mode_.load(std::memory_order_acquire);
  if (mode == Mode::kOff) return std::nullopt;
  const std::size_t reading = count_.fetch_add(1, std::memory_order_relaxed);
  const std::thread::id self = std::this_thread::get_id();
  if (reading == 0) {
    thread_ = self;
  } else if (thread_.load() != self) {
    one_thread_ = false;
  }
  if (reading >= kMaxReadings) return MonotonicNow();
  times_[reading] = MonotonicNow();
  return mode == Mode::kNumbers ? NumberedTime(reading) : times_[reading];
}

std::int64_t NumberedTime(std::size_t reading) {
  const auto k = static_cast<std::int64_t>(reading);
  return (k * kReadingStep + k * k) * 1000;
}

std::optional<std::vector<LayerReadings>> FindLayerReadings(std::span<const std::int64_t> differences_us,
                                                            std::size_t readings) {
  std::vector<LayerReadings> layers;
  std::vector<std::uint8_t> boundary_uses(readings);
  std::vector<std::int64_t> depth(readings + 1);
  for (const std::int64_t difference : differences_us) {
    if (difference < kReadingStep) {
      layers.push_back({});
      continue;
    }
    const std::int64_t distance = difference / kReadingStep;
    const std::int64_t remainder = difference % kReadingStep;
    if (remainder % distance != 0) return std::nullopt;
    const std::int64_t sum = remainder / distance;  // the sum of both readings' indexes
    const std::int64_t begin = (sum - distance) / 2, end = (sum + distance) / 2;
    if ((sum - distance) % 2 != 0 || begin < 0 || end >= static_cast<std::int64_t>(readings))
      return std::nullopt;
    const LayerReadings layer{static_cast<std::size_t>(begin), static_cast<std::size_t>(end)};
    if (boundary_uses[layer.begin]++ != 0 || boundary_uses[layer.end]++ != 0) return std::nullopt;
    ++depth[layer.begin];
    --depth[layer.end];
    layers.push_back(layer);
  }
  std::int64_t open = 0;
  for (std::size_t reading = 0; reading < readings; ++reading) {
    open += depth[reading];
    if (boundary_uses[reading] == 0 && open == 0) return std::nullopt;
  }
  return layers;
}

}  // namespace etprof::runner
