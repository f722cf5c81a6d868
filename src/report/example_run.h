#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "format/etdump/testing.h"
#include "profile/analysis/profile.h"
#include "report/report.h"

// Small traces and runs with known numbers for the tests of report/ and show/.
namespace etprof::example {

struct Event {
  std::string name;
  Nanoseconds duration = 0;
};

// An inference: kernels outside of delegates, then one delegate call with its operators. `overhead` is the
// self time of the delegate call, `framework` the self time of each operator call and of Method::execute.
struct Inference {
  std::vector<Event> kernels;
  std::vector<Event> delegate;
  Nanoseconds overhead = 0;
  Nanoseconds framework = 0;
};

inline Trace MakeTrace(const std::vector<Inference>& runs) {
  handmade::TraceBuilder trace;
  Nanoseconds now = 1000;
  for (const Inference& run : runs) {
    trace.Block("Execute");
    const Nanoseconds run_start = now;
    now += run.framework;
    int instruction = 0;
    for (const Event& kernel : run.kernels) {
      const Nanoseconds call_start = now;
      now += run.framework;
      trace.Framework(instruction, "native_call_" + kernel.name, now, now + kernel.duration);
      now += kernel.duration;
      trace.Framework(instruction++, "OPERATOR_CALL", call_start, now);
    }
    if (!run.delegate.empty()) {
      const Nanoseconds call_start = now;
      now += run.overhead;
      for (const Event& event : run.delegate) {
        trace.Backend(instruction, event.name, now, now + event.duration);
        now += event.duration;
      }
      trace.Framework(instruction, "DELEGATE_CALL", call_start, now);
    }
    trace.Framework(0, "Method::execute", run_start, now);
    now += 500;
  }
  return trace.Take();
}

// Inferences of a convolution, a fully connected layer, and two transposes in the delegate, and one portable
// kernel. The convolution's time varies slightly between runs.
inline std::vector<Inference> MakeInferences(int runs, Nanoseconds convolution,
                                             const std::string& type = "F32") {
  std::vector<Inference> inferences;
  for (int i = 0; i < runs; ++i) {
    const Nanoseconds jitter = (i * 7) % 5 * 1001;
    inferences.push_back({{{"mean.out", 200'001}},
                          {{"Transpose (ND, X32) #1", 300'003},
                           {"Convolution (NHWC, " + type + ") IGEMM #1", convolution + jitter},
                           {"Fully Connected (NC, " + type + ") GEMM #1", 500'007},
                           {"Transpose (ND, X32) #2", 100'001}},
                          40'000,
                          1'000});
  }
  return inferences;
}

// Labels of `runs` traced runs, two per round, all steady.
inline std::vector<RunLabel> Labels(int runs, int launches) {
  std::vector<RunLabel> labels;
  const int runs_per_launch = runs / launches;
  for (int i = 0; i < runs; ++i)
    labels.push_back({i / runs_per_launch, (i % runs_per_launch) / 2, Phase::kSteady});
  return labels;
}

inline Profile MakeProfile(const std::string& experiment, Nanoseconds convolution,
                           const std::string& type = "F32") {
  AttributeOptions options;
  options.experiment = experiment;
  options.model_id = "net";
  options.labels = Labels(40, 10);
  const Trace trace = MakeTrace(MakeInferences(40, convolution, type));
  Profile profile = Attribute(trace, options);
  profile.sampled = SampleRuns(trace, profile, 5);
  return profile;
}

inline ExperimentData MakeExperiment(const std::string& name, Nanoseconds latency) {
  ExperimentData data;
  data.name = name;
  data.label = name;
  for (int launch = 0; launch < 10; ++launch) {
    Launch launch_data;
    launch_data.index = launch;
    launch_data.first_run = 3 * latency;
    launch_data.load = 2'000'000;
    for (int round = 0; round < 4; ++round) {
      Burst burst;
      burst.round = round;
      for (int run = 0; run < 5; ++run)
        burst.recorded.push_back(latency + (launch * 13 + round * 7 + run * 3) % 17 * 500);
      launch_data.bursts.push_back(std::move(burst));
    }
    data.launches.push_back(std::move(launch_data));
  }
  data.etdump_runs = Labels(40, 10);
  return data;
}

// The experiments "off" and "on", measured in interleaved launches; the convolution takes 4 ms in "off" and 1
// ms in "on". `change` is applied to the run before the report is assembled; all times are multiplied by
// `factor`.
inline Report MakePairReport(
    const std::function<void(RunData&)>& change = [](RunData&) {}, double factor = 1) {
  const auto scaled = [&](Nanoseconds ns) {
    return static_cast<Nanoseconds>(static_cast<double>(ns) * factor);
  };
  RunData run;
  run.status = RunData::Status::kComplete;
  run.model = "net_xnnpack_fp32.pte";
  run.model_id = "net_xnnpack_fp32";
  run.platform = "linux-x86_64";
  run.schedule.seconds = 31;
  run.experiments = {MakeExperiment("off", scaled(5'000'000)), MakeExperiment("on", scaled(2'000'000))};
  run.pairs.push_back({.baseline = 0, .candidate = 1});
  change(run);
  std::vector<std::optional<Profile>> profiles;
  profiles.emplace_back(MakeProfile("off", scaled(4'000'000)));
  profiles.emplace_back(MakeProfile("on", scaled(1'000'000), "PF32"));
  return Assemble(std::move(run), std::move(profiles));
}

// A report on a single ETDump without a manifest.
inline Report MakeBareEtdumpReport() {
  RunData run = MakeEtdumpRun({"net.etdump"}, {});
  std::vector<std::optional<Profile>> profiles;
  AttributeOptions options;
  options.model_id = "net";
  profiles.emplace_back(Attribute(MakeTrace(MakeInferences(8, 4'000'000)), options));
  return Assemble(std::move(run), std::move(profiles));
}

}  // namespace etprof::example
