#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/join/program_join.h"
#include "program/program.h"
#include "program/source/source_map.h"

namespace etprof {

// Where the kernels and nodes of a method come from in the PyTorch model.
class SourcePlaces {
 public:
  explicit SourcePlaces(const MethodSources* sources) : sources_(sources) {}  // null: nothing is known

  struct Found {
    std::vector<std::uint32_t> debug_handles;
    std::optional<std::size_t> place;  // in places()
    bool between = false;              // as OperatorSource::between
  };
  Found OfKernel(const Instruction& kernel, const Method& method);
  Found OfNode(const XnnNode& node, const XnnGraph& graph);
  // Of a layer that OpenVINO names by a node of the graph that it was given. That graph was traced anew,
  // which numbers the names of its nodes: they are the edge program's if that is all in one delegate, and
  // nothing was put in (executorch/backends/openvino/preprocess.py: its passes replace one operator only).
  Found OfLayer(std::string_view node, const Method& method);

  const std::vector<SourcePlace>& places() const { return places_; }  // each once

 private:
  std::optional<std::size_t> OfNeighbor(const Instruction& instruction, const Method& method);
  const XnnNode* Neighbor(const XnnNode& node, const XnnGraph& graph, bool after);
  std::optional<std::size_t> OfHandles(const std::vector<std::uint32_t>& handles);
  std::optional<std::size_t> OfNodes(const std::vector<const SourceNode*>& nodes);

  const MethodSources* sources_;
  std::vector<SourcePlace> places_;
  std::map<std::string, std::size_t> by_text_;
};

}  // namespace etprof
