#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace etprof {

// A random number generator whose numbers are the same on every platform, unlike <random>'s distributions and
// std::shuffle (SplitMix64; Steele, Lea & Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA
// 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

  double Uniform() { return static_cast<double>(Next() >> 11U) * 0x1p-53; }  // in [0, 1)

  // A number in [0, bound), by multiplication instead of division. For small bounds the bias is below 2^-20.
  std::size_t Below(std::size_t bound) { return static_cast<std::size_t>((Next() >> 32U) * bound >> 32U); }

  // An approximately normal number with mean 0 and variance 1: the sum of twelve uniform numbers minus 6.
  // Since no function of the C library is used, even the last digits are the same on every platform.
  double Normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += Uniform();
    return sum;
  }

  template <typename T>
  void Shuffle(std::span<T> values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[Below(i)]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace etprof
