#pragma once

#include "format/etdump/trace.h"
#include "profile/analysis/profile.h"

namespace etprof::fuzz {

// Attributes the trace, and requires that self times are never negative and, with the truncated time, add up
// to Method::execute in each run and in each table.
Profile CheckSums(const Trace& trace);

// Calls CheckSums, and renders the profile in all formats. Requires that JSON output is valid, that the rows
// of a CSV have the columns of its header, and that no control character reaches the terminal.
void CheckProfile(const Trace& trace);

// Calls CheckProfile before and after SeparateHostTime, which removes events that are not host time.
void CheckEtdump(Trace trace);

}  // namespace etprof::fuzz
