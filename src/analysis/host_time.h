#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "etdump/trace.h"
#include "program/program.h"

namespace etprof {

// The backend that an instruction calls; "" where that is not known.
using BackendOf = std::function<std::string(std::int32_t chain, std::int32_t instruction)>;

// Of the method of that name, or of all where none has it, as far as they agree.
BackendOf BackendsOf(const Program& program, const std::string& method);

// Leaves only events in a trace whose times are the host clock's: what else delegates write is moved to
// `reported`, by the delegate that `backend_of` names, or else by what its events look like with certainty
// (delegates/delegate.h). Where these contradict the one that is named, they decide. Of a delegate that
// etprof does not know only what begins and ends within its call stays, and `health` says so; of events whose
// delegate is not known nothing does; nor of one whose events last longer than the calls that they
// are in, for they are in another unit than the framework's. Fills Layout::backend. Works on layouts, so that
// it takes next to no time where all is host time.
void KeepHostTime(Trace& trace, const BackendOf& backend_of = {});

}  // namespace etprof
