#include "format/program/xnn/memory_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "format/program/dataflow.h"

namespace etprof {
namespace {

std::optional<std::int64_t> OutputChannels(const XnnNode& node, const XnnValue& filter) {
  if (node.convolution)
    return CheckedProduct(node.convolution->groups, node.convolution->group_output_channels);
  if (filter.shape.size() != 2) return std::nullopt;
  return Dim(filter.shape, (node.flags & kXnnTransposeWeights) != 0 ? 1 : 0);
}

// The planned tensors whose contents are kept from one inference to the next, such as caches: they are read,
// or changed in place, before they are written.
std::set<std::size_t> FindStates(const Method& method, const MethodDataflow& flow) {
  std::set<std::size_t> states, written(method.inputs.begin(), method.inputs.end());
  for (std::size_t i = 0; i < flow.instructions.size(); ++i) {
    const auto add = [&](std::size_t value) {
      const std::size_t holder = flow.BackingValue(value);
      const auto& tensor = method.values[holder].tensor;
      if (tensor && tensor->memory_id && !written.contains(holder)) states.insert(holder);
    };
    for (const std::size_t value : flow.instructions[i].read) add(value);
    const Instruction& instruction = method.instructions[i];
    for (const std::size_t value : flow.instructions[i].written) {
      if (instruction.kind == Instruction::Kind::kKernel && instruction.arguments.front() == value)
        add(value);
      written.insert(flow.BackingValue(value));
    }
  }
  return states;
}

// Finds the tensor that contains the data of a value. The result of et_view shares the memory of its argument
// (ExecuTorch's kernels/prim_ops/et_view.cpp).
class StorageMap {
 public:
  StorageMap(const Method& method, const MethodDataflow& flow) : flow_(flow) {
    for (const Instruction& instruction : method.instructions) {
      if (instruction.kind == Instruction::Kind::kKernel && !instruction.arguments.empty() &&
          method.operators[instruction.target] == "executorch_prim::et_view.default")
        storage_[instruction.arguments.back()] = Find(instruction.arguments.front());
    }
  }

  std::size_t Find(std::size_t value) const {
    const std::size_t holder = flow_.BackingValue(value);
    const auto found = storage_.find(holder);
    return found == storage_.end() ? holder : found->second;
  }

