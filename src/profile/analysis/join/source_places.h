#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/program/program.h"
#include "format/program/source/source_map.h"
#include "profile/analysis/join/program_join.h"

namespace etprof {

// Finds the places in the PyTorch model that the kernels and nodes of a method come from.
class SourcePlaces {
 public:
  explicit SourcePlaces(const MethodSources* sources) : sources_(sources) {}  // null: no places are known

  // The place that was found for a kernel, node, or layer.
  struct PlaceMatch {
    std::vector<std::uint32_t> debug_handles;
    std::optional<std::size_t> place;        // index into places()
    bool is_partitioner_conversion = false;  // see OperatorSource
  };
  PlaceMatch FindKernelPlace(const Instruction& kernel, const Method& method);
  std::string FindHint(const std::vector<std::uint32_t>& debug_handles) const;
  PlaceMatch FindNodePlace(const XnnNode& node, const XnnGraph& graph);
  // Finds the place of a layer, which OpenVINO names after a node of its input graph. That graph was traced
  // again, which renumbers node names. The names agree with the edge program only if one delegate contains
  // the whole program and nothing was inserted (executorch/backends/openvino/preprocess.py: its passes
  // replace only one operator).
  PlaceMatch FindLayerPlace(std::string_view node, const Method& method);

  const std::vector<SourcePlace>& places() const { return places_; }  // without duplicates

 private:
  std::optional<std::size_t> FindNeighborPlace(const Instruction& instruction, const Method& method);
  const XnnNode* FindNeighbor(const XnnNode& node, const XnnGraph& graph, bool after);
  std::optional<std::size_t> FindHandlePlace(const std::vector<std::uint32_t>& handles);
  std::optional<std::size_t> FindCommonPlace(const std::vector<const SourceNode*>& nodes);

  const MethodSources* sources_;
  std::vector<SourcePlace> places_;
  std::map<std::string, std::size_t> place_index_;
};

}  // namespace etprof
