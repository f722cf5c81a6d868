#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "program/program.h"
#include "program/xnn/xnn_graph.h"

namespace etprof {

// What an operator reads and writes, in the order of its arguments, each tensor once. Sizes are elements; of
// a dimension that is not static its upper bound.
struct OperatorTensor {
  DataType type;
  std::vector<std::int64_t> shape;
  bool constant = false;  // stored in the file, as weights are
  bool operator==(const OperatorTensor&) const = default;
};
struct OperatorTensors {
  std::vector<OperatorTensor> inputs, outputs;
  ProgramTensor::Shape shapes = ProgramTensor::Shape::kStatic;  // as ShapesOf
  bool operator==(const OperatorTensors&) const = default;
};

// Of nodes that run as one operator: what passes between them is neither. `nodes` are indices into
// XnnGraph::nodes.
OperatorTensors TensorsOf(const std::vector<std::size_t>& nodes, const XnnGraph& graph);

// Of a portable kernel.
OperatorTensors TensorsOf(const Instruction& kernel, const Method& method);

// How certain the sizes are of all that an instruction reads and writes: the least certain ones'.
ProgramTensor::Shape ShapesOf(const Instruction& instruction, const Method& method);

// Of the constants that are read, the first one with the most elements: the weights, where there is a bias
// too. Null: there are none.
const OperatorTensor* WeightsOf(const OperatorTensors& tensors);

// "1x3x224x224, 16x3x3x3, 16 -> 1x112x112x16 fp32": the type where all that is no constant has the same one,
// else behind each. "" for nothing. A tensor without dimensions is "scalar". AtRunTime() ends it.
std::string TensorsText(const OperatorTensors& tensors);

// What follows sizes: "", " at most" where they may be smaller, " unbounded".
const char* AtRunTime(ProgramTensor::Shape shape);

}  // namespace etprof
