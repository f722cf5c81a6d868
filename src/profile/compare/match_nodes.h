#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etprof {

// An operator of a profile or a node of a program, which is to be matched with its counterpart in another
// profile or program. The texts are only compared with each other; "" is "not known" and is no evidence.
struct MatchNode {
  std::string kind;                    // the operation, "Conv2d"; nodes of different kinds are not matched
  std::string type;                    // its implementation, "Convolution (NHWC, F32) IGEMM"
  std::string family;                  // the type without its data types
  bool has_module = false;             // the module is known
  std::string module;                  // module path; "" is the model itself
  std::string line;                    // "model.py:12"
  std::string shapes;                  // shapes of inputs and outputs without constants
  std::string weights;                 // shape of its weights
  std::string settings;                // stride, padding, ...
  std::string contents;                // names of its constants' contents; equal names mean equal bytes
  std::string position;                // position in its program, which is equal if nothing changed
  bool has_known_producers = false;    // the producers are known
  std::vector<std::size_t> producers;  // indices into the list of this program's nodes
};

// The evidence for a match, as bits of NodePair::evidence.
enum class Evidence : std::uint16_t {
  kKind = 1U << 0U,
  kModule = 1U << 1U,
  kLine = 1U << 2U,
  kShapes = 1U << 3U,
  kWeights = 1U << 4U,
  kSettings = 1U << 5U,
  kContents = 1U << 6U,
  kType = 1U << 7U,
  kDataflow = 1U << 8U,  // the neighbors agree: in the dataflow if known, else in the order
  kOrder = 1U << 9U,     // the pair was not moved
};
inline constexpr std::string_view kEvidenceChoices =
    "kind|module|line|shapes|weights|settings|contents|type|dataflow|order";
// The names of the set bits, which are in kEvidenceChoices in the order of the bits.
std::vector<std::string> EvidenceNames(std::uint16_t evidence);

struct NodePair {
  std::optional<std::size_t> baseline, candidate;
  double score = 0;            // weight of the evidence for the pair less that against it; above 0 for a pair
  std::uint16_t evidence = 0;  // bits of Evidence; 0 without a counterpart
  bool moved = false;          // out of order with respect to the other pairs

  bool Has(Evidence kind) const { return (evidence & static_cast<std::uint16_t>(kind)) != 0; }
};

// All nodes of both lists, each once, in an order that keeps the order of both lists except for moved nodes.
// The nodes are aligned with the highest total score (Needleman & Wunsch 1970, gaps cost nothing). If the
// table of scores would be too large, the alignment is done in pieces between uniquely similar pairs. Then
// the nodes left over on both sides are paired as moved if their modules, contents, or shapes and weights
// agree. Module paths are compared without the prefixes of wrappers (module_paths.h).
std::vector<NodePair> MatchNodes(std::span<const MatchNode> baseline, std::span<const MatchNode> candidate);

}  // namespace etprof
