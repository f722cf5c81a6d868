#include "profile/compare/match_nodes.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "core/text/text.h"
#include "core/views.h"
#include "profile/compare/module_paths.h"

namespace etprof {
namespace {

using Bits = std::uint16_t;
constexpr Bits ToBit(Evidence evidence) { return static_cast<Bits>(evidence); }

// The weight of a property that is known for both nodes of a pair: `agree` if its values are equal, else
// `differ`. Contents of weights are never equal by chance, module paths seldom. A path is renumbered if a
// layer is inserted before it, so a path weighs no more than shapes and weights together.
struct EvidenceWeight {
  double agree, differ;
};
constexpr double kKindWeight = 1, kRenumberedWeight = 1, kPositionWeight = 0.1, kFamilyWeight = 0.5;
constexpr EvidenceWeight kModuleWeight = {3, -1.5}, kLineWeight = {0.75, 0}, kShapesWeight = {1.5, -0.5},
                         kWeightsWeight = {1.5, -1}, kSettingsWeight = {0.5, -0.5}, kContentsWeight = {5, -1},
                         kTypeWeight = {1, 0};
// Weights for the constants from which a node without constants is computed, and for its neighbors.
constexpr EvidenceWeight kOriginWeight = {2.5, -0.5}, kNeighborWeight = {0.75, 0};

// The maximum number of cells of a score table. A cell takes one byte and the computation of one score.
constexpr std::size_t kMaxMatchCells = std::size_t{1} << 25U;

constexpr int kUnknown = -1;

// Assigns ids to texts. Equal texts have the same id, also in different lists.
class TextIds {
 public:
  int GetId(const std::string& text) {
    return text_ids_.try_emplace(text, static_cast<int>(text_ids_.size())).first->second;
  }
  int GetKnownId(const std::string& text) { return text.empty() ? kUnknown : GetId(text); }

 private:
  std::unordered_map<std::string, int> text_ids_;
};

struct Features {
  int kind = 0, type = kUnknown, family = kUnknown, module = kUnknown, unnumbered_module = kUnknown,
      line = kUnknown;
  int shapes = kUnknown, weights = kUnknown, settings = kUnknown, contents = kUnknown, position = kUnknown;
  int origin = kUnknown, before = kUnknown, after = kUnknown;
};

// Removes numbers, so that "features.3.conv" and "features.4.conv" become equal.
std::string WithoutNumbers(const std::string& path) {
  std::string text;
  for (const char c : path) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit || text.empty() || text.back() != '#') text += is_digit ? '#' : c;
  }
  return text;
}

class NodeMatcher {
 public:
  NodeMatcher(std::span<const MatchNode> a, std::span<const MatchNode> b) {
    const auto path = [](const MatchNode& node) { return node.has_module ? node.module : ""; };
    const ModulePrefixes prefixes = FindWrapperPrefixes(MapEach(a, path), MapEach(b, path));
    a_ = MakeFeatures(a, prefixes.baseline);
    b_ = MakeFeatures(b, prefixes.candidate);
    partner_of_a_.assign(a_.size(), kNone);
    partner_of_b_.assign(b_.size(), kNone);
  }

