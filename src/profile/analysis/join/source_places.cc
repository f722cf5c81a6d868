#include "profile/analysis/join/source_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace etprof {
namespace {

std::vector<std::uint32_t> DebugHandles(const XnnNode& node) {
  return node.debug_handle ? std::vector<std::uint32_t>{*node.debug_handle} : std::vector<std::uint32_t>{};
}

}  // namespace

SourcePlaces::PlaceMatch SourcePlaces::FindKernelPlace(const Instruction& kernel, const Method& method) {
  PlaceMatch match;
  if (sources_ == nullptr || kernel.chain != 0) return match;
  const auto handles = sources_->instructions.find(kernel.index);
  if (handles == sources_->instructions.end()) return match;
  match.debug_handles = handles->second;
  match.place = FindHandlePlace(match.debug_handles);
  if (match.place) return match;
  match.is_partitioner_conversion = true;
  match.place = FindNeighborPlace(kernel, method);
  return match;
}

std::string SourcePlaces::FindHint(const std::vector<std::uint32_t>& debug_handles) const {
  const ExportHint* const hint = sources_ == nullptr ? nullptr : sources_->FindHint(debug_handles);
  if (hint == nullptr) return "";
  // Remove the folder from "(folder/model.py, line 12)": it belongs to the machine that exported.
  const std::size_t name = hint->place.find_last_of("/\\");
  if (hint->place.empty()) return hint->text;
  return hint->text + " " + (name == std::string::npos ? hint->place : "(" + hint->place.substr(name + 1));
}

// A node that the partitioner inserted between two others, or a conversion of quantized values, is not in the
// model. Its place is that of the next node, or of the previous node at the end.
SourcePlaces::PlaceMatch SourcePlaces::FindNodePlace(const XnnNode& node, const XnnGraph& graph) {
  PlaceMatch match;
  match.debug_handles = DebugHandles(node);
  if (sources_ != nullptr) match.place = FindHandlePlace(match.debug_handles);
  if (node.debug_handle && (match.place || sources_ == nullptr)) return match;
  match.is_partitioner_conversion = true;
  for (const bool after : {true, false}) {
    const XnnNode* neighbor = FindNeighbor(node, graph, after);
    if (neighbor == nullptr) continue;
    if (!node.debug_handle) match.debug_handles = DebugHandles(*neighbor);
    if (sources_ != nullptr) match.place = FindHandlePlace(DebugHandles(*neighbor));
    return match;
  }
  return match;
}

SourcePlaces::PlaceMatch SourcePlaces::FindLayerPlace(std::string_view node, const Method& method) {
  PlaceMatch match;
  const auto is_call = [](const Instruction& instruction) {
    return instruction.kind == Instruction::Kind::kKernel || instruction.kind == Instruction::Kind::kDelegate;
  };
  if (sources_ == nullptr || std::ranges::count_if(method.instructions, is_call) != 1 ||
      std::ranges::find(sources_->nodes, "aten.div.Tensor_mode", &SourceNode::target) !=
          sources_->nodes.end())
    return match;
  std::vector<const SourceNode*> same_name;
  for (const SourceNode& source_node : sources_->nodes)
    if (source_node.name == node) same_name.push_back(&source_node);
  if (same_name.size() == 1) match.place = FindCommonPlace(same_name);
  return match;
}

// Finds the place of the next instruction that reads the output of `instruction`, else of the last
// instruction that writes one of its inputs.
std::optional<std::size_t> SourcePlaces::FindNeighborPlace(const Instruction& instruction,
                                                           const Method& method) {
  if (instruction.arguments.empty()) return std::nullopt;
  const std::size_t output = instruction.arguments.back();
  std::optional<std::size_t> last_place;
  for (const Instruction& other : method.instructions) {
    const auto handles = sources_->instructions.find(other.index);
    if (other.chain != 0 || other.index == instruction.index || handles == sources_->instructions.end())
      continue;
    const std::vector<std::size_t>& values = other.arguments;
    if (other.index > instruction.index) {
      if (std::ranges::find(values, output) == values.end()) continue;
      if (const auto place = FindHandlePlace(handles->second)) return place;
    } else if (!values.empty() &&
               std::ranges::find(instruction.arguments, values.back()) != instruction.arguments.end()) {
      if (const auto place = FindHandlePlace(handles->second)) last_place = place;
    }
  }
  return last_place;
}

// Finds the nearest node with its own place (without sources: with a debug handle) that reads the outputs of
// `node`, or writes its inputs; null if there is no such node.
const XnnNode* SourcePlaces::FindNeighbor(const XnnNode& node, const XnnGraph& graph, bool after) {
  std::set<std::uint32_t> ids;
  const auto add = [&](const XnnNode& from_node) {
    const std::vector<std::uint32_t>& new_ids = after ? from_node.outputs : from_node.inputs;
    ids.insert(new_ids.begin(), new_ids.end());
  };
  add(node);
  const auto touches = [&](const XnnNode& other) {
    const std::vector<std::uint32_t>& other_ids = after ? other.inputs : other.outputs;
    return std::ranges::any_of(other_ids, [&](std::uint32_t id) { return ids.contains(id); });
  };
  constexpr std::size_t kMaxDistance = 64;  // nodes to search; neighbors are close in the list
  for (std::size_t step = 1; step <= kMaxDistance; ++step) {
    if (after ? node.index + step >= graph.nodes.size() : step > node.index) break;
    const XnnNode& other = graph.nodes[after ? node.index + step : node.index - step];
    if (!touches(other)) continue;
    if (other.debug_handle && (sources_ == nullptr || FindHandlePlace(DebugHandles(other)))) return &other;
    add(other);
  }
  return nullptr;
}

// Finds the place that the nodes of the handles have in common: the modules that contain all of them, and
// their line if all have the same line.
std::optional<std::size_t> SourcePlaces::FindHandlePlace(const std::vector<std::uint32_t>& handles) {
  std::vector<const SourceNode*> nodes;
  for (const std::uint32_t handle : handles) {
    const std::vector<const SourceNode*> handle_nodes = sources_->FindNodes(handle);
    nodes.insert(nodes.end(), handle_nodes.begin(), handle_nodes.end());
  }
  return FindCommonPlace(nodes);
}

std::optional<std::size_t> SourcePlaces::FindCommonPlace(const std::vector<const SourceNode*>& nodes) {
  std::optional<SourcePlace> place;
  for (const SourceNode* node : nodes) {
    // The conversions around a quantized operator share its handle and are not in the model.
    if (node->target.starts_with("quantized_decomposed.")) continue;
    const SourceFrame* frame = ModelFrame(*node);
    if (!place) {
      place = SourcePlace{node->modules, std::nullopt};
      if (frame != nullptr) place->frame = *frame;
      continue;
    }
    std::size_t common_modules = 0;
    while (common_modules < place->modules.size() && common_modules < node->modules.size() &&
           place->modules[common_modules] == node->modules[common_modules])
      ++common_modules;
    place->modules.resize(common_modules);
    if (frame == nullptr || place->frame != *frame) place->frame.reset();
  }
  if (!place || (place->modules.empty() && !place->frame)) return std::nullopt;
  std::string key;
  for (const SourceModule& module : place->modules) key += module.path + '\x1f' + module.type + '\x1e';
  if (place->frame)
    key += fmt::format("{}:{}:{}", place->frame->file, place->frame->line, place->frame->function);
  const auto [entry, is_new] = place_index_.try_emplace(std::move(key), places_.size());
  if (is_new) places_.push_back(std::move(*place));
  return entry->second;
}

}  // namespace etprof
