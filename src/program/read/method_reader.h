#pragma once

#include "program/program.h"
#include "program/read/source.h"
#include "program_generated.h"

namespace etprof {

// Of a plan of a verified Program. `program` holds what the whole file has; the delegates' payloads are found
// in it, not yet read. Throws Source::Bad.
Method ReadMethod(Source& source, const Buffer& buffer, const executorch_flatbuffer::Program& file,
                  const executorch_flatbuffer::ExecutionPlan& plan, const Program& program);

}  // namespace etprof
