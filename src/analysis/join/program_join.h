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

// Where operators come from in the PyTorch model: a module and a line of it.
struct SourcePlace {
  std::vector<SourceModule> modules;  // from the model to the innermost; empty: not known
  std::optional<SourceFrame> frame;   // the innermost line that is not PyTorch's own
  bool operator==(const SourcePlace&) const = default;
};

// How an operator of a profile is joined to the program that ran.
struct OperatorSource {
  enum class Join : std::uint8_t {
    kNone,       // it is not: `why` says why
    kFramework,  // no operator: calls, and the method itself
    kKernel,     // an instruction of the method
    kNodes,      // nodes of the graph of its delegate
    kInserted,   // XNNPACK's own, made when it loaded the graph (packing, conversions): it serves the next
                 // operator
  };
  Join join = Join::kNone;
  std::optional<std::size_t> graph;  // in Program::xnn_graphs, of what ran in a delegate
  // In XnnGraph::nodes, kNodes: its own first, then those that XNNPACK fused into it. Empty where several fit
  // equally well.
  std::vector<std::size_t> nodes;
  // Where several fit equally well: all of them.
  std::vector<std::size_t> candidates;
  // Of a layout conversion that the partitioner put between two nodes: it stands for no line of the model,
  // and its place is that of the node that it serves.
  bool between = false;
  std::vector<std::uint32_t> debug_handles;
  std::optional<std::size_t> place;  // in ProgramJoin::places
  NodeIdentity identity;             // of the (first) node, or of the kernel; nothing where it is not joined
  std::vector<std::string> fused;    // kinds of the nodes that are fused into it
  OperatorTensors tensors;           // nothing where several nodes fit equally well and differ in them
  Work work;
  std::optional<KleidiaiUse> kleidiai;  // of what multiplies matrices, where it is joined
  // In Profile::operators, ascending: what writes what it reads, and what reads what it writes, as far as
  // that is certain.
  std::vector<std::size_t> producers, consumers;
  std::string why;                // kNone: one clause
  std::string why_not_delegated;  // kKernel: one clause; "" where it is not known (program/xnn/delegable.h)
};

template <>
inline constexpr NamedValue<OperatorSource::Join> kNames<OperatorSource::Join>[] = {
    {OperatorSource::Join::kNodes, "nodes"},
    {OperatorSource::Join::kInserted, "inserted"},
    {OperatorSource::Join::kKernel, "kernel"},
    {OperatorSource::Join::kFramework, "framework"},
    {OperatorSource::Join::kNone, "none"}};

struct ProgramJoin {
  std::vector<OperatorSource> operators;  // as Profile::operators
  std::vector<SourcePlace> places;        // each once
  // Why nothing was joined, one clause: this is not the program that ran, or it is not at hand. "" otherwise.
  std::string problem;
  // Why no places are known: there is no .etrecord, or it cannot be read. "" otherwise.
  std::string no_sources;
  // Bytes: what the method plans for tensors, and what XNNPACK packs at least
  // (program/xnn/memory_estimate.h).
  std::optional<Bytes> planned, packed_at_least;
};

// The path of the innermost module, "" for the model itself; absent where it is not known.
std::optional<std::string> ModulePath(const ProgramJoin& join, std::size_t op);

// "model.py:142", the file by its name alone; absent where it is not known.
std::optional<std::string> SourceLine(const ProgramJoin& join, std::size_t op);

}  // namespace etprof
