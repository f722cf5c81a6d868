#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands/measure/generate.h"
#include "commands/measurement/request.h"
#include "device/device.h"
#include "measure/config/config.h"
#include "measure/store/run_data.h"
#include "report/check.h"

namespace etprof {

inline constexpr double kInstructionGrowth = 0.01;

struct CheckOptions : MeasureRequest {
  // Two models, folders of models, or configurations (measured now), or two results directories. A single
  // path is a configuration or a results directory with pairs of its own. Two paths may also be given as
  // `baseline` and `candidate`. If the baseline is a model, the candidate may be a variant of it
  // ("isa=-avx2").
  std::vector<std::string> paths;
  std::string baseline, candidate;
  CheckLimits limits;  // all limits except for the two below, whose defaults depend on other options
  std::optional<double> max_slowdown;  // absent: the default, or with `--instructions` no limit
  // Absent: kInstructionGrowth with `--instructions`, else none.
  std::optional<double> max_instruction_growth;
  std::optional<double> budget;                 // seconds for all pairs together
  std::vector<std::string> allowed_mismatches;  // from MismatchNames(), for two stored runs
  std::optional<double> drift;                  // standard deviation, as in ScheduleData::drift
  bool generate = false;  // the models are language models, measured as by `etprof generate`
  TokenTests tests;       // with `generate`

  static constexpr auto Limit(auto member) {
    return [member](auto& options) -> auto& { return options.limits.*member; };
  }
  static constexpr MemberInfo Growth(std::string_view meaning) {
    return {.meaning = meaning, .min = -1, .exclusive = true, .percent = true};
  }
  static void Describe(auto& v) {
    using O = CheckOptions;
    v("baseline", &O::baseline);
    v("candidate", &O::candidate);
    v("max_slowdown", &O::max_slowdown,
      Growth("Maximum allowed latency increase (default: 2%; with --instructions latency is not checked)"));
    v("max_operator_slowdown", Limit(&CheckLimits::operator_slowdown),
      Growth("Maximum allowed increase of every operator's self time (default: not checked)"));
    v("min_operator_share", Limit(&CheckLimits::min_operator_share),
      {.meaning = "Check only operators with at least this share of the time in either variant (default: 1%)",
       .min = 0,
       .max = 1,
       .percent = true});
    v("generate", &O::generate,
      {.meaning =
           "Check language models: prompts, generated tokens by depth, the time to the first token, and "
           "the size of the cache (docs/guides/llms.md)"});
    TokenTests::DescribeIn(v, "tokens");
    v("max_first_token_slowdown", Limit(&CheckLimits::first_token_slowdown),
      Growth("Maximum allowed increase of the time to the first token (with --generate; default: "
             "--max-slowdown)"));
    v("max_cache_growth", Limit(&CheckLimits::cache_growth),
      Growth("Maximum allowed increase of the cache (with --generate; default: 0%)"));
    v("max_memory_growth", Limit(&CheckLimits::memory_growth),
      Growth("Maximum allowed increase of peak memory (default: not checked)"));
    v("max_load_slowdown", Limit(&CheckLimits::load_slowdown),
      Growth("Maximum allowed increase of the model's load time (default: not checked)"));
    v("max_instruction_growth", &O::max_instruction_growth,
      Growth("Maximum allowed increase of the instructions executed (with --instructions; default: 1%)"));
    v("require_conclusive", Limit(&CheckLimits::require_conclusive),
      {.meaning = "Fail if a check is inconclusive (exit code 1 instead of 5)"});
    v("allow_mismatch", &O::allowed_mismatches,
      {.meaning = "in what two stored runs may differ", .or_single = true});
    v("drift", &O::drift,
      {.meaning =
           "Of two stored runs: by how much this machine's latency differs between measurements of the "
           "same (standard deviation; default: 1.5%)",
       .min = 0,
       .max = 1,
       .percent = true});
    v("budget", &O::budget, NumberOption("Time limit in seconds for all pairs together", 0.1, 1e7, "S"));
    DescribeBasicOptions(v);
    DescribeModel(v);
    DescribeInstructions(v);
    DescribeWatch(v);
    DescribeHistory(v);
  }
};

// Returns the baseline and the candidate, given as `paths` or by name; each is empty if it is not given.
// Throws Error (kUsage) for a third input.
std::pair<std::string, std::string> GetInputPaths(const CheckOptions& options);

enum class InputKind {
  kModels,   // two models, or a model and its variant: measured now
  kFolders,  // two folders of models, paired by name: measured now
  kConfigs,  // a configuration with pairs, or two configurations (experiments paired by name): measured now
  kRuns,     // a results directory with pairs, or two results directories: nothing is measured
};

// The two inputs as the command line names them.
struct CheckInputs {
  InputKind kind = InputKind::kModels;
  std::string baseline;
  std::string candidate;  // empty: `baseline` has both variants
};

// Throws Error (kUsage, kBadInput) for inputs that are missing or of different kinds.
CheckInputs ParseInputs(const CheckOptions& options);

// Makes the configuration to measure; every pair of its plan is a check. Adds a message to `unpaired` for
// each model that is in only one of two folders. Throws Error (kBadInput) if there is nothing to check.
Config MakeCheckConfig(const CheckInputs& inputs, const MeasureRequest& request, Device& device,
                       std::vector<std::string>& unpaired);

struct CheckOutcome {
  std::optional<CheckReport> report;  // absent: the check was interrupted
  std::optional<RunData> run;         // absent: stored runs were checked
  HistoryUpdate history_update;       // the result of adding the measured run to a history
};

// Throws Error (kUsage) if a variant is missing, given twice, or not comparable with the other, and for
// options that do not apply to stored runs; Error (kBadInput) for files that are missing or not comparable;
// Error (kDeviceFailed).
CheckOutcome CheckVariants(const CheckOptions& options, WorkflowProgress& progress);

}  // namespace etprof
