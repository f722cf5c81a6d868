#include <algorithm>
#include <map>

#include "compare/comparison.h"
#include "compare/operator_nodes.h"

namespace etprof {
namespace {

// A call of the run, with its own span and everything below it.
struct Call {
  std::size_t span = 0;                // index of OPERATOR_CALL or DELEGATE_CALL
  std::vector<std::size_t> operators;  // indices, in order
};

struct Structure {
  std::vector<Call> calls;
  std::vector<std::size_t> operators;  // of all calls, in order
  std::vector<std::size_t> outside;    // Method::execute, and what stands in no call
};

Structure StructureOf(const Profile& profile) {
  Structure structure;
  std::vector<std::size_t> spans;
  for (std::size_t op = 0; op < profile.operators.size(); ++op) {
    const SpanKind kind = profile.operators[op].key.kind;
    if (kind == SpanKind::kOperatorCall || kind == SpanKind::kDelegateCall) spans.push_back(op);
  }
  // A profile may have gained operators in later runs (branches), so the order is that of the calls, not of
  // discovery.
  std::ranges::stable_sort(spans, [&](std::size_t a, std::size_t b) {
    return profile.operators[a].call_index < profile.operators[b].call_index;
  });
  std::vector<std::size_t> call_of(profile.operators.size(), profile.operators.size());
  for (const std::size_t span : spans) {
    call_of[span] = structure.calls.size();
    structure.calls.push_back({span, {}});
  }
  for (std::size_t op = 0; op < profile.operators.size(); ++op) {
    if (call_of[op] < structure.calls.size()) continue;  // a call itself
    std::size_t ancestor = op;
    while (profile.operators[ancestor].parent >= 0 && call_of[ancestor] >= structure.calls.size()) {
      ancestor = static_cast<std::size_t>(profile.operators[ancestor].parent);
    }
    if (call_of[ancestor] < structure.calls.size()) {
      structure.calls[call_of[ancestor]].operators.push_back(op);
    } else {
      structure.outside.push_back(op);
    }
  }
  for (const Call& call : structure.calls)
    structure.operators.insert(structure.operators.end(), call.operators.begin(), call.operators.end());
  return structure;
}

class Matcher {
 public:
  Matcher(const Profile& baseline, const Profile& candidate)
      : a_(baseline),
        b_(candidate),
        // What one side alone knows would contradict what the other one is called.
        with_program_(IsProgramKnown(baseline) && IsProgramKnown(candidate)) {}

  std::vector<NodePair> Run() {
    const Structure a = StructureOf(a_), b = StructureOf(b_);
    const std::vector<NodePair> operators = Match(a.operators, b.operators);
    const std::vector<NodePair> calls = MatchCalls(a, b, operators);
    const std::vector<NodePair> outside = Match(a.outside, b.outside);
    // The operators of a call, then the call itself.
    Merge(a, b, operators, calls);
    pairs_.insert(pairs_.end(), outside.begin(), outside.end());
    return std::move(pairs_);
  }

 private:
  std::vector<NodePair> Match(const std::vector<std::size_t>& of_a,
                              const std::vector<std::size_t>& of_b) const {
    return Named(
        MatchNodes(NodesOfOperators(a_, of_a, with_program_), NodesOfOperators(b_, of_b, with_program_)),
        of_a, of_b);
  }

  // Pairs of numbers in these lists as pairs of what they list.
  static std::vector<NodePair> Named(std::vector<NodePair> pairs, const std::vector<std::size_t>& of_a,
                                     const std::vector<std::size_t>& of_b) {
    for (NodePair& pair : pairs) {
      if (pair.baseline) pair.baseline = of_a[*pair.baseline];
      if (pair.candidate) pair.candidate = of_b[*pair.candidate];
    }
    return pairs;
  }

