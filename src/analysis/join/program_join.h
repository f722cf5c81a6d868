#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "program/node_identity.h"
#include "program/source/source_map.h"
#include "program/tensors.h"
#include "program/work.h"
#include "program/xnn/kleidiai.h"

namespace etprof {

// The place in the PyTorch model that an operator comes from: a module and a source line.
struct SourcePlace {
  std::vector<SourceModule> modules;  // from the model to the innermost; empty: not known
  std::optional<SourceFrame> frame;   // the innermost frame outside of PyTorch
  bool operator==(const SourcePlace&) const = default;
};

// How an operator of a profile is joined to the program that ran.
struct OperatorSource {
  enum class Join : std::uint8_t {
    kNone,       // not joined; the reason is `why`
    kFramework,  // not an operator: calls, and the method itself
    kKernel,     // an instruction of the method
    kNodes,      // nodes of its delegate's graph
    kInserted,   // inserted by XNNPACK when it loaded the graph (packing, conversions) for the next operator
  };
  Join join = Join::kNone;
  std::optional<std::size_t> graph;  // index into Program::xnn_graphs, for operators in a delegate
  // Indices into XnnGraph::nodes if kNodes: its own node first, then the nodes that XNNPACK fused into it.
  // Empty if several nodes fit equally well.
  std::vector<std::size_t> nodes;
  // All nodes that fit, if several fit equally well.
  std::vector<std::size_t> candidates;
  // The operator is a layout conversion that the partitioner inserted between two nodes. It has no line in
  // the model, and its place is that of the node it converts for.
  bool between = false;
  std::vector<std::uint32_t> debug_handles;
  std::optional<std::size_t> place;  // index into ProgramJoin::places
  NodeIdentity identity;             // of the (first) node or the kernel; empty if not joined
  std::vector<std::string> fused;    // kinds of the nodes fused into it
  OperatorTensors tensors;           // empty if several nodes fit equally well and differ in their tensors
  Work work;
  std::optional<KleidiaiUse> kleidiai;  // for joined matrix multiplications
  // Indices into Profile::operators, ascending: the operators that write its inputs, and those that read its
  // outputs, as far as certain.
  std::vector<std::size_t> producers, consumers;
  std::string why;                   // if kNone: the reason, one clause
  std::string hint;                  // if kKernel: what `etprof export` advises for it; "": nothing
  std::string not_delegated_reason;  // if kKernel: one clause; "": not known (program/xnn/delegable.h)
};

template <>
inline constexpr NamedValue<OperatorSource::Join> kNames<OperatorSource::Join>[] = {
    {OperatorSource::Join::kNodes, "nodes"},
    {OperatorSource::Join::kInserted, "inserted"},
    {OperatorSource::Join::kKernel, "kernel"},
    {OperatorSource::Join::kFramework, "framework"},
    {OperatorSource::Join::kNone, "none"}};

struct ProgramJoin {
  std::vector<OperatorSource> operators;  // by Profile::operators
  std::vector<SourcePlace> places;        // without duplicates
  // The reason why nothing was joined, one clause: the program is not the one that ran, or is not available.
  // Else "".
  std::string problem;
  // The reason why no places are known: there is no .etrecord, or it cannot be read. Else "".
  std::string no_sources;
  // Bytes that the method plans for tensors, and the least that XNNPACK packs
  // (program/xnn/memory_estimate.h).
  std::optional<Bytes> planned, packed_at_least;
};

// The path of the innermost module, "" for the model itself; absent if not known.
std::optional<std::string> ModulePath(const ProgramJoin& join, std::size_t op);

// "model.py:142", with the file name only; absent if not known.
std::optional<std::string> SourceLine(const ProgramJoin& join, std::size_t op);

}  // namespace etprof
