#pragma once

#include <string>
#include <vector>

#include "render/facts.h"
#include "render/json_values.h"
#include "report/report.h"

// The parts of analysis_summary.json (json.cc), one function each; docs/schema/analysis_summary.schema.json
// has what they hold.
namespace etprof {

Json FactsJson(const std::vector<Fact>& facts);
Json ExperimentJson(const Report& report, const ReportExperiment& experiment);

Json QuantityJson(const Quantity& quantity);
Json MatrixJson(const Report& report, const Matrix& matrix);
Json ComparisonJson(const Report& report, const ReportComparison& pair);

}  // namespace etprof
