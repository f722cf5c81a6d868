#include "noise/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

namespace etprof::bench {
namespace {

std::array<double, 6> ParseFields(const std::string& line, int number) {
  std::array<double, 6> fields{};
  const char* at = line.c_str();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    char* end = nullptr;
    fields[i] = std::strtod(at, &end);
    if (end == at || *end != (i + 1 < fields.size() ? ',' : '\0'))
      throw std::runtime_error(fmt::format("line {} has not six numbers", number));
    at = end + 1;
  }
  if (fields[2] != 0 && fields[2] != 1)
    throw std::runtime_error(fmt::format("line {}: the side is 0 or 1", number));
  return fields;
}

}  // namespace

Recording ReadRecording(std::istream& in) {
  std::map<int, std::map<int, std::array<double, 2>>> rounds;
  std::set<std::pair<int, double>> processes;
  double first = INFINITY, last = 0, runs = 0;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.empty() || line[0] == '#' || line[0] == 'l') continue;
    const auto [launch, round, side, start_ns, end_ns, median_ns] = ParseFields(line, number);
    rounds[static_cast<int>(launch)][static_cast<int>(round)][static_cast<std::size_t>(side)] = median_ns;
    processes.emplace(static_cast<int>(launch), side);
    first = std::min(first, start_ns);
    last = std::max(last, end_ns);
    if (median_ns > 0) runs += (end_ns - start_ns) / median_ns;
  }
  Recording recording;
  for (const auto& [launch, bursts] : rounds) {
    stats::LaunchBursts launch_bursts;
    for (const auto& [round, medians] : bursts) {
      launch_bursts.baseline.push_back(medians[0] > 0 ? medians[0] : NAN);
      launch_bursts.candidate.push_back(medians[1] > 0 ? medians[1] : NAN);
    }
    recording.launches.push_back(std::move(launch_bursts));
  }
  if (!recording.launches.empty()) {
    recording.seconds_per_launch = (last - first) / 1e9 / static_cast<double>(recording.launches.size());
    recording.runs_per_process = runs / static_cast<double>(processes.size());
  }
  return recording;
}

}  // namespace etprof::bench
