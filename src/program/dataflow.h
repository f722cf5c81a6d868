#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "program/program.h"
#include "program/xnn/xnn_graph.h"

namespace etprof {

// Values by their numbers, each once, in the order of the arguments.
template <typename Number>
struct ReadAndWritten {
  std::vector<Number> read, written;
};

// Of nodes that run as one operator (indices into XnnGraph::nodes): ids of values. What passes between the
// nodes and goes nowhere else is neither. Constants are read too.
ReadAndWritten<std::uint32_t> DataflowOf(const std::vector<std::size_t>& nodes, const XnnGraph& graph);

// Of a kernel call: the tensors in Method::values, of lists their items. What it writes is its last argument,
// as ExecuTorch's emitter (exir/emit/_emitter.py, _emit_operator) calls all kernels, the only one or the list
// of several. Of other instructions nothing.
ReadAndWritten<std::size_t> DataflowOf(const Instruction& kernel, const Method& method);

// What every instruction of a method reads and writes: kernels as above, calls of XNNPACK's delegates by
// their graphs, moves. Of another backend's call what nobody has written before is taken for what it writes.
struct MethodDataflow {
  std::vector<ReadAndWritten<std::size_t>> instructions;  // as Method::instructions: in Method::values
  // ExecuTorch takes views out (exir/passes/replace_view_copy_with_view_pass.py): a tensor that is read and
  // that nothing writes is one of what was last written to its place in the planned memory. By value: whose
  // view it is.
  std::map<std::size_t, std::size_t> views;

  // The value that holds the data of `value`.
  std::size_t Holder(std::size_t value) const;
};
MethodDataflow DataflowOf(const Method& method, const Program& program);

// The value of the method that stands for one of the graph in a call of it; nothing where it is none of the
// call's arguments.
std::optional<std::size_t> ArgumentOf(const XnnValue& value, const Instruction& call);

}  // namespace etprof
