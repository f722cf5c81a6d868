#include <algorithm>
#include <map>

#include "core/views.h"
#include "profile/compare/comparison.h"
#include "profile/compare/operator_nodes.h"

namespace etprof {
namespace {

// An operator or delegate call with its span and the operators below it.
struct Call {
  std::size_t span = 0;                // operator index of OPERATOR_CALL or DELEGATE_CALL
  std::vector<std::size_t> operators;  // indices, in order
};

struct ProfileCalls {
  std::vector<Call> calls;
  std::vector<std::size_t> operators;      // operators of all calls, in order
  std::vector<std::size_t> outside_calls;  // Method::execute, and operators in no call
};

ProfileCalls FindCalls(const Profile& profile) {
  ProfileCalls profile_calls;
  std::vector<std::size_t> spans = IndicesWhere(profile.operators, [](const Operator& op) {
    return op.key.kind == SpanKind::kOperatorCall || op.key.kind == SpanKind::kDelegateCall;
  });
  // A profile may have gained operators in later runs (branches), so sort by call, not by discovery.
  std::ranges::stable_sort(spans, [&](std::size_t a, std::size_t b) {
    return profile.operators[a].call_index < profile.operators[b].call_index;
  });
  std::vector<std::size_t> call_index(profile.operators.size(), profile.operators.size());
  for (const std::size_t span : spans) {
    call_index[span] = profile_calls.calls.size();
    profile_calls.calls.push_back({span, {}});
  }
  for (std::size_t op = 0; op < profile.operators.size(); ++op) {
    if (call_index[op] < profile_calls.calls.size()) continue;  // the operator is a call itself
    std::size_t ancestor = op;
    while (profile.operators[ancestor].parent >= 0 && call_index[ancestor] >= profile_calls.calls.size()) {
      ancestor = static_cast<std::size_t>(profile.operators[ancestor].parent);
    }
    if (call_index[ancestor] < profile_calls.calls.size()) {
      profile_calls.calls[call_index[ancestor]].operators.push_back(op);
    } else {
      profile_calls.outside_calls.push_back(op);
    }
  }
  for (const Call& call : profile_calls.calls)
    profile_calls.operators.insert(profile_calls.operators.end(), call.operators.begin(),
                                   call.operators.end());
  return profile_calls;
}

class Matcher {
 public:
  Matcher(const Profile& baseline, const Profile& candidate)
      : a_(baseline),
        b_(candidate),
        // Names from a program do not match names from a trace, so both programs must be known.
        with_program_(IsProgramKnown(baseline) && IsProgramKnown(candidate)) {}

  std::vector<NodePair> Run() {
    const ProfileCalls a = FindCalls(a_), b = FindCalls(b_);
    const std::vector<NodePair> operators = Match(a.operators, b.operators);
    const std::vector<NodePair> calls = MatchCalls(a, b, operators);
    const std::vector<NodePair> outside_calls = Match(a.outside_calls, b.outside_calls);
    // The operators of a call precede the call itself.
    Merge(a, b, operators, calls);
    pairs_.insert(pairs_.end(), outside_calls.begin(), outside_calls.end());
    return std::move(pairs_);
  }

 private:
  std::vector<NodePair> Match(const std::vector<std::size_t>& operators_a,
                              const std::vector<std::size_t>& operators_b) const {
    return MapToOperators(MatchNodes(MakeMatchNodes(a_, operators_a, with_program_),
                                     MakeMatchNodes(b_, operators_b, with_program_)),
                          operators_a, operators_b);
  }

  // Replaces the positions in `pairs` by the operators at these positions of the two lists.
  static std::vector<NodePair> MapToOperators(std::vector<NodePair> pairs,
                                              const std::vector<std::size_t>& operators_a,
                                              const std::vector<std::size_t>& operators_b) {
    for (NodePair& pair : pairs) {
      if (pair.baseline) pair.baseline = operators_a[*pair.baseline];
      if (pair.candidate) pair.candidate = operators_b[*pair.candidate];
    }
    return pairs;
  }

