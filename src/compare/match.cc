#include <algorithm>
#include <functional>
#include <string_view>

#include "compare/comparison.h"

namespace etprof {
namespace {

using Score = std::function<double(std::size_t, std::size_t)>;  // < 0: these two may not be matched

// Needleman & Wunsch (1970), gaps cost nothing: the pairs, in order, of the highest total score. O(n m) time
// and memory.
std::vector<std::pair<std::size_t, std::size_t>> Align(std::size_t n, std::size_t m, const Score& score) {
  const std::size_t width = m + 1;
  std::vector<double> best((n + 1) * width, 0.0);
  for (std::size_t i = 1; i <= n; ++i) {
    for (std::size_t j = 1; j <= m; ++j) {
      double value = std::max(best[(i - 1) * width + j], best[i * width + j - 1]);
      const double pair = score(i - 1, j - 1);
      if (pair >= 0) value = std::max(value, best[(i - 1) * width + j - 1] + pair);
      best[i * width + j] = value;
    }
  }
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  std::size_t i = n;
  std::size_t j = m;
  while (i > 0 && j > 0) {
    const double pair = score(i - 1, j - 1);
    const double here = best[i * width + j];
    if (pair >= 0 && here <= best[(i - 1) * width + j - 1] + pair) {
      pairs.emplace_back(--i, --j);
    } else if (here <= best[(i - 1) * width + j]) {
      --i;
    } else {
      --j;
    }
  }
  std::reverse(pairs.begin(), pairs.end());
  return pairs;
}

// "Convolution (NHWC, PF32) IGEMM" -> "Convolution": what the operator does, whatever its layout, data type
// and kernel.
std::string_view OperationOf(std::string_view type) {
  const std::size_t parenthesis = type.find(" (");
  return parenthesis == std::string_view::npos ? type : type.substr(0, parenthesis);
}

// A call of the run, with its own span and everything below it.
struct Call {
  std::size_t span = 0;                // index of OPERATOR_CALL or DELEGATE_CALL
  std::vector<std::size_t> operators;  // indices, in order
};

struct Structure {
  std::vector<Call> calls;
  std::vector<std::size_t> outside;  // Method::execute, and what stands in no call
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
  std::stable_sort(spans.begin(), spans.end(), [&](std::size_t a, std::size_t b) {
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
  return structure;
}

class Matcher {
 public:
  Matcher(const Profile& baseline, const Profile& candidate) : a_(baseline), b_(candidate) {}

  std::vector<MatchedPair> Run() {
    const Structure a = StructureOf(a_);
    const Structure b = StructureOf(b_);
    const auto calls = Align(a.calls.size(), b.calls.size(),
                             [&](std::size_t i, std::size_t j) { return CallScore(a.calls[i], b.calls[j]); });
    std::size_t next_a = 0;
    std::size_t next_b = 0;
    const auto only_until = [&](std::size_t end_a, std::size_t end_b) {
      for (; next_a < end_a; ++next_a) OnlyIn(a.calls[next_a], true);
      for (; next_b < end_b; ++next_b) OnlyIn(b.calls[next_b], false);
    };
    for (const auto& [i, j] : calls) {
      only_until(i, j);
      MatchLists(a.calls[i].operators, b.calls[j].operators);
      pairs_.push_back({a.calls[i].span, b.calls[j].span});
      next_a = i + 1;
      next_b = j + 1;
    }
    only_until(a.calls.size(), b.calls.size());
    MatchLists(a.outside, b.outside);
    return std::move(pairs_);
  }

 private:
  // How alike two calls are: the share of operators that do the same, in the same order.
  double CallScore(const Call& x, const Call& y) const {
    const OperatorKey& p = a_.operators[x.span].key;
    const OperatorKey& q = b_.operators[y.span].key;
    if (p.kind != q.kind) return -1;
    const bool same_place =
        p.chain == q.chain && p.instruction == q.instruction && p.occurrence == q.occurrence;
    const std::size_t common = std::min(x.operators.size(), y.operators.size());
    std::size_t alike = 0;
    for (std::size_t i = 0; i < common; ++i) {
      alike +=
          OperationOf(a_.operators[x.operators[i]].type) == OperationOf(b_.operators[y.operators[i]].type)
              ? 1
              : 0;
    }
    if (p.kind == SpanKind::kOperatorCall && common > 0 && alike == 0)
      return -1;  // another kernel: another operator
    const std::size_t longer = std::max<std::size_t>(1, std::max(x.operators.size(), y.operators.size()));
    return 1.0 + static_cast<double>(alike) / static_cast<double>(longer) + (same_place ? 0.5 : 0.0);
  }

  // Same type and place beats same type, which beats same operation in another data type or kernel.
  double OperatorScore(std::size_t x, std::size_t y) const {
    const Operator& p = a_.operators[x];
    const Operator& q = b_.operators[y];
    if (p.key.kind != q.key.kind) return -1;
    double score = p.key.ordinal == q.key.ordinal ? 0.25 : 0.0;
    if (p.type == q.type) return score + 3;
    if (OperationOf(p.type) != OperationOf(q.type)) return -1;
    const auto family = [](const std::string& type) {
      return type.substr(std::min(type.size(), type.find(')')));
    };
    return score + (family(p.type) == family(q.type) ? 2 : 1);
  }

  void MatchLists(const std::vector<std::size_t>& x, const std::vector<std::size_t>& y) {
    const bool identical =
        x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), [&](std::size_t i, std::size_t j) {
          return a_.operators[i].type == b_.operators[j].type;
        });
    if (identical) {
      for (std::size_t i = 0; i < x.size(); ++i) pairs_.push_back({x[i], y[i]});
      return;
    }
    const auto aligned =
        Align(x.size(), y.size(), [&](std::size_t i, std::size_t j) { return OperatorScore(x[i], y[j]); });
    std::size_t next_x = 0;
    std::size_t next_y = 0;
    const auto only_until = [&](std::size_t end_x, std::size_t end_y) {
      for (; next_x < end_x; ++next_x) pairs_.push_back({x[next_x], std::nullopt});
      for (; next_y < end_y; ++next_y) pairs_.push_back({std::nullopt, y[next_y]});
    };
    for (const auto& [i, j] : aligned) {
      only_until(i, j);
      pairs_.push_back({x[i], y[j]});
      next_x = i + 1;
      next_y = j + 1;
    }
    only_until(x.size(), y.size());
  }

  void OnlyIn(const Call& call, bool in_baseline) {
    const auto add = [&](std::size_t op) {
      pairs_.push_back(in_baseline ? MatchedPair{op, std::nullopt} : MatchedPair{std::nullopt, op});
    };
    for (const std::size_t op : call.operators) add(op);
    add(call.span);
  }

  const Profile& a_;
  const Profile& b_;
  std::vector<MatchedPair> pairs_;
};

}  // namespace

std::vector<MatchedPair> MatchOperators(const Profile& baseline, const Profile& candidate) {
  return Matcher(baseline, candidate).Run();
}

}  // namespace etprof
