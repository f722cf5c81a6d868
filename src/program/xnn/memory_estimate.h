#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/json/describe.h"
#include "core/units.h"
#include "program/program.h"

// Memory that a program shows without being run.
namespace etprof {

// Of all buffers that the runtime allocates for the method's tensors; at most the largest Bytes.
Bytes PlannedBytes(const Method& method);

// A tensor in the planned memory, and from which instruction to which it is in use (indices into
// Method::instructions): a method's inputs from the first one, its outputs to the last.
struct PlannedTensor {
  std::size_t value = 0;  // in Method::values
  Bytes bytes = 0;
  std::size_t first = 0, last = 0;
  bool upper_bound = false;  // its shape may be smaller when it runs
  bool state = false;        // an inference finds it as the one before left it

  static constexpr const char* kSchemaName = "planned_tensor";
  static void Describe(auto& v) {
    using T = PlannedTensor;
    v("value", &T::value, {.meaning = "in values"});
    v("bytes", &T::bytes, {.meaning = "its size"});
    v("first", &T::first, {.meaning = "instruction that uses it first; of an input and a state 0"});
    v("last", &T::last, {.meaning = "and last; of an output and a state the last one of all"});
    v("upper_bound", &T::upper_bound, {.meaning = "its shape may be smaller when it runs"});
    v("state", &T::state, {.meaning = "an inference finds it as the one before left it"});
  }
};

// Those that something uses. Views of a tensor are the tensor. Empty where the method branches: what is in
// use then depends on the way it goes.
std::vector<PlannedTensor> PlannedTensors(const Method& method, const Program& program);

// When most is in use at once.
struct PlannedPeak {
  std::size_t instruction = 0;  // in Method::instructions: the first of those where it is so
  Bytes bytes = 0;
  Bytes upper_bound = 0;               // of those whose shapes may be smaller
  std::vector<PlannedTensor> tensors;  // the largest first

  static constexpr const char* kSchemaName = "planned_peak";
  static void Describe(auto& v) {
    using P = PlannedPeak;
    v("instruction", &P::instruction, {.meaning = "in instructions"});
    v("bytes", &P::bytes, {.meaning = "of all tensors then"});
    v("upper_bound_bytes", &P::upper_bound, {.meaning = "of tensors whose shapes may be smaller"});
    v("tensors", &P::tensors, {.meaning = "the largest first"});
  }
};
// Of those that PlannedTensors gives. Absent: no tensor is known to be in use.
std::optional<PlannedPeak> PeakOf(const std::vector<PlannedTensor>& tensors);

// What a method keeps from one inference to the next, such as the keys and values of a decoder.
struct MethodState {
  std::int64_t tensors = 0;
  Bytes bytes = 0;
  // For how many tokens there is room: what the program's method get_max_context_len or get_max_seq_len
  // gives, if each of the tensors has that size in one dimension. Absent: not known.
  std::optional<std::int64_t> tokens;

  // All of it over the tokens. Absent: not known.
  std::optional<Bytes> PerToken() const { return tokens ? std::optional(bytes / *tokens) : std::nullopt; }

  static constexpr const char* kSchemaName = "method_state";
  static void Describe(auto& v) {
    v("tensors", &MethodState::tensors, {.meaning = "how many", .least = 0});
    v("bytes", &MethodState::bytes, {.meaning = "of all"});
    v("tokens", &MethodState::tokens,
      {.meaning = "for which there is room, by get_max_context_len or get_max_seq_len; null: not known",
       .least = 1});
    v("bytes_per_token", &MethodState::PerToken, {.meaning = "bytes over tokens"});
  }
};
// Of those that PlannedTensors gives. Absent where the method branches, or no sum of the tensors is known.
std::optional<MethodState> StateOf(const std::vector<PlannedTensor>& tensors, const Method& method,
                                   const Program& program);

// What XNNPACK's operators need at least for the weights that they pack when a program is loaded: each
// weight, and a bias of each output channel, which XNNPACK packs even where there is none (src/packing.cc).
// Kernels fill up their tiles; by how much, the CPU decides. Each delegate packs for itself. Absent: not
// known, as of another backend's delegates.
std::optional<Bytes> PackedBytes(const XnnNode& node, const XnnGraph& graph);
std::optional<Bytes> PackedBytes(const XnnGraph& graph);
std::optional<Bytes> PackedBytes(const Method& method, const Program& program);
// The part of PackedBytes for weights that an earlier operator of the method packs, too, as layers that share
// their parameters do. XNNPACK packs them again for each operator unless the backend option
// weight_cache_enabled is set before the program is loaded. 0: none is known.
Bytes RepackedBytes(const Method& method, const Program& program);

}  // namespace etprof
