#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <ostream>
#include <string>

#include "etdump/trace.h"
#include "report/report.h"

// The files of the SME2 profiling kit, with its columns and keys first and in its order
// (docs/reference/csv.md). RFC 4180: CRLF is not used as no reader needs it, fields with a comma, quote or
// line break are quoted. Times keep their nanoseconds; what does not exist is an empty field. The values are
// not the kit's where it counted nested spans twice or took operators of one name for one: times are self
// time over the common set of runs, so they add up to Method::execute.
namespace etprof {

// One row an event of the Execute blocks, the framework's spans too, in the file's order. Only of run
// `only_run` (index into Profile::runs) when that is given. `profile` was made of `trace`.
void RenderTimelineCsv(const Trace& trace, const Profile& profile, std::optional<std::size_t> only_run,
                       std::ostream& out);

// One row an operator, the framework's spans too, by falling self time, and what was clipped, which is a row
// of its own where there is any.
void RenderOperatorStatisticsCsv(const Profile& profile, std::ostream& out);

// `experiment` has a profile for all of these.
// One row a fine category, by falling time; the spans of the framework are the category `framework`, and what
// was clipped is a last row, so that the shares add up to 100.
void RenderCategorySummaryCsv(const ReportExperiment& experiment, std::ostream& out);
// One row an operator (by identity), by falling time, with the framework's spans and what was clipped.
void RenderOperatorDetailsCsv(const ReportExperiment& experiment, std::ostream& out);
// The rows of category OTHER of the file above: what the table of categories has no better place for.
void RenderOtherTopOpsCsv(const ReportExperiment& experiment, std::ostream& out);
// One row: Method::execute over the common set, then the headline latency.
void RenderE2eLatencyCsv(const Report& report, const ReportExperiment& experiment, std::ostream& out);
// Any experiment with a latency.
void RenderRobustStatsJson(const Report& report, const ReportExperiment& experiment, std::ostream& out);
nlohmann::ordered_json RobustStatsSchema();

// Of a pair: one row a fine category, adding up to each side's Method::execute; columns are named by the two
// sides' labels, as the kit does.
void RenderComparisonCsv(const ReportComparison& pair, std::ostream& out);
void RenderRobustComparisonJson(const Report& report, const ReportComparison& pair, std::ostream& out);
nlohmann::ordered_json RobustComparisonSchema();

// The columns of these CSV files and of RenderOperatorStatisticsCsv's, by the end of the file's name.
std::map<std::string, nlohmann::ordered_json> KitCsvSchemas();

}  // namespace etprof