  // Matches calls of one kind by their contents. A call of a kernel matches the call of its kernel. A
  // delegate call matches the one that holds the counterparts of at least half of its operators, if these are
  // at least half of the other's operators, too: one of many delegates is not the only delegate of the other
  // side, and the times of calls that do different work have no meaningful ratio. Delegate calls whose
  // operators have no counterpart at all are matched in order.
  std::vector<NodePair> MatchCalls(const Structure& a, const Structure& b,
                                   const std::vector<NodePair>& operators) const {
    std::vector<std::size_t> call_of(b_.operators.size(), b.calls.size());
    for (std::size_t j = 0; j < b.calls.size(); ++j) {
      for (const std::size_t op : b.calls[j].operators) call_of[op] = j;
    }
    std::vector<std::optional<std::size_t>> partner(a_.operators.size());
    for (const NodePair& pair : operators) {
      if (pair.baseline) partner[*pair.baseline] = pair.candidate;
    }
    std::vector<bool> matches_some(b.calls.size(), false), is_counterpart(b.calls.size(), false);
    std::vector<MatchNode> nodes_a, nodes_b;
    for (const Call& call : a.calls) {
      std::map<std::size_t, std::size_t> votes;
      for (const std::size_t op : call.operators) {
        if (partner[op] && call_of[*partner[op]] < b.calls.size()) ++votes[call_of[*partner[op]]];
      }
      std::size_t best = b.calls.size(), most = 0;
      for (const auto& [vote, count] : votes) {
        if (count <= most) continue;
        most = count;
        best = vote;
      }
      for (const auto& [vote, count] : votes) matches_some[vote] = true;
      const bool alike =
          most > 0 && 2 * most >= call.operators.size() && 2 * most >= b.calls[best].operators.size();
      if (alike) is_counterpart[best] = true;
      nodes_a.push_back(NodeOfCall(a_, call, best, most == 0 || alike ? "" : " of the baseline"));
    }
    for (std::size_t j = 0; j < b.calls.size(); ++j) {
      const bool can_match = is_counterpart[j] || !matches_some[j];
      nodes_b.push_back(NodeOfCall(b_, b.calls[j], j, can_match ? "" : " of the candidate"));
    }
    std::vector<std::size_t> spans_a, spans_b;
    for (const Call& call : a.calls) spans_a.push_back(call.span);
    for (const Call& call : b.calls) spans_b.push_back(call.span);
    return Named(MatchNodes(nodes_a, nodes_b), spans_a, spans_b);
  }

  // `number`: index of the candidate's call that this is, or whose operators this holds the most of. `side`:
  // added to the kind of a delegate call that has no counterpart.
  static MatchNode NodeOfCall(const Profile& profile, const Call& call, std::size_t number,
                              const char* side) {
    MatchNode node;
    const Operator& op = profile.operators[call.span];
    node.kind = SpanKindName(op.key.kind);
    // Another kernel: another call.
    if (op.key.kind == SpanKind::kOperatorCall && !call.operators.empty())
      node.kind += ' ' + std::to_string(number);
    else
      node.kind += side;
    node.contents = std::to_string(number);
    node.connected = true;  // alike neighbors say nothing of calls
    return node;
  }

  void Merge(const Structure& a, const Structure& b, const std::vector<NodePair>& operators,
             const std::vector<NodePair>& calls) {
    std::vector<NodePair> of_a(a_.operators.size());
    std::vector<bool> alone(b_.operators.size(), false);
    for (const auto* const pairs : {&operators, &calls}) {
      for (const NodePair& pair : *pairs) {
        if (pair.baseline)
          of_a[*pair.baseline] = pair;
        else
          alone[*pair.candidate] = true;
      }
    }
    std::vector<std::size_t> order;  // of the candidate
    std::vector<std::size_t> place(b_.operators.size(), 0);
    for (const Call& call : b.calls) {
      order.insert(order.end(), call.operators.begin(), call.operators.end());
      order.push_back(call.span);
    }
    for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    std::size_t next = 0;
    const auto only_until = [&](std::size_t end) {
      for (; next < end; ++next) {
        if (alone[order[next]]) pairs_.push_back({std::nullopt, order[next]});
      }
    };
    const auto add = [&](std::size_t op) {
      const NodePair& pair = of_a[op];
      if (pair.candidate && !pair.moved) only_until(std::max(next, place[*pair.candidate]));
      pairs_.push_back(pair);
    };
    for (const Call& call : a.calls) {
      for (const std::size_t op : call.operators) add(op);
      add(call.span);
    }
    only_until(order.size());
  }

  const Profile& a_;
  const Profile& b_;
  bool with_program_;
  std::vector<NodePair> pairs_;
};

}  // namespace

std::vector<NodePair> MatchOperators(const Profile& baseline, const Profile& candidate) {
  return Matcher(baseline, candidate).Run();
}

}  // namespace etprof
