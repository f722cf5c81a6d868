#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <ostream>
#include <string>

#include "format/etdump/trace.h"
#include "report/report.h"

// Writes the files of the SME2 profiling kit: the kit's columns and keys come first, in the kit's order
// (docs/reference/csv.md). CSV follows RFC 4180, except that lines end with LF, which every reader accepts;
// fields with a comma, quote, or line break are quoted. Times keep their nanoseconds; undefined values are
// empty fields. The values differ from the kit's where the kit counted nested spans twice or merged operators
// that share a name: here, times are self time over the common set of runs, so they add up to
// Method::execute.
namespace etprof {

// One row per event of the Execute blocks, including the framework's spans, in the file's order. `only_run`
// (index into Profile::runs) restricts the output to one run. `profile` must be made from `trace`.
void RenderTimelineCsv(const Trace& trace, const Profile& profile, std::optional<std::size_t> only_run,
                       std::ostream& out);

// One row per operator, including the framework's spans, by decreasing self time. Truncated (overlapping)
// time is a separate row, if there is any.
void RenderOperatorStatisticsCsv(const Profile& profile, std::ostream& out);

// These functions require an experiment that has a profile.
// RenderCategorySummaryCsv writes one row per fine category, by decreasing time. The framework's spans are
// the category `framework`, and truncated time is the last row, so that the shares add up to 100.
void RenderCategorySummaryCsv(const ReportExperiment& experiment, std::ostream& out);
// One row per operator (by identity), by decreasing time, including the framework's spans and truncated time.
void RenderOperatorDetailsCsv(const ReportExperiment& experiment, std::ostream& out);
// The rows of RenderOperatorDetailsCsv in category OTHER: operators that match no other category.
void RenderOtherTopOpsCsv(const ReportExperiment& experiment, std::ostream& out);
// One row: Method::execute over the common set, then the headline latency.
void RenderE2eLatencyCsv(const Report& report, const ReportExperiment& experiment, std::ostream& out);
// Accepts any experiment with a latency, with or without a profile.
void RenderRobustStatsJson(const Report& report, const ReportExperiment& experiment, std::ostream& out);
nlohmann::ordered_json RobustStatsSchema();

// One row per fine category; the rows add up to Method::execute of each variant. The labels of the two
// variants name the columns, as in the kit.
void RenderComparisonCsv(const ReportComparison& pair, std::ostream& out);
void RenderRobustComparisonJson(const Report& report, const ReportComparison& pair, std::ostream& out);
nlohmann::ordered_json RobustComparisonSchema();

// The columns of these CSV files and of RenderOperatorStatisticsCsv's file, keyed by the end of the file's
// name.
std::map<std::string, nlohmann::ordered_json> KitCsvSchemas();

}  // namespace etprof
