#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/json/describe.h"
#include "core/units.h"
#include "format/program/program.h"

// Estimates memory from a program without running it.
namespace etprof {

// The size of all buffers that the runtime allocates for the method's tensors; saturated.
Bytes PlannedBytes(const Method& method);

// A tensor in the planned memory, and the first and last instruction (indices into Method::instructions) that
// uses it. Inputs are in use from the first instruction on, outputs until the last instruction.
struct PlannedTensor {
  std::size_t value = 0;  // index into Method::values
  Bytes bytes = 0;
  std::size_t first = 0, last = 0;
  bool upper_bound = false;  // the actual shape may be smaller at run time
  bool is_state = false;     // its contents are kept from one inference to the next

  static constexpr const char* kSchemaName = "planned_tensor";
  static void Describe(auto& v) {
    using T = PlannedTensor;
    v("value", &T::value, {.meaning = "in values"});
    v("bytes", &T::bytes, {.meaning = "its size"});
    v("first", &T::first, {.meaning = "instruction that uses it first; of an input and a state 0"});
    v("last", &T::last, {.meaning = "and last; of an output and a state the last one of all"});
    v("upper_bound", &T::upper_bound, {.meaning = "its shape may be smaller when it runs"});
    v("state", &T::is_state, {.meaning = "an inference finds it as the one before left it"});
  }
};

// The planned tensors that instructions use. A view counts as the tensor that it views. Empty if the method
// branches, since the tensors in use then depend on the branch.
std::vector<PlannedTensor> PlannedTensors(const Method& method, const Program& program);

// The instruction at which the most planned memory is in use.
struct PlannedPeak {
  std::size_t instruction = 0;  // index into Method::instructions: the first instruction with this amount
  Bytes bytes = 0;
  Bytes upper_bound = 0;               // the part in tensors whose shapes may be smaller
  std::vector<PlannedTensor> tensors;  // largest first

  static constexpr const char* kSchemaName = "planned_peak";
  static void Describe(auto& v) {
    using P = PlannedPeak;
    v("instruction", &P::instruction, {.meaning = "in instructions"});
    v("bytes", &P::bytes, {.meaning = "of all tensors then"});
    v("upper_bound_bytes", &P::upper_bound, {.meaning = "of tensors whose shapes may be smaller"});
    v("tensors", &P::tensors, {.meaning = "the largest first"});
  }
};
// The peak of the tensors that PlannedTensors returns. Absent if there are no tensors.
std::optional<PlannedPeak> FindPlannedPeak(const std::vector<PlannedTensor>& tensors);

// The data that a method keeps from one inference to the next, such as the keys and values of a decoder.
struct MethodState {
  std::int64_t tensors = 0;
  Bytes bytes = 0;
  // The capacity in tokens: the result of the program's method get_max_context_len or get_max_seq_len, if
  // each of the tensors has that size in one dimension. Absent: unknown.
  std::optional<std::int64_t> tokens;

  // bytes / tokens. Absent: unknown.
  std::optional<Bytes> BytesPerToken() const {
    return tokens ? std::optional(bytes / *tokens) : std::nullopt;
  }

  static constexpr const char* kSchemaName = "method_state";
  static void Describe(auto& v) {
    v("tensors", &MethodState::tensors, {.meaning = "how many", .min = 0});
    v("bytes", &MethodState::bytes, {.meaning = "of all"});
    v("tokens", &MethodState::tokens,
      {.meaning = "for which there is room, by get_max_context_len or get_max_seq_len; null: not known",
       .min = 1});
    v("bytes_per_token", &MethodState::BytesPerToken, {.meaning = "bytes over tokens"});
  }
};
// The state among the tensors that PlannedTensors returns. Absent if the method branches, or if the sum of
// the tensors is unknown.
std::optional<MethodState> FindMethodState(const std::vector<PlannedTensor>& tensors, const Method& method,
                                           const Program& program);

// The minimum memory that XNNPACK's operators need for the weights that they pack when a program is loaded:
// each weight, and a bias for each output channel, which XNNPACK packs even if there is none
// (src/packing.cc). Kernels round up to their tiles, by an amount that depends on the CPU. Each delegate
// packs its own weights. Absent if unknown, as for delegates of other backends.
std::optional<Bytes> PackedBytes(const XnnNode& node, const XnnGraph& graph);
std::optional<Bytes> PackedBytes(const XnnGraph& graph);
std::optional<Bytes> PackedBytes(const Method& method, const Program& program);
// The part of PackedBytes for weights that an earlier operator of the method also packs, such as layers with
// shared parameters. XNNPACK packs them again for each operator, unless the backend option
// weight_cache_enabled is set before the program is loaded. 0 if no such weights are known.
Bytes RepackedBytes(const Method& method, const Program& program);

}  // namespace etprof
