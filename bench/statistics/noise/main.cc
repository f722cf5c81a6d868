// Tests the comparison with known effects in recorded noise (bench/statistics/noise.py): the bursts of a
// model that was measured against itself, with a slowdown added to the candidate. Compares it with the method
// of the kit that etprof replaces, which measures all of A in one process and then all of B in another.
// Writes bench/results/statistics/noise.md to stdout.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cmath>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "noise/recording.h"
#include "noise/ways.h"

namespace {

using etprof::bench::Claims;
using etprof::bench::InterleavedClaims;
using etprof::bench::Recording;

constexpr etprof::bench::Settings kSettings;
constexpr double kAllowedFalseShare = 0.05;  // fraction of false claims that etprof's intervals allow
constexpr std::array kEffects = {0.0, 0.005, 0.01, 0.02, 0.05};

std::string FormatShare(int count, int total) { return fmt::format("{:.1f} %", 100.0 * count / total); }

std::string DescribeCandidate(double effect) {
  return effect == 0 ? "as fast" : fmt::format("{:.1f} % slower", 100 * effect);
}

std::string FormatFalseAndFound(const Claims& claims) {
  return fmt::format("{} | **{}** | {} | {}", DescribeCandidate(claims.effect),
                     FormatShare(claims.false_claims(), claims.measurements),
                     claims.effect == 0 ? "-" : FormatShare(claims.slower, claims.measurements),
                     FormatShare(claims.same, claims.measurements));
}

std::string FormatErrors(const Claims& claims) {
  return fmt::format("{:.2f} % | {:.2f} %", 100 * claims.ErrorQuantile(0.5),
                     100 * claims.ErrorQuantile(0.95));
}

void PrintIntroduction(const std::string& machine, int measurements) {
  fmt::print(
      "# Verdicts in recorded noise\n\n"
      "Recorded on {}; one run. Models were measured against themselves, so whatever the two variants of "
      "a recording differ in is noise. Then the times of one variant, the candidate, were made 0, 0.5, 1, 2 "
      "and "
      "5 % longer, and two ways of measuring had to find that out:\n\n",
      machine);
  fmt::print(
      "- **etprof** interleaves short bursts of both variants, in launch after launch, until its stop rule "
      "ends "
      "it (precision {:.1f} %, {:.0f} s at most), and judges by the 95 % interval (margin {:.0f} %). A row "
      "is {} measurements, simulated by drawing launches from the recording.\n",
      100 * kSettings.precision, kSettings.max_seconds, 100 * kSettings.margin, measurements);
  fmt::print(
      "- **The kit's way** is that of the SME2 profiling kit: all runs of A in one process, then all runs of "
      "B in another, and the ratio of the two medians is the speedup. Its report prints that with two "
      "decimals, without an interval and without a rule for when it is significant, so its readers conclude "
      "from the number itself. Here they are assumed to be more careful: only a difference above {:.0f} % "
      "(etprof's margin) is a claim, a smaller one is \"same\". A row is every "
      "such measurement that the recording holds (each process with each of the next launch).\n\n",
      100 * kSettings.margin);
  fmt::print(
      "How to read the tables:\n\n"
      "- **false claim**: a direction was claimed that is not there: \"faster\" of a slower candidate, "
      "\"faster\" or \"slower\" of one that is as fast. Nominal for etprof: {:.0f} % at most.\n"
      "- **found**: the slower candidate was called slower. Compare it with the false claims of the first "
      "row: a method that calls half of everything slower also finds half of what is slower.\n"
      "- **same**, **inconclusive**: nothing was claimed. etprof says \"same\" only if its interval lies "
      "within the margin, and \"inconclusive\" if it cannot decide. The kit's way has no such verdict.\n"
      "- **false by sign**: false claims of a reader who takes every ratio other than 1 for a difference.\n"
      "- **off by**: how far the measured ratio was from the true one, at most, in half of the measurements "
      "and "
      "in 95 of 100.\n"
      "- **time**: mean wall-clock time of a measurement of both variants. The kit's way ends after one "
      "process "
      "of each variant; the recordings are too short to try it for as long as etprof takes.\n",
      100 * kAllowedFalseShare);
}

void PrintEtprof(const Recording& recording, int measurements) {
  fmt::print(
      "\n### etprof\n\n"
      "| candidate | false claim | found | same | inconclusive | off by, half | off by, 95 of 100 | time | "
      "interval covers the truth | mean half-width |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  std::mt19937_64 random(1);
  for (const double effect : kEffects) {
    const InterleavedClaims claims = SimulateInterleaved(recording, effect, measurements, kSettings, random);
    fmt::print("| {} | {} | {} | {:.0f} s | {} | {:.2f} % |\n", FormatFalseAndFound(claims),
               FormatShare(claims.inconclusive, claims.measurements), FormatErrors(claims), claims.seconds,
               FormatShare(claims.covered, claims.measurements), 100 * claims.half_width);
  }
}

void PrintKitMethod(const Recording& recording) {
  const std::vector<double> log_ratios = SequentialLogRatios(recording);
  fmt::print(
      "\n### The kit's way\n\n"
      "{} measurements a line, about {:.0f} runs of each side (the kit's default is 100).\n\n"
      "| candidate | false claim | found | same | false by sign | off by, half | off by, 95 of 100 | time |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
      log_ratios.size(), recording.runs_per_process);
  for (const double effect : kEffects) {
    const Claims claims = etprof::bench::DecideByThreshold(log_ratios, effect, std::log1p(kSettings.margin));
    fmt::print("| {} | {} | {} | {:.1f} s |\n", FormatFalseAndFound(claims),
               FormatShare(claims.wrong_side, claims.measurements), FormatErrors(claims),
               recording.seconds_per_launch);
  }
  const double careful_threshold = etprof::bench::ThresholdForFalseClaims(log_ratios, kAllowedFalseShare);
  const auto found_share = [&](double effect) {
    const Claims claims = etprof::bench::DecideByThreshold(log_ratios, effect, careful_threshold);
    return FormatShare(claims.slower, claims.measurements);
  };
  fmt::print(
      "\nTo claim a difference in at most {:.0f} of 100 measurements where there is none, this way would "
      "need a threshold of {:.1f} % instead of {:.0f} %. It would then find {} of the candidates that are "
      "2 % slower and {} of those that are 5 % slower.\n",
      100 * kAllowedFalseShare, 100 * std::expm1(careful_threshold), 100 * kSettings.margin,
      found_share(0.02), found_share(0.05));
}

// The model of noise_toy_cnn.csv is toy_cnn.
std::string ModelName(const std::filesystem::path& path) {
  const std::string stem = path.stem().string(), prefix = "noise_";
  return stem.starts_with(prefix) ? stem.substr(prefix.size()) : stem;
}

Recording LoadRecording(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot be opened");
  Recording recording = etprof::bench::ReadRecording(in);
  if (recording.launches.size() < 10) throw std::runtime_error("fewer than 10 recorded launches");
  return recording;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("What etprof and the kit's way say of known effects in recorded noise, as Markdown.");
  std::vector<std::string> paths;
  std::string machine;
  int measurements = 4000;
  app.add_option("recordings", paths, "CSV files of bench/statistics/noise.py, noise_MODEL.csv")->required();
  app.add_option("--machine", machine, "What they were recorded on, for people")->required();
  app.add_option("--measurements", measurements, "Simulated measurements of a line")
      ->check(CLI::Range(100, 1'000'000))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  PrintIntroduction(machine, measurements);
  for (const std::string& path : paths) try {
      const Recording recording = LoadRecording(path);
      fmt::print("\n## {}\n\n{} launches recorded, {:.2f} s each.\n", ModelName(path),
                 recording.launches.size(), recording.seconds_per_launch);
      PrintEtprof(recording, measurements);
      PrintKitMethod(recording);
    } catch (const std::exception& error) {
      std::cerr << path << ": " << error.what() << '\n';
      return 3;
    }
}
