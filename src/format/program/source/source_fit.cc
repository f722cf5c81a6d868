#include "format/program/source/source_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "format/program/source/etrecord.h"

namespace etprof {
namespace {

// A type of XNNPACK node that partitioners create from a single kind of edge operator, and parts of that
// operator's name.
struct NodeTargets {
  std::string_view node;
  std::vector<std::string_view> targets;
};

const std::array<NodeTargets, 5>& GetNodeTargets() {
  static const std::array<NodeTargets, 5> node_targets = {{{"XNNConv2d", {"conv"}},
                                                           {"XNNDepthwiseConv2d", {"conv"}},
                                                           {"XNNConvTranspose2d", {"conv"}},
                                                           {"XNNFullyConnected", {"linear", "mm"}},
                                                           {"XNNBatchMatrixMultiply", {"mm", "matmul"}}}};
  return node_targets;
}

std::optional<std::string> FindContradiction(const XnnNode& node, const MethodSources& sources) {
  const auto kind = std::ranges::find(GetNodeTargets(), node.type, &NodeTargets::node);
  if (kind == GetNodeTargets().end() || !node.debug_handle) return std::nullopt;
  const std::vector<const SourceNode*> recorded_nodes = sources.FindNodes(*node.debug_handle);
  const auto matches = [&](const SourceNode* source) {
    return std::ranges::any_of(
        kind->targets, [&](std::string_view part) { return source->target.find(part) != std::string::npos; });
  };
  if (recorded_nodes.empty() || std::ranges::any_of(recorded_nodes, matches)) return std::nullopt;
  return fmt::format("what the program has as {} is {} there", node.type, recorded_nodes.front()->target);
}

// Whether the record lacks a kernel that multiplies matrices. Such a kernel comes from a node of the model,
// so a matching record contains it, unless it is in a branch (torch.cond): ExecuTorch leaves those out.
bool IsMissingFromRecord(const Instruction& instruction, const Method& method, const MethodSources& sources) {
  if (instruction.kind != Instruction::Kind::kKernel || instruction.chain != 0) return false;
  const std::string& name = method.operators[instruction.target];
  const bool multiplies_matrices = name.starts_with("aten::convolution.") ||
                                   name.starts_with("aten::addmm.") || name.starts_with("aten::mm.") ||
                                   name.starts_with("aten::bmm.");
  return multiplies_matrices && !sources.instructions.contains(instruction.index);
}

}  // namespace

std::optional<std::string> FindMismatch(const Program& program, const SourceMap& sources) {
  if (sources.methods.empty()) return std::nullopt;
  bool has_common_method = false;
  for (const Method& method : program.methods) {
    const auto found = sources.methods.find(method.name);
    if (found == sources.methods.end()) continue;
    has_common_method = true;
    const auto instructions = std::ranges::count(method.instructions, 0, &Instruction::chain);
    if (!found->second.instructions.empty()) {
      const int last = found->second.instructions.rbegin()->first;
      if (last >= instructions)
        return fmt::format("it speaks of instruction {} of {}, which ends at {}", last, method.name,
                           instructions - 1);
    }
    const bool branches = method.Branches();
    for (const Instruction& instruction : method.instructions) {
      if (!branches && IsMissingFromRecord(instruction, method, found->second))
        return fmt::format("it does not know instruction {} of {}, {}", instruction.index, method.name,
                           method.operators[instruction.target]);
    }
    for (const Delegate& delegate : method.delegates) {
      if (!delegate.graph) continue;
      for (const XnnNode& node : program.xnn_graphs[*delegate.graph].nodes) {
        if (auto problem = FindContradiction(node, found->second)) return problem;
      }
    }
  }
  if (!has_common_method) return fmt::format("it is of a method {}", sources.methods.begin()->first);
  return std::nullopt;
}

SourceMap ReadMatchingEtrecord(const Program& program, const std::filesystem::path& path) {
  SourceMap sources = ReadEtrecord(path);
  if (const auto mismatch = FindMismatch(program, sources)) {
    throw Error(ExitCode::kBadInput, "is of another program: " + *mismatch)
        .InFile(path.string())
        .Remedy("give the .etrecord that the export wrote next to the .pte");
  }
  return sources;
}

}  // namespace etprof
