#include <nlohmann/json.hpp>

#include "core/json_schema_of.h"
#include "measure/peaks_value.h"
#include "measure/run_data.h"
#include "validate/json_schema.h"

namespace etprof {

const std::map<std::string, nlohmann::ordered_json>& DescribedSchemas() {
  static const std::map<std::string, nlohmann::ordered_json> schemas = {
      {"manifest",
       SchemaOf<RunData>(
           "manifest.json of an etprof run directory",
           "How and where it was measured, and what came out but for the single latencies "
           "(docs/run-directory.md). Times are integer nanoseconds (_ns), sizes bytes; what is not "
           "known is null.")},
      {"metrics", SchemaOf<Metrics>("metrics.json of an etprof run directory",
                                    "A summary of each experiment (docs/run-directory.md).")},
      {"peaks", SchemaOf<Peaks>("peaks.json of an etprof run directory",
                                "The machine's roofs for the experiments of a run (docs/peaks.md).")}};
  return schemas;
}

}  // namespace etprof