  // Matches calls of one kind by their contents. A kernel call matches the call of the matching kernel. A
  // delegate call matches the call that holds the counterparts of at least half of its operators, if these
  // are at least half of the other call's operators, too. One of many delegates is not a counterpart of a
  // single delegate, and the times of calls that do different work have no meaningful ratio. Delegate calls
  // whose operators have no counterpart at all are matched in order.
  std::vector<NodePair> MatchCalls(const ProfileCalls& a, const ProfileCalls& b,
                                   const std::vector<NodePair>& operators) const {
    std::vector<std::size_t> call_index(b_.operators.size(), b.calls.size());
    for (std::size_t j = 0; j < b.calls.size(); ++j) {
      for (const std::size_t op : b.calls[j].operators) call_index[op] = j;
    }
    std::vector<std::optional<std::size_t>> partners(a_.operators.size());
    for (const NodePair& pair : operators) {
      if (pair.baseline) partners[*pair.baseline] = pair.candidate;
    }
    std::vector<bool> has_counterparts(b.calls.size(), false), is_counterpart(b.calls.size(), false);
    std::vector<MatchNode> nodes_a, nodes_b;
    for (const Call& call : a.calls) {
      std::map<std::size_t, std::size_t> votes;
      for (const std::size_t op : call.operators) {
        if (partners[op] && call_index[*partners[op]] < b.calls.size()) ++votes[call_index[*partners[op]]];
      }
      std::size_t best_call = b.calls.size(), max_votes = 0;
      for (const auto& [candidate_call, count] : votes) {
        if (count <= max_votes) continue;
        max_votes = count;
        best_call = candidate_call;
      }
      for (const auto& [candidate_call, count] : votes) has_counterparts[candidate_call] = true;
      const bool is_same_work = max_votes > 0 && 2 * max_votes >= call.operators.size() &&
                                2 * max_votes >= b.calls[best_call].operators.size();
      if (is_same_work) is_counterpart[best_call] = true;
      nodes_a.push_back(
          MakeCallNode(a_, call, best_call, max_votes == 0 || is_same_work ? "" : " of the baseline"));
    }
    for (std::size_t j = 0; j < b.calls.size(); ++j) {
      const bool can_match = is_counterpart[j] || !has_counterparts[j];
      nodes_b.push_back(MakeCallNode(b_, b.calls[j], j, can_match ? "" : " of the candidate"));
    }
    return MapToOperators(MatchNodes(nodes_a, nodes_b), MapEach(a.calls, &Call::span),
                          MapEach(b.calls, &Call::span));
  }

  // `number`: index of a call of the candidate: this call, or for a call of the baseline, the call with most
  // of its counterparts. `suffix` makes the kind of a delegate call without a counterpart unique.
  static MatchNode MakeCallNode(const Profile& profile, const Call& call, std::size_t number,
                                const char* suffix) {
    MatchNode node;
    const Operator& op = profile.operators[call.span];
    node.kind = SpanKindName(op.key.kind);
    // Calls of different kernels do not match.
    if (op.key.kind == SpanKind::kOperatorCall && !call.operators.empty())
      node.kind += ' ' + std::to_string(number);
    else
      node.kind += suffix;
    node.contents = std::to_string(number);
    node.has_known_producers = true;  // neighbors are no evidence for calls
    return node;
  }

  void Merge(const ProfileCalls& a, const ProfileCalls& b, const std::vector<NodePair>& operators,
             const std::vector<NodePair>& calls) {
    std::vector<NodePair> baseline_pairs(a_.operators.size());
    std::vector<bool> unmatched(b_.operators.size(), false);
    for (const auto* const pairs : {&operators, &calls}) {
      for (const NodePair& pair : *pairs) {
        if (pair.baseline)
          baseline_pairs[*pair.baseline] = pair;
        else
          unmatched[*pair.candidate] = true;
      }
    }
    std::vector<std::size_t> order;  // the candidate's operators in the order of the output
    std::vector<std::size_t> position(b_.operators.size(), 0);
    for (const Call& call : b.calls) {
      order.insert(order.end(), call.operators.begin(), call.operators.end());
      order.push_back(call.span);
    }
    for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
    std::size_t next = 0;
    const auto add_unmatched_until = [&](std::size_t end) {
      for (; next < end; ++next) {
        if (unmatched[order[next]]) pairs_.push_back({std::nullopt, order[next]});
      }
    };
    const auto add = [&](std::size_t op) {
      const NodePair& pair = baseline_pairs[op];
      if (pair.candidate && !pair.moved) add_unmatched_until(std::max(next, position[*pair.candidate]));
      pairs_.push_back(pair);
    };
    for (const Call& call : a.calls) {
      for (const std::size_t op : call.operators) add(op);
      add(call.span);
    }
    add_unmatched_until(order.size());
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
