// What the comparison says of effects that are known, in noise that was recorded (bench/noise.py): the bursts
// of a model measured against itself, into which a slow-down of the candidate is put. Beside it the way of
// measuring all of A and then all of B in one process each, as the kit that etprof replaces did. Writes
// Markdown.
//   etprof_bench_noise BURSTS.csv [measurements]

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "stats/distribution.h"
#include "stats/launches.h"
#include "stats/stop_rule.h"
#include "stats/verdict.h"

namespace {

namespace stats = etprof::stats;

constexpr double kMargin = 0.01;
constexpr double kPrecision = kMargin / 2;  // etprof's defaults
constexpr double kMaxSeconds = 60;

struct Recording {
  std::vector<stats::LaunchBursts> launches;  // in the order of time
  double seconds_per_launch = 0;              // of both sides together
};

// Lines of launch,round,side,start_ns,end_ns,median_ns after a header and comment lines (#).
Recording Read(const char* path) {
  std::ifstream in(path);
  std::string line;
  std::map<int, std::map<int, std::array<double, 2>>> rounds;
  double first = INFINITY, last = 0;
  while (std::getline(in, line)) {
    if (line.empty() || line[0] == '#' || line[0] == 'l') continue;
    double fields[6] = {};
    const char* at = line.c_str();
    for (double& field : fields) {
      char* end = nullptr;
      field = std::strtod(at, &end);
      at = *end == ',' ? end + 1 : end;
    }
    rounds[static_cast<int>(fields[0])][static_cast<int>(fields[1])][static_cast<std::size_t>(fields[2])] =
        fields[5];
    first = std::min(first, fields[3]);
    last = std::max(last, fields[4]);
  }
  Recording recording;
  for (const auto& [launch, bursts] : rounds) {
    stats::LaunchBursts made;
    for (const auto& [round, medians] : bursts) {
      made.baseline.push_back(medians[0] > 0 ? medians[0] : NAN);
      made.candidate.push_back(medians[1] > 0 ? medians[1] : NAN);
    }
    recording.launches.push_back(std::move(made));
  }
  if (!recording.launches.empty())
    recording.seconds_per_launch = (last - first) / 1e9 / static_cast<double>(recording.launches.size());
  return recording;
}

struct Tally {
  double faster = 0, slower = 0, same = 0, inconclusive = 0, covered = 0, seconds = 0, half_width = 0;
};

// Measurements of a candidate that is `effect` slower. Launches are drawn with replacement: each keeps its
// bursts and their order. Which side is which is drawn too, since the recording is of one thing against
// itself.
Tally Measure(const Recording& recording, double effect, int measurements, std::mt19937_64& random) {
  const stats::StopRule rule = stats::MakeStopRule(0.95);
  std::uniform_int_distribution<std::size_t> draw(0, recording.launches.size() - 1);
  Tally tally;
  for (int i = 0; i < measurements; ++i) {
    std::vector<stats::LaunchBursts> launches;
    std::optional<stats::RatioEstimate> estimate;
    for (;;) {
      const double used = static_cast<double>(launches.size()) * recording.seconds_per_launch;
      const stats::Decision decision =
          stats::Decide(rule, static_cast<int>(launches.size()), estimate, kPrecision, used, kMaxSeconds,
                        launches.empty() ? 0 : recording.seconds_per_launch);
      if (decision.stop) {
        tally.seconds += used;
        break;
      }
      while (static_cast<int>(launches.size()) < decision.next_look) {
        stats::LaunchBursts launch = recording.launches[draw(random)];
        if (random() % 2 == 0) std::swap(launch.baseline, launch.candidate);
        for (double& ns : launch.candidate) ns *= 1 + effect;
        launches.push_back(std::move(launch));
      }
      estimate = stats::EstimateRatio(launches, rule.look_confidence);
    }
    const double truth = -std::log1p(effect);
    tally.covered += estimate->log_low <= truth && truth <= estimate->log_high;
    tally.half_width += estimate->half_width();
    switch (stats::Judge(estimate->log_low, estimate->log_high, kMargin)) {
      case stats::Verdict::kFaster:
        ++tally.faster;
        break;
      case stats::Verdict::kSlower:
        ++tally.slower;
        break;
      case stats::Verdict::kSame:
        ++tally.same;
        break;
      default:
        ++tally.inconclusive;
    }
  }
  return tally;
}

// One process of A, then one of B, each `rounds` bursts long, at a random place of the recording; medians
// compared. Gives the errors of the logarithm of the ratio.
std::vector<double> OneAfterTheOther(const Recording& recording, int measurements, std::mt19937_64& random) {
  std::uniform_int_distribution<std::size_t> draw(0, recording.launches.size() - 2);
  std::vector<double> errors;
  for (int i = 0; i < measurements; ++i) {
    const std::size_t at = draw(random);
    const auto median = [](std::vector<double> bursts) {
      std::erase_if(bursts, [](double ns) { return !std::isfinite(ns); });
      return stats::Median(bursts);
    };
    const auto a = median(recording.launches[at].baseline);
    const auto b = median(recording.launches[at + 1].candidate);
    if (a && b) errors.push_back(std::log(*a / *b));
  }
  return errors;
}

std::string Percent(double count, int of) { return fmt::format("{:.1f} %", 100 * count / of); }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: etprof_bench_noise BURSTS.csv [measurements]\n";
    return 2;
  }
  const Recording recording = Read(argv[1]);
  if (recording.launches.size() < 10) {
    std::cerr << argv[1] << ": fewer than 10 recorded launches\n";
    return 3;
  }
  const int measurements = std::max(100, argc > 2 ? std::atoi(argv[2]) : 4000);
  std::mt19937_64 random(1);
  fmt::print(
      "{} launches of a model against itself, {:.2f} s each; {} simulated measurements a line, with etprof's "
      "stop rule "
      "(precision {:.1f} %, {:.0f} s at most).\n\n",
      recording.launches.size(), recording.seconds_per_launch, measurements, 100 * kPrecision, kMaxSeconds);
  fmt::print(
      "| candidate | faster | slower | same | inconclusive | interval covers the truth | mean half-width | "
      "mean time |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (const double effect : {0.0, 0.005, 0.01, 0.02, 0.05}) {
    const Tally tally = Measure(recording, effect, measurements, random);
    fmt::print("| {} | {} | {} | {} | {} | {} | {:.2f} % | {:.0f} s |\n",
               effect == 0 ? "as fast" : fmt::format("{:.1f} % slower", 100 * effect),
               Percent(tally.faster, measurements), Percent(tally.slower, measurements),
               Percent(tally.same, measurements), Percent(tally.inconclusive, measurements),
               Percent(tally.covered, measurements), 100 * tally.half_width / measurements,
               tally.seconds / measurements);
  }
  const std::vector<double> errors = OneAfterTheOther(recording, measurements, random);
  std::vector<double> sizes;
  for (const double error : errors) sizes.push_back(std::fabs(error));
  std::sort(sizes.begin(), sizes.end());
  const auto beyond = [&](double size) {
    return Percent(
        static_cast<double>(sizes.end() - std::upper_bound(sizes.begin(), sizes.end(), std::log1p(size))),
        static_cast<int>(sizes.size()));
  };
  fmt::print(
      "\nAll of A and then all of B, one process each, medians compared, no interval: of {} such "
      "measurements of no "
      "difference at all, {} showed more than 1 %, {} more than 2 % and {} more than 5 %; half were wrong by "
      "more than {:.2f} %, one in twenty by more than {:.1f} %.\n",
      sizes.size(), beyond(0.01), beyond(0.02), beyond(0.05), 100 * stats::Quantile(sizes, 0.5),
      100 * stats::Quantile(sizes, 0.95));
}
