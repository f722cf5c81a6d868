#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "format/etdump/trace.h"
#include "format/program/program.h"

namespace etprof {

// Returns the backend that an instruction calls; "" if not known.
using BackendResolver = std::function<std::string(std::int32_t chain, std::int32_t instruction)>;

// Makes a resolver for the method with that name. If no method has the name, the resolver returns the
// backends on which all methods agree.
BackendResolver MakeBackendResolver(const Program& program, const std::string& method);

// Moves events of delegates whose times are not of the host clock from a trace to `reported`. The form of an
// event decides its delegate if only one delegate writes such events (format/delegates/delegate.h), else
// `resolve_backend` does. Events of a delegate that etprof does not support stay if they begin and end within
// its call, and `health` has an entry. Events whose delegate cannot be determined are moved, and so are
// events of a delegate whose events last longer than their calls, since their unit differs from the
// framework's. Fills Layout::backend. The work is done per layout, so it takes almost no time if all events
// are host time.
void SeparateHostTime(Trace& trace, const BackendResolver& resolve_backend = {});

}  // namespace etprof
