// A library for --load whose kernel waits for `a + b * position` nanoseconds, so that the true time of each
// operator is known (tests/spinning.py). The environment variable ETPROF_SPIN changes these times
// ("prefill:1.02;launch:0.02").
#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <utility>

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kPrefillToken = 1000;  // ns of every token of a step except for the first
constexpr double kKneeAt = 2048;        // the position from which on Settings::knee applies

double Setting(const char* name, double default_value) {
  const char* const variable = std::getenv("ETPROF_SPIN");
  const std::string text = std::string(";") + (variable != nullptr ? variable : "") + ";";
  const std::size_t begin = text.find(";" + std::string(name) + ":");
  return begin == std::string::npos ? default_value
                                    : std::strtod(text.c_str() + begin + std::strlen(name) + 2, nullptr);
}

struct Settings {
  double prefill = Setting("prefill", 1), decode = Setting("decode", 1);  // factors of steps' times
  double slope = Setting("slope", 1);                                     // factor of `b`
  double knee = Setting("knee", 0);      // additional time from kKneeAt on, as a share of `a`
  double ramp = Setting("ramp", 0);      // slowdown of the process per second, as a share
  double launch = Setting("launch", 0);  // standard deviation of `a` and `b` between processes, as a share
  Clock::time_point start = Clock::now();
};

// The random factors of an operator's `a` and `b` in this process.
std::pair<double, double> DrawFactors(double a, double b, double deviation) {
  static std::map<std::pair<double, double>, std::pair<double, double>> factors;
  const auto [found, added] = factors.try_emplace({a, b}, 1, 1);
  if (added) {
    static std::mt19937_64 random(std::random_device{}());
    std::normal_distribution<double> normal(1, deviation > 0 ? deviation : 1);
    if (deviation > 0) found->second = {normal(random), normal(random)};
  }
  return found->second;
}

executorch::aten::Tensor& Spin(executorch::runtime::KernelRuntimeContext& context,
                               const executorch::aten::Tensor& x, const executorch::aten::Tensor& position,
                               double a, double b, executorch::aten::Tensor& out) {
  const auto start = Clock::now();
  static const Settings settings;
  if (executorch::runtime::resize_tensor(out, x.sizes()) != executorch::runtime::Error::Ok) {
    context.fail(executorch::runtime::Error::InvalidArgument);
    return out;
  }
  const auto position_value = static_cast<double>(position.const_data_ptr<std::int64_t>()[0]);
  const auto tokens = static_cast<double>(x.size(1));
  const auto [a_factor, b_factor] = DrawFactors(a, b, settings.launch);
  double ns = a * a_factor * (position_value >= kKneeAt ? 1 + settings.knee : 1) +
              b * b_factor * settings.slope * position_value + kPrefillToken * (tokens - 1);
  ns *= tokens > 1 ? settings.prefill : settings.decode;
  ns *= 1 + settings.ramp * std::chrono::duration<double>(start - settings.start).count();
  const auto end = start + std::chrono::nanoseconds(static_cast<std::int64_t>(ns));
  std::memcpy(out.mutable_data_ptr(), x.const_data_ptr(), x.nbytes());
  while (Clock::now() < end) {
  }
  return out;
}

}  // namespace

EXECUTORCH_LIBRARY(etprof_spin, "spin.out", Spin);