  std::vector<NodePair> Run() {
    AlignRange({0, a_.size(), 0, b_.size()}, 0);
    FindMovedNodes();
    return MakeOrderedPairs();
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct Range {
    std::size_t a, end_a, b, end_b;
  };

  std::vector<Features> MakeFeatures(std::span<const MatchNode> nodes, const std::string& prefix) {
    std::vector<Features> features_by_node(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const MatchNode& node = nodes[i];
      Features& features = features_by_node[i];
      features.kind = text_ids_.GetId(node.kind);
      features.type = text_ids_.GetKnownId(node.type);
      features.family = text_ids_.GetKnownId(node.family);
      if (node.has_module) {
        const std::string path = WithoutPrefix(node.module, prefix);
        features.module = text_ids_.GetId(path);
        features.unnumbered_module = text_ids_.GetId(WithoutNumbers(path));
      }
      features.line = text_ids_.GetKnownId(node.line);
      features.shapes = text_ids_.GetKnownId(node.shapes);
      features.weights = text_ids_.GetKnownId(node.weights);
      features.settings = text_ids_.GetKnownId(node.settings);
      features.contents = text_ids_.GetKnownId(node.contents);
      features.position = text_ids_.GetKnownId(node.position);
    }
    FindNeighbors(nodes, features_by_node);
    std::vector<int> origins(nodes.size(), kUnknown);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const std::size_t producer : nodes[i].producers) {
        if (producer < i) features_by_node[i].origin = origins[producer];
      }
      origins[i] = features_by_node[i].contents == kUnknown ? features_by_node[i].origin
                                                            : features_by_node[i].contents;
      if (features_by_node[i].contents != kUnknown) features_by_node[i].origin = kUnknown;
    }
    return features_by_node;
  }

  // Describes the producers and consumers of each node by their kinds, shapes, and weights.
  void FindNeighbors(std::span<const MatchNode> nodes, std::vector<Features>& features_by_node) {
    const auto text = [&](std::size_t i) {
      return std::to_string(features_by_node[i].kind) + '/' + std::to_string(features_by_node[i].shapes) +
             '/' + std::to_string(features_by_node[i].weights) + ';';
    };
    std::vector<std::vector<std::string>> before(nodes.size()), after(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].has_known_producers) {
        for (const std::size_t producer : nodes[i].producers) {
          before[i].push_back(text(producer));
          after[producer].push_back(text(i));
        }
      } else if (i > 0) {
        before[i].push_back(text(i - 1));
        after[i - 1].push_back(text(i));
      }
    }
    const auto get_neighbors_id = [&](std::vector<std::string>& texts) {
      std::ranges::sort(texts);
      std::string joined_texts;
      for (const std::string& neighbor : texts) joined_texts += neighbor;
      return text_ids_.GetId("neighbors " + joined_texts);
    };
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      features_by_node[i].before = get_neighbors_id(before[i]);
      features_by_node[i].after = get_neighbors_id(after[i]);
    }
  }

  // The total weight of the evidence for the pair. Nodes with a score of 0 or less are not matched.
  static double Score(const Features& p, const Features& q, Bits* evidence = nullptr) {
    if (p.kind != q.kind) return 0;
    Bits bits = ToBit(Evidence::kKind);
    double score = kKindWeight;
    const auto add_score = [&](int x, int y, EvidenceWeight weight, Evidence kind) {
      if (x == kUnknown || y == kUnknown) return;
      score += x == y ? weight.agree : weight.differ;
      if (x == y) bits = static_cast<Bits>(bits | ToBit(kind));
    };
    add_score(p.module, q.module, kModuleWeight, Evidence::kModule);
    if (p.module != q.module && p.unnumbered_module != kUnknown && p.unnumbered_module == q.unnumbered_module)
      score += kRenumberedWeight - kModuleWeight.differ;
    add_score(p.line, q.line, kLineWeight, Evidence::kLine);
    add_score(p.shapes, q.shapes, kShapesWeight, Evidence::kShapes);
    add_score(p.weights, q.weights, kWeightsWeight, Evidence::kWeights);
    add_score(p.settings, q.settings, kSettingsWeight, Evidence::kSettings);
    add_score(p.contents, q.contents, kContentsWeight, Evidence::kContents);
    add_score(p.origin, q.origin, kOriginWeight, Evidence::kDataflow);
    add_score(p.type, q.type, kTypeWeight, Evidence::kType);
    if (p.type != q.type && p.family != kUnknown && p.family == q.family) score += kFamilyWeight;
    add_score(p.before, q.before, kNeighborWeight, Evidence::kDataflow);
    add_score(p.after, q.after, kNeighborWeight, Evidence::kDataflow);
    if (p.position != kUnknown && p.position == q.position) score += kPositionWeight;
    if (evidence != nullptr) *evidence = bits;
    return score;
  }

  void Pair(std::size_t i, std::size_t j) {
    partner_of_a_[i] = j;
    partner_of_b_[j] = i;
  }

  static bool AreIdentical(const Features& p, const Features& q) {
    const auto key = [](const Features& features) {
      return std::array{features.kind,   features.type,    features.module,   features.line,
                        features.shapes, features.weights, features.settings, features.contents,
                        features.before, features.after};
    };
    return key(p) == key(q);
  }

  // The properties that two nodes must share to be an anchor, from the strictest level to the weakest. A node
  // whose first property is kUnknown is no anchor.
  static std::array<int, 4> AnchorLabel(const Features& features, std::size_t level) {
    switch (level) {
      case 0:
        return {features.contents, features.kind, features.module, features.shapes};
      case 1:
        return {features.contents, features.kind, features.shapes, 0};
      case 2:
        return {features.module, features.kind, features.shapes, features.weights};
      default:
        return {features.kind, features.shapes, features.before, features.after};
    }
  }
  static constexpr std::size_t kAnchorLevels = 4;

  // Nodes that agree in all properties have no better partner, so they are matched at once at both ends of a
  // range.
  void AlignRange(Range range, std::size_t level) {
    for (;;) {
      while (range.a < range.end_a && range.b < range.end_b && AreIdentical(a_[range.a], b_[range.b]))
        Pair(range.a++, range.b++);
      while (range.a < range.end_a && range.b < range.end_b &&
             AreIdentical(a_[range.end_a - 1], b_[range.end_b - 1]))
        Pair(--range.end_a, --range.end_b);
      const std::size_t n = range.end_a - range.a, m = range.end_b - range.b;
      if (n == 0 || m == 0) return;
      if (n <= kMaxMatchCells / m) return AlignAll(range);
      if (level < kAnchorLevels) return Split(range, level);
      // Nothing distinguishes the nodes, so align piece by piece. Only the first half of each piece is kept,
      // since its alignment considered what follows.
      const std::size_t piece_size =
          std::clamp<std::size_t>((std::size_t{1} << 27U) / std::max(n, m), 64, 4096);
      const Range piece = {range.a, range.a + std::min(n, piece_size), range.b,
                           range.b + std::min(m, piece_size)};
      AlignAll(piece);
      if (piece_size >= std::max(n, m)) return;
      std::size_t next_a = range.a, next_b = range.b;
      for (std::size_t i = piece.a; i < piece.end_a; ++i) {
        if (partner_of_a_[i] == kNone) continue;
        if (i < piece.a + piece_size / 2) {
          next_a = i + 1;
          next_b = partner_of_a_[i] + 1;
        } else {
          partner_of_b_[partner_of_a_[i]] = kNone;
          partner_of_a_[i] = kNone;
        }
      }
      const bool is_stuck = next_a == range.a;
      range.a = is_stuck ? std::min(range.end_a, range.a + piece_size / 2) : next_a;
      range.b = is_stuck ? std::min(range.end_b, range.b + piece_size / 2) : next_b;
    }
  }

  // Aligns the ranges between anchors: nodes whose label is unique on both sides, in the longest common
  // order.
  void Split(Range range, std::size_t level) {
    std::map<std::array<int, 4>, std::array<std::size_t, 4>> labels;  // count and index in a, then in b
    for (std::size_t i = range.a; i < range.end_a; ++i) {
      std::array<std::size_t, 4>& occurrences = labels[AnchorLabel(a_[i], level)];
      ++occurrences[0];
      occurrences[1] = i;
    }
    for (std::size_t j = range.b; j < range.end_b; ++j) {
      std::array<std::size_t, 4>& occurrences = labels[AnchorLabel(b_[j], level)];
      ++occurrences[2];
      occurrences[3] = j;
    }
    std::vector<std::pair<std::size_t, std::size_t>> anchors;
    for (const auto& [label, occurrences] : labels) {
      if (label[0] != kUnknown && occurrences[0] == 1 && occurrences[2] == 1 &&
          Score(a_[occurrences[1]], b_[occurrences[3]]) > 0)
        anchors.emplace_back(occurrences[1], occurrences[3]);
    }
    std::ranges::sort(anchors);
    anchors = LongestIncreasing(anchors);
    std::size_t a = range.a, b = range.b;
    for (const auto& [i, j] : anchors) {
      AlignRange({a, i, b, j}, level + 1);
      Pair(i, j);
      a = i + 1;
      b = j + 1;
    }
    AlignRange({a, range.end_a, b, range.end_b}, level + 1);
  }

  // The longest subsequence of pairs with increasing second numbers. The first numbers already increase.
  static std::vector<std::pair<std::size_t, std::size_t>> LongestIncreasing(
      const std::vector<std::pair<std::size_t, std::size_t>>& pairs) {
    std::vector<std::size_t> tails;  // indexed by length: the last pair of the best sequence
    std::vector<std::size_t> previous(pairs.size(), kNone);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto tail = std::ranges::lower_bound(
          tails, pairs[i].second, {}, [&](std::size_t pair_index) { return pairs[pair_index].second; });
      if (tail != tails.begin()) previous[i] = *(tail - 1);
      if (tail == tails.end())
        tails.push_back(i);
      else
        *tail = i;
    }
    std::vector<std::pair<std::size_t, std::size_t>> increasing;
    for (std::size_t index = tails.empty() ? kNone : tails.back(); index != kNone; index = previous[index])
      increasing.push_back(pairs[index]);
    std::ranges::reverse(increasing);
    return increasing;
  }

  void AlignAll(Range range) {
    const std::size_t n = range.end_a - range.a, m = range.end_b - range.b;
    enum Step : std::uint8_t { kPairStep, kSkipA, kSkipB };
    std::vector<std::uint8_t> steps((n + 1) * (m + 1), kSkipB);
    std::vector<double> row(m + 1, 0.0), above(m + 1, 0.0);
    for (std::size_t i = 1; i <= n; ++i) {
      std::swap(row, above);
      row[0] = 0;
      for (std::size_t j = 1; j <= m; ++j) {
        double best = above[j];
        std::uint8_t step = kSkipA;
        if (row[j - 1] > best) {
          best = row[j - 1];
          step = kSkipB;
        }
        if (const double score = Score(a_[range.a + i - 1], b_[range.b + j - 1]); score > 0) {
          if (above[j - 1] + score >= best) {
            best = above[j - 1] + score;
            step = kPairStep;
          }
        }
        row[j] = best;
        steps[i * (m + 1) + j] = step;
      }
    }
    for (std::size_t i = n, j = m; i > 0 && j > 0;) {
      switch (steps[i * (m + 1) + j]) {
        case kPairStep:
          Pair(range.a + --i, range.b + --j);
          break;
        case kSkipA:
          --i;
          break;
        default:
          --j;
      }
    }
  }

  // Pairs moved nodes: nodes without a partner in the alignment, which keeps the order.
  void FindMovedNodes() {
    moved_.assign(a_.size(), false);
    struct Candidate {
      double score;
      std::size_t a, b;
    };
    std::unordered_map<int, std::vector<std::size_t>> unmatched_b;
    for (std::size_t j = 0; j < b_.size(); ++j) {
      if (partner_of_b_[j] == kNone) unmatched_b[b_[j].kind].push_back(j);
    }
    constexpr std::size_t kMaxTries = std::size_t{1} << 22U;
    std::vector<Candidate> candidates;
    std::size_t num_tries = 0;
    for (std::size_t i = 0; i < a_.size(); ++i) {
      const auto same_kind = unmatched_b.find(a_[i].kind);
      if (partner_of_a_[i] != kNone || same_kind == unmatched_b.end()) continue;
      num_tries += same_kind->second.size();
      if (num_tries > kMaxTries) break;
      for (const std::size_t j : same_kind->second) {
        Bits evidence = 0;
        const double score = Score(a_[i], b_[j], &evidence);
        const auto has = [&](Evidence kind) { return (evidence & ToBit(kind)) != 0; };
        const bool is_strong = has(Evidence::kModule) || has(Evidence::kContents) ||
                               (has(Evidence::kShapes) && has(Evidence::kWeights));
        if (score > 0 && is_strong) candidates.push_back({score, i, j});
      }
    }
    std::ranges::stable_sort(candidates, std::ranges::greater(), &Candidate::score);
    for (const Candidate& candidate : candidates) {
      if (partner_of_a_[candidate.a] != kNone || partner_of_b_[candidate.b] != kNone) continue;
      Pair(candidate.a, candidate.b);
      moved_[candidate.a] = true;
    }
  }

  std::vector<NodePair> MakeOrderedPairs() const {
    std::vector<NodePair> pairs;
    std::size_t next = 0;
    const auto add_unmatched_until = [&](std::size_t end) {
      for (; next < end; ++next) {
        if (partner_of_b_[next] == kNone) pairs.push_back({std::nullopt, next});
      }
    };
    for (std::size_t i = 0; i < a_.size(); ++i) {
      if (partner_of_a_[i] == kNone) {
        pairs.push_back({i, std::nullopt});
        continue;
      }
      if (!moved_[i]) add_unmatched_until(partner_of_a_[i]);
      NodePair pair{i, partner_of_a_[i]};
      pair.score = Score(a_[i], b_[partner_of_a_[i]], &pair.evidence);
      pair.moved = moved_[i];
      if (!pair.moved) pair.evidence = static_cast<Bits>(pair.evidence | ToBit(Evidence::kOrder));
      pairs.push_back(pair);
    }
    add_unmatched_until(b_.size());
    return pairs;
  }

  TextIds text_ids_;
  std::vector<Features> a_, b_;
  std::vector<std::size_t> partner_of_a_, partner_of_b_;  // index of the partner, or kNone
  std::vector<bool> moved_;                               // indexed by node of a
};

}  // namespace

std::vector<std::string> EvidenceNames(std::uint16_t evidence) {
  std::vector<std::string> names;
  for (const std::string_view name : SplitAt(kEvidenceChoices, '|')) {
    if ((evidence & 1U) != 0) names.emplace_back(name);
    evidence = static_cast<std::uint16_t>(evidence >> 1U);
  }
  return names;
}

std::vector<NodePair> MatchNodes(std::span<const MatchNode> baseline, std::span<const MatchNode> candidate) {
  return NodeMatcher(baseline, candidate).Run();
}

}  // namespace etprof
