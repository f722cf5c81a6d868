#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etprof {

// An operator of a profile, or a node of a program, as something that has a counterpart in another one. Texts
// are only ever compared; "" is "not known", and says nothing.
struct MatchNode {
  std::string kind;                    // what it does, "Conv2d": nodes of different kinds are not matched
  std::string type;                    // how: "Convolution (NHWC, F32) IGEMM"
  std::string family;                  // the type without its data types
  bool placed = false;                 // the module is known
  std::string module;                  // its path; "" is the model itself
  std::string line;                    // "model.py:12"
  std::string shapes;                  // of what it reads and writes, constants apart
  std::string weights;                 // of its constants
  std::string settings;                // stride, padding
  std::string contents;                // of its constants
  std::string place;                   // in its program: where it would be, were nothing changed
  bool connected = false;              // the producers are known
  std::vector<std::size_t> producers;  // in the same list
};

// What speaks for a match: bits of NodePair::evidence.
enum class Evidence : std::uint16_t {
  kKind = 1U << 0U,
  kModule = 1U << 1U,
  kLine = 1U << 2U,
  kShapes = 1U << 3U,
  kWeights = 1U << 4U,
  kSettings = 1U << 5U,
  kContents = 1U << 6U,
  kType = 1U << 7U,
  kDataflow =
      1U << 8U,       // what stands before it, and what behind: by dataflow where it is known, else in order
  kOrder = 1U << 9U,  // not moved
};
inline constexpr std::string_view kEvidenceChoices =
    "kind|module|line|shapes|weights|settings|contents|type|dataflow|order";
// Of kEvidenceChoices, which are named bit by bit.
std::vector<std::string> EvidenceNames(std::uint16_t evidence);

struct NodePair {
  std::optional<std::size_t> baseline, candidate;
  double score = 0;            // of what agrees, less what contradicts; above 0
  std::uint16_t evidence = 0;  // of a pair
  bool moved = false;          // the other pairs' order is not its own

  bool Has(Evidence of) const { return (evidence & static_cast<std::uint16_t>(of)) != 0; }
};

// All nodes of both sides, each once, in an order that keeps that of both but for what moved. One alignment
// of the two sequences, of the highest total score (Needleman & Wunsch 1970, gaps cost nothing); where the
// table of its scores would be too large, in pieces between pairs that are alike as no others are. Then what
// is left over on both sides is taken for moved where modules, contents, or shapes and weights say so.
// Module paths are compared without what wrappers put before them (module_paths.h).
std::vector<NodePair> MatchNodes(std::span<const MatchNode> baseline, std::span<const MatchNode> candidate);

}  // namespace etprof