 private:
  const MethodDataflow& flow_;
  std::map<std::size_t, std::size_t> storage_;
};

bool PacksWeights(const XnnNode& node) {
  return node.type == "XNNFullyConnected" || node.convolution.has_value();
}

}  // namespace

Bytes PlannedBytes(const Method& method) {
  return SumEach(method.planned_buffers, std::identity()).value_or(std::numeric_limits<Bytes>::max());
}

std::vector<PlannedTensor> PlannedTensors(const Method& method, const Program& program) {
  std::vector<PlannedTensor> tensors;
  if (method.instructions.empty() || method.HasBranches()) return tensors;
  const MethodDataflow flow = FindDataflow(method, program);
  const StorageMap storage(method, flow);
  std::map<std::size_t, std::size_t> by_value;  // indices into `tensors`
  const auto add_use = [&](std::size_t operand, std::size_t instruction) {
    const std::size_t value = storage.Find(operand);
    const auto& tensor = method.values[value].tensor;
    if (!tensor || !tensor->memory_id) return;
    const std::optional<Bytes> bytes = SizeInBytes(tensor->type, tensor->shape);
    if (!bytes) return;
    const auto [entry, is_new] = by_value.try_emplace(value, tensors.size());
    if (is_new)
      tensors.push_back({.value = value,
                         .bytes = *bytes,
                         .first = instruction,
                         .last = instruction,
                         .upper_bound = tensor->HasDynamicShape(),
                         .is_state = false});
    PlannedTensor& planned = tensors[entry->second];
    planned.first = std::min(planned.first, instruction);
    planned.last = std::max(planned.last, instruction);
  };
  for (std::size_t i = 0; i < flow.instructions.size(); ++i) {
    for (const std::size_t value : flow.instructions[i].read) add_use(value, i);
    for (const std::size_t value : flow.instructions[i].written) add_use(value, i);
  }
  for (const std::size_t value : method.outputs) add_use(value, method.instructions.size() - 1);
  // Inputs that no instruction uses are left out: another tensor may occupy their place from the start.
  for (const std::size_t value : method.inputs)
    if (by_value.contains(storage.Find(value))) add_use(value, 0);
  std::set<std::pair<std::uint32_t, std::uint64_t>> places;
  for (const std::size_t value : FindStates(method, flow)) {
    const ProgramTensor& tensor = *method.values[value].tensor;
    const bool is_known = by_value.contains(value) && tensor.memory_offset;
    if (!is_known || !places.emplace(*tensor.memory_id, *tensor.memory_offset).second) continue;
    add_use(value, 0);
    add_use(value, method.instructions.size() - 1);
    tensors[by_value.at(value)].is_state = true;
  }
  // If the sum overflows, the sizes are invalid, and nothing is known about the memory.
  if (!SumEach(tensors, &PlannedTensor::bytes)) tensors.clear();
  return tensors;
}

std::optional<PlannedPeak> FindPlannedPeak(const std::vector<PlannedTensor>& tensors) {
  if (tensors.empty()) return std::nullopt;
  // The bytes that come into use at an instruction, minus those that are no longer used.
  std::map<std::size_t, Bytes> changes;
  for (const PlannedTensor& tensor : tensors) {
    changes[tensor.first] += tensor.bytes;
    changes[tensor.last + 1] -= tensor.bytes;
  }
  PlannedPeak peak;
  Bytes bytes_in_use = 0;
  for (const auto& [instruction, change] : changes) {
    bytes_in_use += change;
    if (bytes_in_use <= peak.bytes) continue;
    peak.bytes = bytes_in_use;
    peak.instruction = instruction;
  }
  for (const PlannedTensor& tensor : tensors) {
    if (tensor.first > peak.instruction || tensor.last < peak.instruction) continue;
    peak.tensors.push_back(tensor);
    if (tensor.upper_bound) peak.upper_bound += tensor.bytes;
  }
  std::ranges::stable_sort(peak.tensors, std::ranges::greater(), &PlannedTensor::bytes);
  return peak;
}

std::optional<MethodState> FindMethodState(const std::vector<PlannedTensor>& tensors, const Method& method,
                                           const Program& program) {
  if (tensors.empty() && (method.HasBranches() || PlannedBytes(method) > 0)) return std::nullopt;
  MethodState state;
  std::vector<const ProgramTensor*> state_tensors;
  for (const PlannedTensor& tensor : tensors) {
    if (!tensor.is_state) continue;
    ++state.tensors;
    state.bytes += tensor.bytes;
    state_tensors.push_back(&*method.values[tensor.value].tensor);
  }
  for (const char* const name : {"get_max_context_len", "get_max_seq_len"}) {
    const Method* const limit = FindMethod(program, name);
    if (state_tensors.empty() || state.tokens || limit == nullptr || !limit->IsMetadata()) continue;
    const std::optional<std::int64_t>& tokens = limit->values[limit->outputs.front()].integer;
    const auto has_size = [&](const ProgramTensor* tensor) {
      return std::ranges::find(tensor->shape, *tokens) != tensor->shape.end();
    };
    if (tokens && *tokens > 1 && std::ranges::all_of(state_tensors, has_size)) state.tokens = tokens;
  }
  return state;
}

std::optional<Bytes> PackedBytes(const XnnNode& node, const XnnGraph& graph) {
  if (!node.type.starts_with("XNN")) return std::nullopt;
  if (!PacksWeights(node)) return 0;
  const XnnValue* const filter = node.inputs.size() > 1 ? graph.Find(node.inputs[1]) : nullptr;
  const XnnValue* const output = node.outputs.empty() ? nullptr : graph.Find(node.outputs[0]);
  if (filter == nullptr || output == nullptr) return std::nullopt;
  if (!filter->constant) return 0;  // computed weights are packed in every run
  // The file may contain fp32 weights for computation in fp16 (XNN_FLAG_FP32_STATIC_WEIGHTS).
  const bool packs_fp16 = output->type.name == "fp16" && filter->type.name == "fp32";
  const DataType type = packs_fp16 ? output->type : filter->type;
  const std::int64_t bias_bytes = type.name == "fp16" ? 2 : 4;
  return CheckedSum(SizeInBytes(type, filter->shape),
                    CheckedProduct(OutputChannels(node, *filter), bias_bytes));
}

std::optional<Bytes> PackedBytes(const XnnGraph& graph) {
  return SumEach(graph.nodes, [&](const XnnNode& node) { return PackedBytes(node, graph); });
}

std::optional<Bytes> PackedBytes(const Method& method, const Program& program) {
  return SumEach(method.delegates, [&](const Delegate& delegate) {
    return delegate.graph ? PackedBytes(program.xnn_graphs[*delegate.graph]) : std::nullopt;
  });
}

Bytes RepackedBytes(const Method& method, const Program& program) {
  std::optional<Bytes> repacked = 0;
  std::set<std::string> packed;  // keys of weights
  for (const Delegate& delegate : method.delegates) {
    if (!delegate.graph) continue;
    const XnnGraph& graph = program.xnn_graphs[*delegate.graph];
    for (const XnnNode& node : graph.nodes) {
      const Bytes bytes = PackedBytes(node, graph).value_or(0);
      if (bytes == 0) continue;
      const std::size_t index = *graph.Find(node.inputs[1])->constant;
      if (index >= graph.constants.size()) continue;
      const XnnConstant& constant = graph.constants[index];
      const std::string weights =
          constant.key.empty() ? fmt::format("{} {}", *delegate.graph, index) : constant.key;
      if (!packed.insert(weights).second) repacked = CheckedSum(repacked, bytes);
    }
  }
  return repacked.value_or(0);
}

}  // namespace etprof
