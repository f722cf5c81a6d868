#pragma once

#include <ostream>

#include "report/kernels/kernels.h"

namespace etprof {

// The profiling kit's `<stem>_kernels.csv` with more columns behind its own (docs/concepts/kernels.md): one
// row a microkernel, in the order of the log.
void RenderKernelsCsv(const KernelView& view, std::ostream& out);

// docs/schema/kernels.schema.json.
void RenderKernelsJson(const KernelReport& report, std::ostream& out);

}  // namespace etprof
