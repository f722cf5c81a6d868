#pragma once

#include <optional>
#include <ostream>

#include "analysis/profile.h"
#include "etdump/trace.h"

// The kit's CSV files (docs/reference/csv.md has the columns). RFC 4180: CRLF is not used as no reader
// needs it, fields with a comma, quote or line break are quoted. Times keep their nanoseconds; what does not
// exist is an empty field.
namespace etprof {

// One row an event of the Execute blocks, the framework's spans too, in the file's order. Only of run
// `only_run` (index into Profile::runs) when that is given. `profile` was made of `trace`.
void RenderTimelineCsv(const Trace& trace, const Profile& profile, std::optional<std::size_t> only_run,
                       std::ostream& out);

// One row an operator, the framework's spans too, by falling self time: sums over the common set of runs, so
// that the self times add up to Method::execute (with what was clipped, which is a row of its own where there
// is any).
void RenderOperatorStatisticsCsv(const Profile& profile, std::ostream& out);

}  // namespace etprof
