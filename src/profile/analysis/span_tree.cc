#include "profile/analysis/span_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

namespace etprof {
namespace {

bool IsCall(SpanKind kind) { return kind == SpanKind::kOperatorCall || kind == SpanKind::kDelegateCall; }

// Other instructions of a method (executorch's runtime/executor/method.cpp) are siblings of calls and never
// inside a call.
bool IsOtherInstruction(std::string_view name) {
  return name == "JF_CALL" || name == "MOVE_CALL" || name == "FREE_CALL";
}

// Returns whether an event without a parent belongs to the call that follows it in the file.
bool CanBeInCall(const Trace& trace, const Trace::Layout& layout, std::size_t event, SpanKind kind) {
  return !IsCall(kind) && (kind != SpanKind::kOther || !IsOtherInstruction(trace.GetName(layout, event)));
}

class SpanTreeBuilder {
 public:
  SpanTreeBuilder(const Trace& trace, std::uint32_t block, Segment run, TraceHealth& health, SpanTree& tree)
      : trace_(trace),
        layout_(trace.GetLayout(trace.blocks[block])),
        block_(block),
        run_(run),
        start_(trace.start.data() + trace.blocks[block].first_event + run.first),
        end_(trace.end.data() + trace.blocks[block].first_event + run.first),
        health_(health),
        tree_(tree) {}

  void Build() {
    tree_.clipped = 0;
    tree_.kind = ClassifyEvents(trace_, layout_, run_);
    tree_.duration.resize(run_.count);
    tree_.parent.assign(run_.count, -1);
    for (std::uint32_t position = 0; position < run_.count; ++position) FindChildren(position);
    tree_.self = tree_.duration;
    SubtractChildren();
  }

 private:
  Nanoseconds Start(std::uint32_t position) const { return start_[position]; }
  Nanoseconds End(std::uint32_t position) const { return end_[position]; }

  // Finds the children of a span in `pending_`, the spans without a parent so far, in the file's order.
  void FindChildren(std::uint32_t position) {
    const SpanKind kind = tree_.kind[position];
    tree_.duration[position] = std::max<Nanoseconds>(0, End(position) - Start(position));
    const auto adopt_while = [&](const auto& is_child) {
      while (!pending_.empty() && is_child(pending_.back())) {
        tree_.parent[pending_.back()] = static_cast<std::int32_t>(position);
        pending_.pop_back();
      }
    };
    if (kind == SpanKind::kMethod) {
      adopt_while([](std::uint32_t) { return true; });
    } else if (IsCall(kind)) {
      adopt_while([&](std::uint32_t child) {
        return CanBeInCall(trace_, layout_, run_.first + child, tree_.kind[child]);
      });
    } else {
      adopt_while(
          [&](std::uint32_t child) { return !IsCall(tree_.kind[child]) && Encloses(position, child); });
    }
    pending_.push_back(position);
  }

  // Backends may nest their events. XNNPACK's events are consecutive, some with a duration of 0, and must
  // stay siblings.
  bool Encloses(std::uint32_t outer, std::uint32_t inner) const {
    return Start(outer) <= Start(inner) && End(inner) <= End(outer) && Start(inner) < End(inner) &&
           End(inner) - Start(inner) < End(outer) - Start(outer);
  }

  void SubtractChildren() {
    // `cursor_` is the time up to which each parent is already covered by its children.
    cursor_.assign(start_, start_ + run_.count);
    if (ChildrenStartInOrder()) {  // without a list of positions, which takes time in each run
      for (std::uint32_t position = 0; position < run_.count; ++position) SubtractChild(position);
      return;
    }
    std::vector<std::uint32_t> order(run_.count);
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, {}, [&](std::uint32_t position) { return Start(position); });
    for (const std::uint32_t position : order) SubtractChild(position);
  }

  bool ChildrenStartInOrder() {
    last_start_.assign(run_.count, 0);
    for (std::uint32_t position = 0; position < run_.count; ++position) {
      const std::int32_t parent = tree_.parent[position];
      if (parent < 0) continue;
      if (Start(position) < last_start_[static_cast<std::size_t>(parent)]) return false;
      last_start_[static_cast<std::size_t>(parent)] = Start(position);
    }
    return true;
  }

  void SubtractChild(std::uint32_t position) {
    const std::int32_t parent_position = tree_.parent[position];
    if (parent_position < 0) return;
    const auto parent = static_cast<std::uint32_t>(parent_position);
    const Nanoseconds parent_end = std::max(Start(parent), End(parent));
    const Nanoseconds from = std::clamp(Start(position), cursor_[parent], parent_end);
    const Nanoseconds to = std::clamp(End(position), from, parent_end);
    const Nanoseconds covered = to - from;
    cursor_[parent] = to;
    tree_.self[parent] -= covered;
    const Nanoseconds excess = tree_.duration[position] - covered;
    if (excess > 0) {
      tree_.clipped -= excess;
      ReportClipped(position, parent, excess);
    }
  }

