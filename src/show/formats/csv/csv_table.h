#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "core/json/describe.h"
#include "core/units.h"
#include "profile/compare/comparison.h"

// Meanings of columns that several CSV tables share, and helpers to compute their values.
namespace etprof {

// Columns that identify the row's experiment.
inline constexpr std::string_view kModelId = "the model; of a bare ETDump the file's name";
inline constexpr std::string_view kExperimentName = "its name in the configuration";
inline constexpr std::string_view kExperimentLabel = "its name in reports";
inline constexpr MemberInfo kThreadsOfPool{.meaning = "of the runner's thread pool; null or empty: not known",
                                           .min = 1};

// Columns of an operator.
inline constexpr std::string_view kNameInInspector = "as ExecuTorch's Inspector shows it";
inline constexpr std::string_view kOperatorType =
    "the name without XNNPACK's number and without `native_call_`";
inline constexpr std::string_view kOperatorCategory = "what it computes, finer than `group`";
inline constexpr std::string_view kOperatorGroup = "what it computes";
inline constexpr MemberInfo kOperatorBackend{.meaning = "the delegate that ran it; empty: none, or not known",
                                             .or_null = true};
inline constexpr std::string_view kInnermostModule = "path of the innermost module; empty: not known";
inline constexpr std::string_view kSourceLine = "file and line of the model; empty: not known";
inline constexpr std::string_view kRunsOfOperator = "runs of the common set in which it ran";

// Columns of a breakdown.
inline constexpr std::string_view kMeanOverRuns = "`total_ms` divided by `runs`; empty: no runs";
inline constexpr std::string_view kOperatorsOfRow = "distinct ones, calls and the method itself among them";

// Columns of a distribution. They follow the column that says which runs the distribution covers.
inline constexpr std::string_view kSelfMedian =
    "median of its self time, over the steady-state runs in which it ran";
inline constexpr std::string_view kMeanOfRuns = "mean of these runs";
inline constexpr std::string_view kP90OfRuns = "90th percentile of these runs";
inline constexpr std::string_view kP95OfRuns = "95th percentile of these runs";
inline constexpr std::string_view kP99OfRuns = "99th percentile of these runs";
inline constexpr std::string_view kMinOfRuns = "smallest value of these runs";
inline constexpr std::string_view kMaxOfRuns = "largest value of these runs";
inline constexpr std::string_view kSdOfRuns =
    "standard deviation of these runs, with n - 1; empty: fewer than two";

// Columns of a latency.
inline constexpr std::string_view kRunsOfLatency =
    "that the latency is of: clean untraced runs, all untraced ones if none is clean, or traced ones";
inline constexpr std::string_view kMedianOfLatency = "median latency of these runs; empty: there are none";
inline constexpr std::string_view kFirstRun =
    "of a process, median over launches; from the trace where it was not measured";
inline constexpr std::string_view kLoadTime =
    "program and method, median over launches; from the trace where it was not measured";
inline constexpr std::string_view kPeakRss = "the largest resident memory of any launch; empty: not measured";

// Columns of a comparison.
inline constexpr std::string_view kVerdict =
    "of the interval, on the candidate (docs/concepts/statistics.md); empty: not judged";

inline constexpr MemberInfo kSelfTotal{.meaning = "self time over the common set", .scale = 1e6};
inline constexpr std::string_view kPercentOfMethod = "of `Method::execute`; adds up to 100";
inline constexpr std::string_view kKeyAsNodeId = "as `node_id` of timelines";
inline constexpr std::string_view kRunsOfCommonSet = "size of the common set";
inline constexpr std::string_view kCvMeaning = "standard deviation over mean";

// 100 part / whole; absent if `whole` is 0.
inline std::optional<double> MaybePercent(Nanoseconds part, Nanoseconds whole) {
  return whole > 0 ? std::optional(100.0 * static_cast<double>(part) / static_cast<double>(whole))
                   : std::nullopt;
}

// Reads a member (`read`) of the estimate that etprof reports for a comparison; absent if etprof reports no
// estimate.
std::optional<double> ReadEstimate(const TimeComparison& time_comparison, auto read) {
  const std::optional<stats::RatioEstimate> estimate = time_comparison.EstimateUnlessEmulated();
  return estimate ? std::optional<double>(std::invoke(read, *estimate)) : std::nullopt;
}

}  // namespace etprof
