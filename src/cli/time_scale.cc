#include "cli/time_scale.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>

#include "core/error.h"

namespace etprof {

void AddTimeScaleOption(CLI::App& app, std::string& scale) {
  app.add_option("--time-scale", scale,
                 "what a tick of the ETDumps' clock is: ns, us, ms, s, a frequency (24MHz) or a number of "
                 "nanoseconds [ns]");
}

double NanosecondsPerTick(const std::string& scale) {
  static const std::map<std::string, double> units = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  if (const auto found = units.find(scale); found != units.end()) return found->second;
  if (scale == "cycles") {
    throw Error(ExitCode::kUsage, "--time-scale cycles: the clock's frequency is not known")
        .Remedy("give the clock's frequency, such as 2.4GHz");
  }
  static const std::map<std::string, double> frequencies = {
      {"", 0}, {"Hz", 1e9}, {"kHz", 1e6}, {"MHz", 1e3}, {"GHz", 1}};  // ns of one tick at 1 of it
  double number = 0;
  const auto [end, error] = std::from_chars(scale.data(), scale.data() + scale.size(), number);
  const auto unit = frequencies.find(std::string(end, scale.data() + scale.size()));
  if (error == std::errc() && unit != frequencies.end() && number > 0) {
    const double tick = unit->second == 0 ? number : unit->second / number;
    if (std::isfinite(tick) && tick > 0) return tick;
  }
  throw Error(ExitCode::kUsage, fmt::format("--time-scale `{}` is not a unit of time", scale))
      .Remedy("give ns, us, ms, s, a frequency such as 24MHz, or a number of nanoseconds");
}

}  // namespace etprof
