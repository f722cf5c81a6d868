#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "format/etdump/trace.h"
#include "format/program/program.h"

namespace etprof {

// Returns the backend that an instruction calls; "" if not known.
using BackendResolver = std::function<std::string(std::int32_t chain, std::int32_t instruction)>;

// Returns the backends of the method with that name. If no method has the name, returns the backends on which
// all methods agree.
BackendResolver MakeBackendResolver(const Program& program, const std::string& method);

// Leaves only events with times of the host clock in a trace, and moves all other events of delegates to
// `reported`. The delegate of an event is the delegate that `resolve_backend` returns, else the delegate that
// the event certainly belongs to by its form (format/delegates/delegate.h). If the form contradicts
// `resolve_backend`, the form decides. Events of a delegate that etprof does not know stay if they begin and
// end within its call, and `health` has an entry. Events of an unknown delegate are moved, and so are events
// of a delegate whose events last longer than their calls, since their unit differs from the framework's.
// Fills Layout::backend. The work is done per layout, so it takes almost no time if all events are host time.
void SeparateHostTime(Trace& trace, const BackendResolver& resolve_backend = {});

}  // namespace etprof
