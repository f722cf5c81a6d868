// A library for --load whose kernel waits for `a + b * position` nanoseconds, and longer as the environment
// variable ETPROF_SPIN says ("prefill:1.02;launch:0.02"): times that are true by construction
// (tests/spinning.py).
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

constexpr double kPrefillToken = 1000;  // ns of every token but the first of a step
constexpr double kKneeAt = 2048;        // the position

double Setting(const char* name, double otherwise) {
  const char* const given = std::getenv("ETPROF_SPIN");
  const std::string text = std::string(";") + (given != nullptr ? given : "") + ";";
  const std::size_t at = text.find(";" + std::string(name) + ":");
  return at == std::string::npos ? otherwise
                                 : std::strtod(text.c_str() + at + std::strlen(name) + 2, nullptr);
}

struct Settings {
  double prefill = Setting("prefill", 1), decode = Setting("decode", 1);  // factors of steps' times
  double slope = Setting("slope", 1);    // a factor of what depends on the position
  double knee = Setting("knee", 0);      // from kKneeAt on, as a share of `a`
  double ramp = Setting("ramp", 0);      // by which the process becomes slower in a second, as a share
  double launch = Setting("launch", 0);  // the deviation of `a` and `b` between processes, as a share
  Clock::time_point began = Clock::now();
};

// What a process multiplies an operator's `a` and `b` with.
std::pair<double, double> FactorsOf(double a, double b, double deviation) {
  static std::map<std::pair<double, double>, std::pair<double, double>> drawn;
  const auto [found, added] = drawn.try_emplace({a, b}, 1, 1);
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
  const auto at = static_cast<double>(position.const_data_ptr<std::int64_t>()[0]);
  const auto tokens = static_cast<double>(x.size(1));
  const auto [of_a, of_b] = FactorsOf(a, b, settings.launch);
  double ns = a * of_a * (at >= kKneeAt ? 1 + settings.knee : 1) + b * of_b * settings.slope * at +
              kPrefillToken * (tokens - 1);
  ns *= tokens > 1 ? settings.prefill : settings.decode;
  ns *= 1 + settings.ramp * std::chrono::duration<double>(start - settings.began).count();
  const auto end = start + std::chrono::nanoseconds(static_cast<std::int64_t>(ns));
  std::memcpy(out.mutable_data_ptr(), x.const_data_ptr(), x.nbytes());
  while (Clock::now() < end) {
  }
  return out;
}

}  // namespace

EXECUTORCH_LIBRARY(etprof_spin, "spin.out", Spin);
