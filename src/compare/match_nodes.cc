#include "compare/match_nodes.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "compare/module_paths.h"

namespace etprof {
namespace {

using Bits = std::uint16_t;
constexpr Bits Bit(Evidence evidence) { return static_cast<Bits>(evidence); }

// What speaks for a pair where both sides know it: `agree` where it is the same, else `differ`. Contents of
// weights are never the same by chance, a module's path seldom; a path is renumbered where a layer is
// inserted before it, which is why it is not worth more than shapes and weights together.
struct Worth {
  double agree, differ;
};
constexpr double kOfKind = 1, kRenumbered = 1, kOfPlace = 0.1, kOfFamily = 0.5;
constexpr Worth kOfModule = {3, -1.5}, kOfLine = {0.75, 0}, kOfShapes = {1.5, -0.5}, kOfWeights = {1.5, -1},
                kOfSettings = {0.5, -0.5}, kOfContents = {5, -1}, kOfType = {1, 0},
                kOfOrigin = {2.5, -0.5},  // what has no constants: those of what it is computed from
    kOfNeighbor = {0.75, 0};              // before it, and behind it

// Of the tables of scores: one byte each, and as many scores are computed.
constexpr std::size_t kMostMatchCells = std::size_t{1} << 25U;

constexpr int kUnknown = -1;

// The same text has the same number on both sides.
class Numbers {
 public:
  int Of(const std::string& text) {
    return numbers_.try_emplace(text, static_cast<int>(numbers_.size())).first->second;
  }
  int OfKnown(const std::string& text) { return text.empty() ? kUnknown : Of(text); }

 private:
  std::unordered_map<std::string, int> numbers_;
};

struct Features {
  int kind = 0, type = kUnknown, family = kUnknown, module = kUnknown, unnumbered = kUnknown, line = kUnknown;
  int shapes = kUnknown, weights = kUnknown, settings = kUnknown, contents = kUnknown, place = kUnknown;
  int origin = kUnknown, before = kUnknown, after = kUnknown;
};

// "features.3.conv" and "features.4.conv" are one.
std::string Unnumbered(const std::string& path) {
  std::string text;
  for (const char c : path) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit || text.empty() || text.back() != '#') text += digit ? '#' : c;
  }
  return text;
}

class NodeMatcher {
 public:
  NodeMatcher(std::span<const MatchNode> a, std::span<const MatchNode> b) {
    std::vector<std::string> paths[2];
    for (const MatchNode& node : a) paths[0].push_back(node.placed ? node.module : "");
    for (const MatchNode& node : b) paths[1].push_back(node.placed ? node.module : "");
    const ModulePrefixes prefixes = CommonModules(paths[0], paths[1]);
    a_ = FeaturesOf(a, prefixes.baseline);
    b_ = FeaturesOf(b, prefixes.candidate);
    of_a_.assign(a_.size(), kNone);
    of_b_.assign(b_.size(), kNone);
  }