  void ReportClipped(std::uint32_t position, std::uint32_t parent, Nanoseconds excess) {
    const bool is_outside = Start(position) < Start(parent) || End(position) > End(parent);
    HealthEntry entry;
    entry.name = is_outside ? "child_outside_parent" : "siblings_overlap";
    entry.severity = HealthEntry::Severity::kError;
    entry.explanation = is_outside
                            ? "a span sticks out of the one it belongs to; the part outside is clipped"
                            : "a span overlaps one before it in the same call; the common part is clipped";
    entry.count = 1;
    entry.amount = excess;
    if (health_.GetCount(entry.name) == 0) {
      entry.first_place = fmt::format("block {}, event {} {}", block_, run_.first + position,
                                      trace_.GetName(layout_, run_.first + position));
    }
    health_.Add(std::move(entry));
  }

  const Trace& trace_;
  const Trace::Layout& layout_;
  std::uint32_t block_;
  Segment run_;
  const Nanoseconds* start_;
  const Nanoseconds* end_;
  TraceHealth& health_;
  SpanTree& tree_;
  std::vector<std::uint32_t> pending_;
  std::vector<Nanoseconds> cursor_;
  std::vector<Nanoseconds> last_start_;
};

}  // namespace

std::vector<SpanKind> ClassifyEvents(const Trace& trace, const Trace::Layout& layout, Segment run) {
  std::vector<SpanKind> kinds(run.count, SpanKind::kOther);
  std::size_t call = layout.size();  // enclosing or following call; layout.size(): there is none
  for (std::uint32_t position = run.count; position-- > 0;) {
    const std::size_t event = run.first + position;
    SpanKind& kind = kinds[position];
    if (layout.source[event] == Trace::Source::kDelegate) {
      kind = SpanKind::kBackend;
      continue;
    }
    const std::string_view name = trace.GetName(layout, event);
    if (name == "OPERATOR_CALL" || name == "DELEGATE_CALL") {
      kind = name == "OPERATOR_CALL" ? SpanKind::kOperatorCall : SpanKind::kDelegateCall;
      call = event;
    } else if (name == "Method::execute") {
      kind = SpanKind::kMethod;
    } else if (name.starts_with("native_call_")) {
      kind = SpanKind::kKernel;
    } else if (call < layout.size() && !IsOtherInstruction(name) &&
               trace.IsFramework(layout, call, "OPERATOR_CALL") &&
               layout.chain[event] == layout.chain[call] &&
               layout.instruction[event] == layout.instruction[call]) {
      // Since ExecuTorch 1.0 (pull request 14010), kernels that EXECUTORCH_LIBRARY registers log their name
      // unchanged: "llama::custom_sdpa.out".
      kind = SpanKind::kKernel;
    }
  }
  return kinds;
}

void BuildSpanTree(const Trace& trace, std::uint32_t block, Segment run, TraceHealth& health,
                   SpanTree& tree) {
  SpanTreeBuilder(trace, block, run, health, tree).Build();
}

OrderedTree::OrderedTree(const Trace& trace, const Trace::Layout& layout, Segment run)
    : kind_(ClassifyEvents(trace, layout, run)), parent_(run.count, -1) {
  std::vector<std::uint32_t> pending;  // events without a parent so far, in the file's order
  for (std::uint32_t position = 0; position < run.count; ++position) {
    const SpanKind kind = kind_[position];
    if (kind == SpanKind::kMethod || IsCall(kind)) {
      const auto is_child = [&](std::uint32_t child) {
        return kind == SpanKind::kMethod || CanBeInCall(trace, layout, run.first + child, kind_[child]);
      };
      auto first = pending.end();
      while (first != pending.begin() && is_child(*std::prev(first))) {
        --first;
        parent_[*first] = static_cast<std::int32_t>(position);
      }
      const auto first_child = static_cast<std::uint32_t>(children_.size());
      children_.insert(children_.end(), first, pending.end());
      parents_.push_back({position, first_child, static_cast<std::uint32_t>(children_.size())});
      pending.erase(first, pending.end());
    }
    pending.push_back(position);
  }
}

bool OrderedTree::KeepsOrder(const Nanoseconds* start, const Nanoseconds* end) const {
  bool ordered = true;
  for (std::size_t position = 0; position < size(); ++position) ordered &= start[position] <= end[position];
  for (const Parent& parent : parents_) {
    Nanoseconds earliest = start[parent.position];
    for (std::uint32_t i = parent.first_child; i < parent.end_child; ++i) {
      ordered &= start[children_[i]] >= earliest;
      earliest = end[children_[i]];
    }
    ordered &= earliest <= end[parent.position];
  }
  return ordered;
}

void OrderedTree::ComputeTimes(const Nanoseconds* start, const Nanoseconds* end, Nanoseconds* duration,
                               Nanoseconds* self) const {
  for (std::size_t position = 0; position < size(); ++position) {
    duration[position] = self[position] = end[position] - start[position];
  }
  for (const Parent& parent : parents_) {
    Nanoseconds covered = 0;
    for (std::uint32_t i = parent.first_child; i < parent.end_child; ++i) covered += duration[children_[i]];
    self[parent.position] -= covered;
  }
}

}  // namespace etprof
