#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "format/program/program.h"
#include "format/program/xnn/xnn_graph.h"

namespace etprof {

// The values that an operator reads and writes, each once, in the order of the arguments.
template <typename Number>
struct ReadWriteSet {
  std::vector<Number> read, written;
};

// The value ids that a group of nodes (indices into XnnGraph::nodes), which run as one operator, reads and
// writes. Values that are only passed between the nodes are left out. Constants are read.
ReadWriteSet<std::uint32_t> FindDataflow(const std::vector<std::size_t>& nodes, const XnnGraph& graph);

// The tensors (indices into Method::values) that a kernel call reads and writes, including items of lists.
// The last argument, a tensor or a list of tensors, is written, since ExecuTorch's emitter passes outputs
// last (exir/emit/_emitter.py, _emit_operator). Empty for other instructions.
ReadWriteSet<std::size_t> FindDataflow(const Instruction& kernel, const Method& method);

// The values that each instruction of a method reads and writes: kernels as above, calls of XNNPACK delegates
// by their graphs, and moves. For a call of another backend, arguments that no instruction wrote before count
// as written.
struct MethodDataflow {
  std::vector<ReadWriteSet<std::size_t>> instructions;  // per instruction; indices into Method::values
  // ExecuTorch removes views (exir/passes/replace_view_copy_with_view_pass.py). So a tensor that is read but
  // never written is a view of the value that was last written to its place in the planned memory. Maps each
  // view to that value.
  std::map<std::size_t, std::size_t> views;

  // The value that contains the data of `value`. For a view, this is the value that it views.
  std::size_t BackingValue(std::size_t value) const;
};
MethodDataflow FindDataflow(const Method& method, const Program& program);

// The argument of a delegate call that corresponds to a value of the graph; absent if the value is not an
// argument.
std::optional<std::size_t> FindArgument(const XnnValue& value, const Instruction& call);

}  // namespace etprof
