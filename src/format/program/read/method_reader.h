#pragma once

#include "format/program/program.h"
#include "format/program/read/source.h"
#include "program_generated.h"

namespace etprof {

// Reads a plan of a verified Program. `program` contains the data of the whole file. Delegates' payloads are
// located in the file, but not read. Throws the Error of Source::MakeError.
Method ReadMethod(Source& source, const Buffer& buffer, const executorch_flatbuffer::Program& file,
                  const executorch_flatbuffer::ExecutionPlan& plan, const Program& program);

}  // namespace etprof