  std::vector<NodePair> Run() {
    AlignRange({0, a_.size(), 0, b_.size()}, 0);
    FindMoved();
    return InOrder();
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct Range {
    std::size_t a, end_a, b, end_b;
  };

  std::vector<Features> FeaturesOf(std::span<const MatchNode> nodes, const std::string& prefix) {
    std::vector<Features> all(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const MatchNode& node = nodes[i];
      Features& of = all[i];
      of.kind = numbers_.Of(node.kind);
      of.type = numbers_.OfKnown(node.type);
      of.family = numbers_.OfKnown(node.family);
      if (node.placed) {
        const std::string path = WithoutPrefix(node.module, prefix);
        of.module = numbers_.Of(path);
        of.unnumbered = numbers_.Of(Unnumbered(path));
      }
      of.line = numbers_.OfKnown(node.line);
      of.shapes = numbers_.OfKnown(node.shapes);
      of.weights = numbers_.OfKnown(node.weights);
      of.settings = numbers_.OfKnown(node.settings);
      of.contents = numbers_.OfKnown(node.contents);
      of.place = numbers_.OfKnown(node.place);
    }
    FindNeighbors(nodes, all);
    std::vector<int> origins(nodes.size(), kUnknown);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const std::size_t producer : nodes[i].producers) {
        if (producer < i) all[i].origin = origins[producer];
      }
      origins[i] = all[i].contents == kUnknown ? all[i].origin : all[i].contents;
      if (all[i].contents != kUnknown) all[i].origin = kUnknown;
    }
    return all;
  }

  // What a node reads from, and what reads it, by their kinds, shapes and weights.
  void FindNeighbors(std::span<const MatchNode> nodes, std::vector<Features>& all) {
    const auto text = [&](std::size_t i) {
      return std::to_string(all[i].kind) + '/' + std::to_string(all[i].shapes) + '/' +
             std::to_string(all[i].weights) + ';';
    };
    std::vector<std::vector<std::string>> before(nodes.size()), after(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].connected) {
        for (const std::size_t producer : nodes[i].producers) {
          before[i].push_back(text(producer));
          after[producer].push_back(text(i));
        }
      } else if (i > 0) {
        before[i].push_back(text(i - 1));
        after[i - 1].push_back(text(i));
      }
    }
    const auto number = [&](std::vector<std::string>& texts) {
      std::ranges::sort(texts);
      std::string joined;
      for (const std::string& one : texts) joined += one;
      return numbers_.Of("neighbors " + joined);
    };
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      all[i].before = number(before[i]);
      all[i].after = number(after[i]);
    }
  }

  // What speaks for the pair, and how much; not above 0: these two are not matched.
  static double Score(const Features& p, const Features& q, Bits* evidence = nullptr) {
    if (p.kind != q.kind) return 0;
    Bits bits = Bit(Evidence::kKind);
    double score = kOfKind;
    const auto weigh = [&](int x, int y, Worth worth, Evidence of) {
      if (x == kUnknown || y == kUnknown) return;
      score += x == y ? worth.agree : worth.differ;
      if (x == y) bits = static_cast<Bits>(bits | Bit(of));
    };
    weigh(p.module, q.module, kOfModule, Evidence::kModule);
    if (p.module != q.module && p.unnumbered != kUnknown && p.unnumbered == q.unnumbered)
      score += kRenumbered - kOfModule.differ;
    weigh(p.line, q.line, kOfLine, Evidence::kLine);
    weigh(p.shapes, q.shapes, kOfShapes, Evidence::kShapes);
    weigh(p.weights, q.weights, kOfWeights, Evidence::kWeights);
    weigh(p.settings, q.settings, kOfSettings, Evidence::kSettings);
    weigh(p.contents, q.contents, kOfContents, Evidence::kContents);
    weigh(p.origin, q.origin, kOfOrigin, Evidence::kDataflow);
    weigh(p.type, q.type, kOfType, Evidence::kType);
    if (p.type != q.type && p.family != kUnknown && p.family == q.family) score += kOfFamily;
    weigh(p.before, q.before, kOfNeighbor, Evidence::kDataflow);
    weigh(p.after, q.after, kOfNeighbor, Evidence::kDataflow);
    if (p.place != kUnknown && p.place == q.place) score += kOfPlace;
    if (evidence != nullptr) *evidence = bits;
    return score;
  }

  void Pair(std::size_t i, std::size_t j) {
    of_a_[i] = j;
    of_b_[j] = i;
  }

  static bool Alike(const Features& p, const Features& q) {
    const auto key = [](const Features& of) {
      return std::array{of.kind,    of.type,     of.module,   of.line,   of.shapes,
                        of.weights, of.settings, of.contents, of.before, of.after};
    };
    return key(p) == key(q);
  }

  // What two nodes must share to be an anchor, from the most that can be asked for to the least.
  static std::array<int, 4> LabelOf(const Features& of, std::size_t level) {
    switch (level) {
      case 0:
        return of.contents == kUnknown ? std::array{kUnknown, 0, 0, 0}
                                       : std::array{of.contents, of.kind, of.module, of.shapes};
      case 1:
        return of.contents == kUnknown ? std::array{kUnknown, 0, 0, 0}
                                       : std::array{of.contents, of.kind, of.shapes, 0};
      case 2:
        return of.module == kUnknown ? std::array{kUnknown, 0, 0, 0}
                                     : std::array{of.module, of.kind, of.shapes, of.weights};
      default:
        return {of.kind, of.shapes, of.before, of.after};
    }
  }
  static constexpr std::size_t kLevels = 4;

  // Two that are alike in everything that can be compared have no better partner: at both ends of a range
  // they are matched at once.
  void AlignRange(Range range, std::size_t level) {
    for (;;) {
      while (range.a < range.end_a && range.b < range.end_b && Alike(a_[range.a], b_[range.b]))
        Pair(range.a++, range.b++);
      while (range.a < range.end_a && range.b < range.end_b &&
             Alike(a_[range.end_a - 1], b_[range.end_b - 1]))
        Pair(--range.end_a, --range.end_b);
      const std::size_t n = range.end_a - range.a, m = range.end_b - range.b;
      if (n == 0 || m == 0) return;
      if (n <= kMostMatchCells / m) return AlignAll(range);
      if (level < kLevels) return Split(range, level);
      // Nothing tells them apart: piece by piece, of which the first half stays, as it knows what follows.
      const std::size_t side = std::clamp<std::size_t>((std::size_t{1} << 27U) / std::max(n, m), 64, 4096);
      const Range piece = {range.a, range.a + std::min(n, side), range.b, range.b + std::min(m, side)};
      AlignAll(piece);
      if (side >= std::max(n, m)) return;
      std::size_t next_a = range.a, next_b = range.b;
      for (std::size_t i = piece.a; i < piece.end_a; ++i) {
        if (of_a_[i] == kNone) continue;
        if (i < piece.a + side / 2) {
          next_a = i + 1;
          next_b = of_a_[i] + 1;
        } else {
          of_b_[of_a_[i]] = kNone;
          of_a_[i] = kNone;
        }
      }
      const bool stuck = next_a == range.a;
      range.a = stuck ? std::min(range.end_a, range.a + side / 2) : next_a;
      range.b = stuck ? std::min(range.end_b, range.b + side / 2) : next_b;
    }
  }

  // Between nodes whose label no other one has, on both sides, in the longest order that both share.
  void Split(Range range, std::size_t level) {
    std::map<std::array<int, 4>, std::array<std::size_t, 4>> labels;  // how many, and where: a and b
    for (std::size_t i = range.a; i < range.end_a; ++i) {
      std::array<std::size_t, 4>& of = labels[LabelOf(a_[i], level)];
      ++of[0];
      of[1] = i;
    }
    for (std::size_t j = range.b; j < range.end_b; ++j) {
      std::array<std::size_t, 4>& of = labels[LabelOf(b_[j], level)];
      ++of[2];
      of[3] = j;
    }
    std::vector<std::pair<std::size_t, std::size_t>> anchors;
    for (const auto& [label, of] : labels) {
      if (label[0] != kUnknown && of[0] == 1 && of[2] == 1 && Score(a_[of[1]], b_[of[3]]) > 0)
        anchors.emplace_back(of[1], of[3]);
    }
    std::ranges::sort(anchors);
    anchors = LongestRise(anchors);
    std::size_t a = range.a, b = range.b;
    for (const auto& [i, j] : anchors) {
      AlignRange({a, i, b, j}, level + 1);
      Pair(i, j);
      a = i + 1;
      b = j + 1;
    }
    AlignRange({a, range.end_a, b, range.end_b}, level + 1);
  }

  // The longest part of the pairs, which rise in their first numbers, that rises in the second ones too.
  static std::vector<std::pair<std::size_t, std::size_t>> LongestRise(
      const std::vector<std::pair<std::size_t, std::size_t>>& pairs) {
    std::vector<std::size_t> tails;  // of the best sequence of each length: its last pair
    std::vector<std::size_t> previous(pairs.size(), kNone);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto place = std::ranges::lower_bound(tails, pairs[i].second, {},
                                                  [&](std::size_t of) { return pairs[of].second; });
      if (place != tails.begin()) previous[i] = *(place - 1);
      if (place == tails.end())
        tails.push_back(i);
      else
        *place = i;
    }
    std::vector<std::pair<std::size_t, std::size_t>> rise;
    for (std::size_t at = tails.empty() ? kNone : tails.back(); at != kNone; at = previous[at])
      rise.push_back(pairs[at]);
    std::ranges::reverse(rise);
    return rise;
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

  // Of what has no partner in order.
  void FindMoved() {
    moved_.assign(a_.size(), false);
    struct Candidate {
      double score;
      std::size_t a, b;
    };
    std::unordered_map<int, std::vector<std::size_t>> left;
    for (std::size_t j = 0; j < b_.size(); ++j) {
      if (of_b_[j] == kNone) left[b_[j].kind].push_back(j);
    }
    constexpr std::size_t kMostTries = std::size_t{1} << 22U;
    std::vector<Candidate> candidates;
    std::size_t tries = 0;
    for (std::size_t i = 0; i < a_.size(); ++i) {
      const auto same_kind = left.find(a_[i].kind);
      if (of_a_[i] != kNone || same_kind == left.end()) continue;
      tries += same_kind->second.size();
      if (tries > kMostTries) break;
      for (const std::size_t j : same_kind->second) {
        Bits evidence = 0;
        const double score = Score(a_[i], b_[j], &evidence);
        const auto has = [&](Evidence of) { return (evidence & Bit(of)) != 0; };
        const bool strong = has(Evidence::kModule) || has(Evidence::kContents) ||
                            (has(Evidence::kShapes) && has(Evidence::kWeights));
        if (score > 0 && strong) candidates.push_back({score, i, j});
      }
    }
    std::ranges::stable_sort(candidates, std::ranges::greater(), &Candidate::score);
    for (const Candidate& one : candidates) {
      if (of_a_[one.a] != kNone || of_b_[one.b] != kNone) continue;
      Pair(one.a, one.b);
      moved_[one.a] = true;
    }
  }

  std::vector<NodePair> InOrder() const {
    std::vector<NodePair> pairs;
    std::size_t next = 0;
    const auto only_until = [&](std::size_t end) {
      for (; next < end; ++next) {
        if (of_b_[next] == kNone) pairs.push_back({std::nullopt, next});
      }
    };
    for (std::size_t i = 0; i < a_.size(); ++i) {
      if (of_a_[i] == kNone) {
        pairs.push_back({i, std::nullopt});
        continue;
      }
      if (!moved_[i]) only_until(of_a_[i]);
      NodePair pair{i, of_a_[i]};
      pair.score = Score(a_[i], b_[of_a_[i]], &pair.evidence);
      pair.moved = moved_[i];
      if (!pair.moved) pair.evidence = static_cast<Bits>(pair.evidence | Bit(Evidence::kOrder));
      pairs.push_back(pair);
    }
    only_until(b_.size());
    return pairs;
  }

  Numbers numbers_;
  std::vector<Features> a_, b_;
  std::vector<std::size_t> of_a_, of_b_;  // the partner's number; kNone: none
  std::vector<bool> moved_;               // of a's
};

}  // namespace

std::vector<std::string> EvidenceNames(std::uint16_t evidence) {
  std::vector<std::string> names;
  std::size_t begin = 0;
  for (std::size_t bit = 0; begin < kEvidenceChoices.size(); ++bit) {
    const std::size_t end = std::min(kEvidenceChoices.find('|', begin), kEvidenceChoices.size());
    if ((evidence >> bit & 1U) != 0) names.emplace_back(kEvidenceChoices.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

std::vector<NodePair> MatchNodes(std::span<const MatchNode> baseline, std::span<const MatchNode> candidate) {
  return NodeMatcher(baseline, candidate).Run();
}

}  // namespace etprof
