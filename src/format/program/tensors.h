#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/program/program.h"
#include "format/program/xnn/xnn_graph.h"

namespace etprof {

// The tensors that an operator reads and writes, in the order of its arguments, each once. Dynamic dimensions
// have their upper bound.
struct OperatorTensor {
  DataType type;
  std::vector<std::int64_t> shape;
  bool constant = false;  // stored in the file, such as weights
  bool operator==(const OperatorTensor&) const = default;
};
struct OperatorTensors {
  std::vector<OperatorTensor> inputs, outputs;
  ProgramTensor::Shape shapes = ProgramTensor::Shape::kStatic;  // see ShapeDynamism
  bool operator==(const OperatorTensors&) const = default;
};

// The tensors of a group of nodes that run as one operator; tensors that are only passed between them are
// left out. `nodes` are indices into XnnGraph::nodes.
OperatorTensors GetTensors(const std::vector<std::size_t>& nodes, const XnnGraph& graph);

// The tensors of a portable kernel.
OperatorTensors GetTensors(const Instruction& kernel, const Method& method);

// The least certain kind of shape among the tensors that an instruction reads and writes.
ProgramTensor::Shape ShapeDynamism(const Instruction& instruction, const Method& method);

// The weights: the first constant with the most elements among the inputs, since there may also be a bias.
// Null if there are no constants.
const OperatorTensor* FindWeights(const OperatorTensors& tensors);

// "1x3x224x224, 16x3x3x3, 16 -> 1x112x112x16 fp32": the type at the end if all tensors except constants have
// the same type, otherwise after each tensor. "" for no tensors. A tensor without dimensions is "scalar".
// Ends with DynamismSuffix().
std::string FormatTensors(const OperatorTensors& tensors);

// The suffix for sizes: "" (exact), " at most" (they may be smaller), or " unbounded".
const char* DynamismSuffix(ProgramTensor::Shape shape);

}  // namespace etprof
