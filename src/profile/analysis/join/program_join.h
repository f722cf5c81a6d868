#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "format/program/node_identity.h"
#include "format/program/source/source_map.h"
#include "format/program/tensors.h"
#include "format/program/work.h"
#include "format/program/xnn/kleidiai.h"

namespace etprof {

// The place in the PyTorch model from which an operator comes: a module and a source line.
struct SourcePlace {
  std::vector<SourceModule> modules;  // from the model to the innermost; empty: not known
  std::optional<SourceFrame> frame;   // the innermost frame outside of PyTorch
  bool operator==(const SourcePlace&) const = default;
};

struct Profile;
// Returns the keys (KeyText) of the operators with these indices into Profile::operators.
std::vector<std::string> OperatorKeys(const Profile& profile, const std::vector<std::size_t>& operators);

// The join of an operator of a profile to the program that ran.
struct OperatorSource {
  enum class Join : std::uint8_t {
    kNone,       // not joined; the reason is `reason`
    kFramework,  // not an operator: calls, and the method itself
    kKernel,     // an instruction of the method
    kNodes,      // nodes of its delegate's graph
    kInserted,   // inserted by XNNPACK when it loaded the graph (packing, conversions) for the next operator
  };
  Join join = Join::kNone;
  std::optional<std::size_t> graph;  // index into Program::xnn_graphs, for operators in a delegate
  // Indices into XnnGraph::nodes if kNodes: the main node first, then the nodes that XNNPACK fused into it.
  // Empty if several nodes fit equally well.
  std::vector<std::size_t> nodes;
  // If several nodes fit equally well: all of these nodes.
  std::vector<std::size_t> candidates;
  // The operator is a layout conversion that the partitioner inserted between two nodes. No line of the model
  // corresponds to it, so its place is that of the node for which it converts.
  bool is_partitioner_conversion = false;
  std::vector<std::uint32_t> debug_handles;
  std::optional<std::size_t> place;  // index into ProgramJoin::places
  NodeIdentity identity;             // identity of the (first) node or the kernel; empty if not joined
  std::vector<std::string> fused;    // kinds of the nodes fused into it
  OperatorTensors tensors;           // empty if several nodes fit equally well and differ in their tensors
  Work work;
  std::optional<KleidiaiUsage> kleidiai;  // for joined matrix multiplications
  // Indices into Profile::operators, ascending: the operators that write its inputs, and those that read its
  // outputs. Uncertain connections are left out.
  std::vector<std::size_t> producers, consumers;
  std::string reason;                // if kNone: why it is not joined, one clause
  std::string hint;                  // if kKernel: advice of `etprof export` for it; "": no advice
  std::string not_delegated_reason;  // if kKernel: one clause; "": unknown (format/program/xnn/delegable.h)

  // The innermost module, the frame, and the frame as "model.py:12" (file as recorded); null or absent: not
  // known.
  const SourceModule* Module(const Profile& profile) const;
  const SourceFrame* Frame(const Profile& profile) const;
  std::optional<std::string> Line(const Profile& profile) const;

  static constexpr const char* kSchemaName = "operator_source";
  static void Describe(auto& v) {
    using S = OperatorSource;
    using P = const Profile&;
    v("join", &S::join,
      {.meaning = "what of the program it is: nodes of a delegate's graph, inserted by XNNPACK for the next "
                  "operator, an instruction"});
    v("why", &S::reason, {.meaning = "of none: why", .or_null = true});
    v("why_not_delegated", &S::not_delegated_reason,
      {.meaning = "of an instruction: why it is in no XNNPACK delegate, as far as the program shows it",
       .or_null = true});
    v("layer",
      [](const S& source, P profile) {
        return source.Module(profile) ? &source.Module(profile)->path : nullptr;
      },
      {.meaning = "path of the innermost module; empty: the model itself"});
    v("layer_type",
      [](const S& source, P profile) {
        return source.Module(profile) ? &source.Module(profile)->type : nullptr;
      },
      {.meaning = "class of that module"});
    v("source", &S::Line, {.meaning = "file:line of the model"});
    v("function",
      [](const S& source, P profile) {
        return source.Frame(profile) ? &source.Frame(profile)->function : nullptr;
      },
      {.meaning = "of the model, that the line is in"});
    v("between", &S::is_partitioner_conversion,
      {.meaning = "a conversion that no line of the model stands for; its layer is that of the operator that "
                  "it serves"});
    v("nodes", &S::nodes,
      {.meaning = "of the delegate's graph: its own first, then those that are fused into it"});
    v("debug_handles", &S::debug_handles, {.meaning = "of the edge program's nodes, as in the .etrecord"});
    v("shape", [](const S& source) { return FormatTensors(source.tensors); },
      {.meaning = "what is read -> what is written, sizes and types: 1x3, 3x4, 4 -> 1x4 fp32; \"at most\" "
                  "or \"unbounded\" ends it where sizes change at run time",
       .or_null = true});
    v("macs", [](const S& source) { return source.work.macs; },
      {.meaning = "multiply-accumulates of one call; null: not known"});
    v("bytes_read", [](const S& source) { return source.work.read; }, {.meaning = "by one call"});
    v("bytes_written", [](const S& source) { return source.work.written; }, {.meaning = "by one call"});
    v("bytes", [](const S& source) { return source.work.bytes; },
      {.meaning = "compulsory traffic: each tensor once"});
    v("producers", [](const S& source, P profile) { return OperatorKeys(profile, source.producers); },
      {.meaning = "keys of the operators that write what it reads, as far as that is certain"});
    v("consumers", [](const S& source, P profile) { return OperatorKeys(profile, source.consumers); },
      {.meaning = "keys of the operators that read what it writes, likewise"});
  }
};

template <>
inline constexpr const char* kNames<OperatorSource::Join>[] = {"none", "framework", "kernel", "nodes",
                                                               "inserted"};

struct ProgramJoin {
  std::vector<OperatorSource> operators;  // indexed like Profile::operators
  std::vector<SourcePlace> places;        // without duplicates
  // The reason why nothing was joined, as one clause: another program ran, or the program is not available.
  // "": the operators were joined.
  std::string problem;
  // The reason why no places are known: there is no .etrecord, or it cannot be read. Else "".
  std::string no_sources_reason;
  // Bytes that the method plans for tensors, and the minimum that XNNPACK packs
  // (format/program/xnn/memory_estimate.h).
  std::optional<Bytes> planned, packed_at_least;
};

// The path of the innermost module, "" for the model itself; absent if not known.
std::optional<std::string> ModulePath(const ProgramJoin& join, std::size_t op);

// "model.py:142", with the file name only; absent if not known.
std::optional<std::string> SourceLine(const ProgramJoin& join, std::size_t op);

}  // namespace etprof
