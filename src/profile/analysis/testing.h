#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "format/etdump/testing.h"
#include "format/program/program.h"
#include "profile/analysis/profile.h"

// For tests only: programs made by hand, and profiles of their execution.
namespace etprof::handmade {

using Ids = std::vector<std::uint32_t>;

// A node of a handmade graph. A type that ends with '*' has a clamped output.
struct Node {
  std::string type;
  Ids inputs, outputs;
};

// A graph whose values from 1000 on are constants. Value `externals[i]` is argument i of a call.
inline XnnGraph MakeXnnGraph(const std::vector<Node>& nodes, const Ids& inputs, const Ids& outputs,
                             const Ids& externals) {
  XnnGraph graph;
  graph.inputs = inputs;
  graph.outputs = outputs;
  const auto add_value = [&](std::uint32_t id) {
    if (!graph.by_id.try_emplace(id, graph.values.size()).second) return;
    XnnValue value;
    value.id = id;
    value.type = {"fp32", 32};
    value.shape = {10};
    if (id >= 1000) value.constant = 0;
    for (std::uint32_t i = 0; i < externals.size(); ++i) {
      if (externals[i] == id) value.external_id = i;
    }
    graph.values.push_back(value);
  };
  for (const Ids* ids : {&inputs, &outputs}) {
    for (const std::uint32_t id : *ids) add_value(id);
  }
  for (const Node& described_node : nodes) {
    XnnNode node;
    node.index = graph.nodes.size();
    node.type = described_node.type;
    node.inputs = described_node.inputs;
    node.outputs = described_node.outputs;
    node.macs = 0;
    node.debug_handle = static_cast<std::uint32_t>(node.index) + 1;
    if (node.type.back() == '*') {
      node.type.pop_back();
      node.output_min = 0;
    }
    for (const std::uint32_t id : node.inputs) {
      add_value(id);
      ++graph.uses[id];
    }
    for (const std::uint32_t id : node.outputs) add_value(id);
    graph.nodes.push_back(node);
  }
  for (const std::uint32_t id : outputs) ++graph.uses[id];
  return graph;
}

// Builds a method with `tensors` tensors.
struct MethodBuilder {
  Program program;
  Method method;
  explicit MethodBuilder(std::size_t tensors) {
    method.name = "forward";
    for (std::size_t i = 0; i < tensors; ++i) {
      ProgramValue value;
      value.kind = ProgramValue::Kind::kTensor;
      value.tensor.emplace();
      value.tensor->type = {"float32", 32};
      value.tensor->shape = {10};
      method.values.push_back(value);
    }
  }
  std::size_t AddTensorList(const std::vector<std::size_t>& items) {
    ProgramValue value;
    value.kind = ProgramValue::Kind::kTensorList;
    value.items = items;
    method.values.push_back(value);
    return method.values.size() - 1;
  }
  MethodBuilder& Kernel(const std::string& name, const std::vector<std::size_t>& arguments) {
    method.operators.push_back(name);
    return Add(Instruction::Kind::kKernel, method.operators.size() - 1, arguments);
  }
  MethodBuilder& Call(XnnGraph graph, const std::vector<std::size_t>& arguments) {
    Delegate delegate;
    delegate.backend = "XnnpackBackend";
    delegate.graph = program.xnn_graphs.size();
    program.xnn_graphs.push_back(std::move(graph));
    return Add(delegate, arguments);
  }
  MethodBuilder& CallOtherBackend(const std::vector<std::size_t>& arguments) {
    Delegate delegate;
    delegate.backend = "OtherBackend";
    return Add(delegate, arguments);
  }
  MethodBuilder& Move(std::size_t from, std::size_t to) {
    return Add(Instruction::Kind::kMove, 0, {from, to});
  }

 private:
  MethodBuilder& Add(const Delegate& delegate, const std::vector<std::size_t>& arguments) {
    method.delegates.push_back(delegate);
    return Add(Instruction::Kind::kDelegate, method.delegates.size() - 1, arguments);
  }
  MethodBuilder& Add(Instruction::Kind kind, std::size_t target, const std::vector<std::size_t>& arguments) {
    Instruction instruction;
    instruction.kind = kind;
    instruction.index = static_cast<int>(method.instructions.size());
    instruction.target = target;
    instruction.arguments = arguments;
    method.instructions.push_back(instruction);
    return *this;
  }
};

// An executed instruction with the operators in its delegate; for a kernel only its name.
struct ExecutedInstruction {
  int instruction;
  std::vector<std::string> operators;
};

inline Profile MakeProfile(const std::vector<std::vector<ExecutedInstruction>>& runs) {
  TraceBuilder builder;
  Nanoseconds now = 0;
  for (const std::vector<ExecutedInstruction>& run : runs) {
    builder.Block("Execute");
    const Nanoseconds begin = now;
    for (const ExecutedInstruction& executed : run) {
      const Nanoseconds from = ++now;
      const bool is_kernel =
          executed.operators.size() == 1 && executed.operators[0].starts_with("native_call_");
      for (const std::string& name : executed.operators) {
        if (is_kernel) {
          builder.Framework(executed.instruction, name, now + 1, now + 10);
        } else {
          builder.Backend(executed.instruction, name, now + 1, now + 10);
        }
        now += 10;
      }
      builder.Framework(executed.instruction, is_kernel ? "OPERATOR_CALL" : "DELEGATE_CALL", from, ++now);
    }
    builder.Framework(0, "Method::execute", begin, ++now);
    ++now;
  }
  const Trace trace = builder.Take();
  return Attribute(trace, {});
}

}  // namespace etprof::handmade
