#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "measure/store/run_data.h"
#include "report/check.h"
#include "workflow/measure/request.h"

namespace etprof {

inline constexpr double kInstructionGrowth = 0.01;

struct CheckOptions {
  MeasureRequest measure;
  // Two models, folders of models, or configurations (measured now), or results directories; or one
  // configuration or results directory with its pairs. `baseline` and `candidate` name the two as well; of a
  // model the candidate may be what differs ("isa=-avx2").
  std::vector<std::string> paths;
  std::string baseline, candidate;
  CheckLimits limits;                  // but for the two that depend on what is asked for:
  std::optional<double> max_slowdown;  // absent: the usual one, or with `--instructions` none
  std::optional<double>
      max_instruction_growth;        // absent: with `--instructions` kInstructionGrowth, else none
  std::optional<double> budget;      // seconds for all pairs together
  std::vector<std::string> allowed;  // as MismatchNames: in what two stored runs may differ
  std::optional<double> drift;       // as ScheduleData's

  static constexpr auto Limit(auto member) {
    return [member](auto& all) -> auto& { return all.limits.*member; };
  }
  static constexpr About Growth(std::string_view of) {
    return {.meaning = of, .least = -1, .open = true, .percent = true};
  }
  static void Describe(auto& v) {
    using O = CheckOptions;
    v("baseline", &O::baseline);
    v("candidate", &O::candidate);
    v("max_slowdown", &O::max_slowdown,
      Growth("Maximum allowed latency increase (default: 2%; with --instructions latency is not checked)"));
    v("max_operator_slowdown", Limit(&CheckLimits::operator_slowdown),
      Growth("Maximum allowed increase of every operator's self time (default: not checked)"));
    v("min_operator_share", Limit(&CheckLimits::least_operator_share),
      {.meaning = "Check only operators with at least this share of the time in either variant (default: 1%)",
       .least = 0,
       .most = 1,
       .percent = true});
    v("max_memory_growth", Limit(&CheckLimits::memory_growth),
      Growth("Maximum allowed increase of peak memory (default: not checked)"));
    v("max_load_slowdown", Limit(&CheckLimits::load_slowdown),
      Growth("Maximum allowed increase of the model's load time (default: not checked)"));
    v("max_instruction_growth", &O::max_instruction_growth,
      Growth("Maximum allowed increase of the instructions executed (with --instructions; default: 1%)"));
    v("require_conclusive", Limit(&CheckLimits::require_conclusive),
      {.meaning = "Fail if a check is inconclusive (exit code 1 instead of 5)"});
    v("allow_mismatch", &O::allowed, {.meaning = "in what two stored runs may differ", .one = true});
    v("drift", &O::drift,
      {.meaning =
           "Of two stored runs: by how much this machine's latency differs between measurements of the "
           "same (standard deviation; default: 1.5%)",
       .least = 0,
       .most = 1,
       .percent = true});
    v("budget", &O::budget,
      {.meaning = "Time limit in seconds for all pairs together", .least = 0.1, .most = 1e7, .value = "S"});
    MeasureRequest::DescribeUsual(v);
    MeasureRequest::DescribeModel(v);
    MeasureRequest::DescribeInstructions(v);
    MeasureRequest::DescribeWatch(v);
    MeasureRequest::DescribeHistory(v);
  }
};

// The baseline and the candidate, in whichever way they are named; empty: not at all. Throws Error (kUsage)
// for a third one.
std::pair<std::string, std::string> SidesGiven(const CheckOptions& options);

struct Checked {
  std::optional<CheckReport> report;  // absent: interrupted
  std::optional<RunData> measured;    // absent: stored runs were checked
  KeptInHistory kept;                 // what was measured
};

// Throws Error (kUsage) where a side is missing, given twice, or cannot be compared with the other, and for
// options that do not go with stored runs; kBadInput for what is not there or cannot be compared;
// kDeviceFailed.
Checked CheckVariants(const CheckOptions& options, WorkflowProgress& progress);

}  // namespace etprof
