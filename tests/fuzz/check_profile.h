#pragma once

#include "analysis/profile.h"
#include "etdump/trace.h"

namespace etprof::fuzz {

// Attributes the trace and requires that self times are never negative and add up, with what was clipped, to
// Method::execute, in every run and in every table.
Profile CheckSums(const Trace& trace);

// The same, and renders the profile in every way: JSON is JSON, the rows of a CSV have the columns of its
// header, and no control character reaches the terminal.
void CheckProfile(const Trace& trace);

// CheckProfile of an ETDump's trace, before and after what is not host time was taken out of it.
void CheckEtdump(Trace trace);

}  // namespace etprof::fuzz
