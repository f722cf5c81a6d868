#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "report/example_run.h"

// Simulated ladders with known numbers for the tests of report/ and show/.
namespace etprof::example {

// A level with a number of threads.
struct LadderPoint {
  std::string level, isa;
  std::vector<std::string> visible;
  int threads = 1;
  Nanoseconds convolution = 0, gemm = 500'000;
  std::string type = "F32";
  bool packs = false;  // has an extra packing operator
  std::string error = {};
  bool contended = false;  // no run is clean
};

// Noise of a machine whose speed varies by 5 % between rounds and by 0.2 % between processes.
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : seed_(seed) {}
  double Factor(std::size_t point, int launch, int round, int run) const {
    const auto normal = [&](std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
      std::uint64_t state = seed_;
      for (const std::uint64_t part : {a, b, c, d}) state = Random(state).Next() ^ part;
      // The sum of twelve uniform numbers has a variance of 1. (std::normal_distribution differs between
      // platforms.)
      return Random(state).Normal();
    };
    const auto l = static_cast<std::uint64_t>(launch);
    const auto r = static_cast<std::uint64_t>(round);
    return std::exp(0.05 * normal(1, l, r, 0) + 0.002 * normal(2 + point, l, 0, 0) +
                    0.002 * normal(1000 + point, l, r, static_cast<std::uint64_t>(run) + 1));
  }

 private:
  std::uint64_t seed_;
};

inline Report MakeLadder(const std::vector<LadderPoint>& points, std::uint64_t seed = 1) {
  constexpr int kLaunches = 10;
  constexpr int kRounds = 4;
  const Noise noise(seed);
  RunData run;
  run.status = RunData::Status::kComplete;
  run.model = "net_xnnpack_fp32.pte";
  run.model_id = "net_xnnpack_fp32";
  run.platform = "linux-aarch64";
  run.schedule.seconds = 31;
  run.schedule.launches = kLaunches;
  run.schedule.rounds = kRounds;
  std::vector<std::optional<Profile>> profiles;
  std::vector<std::string> detected;
  for (const LadderPoint& point : points) {
    if (point.visible.size() > detected.size()) detected = point.visible;
  }
  for (std::size_t p = 0; p < points.size(); ++p) {
    const LadderPoint& point = points[p];
    ExperimentData data;
    data.name = point.level;
    data.label = point.level + ", " + std::to_string(point.threads) + " threads";
    data.threads = point.threads;
    data.isa = point.isa;
    data.error = point.error;
    if (!point.error.empty()) {
      run.experiments.push_back(std::move(data));
      profiles.emplace_back();
      continue;
    }
    data.isa_state.emplace();
    data.isa_state->detected = detected;
    data.isa_state->enabled = point.visible;
    const auto scaled = [](Nanoseconds ns, double factor) {
      return static_cast<Nanoseconds>(static_cast<double>(ns) * factor);
    };
    const auto inference = [&](double factor) {
      Inference result{{{"mean.out", scaled(200'000, factor)}}, {}, scaled(40'000, factor), 1'000};
      if (point.packs) result.delegate.push_back({"Pack Lh (NC, X32) #1", scaled(100'000, factor)});
      result.delegate.push_back(
          {"Convolution (NHWC, " + point.type + ") IGEMM #1", scaled(point.convolution, factor)});
      result.delegate.push_back({"Transpose (ND, X32) #1", scaled(300'000, factor)});
      result.delegate.push_back(
          {"Fully Connected (NC, " + point.type + ") GEMM #1", scaled(point.gemm, factor)});
      return result;
    };
    const Nanoseconds whole =
        point.convolution + point.gemm + 200'000 + 300'000 + 40'000 + (point.packs ? 100'000 : 0);
    std::vector<Inference> traced;
    for (int launch = 0; launch < kLaunches; ++launch) {
      Launch launch_data;
      launch_data.index = launch;
      for (int round = 0; round < kRounds; ++round) {
        Burst burst;
        burst.round = round;
        for (int i = 0; i < 5; ++i)
          burst.recorded.push_back(scaled(whole, noise.Factor(p, launch, round, i)));
        if (point.contended) burst.recorded_wait.assign(burst.recorded.size(), whole / 2);
        launch_data.bursts.push_back(std::move(burst));
        traced.push_back(inference(noise.Factor(p, launch, round, 9)));
        data.etdump_runs.push_back({launch, round, Phase::kSteady});
      }
      data.launches.push_back(std::move(launch_data));
    }
    AttributeOptions options;
    options.experiment = data.name;
    options.model_id = "net";
    options.labels = data.etdump_runs;
    profiles.emplace_back(Attribute(MakeTrace(traced), options));
    run.experiments.push_back(std::move(data));
  }
  return Assemble(std::move(run), std::move(profiles));
}

// A CPU with one SME2 unit for all cores, so that SME2 speeds up one thread (convolution 4.0x) and slows
// down four threads (0.5x). SME alone changes nothing.
inline std::vector<LadderPoint> MakeSme2Points() {
  const std::vector<std::string> sme = {"bf16", "fp16", "sme"};
  const std::vector<std::string> sme2 = {"bf16", "fp16", "sme", "sme2"};
  return {
      {"neon", "none", {}, 1, 8'000'000},
      {"neon", "none", {}, 4, 2'000'000},
      {"sme", "=sme", sme, 1, 8'000'000},
      {"sme", "=sme", sme, 4, 2'000'000},
      {"sme2", "all", sme2, 1, 2'000'000, 500'000, "PF32", true},
      {"sme2", "all", sme2, 4, 4'000'000, 500'000, "PF32", true},
  };
}

}  // namespace etprof::example
