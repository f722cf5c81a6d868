#pragma once

#include <string_view>

// The names of the files of a results directory (docs/reference/files.md describes the files).
namespace etprof {

// Files in the results directory itself.
inline constexpr const char* kLockFile = ".lock";  // locked by the process that measures into the directory
inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr const char* kMetricsFile = "metrics.json";
inline constexpr const char* kConfigFile = "config.json";
inline constexpr const char* kPeaksFile = "peaks.json";
inline constexpr const char* kValuesFile = "values.csv";
inline constexpr const char* kAnalysisFile = "analysis_summary.json";
inline constexpr const char* kSummaryFile = "pipeline_summary.json";
inline constexpr const char* kSummaryMarkdownFile = "pipeline_summary.md";
inline constexpr const char* kReportFile = "report.md";
inline constexpr const char* kReportPage = "report.html";
inline constexpr const char* kReportJsonFile = "report.json";
inline constexpr const char* kKernelViewFile = "kernel_view.md";
inline constexpr const char* kPerfettoTraceFile = "trace.pftrace";
inline constexpr const char* kChromeTraceFile = "trace.json";

// Files of an experiment: suffixes after "<experiment>/<stem>", the path of its ETDump without the extension.
inline constexpr const char* kTimelineSuffix = "_exec_all_runs_timeline.csv";
inline constexpr const char* kFirstRunTimelineSuffix = "_exec_run0_timeline.csv";
inline constexpr const char* kOperatorStatisticsSuffix = "_exec_ops_stats.csv";
inline constexpr const char* kCategorySummarySuffix = "_category_summary.csv";
inline constexpr const char* kOperatorDetailsSuffix = "_operator_details.csv";
inline constexpr const char* kOtherTopOperatorsSuffix = "_other_top_ops.csv";
inline constexpr const char* kEndToEndLatencySuffix = "_e2e_latency.csv";
inline constexpr const char* kSustainedSuffix = "_sustained.csv";
inline constexpr const char* kRobustStatsSuffix = "_robust_stats.json";
inline constexpr const char* kLatencySuffix = "_latency.csv";
inline constexpr const char* kCountersSuffix = "_counters.csv";
inline constexpr const char* kInstructionsSuffix = "_instructions.csv";
inline constexpr const char* kWatchSuffix = "_watch.json";
inline constexpr const char* kReadValuesSuffix = "_values.safetensors";
inline constexpr const char* kKernelLogSuffix = "_xnntrace.log";
inline constexpr const char* kKernelsSuffix = "_kernels.csv";

// Files of a pair: suffixes after "<model>", or "<model>_<candidate>_vs_<baseline>" if there are several
// pairs.
inline constexpr const char* kComparisonSuffix = "_comparison.csv";
inline constexpr const char* kRobustComparisonSuffix = "_robust_comparison.json";

// The files that a new measurement moves to previous/, in addition to the folders of experiments. A directory
// without a manifest may not be etprof's, so only its files with exactly these names (kWhole) are moved.
struct MovedFile {
  enum class Match { kWhole, kAfterModel, kKernelView };
  std::string_view name;
  Match match = Match::kWhole;
};
inline constexpr MovedFile kMovedFiles[] = {
    {kManifestFile},
    {kMetricsFile},
    {kConfigFile},
    {kPeaksFile},
    {kValuesFile},
    {kAnalysisFile},
    {kSummaryFile},
    {kSummaryMarkdownFile},
    {kReportFile},
    {kReportPage},
    {kReportJsonFile},
    {kKernelViewFile},
    {kPerfettoTraceFile},
    {kChromeTraceFile},
    {"_pipeline_summary.json", MovedFile::Match::kAfterModel},
    {"_pipeline_summary.md", MovedFile::Match::kAfterModel},
    {kComparisonSuffix, MovedFile::Match::kAfterModel},
    {kRobustComparisonSuffix, MovedFile::Match::kAfterModel},
    {"kernel_view_", MovedFile::Match::kKernelView},  // "kernel_view_<operator>.md"
};

}  // namespace etprof
