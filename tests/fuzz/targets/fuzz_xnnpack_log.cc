// The input is a log of XNNPACK: its lines, the names of its microkernels and operators, and the kernels that
// they prove.

#include <algorithm>

#include "format/xnnpack/kernel_usage.h"
#include "format/xnnpack/operator_name.h"
#include "fuzz.h"

ETPROF_FUZZ_TARGET(xnnpack_log) {
  using namespace etprof;
  const std::string text = fuzz::Text(data, size);
  const xnnpack::KernelLog log = xnnpack::ParseKernelLog(text);
  fuzz::Require(log.truncated_lines <= log.xnnpack_lines, "a line that is cut is XNNPACK's");
  std::size_t calls = 0, lines = 0;
  for (const xnnpack::LoggedGraph& graph : log.graphs) {
    fuzz::Require(!graph.operators.empty() && graph.calls > 0, "a graph ran, and has operators");
    calls += graph.calls * graph.operators.size();
    for (std::size_t i = 1; i < graph.operators.size(); ++i)
      fuzz::Require(graph.operators[i - 1].index < graph.operators[i].index, "a graph's operators ascend");
  }
  for (const xnnpack::Registration& registration : log.registrations) lines += registration.count;
  fuzz::Require(calls + lines <= log.xnnpack_lines, "every operator and every microkernel has its own line");
  if (!log.registrations.empty() || !log.graphs.empty()) xnnpack::IsTraceEnabled(text);

  const xnnpack::KernelUsage use = xnnpack::FindKernelUsage(log);
  const auto find_kernel = [&](const std::string& name) {
    return std::find_if(use.kernels.begin(), use.kernels.end(),
                        [&](const xnnpack::LoggedKernel& kernel) { return kernel.name == name; });
  };
  for (const xnnpack::LoggedKernel& kernel : use.kernels) {
    using xnnpack::KernelStatus;
    fuzz::Require(kernel.superseded_by.empty() || find_kernel(kernel.superseded_by) != use.kernels.end(),
                  "what supersedes a microkernel is in the log");
    const bool proven =
        std::any_of(use.operators.begin(), use.operators.end(),
                    [&](const xnnpack::OperatorKernel& op) { return op.kernel == kernel.name; });
    fuzz::Require(proven == (kernel.status == KernelStatus::kUsed), "used is what an operator proves");
    if (kernel.parsed) fuzz::Require(kernel.parsed->name == kernel.name, "a name is kept whole");
  }
  for (const xnnpack::OperatorKernel& op : use.operators) {
    fuzz::Require(op.kernel.empty() != op.reason.empty(), "what is not proven has a reason");
    if (op.kernel.empty()) continue;
    fuzz::Require(find_kernel(op.kernel) != use.kernels.end() && op.tile.has_value(),
                  "a proof has its microkernel and tile");
    fuzz::Require(find_kernel(op.kernel)->parsed->mr == static_cast<int>(op.tile->mr),
                  "a proof has its microkernel's rows");
  }

  // Parses each line as a name.
  std::string_view remaining = text;
  for (int i = 0; i < 64 && !remaining.empty(); ++i) {
    const std::size_t end = std::min(remaining.find('\n'), remaining.size());
    const std::string_view line = remaining.substr(0, end);
    remaining.remove_prefix(std::min(end + 1, remaining.size()));
    if (const auto kernel = xnnpack::ParseMicrokernel(line)) {
      fuzz::Require(!kernel->data_types.empty() && !kernel->op.empty(),
                    "a microkernel has data types and an operation");
      fuzz::Require(kernel->Shape().size() <= line.size() + 1, "a shape is part of the name");
    }
    if (const auto name = xnnpack::ParseOperatorName(line))
      fuzz::Require(!name->type.empty(), "an operator has a type");
  }
  return 0;
}
