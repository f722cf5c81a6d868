#pragma once

#include <ostream>
#include <string>

#include "render/terminal.h"
#include "report/kernels.h"

namespace etprof {

// The profiling kit's `<stem>_kernels.csv` with more columns behind its own (docs/kernels.md): one row a
// microkernel, in the order of the log.
void RenderKernelsCsv(const KernelView& view, std::ostream& out);

// kernel_view.md.
void RenderKernelsMarkdown(const KernelReport& report, std::ostream& out);

// docs/schema/kernels.schema.json.
void RenderKernelsJson(const KernelReport& report, std::ostream& out);

// What is proven, what is registered, what differs.
void RenderKernelsTerminal(const KernelReport& report, const TerminalOptions& options, std::ostream& out);

// The microkernel or, where none is proven, what is missing for a proof.
std::string KernelCell(const xnnpack::OperatorUse& op);
// "7x32 of 12544x32": tile, and rows and columns of the product; "—": none.
std::string TileCell(const xnnpack::OperatorUse& op);
// The sentences that stand before the tables of a view.
std::string ViewSentence(const KernelView& view);
std::string EvidenceSentence(const OperatorEvidence& evidence);
// "SME2", "SME", or empty.
std::string SmeWord(const std::optional<xnnpack::Microkernel>& kernel);

}  // namespace etprof
