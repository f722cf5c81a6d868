#include <nlohmann/json.hpp>

#include "core/json/json_schema_of.h"
#include "format/program/source/noise_budget.h"
#include "history/trends.h"
#include "measure/config/config.h"
#include "measure/config/suite_config.h"
#include "measure/store/peaks.h"
#include "measure/store/run_data.h"
#include "measure/store/suite_state.h"
#include "measure/store/watch.h"
#include "report/check.h"
#include "report/kernels/kernels.h"
#include "report/static_check.h"
#include "report/suite/suite.h"
#include "show/formats.h"
#include "show/formats/csv/kit_files.h"
#include "show/formats/json/json.h"
#include "validate/json_schema.h"

namespace etprof {

const std::map<std::string, nlohmann::ordered_json>& DescribedSchemas() {
  static const std::map<std::string, nlohmann::ordered_json> schemas = {
      {"config", MakeSchema<ConfigFile>(
                     "Configuration of `etprof run`",
                     "What to measure and how (docs/reference/config.md). The file may have comments, "
                     "which JSON Schema does not see.")},
      {"manifest",
       MakeSchema<RunData>(
           "manifest.json of an etprof results directory",
           "How and where it was measured, and what came out but for the single latencies "
           "(docs/reference/files.md). Times are integer nanoseconds (_ns), sizes bytes; what is not "
           "known is null.")},
      {"metrics", MakeSchema<Metrics>("metrics.json of an etprof results directory",
                                      "A summary of each experiment (docs/reference/files.md).")},
      {"peaks",
       MakeSchema<Peaks>("peaks.json of an etprof results directory",
                         "The machine's peaks for the experiments of a run (docs/guides/bottlenecks.md).")},
      {"watch",
       MakeSchema<WatchData>("_watch.json of an experiment",
                             "What the runner saw of XNNPACK's calls (docs/concepts/kernels.md). Times and "
                             "counts are sums over the runs.")},
      {"accuracy", MakeSchema<NoiseBudget>("MODEL.pte.accuracy.json, next to a quantized program",
                                           "Which values make the noise of its outputs "
                                           "(docs/guides/accuracy.md).")},
      {"check", MakeSchema<CheckReport>("etprof check --json: what the gate found",
                                        "docs/guides/ci.md. What is not defined is null.")},
      {"history_check",
       MakeSchema<HistoryReport>("etprof history check --json: what became slower, and since when",
                                 "docs/guides/history.md. What is not defined is null.")},
      {"suite",
       MakeSchema<SuiteConfig>("Suite of `etprof suite`",
                               "Which models to measure where (docs/guides/suites.md). The file may have "
                               "comments, which JSON Schema does not see.")},
      {"suite_state", MakeSchema<SuiteState>("suite_state.json of a suite's folder",
                                             "How far each cell is (docs/guides/suites.md).")},
      {"suite_report", MakeSchema<SuiteReport>("suite_report.json of a suite, and `etprof suite --json`",
                                               "docs/guides/suites.md. What is not defined is null.")},
      {"static_check",
       MakeSchema<StaticCheck>(
           "etprof check --static --json, and limits of etprof inspect --json",
           "What the static gate found (docs/guides/ci.md). Shares are from 0 to 1, sizes bytes.")},
      {"kernels", MakeSchema<KernelReport>("etprof kernels --json",
                                           "docs/concepts/kernels.md. Names stand as they are in the logs.")},
      {"document", DocumentSchema()},
      {"devices_report", DevicesReportSchema()},
      {"analysis_summary", AnalysisSummarySchema()},
      {"pipeline_summary", PipelineSummarySchema()},
      {"timeline", TimelineSchema()},
      {"robust_stats", RobustStatsSchema()},
      {"robust_comparison", RobustComparisonSchema()},
      {"inspect", InspectSchema()},
      {"inspect_data", InspectDataSchema()}};
  return schemas;
}

const nlohmann::json& GetPublishedSchema(const std::string& name) {
  static const std::map<std::string, nlohmann::json> schemas = [] {
    std::map<std::string, nlohmann::json> parsed;
    for (const auto& [schema_name, schema] : DescribedSchemas()) parsed[schema_name] = nlohmann::json(schema);
    return parsed;
  }();
  return schemas.at(name);
}

}  // namespace etprof
