#include "inference/boundary_recorder.h"

#include <algorithm>

namespace etprof::runner {
namespace {

constexpr std::size_t kReservedOperators = 4096;

// Classifies spans by their names, as ClassifyEvents (profile/analysis/span_tree.cc) does.
std::string SpanKind(std::string_view name) {
  if (name == "OPERATOR_CALL") return "operator_call";
  if (name == "DELEGATE_CALL") return "delegate_call";
  if (name == "Method::execute") return "method";
  if (name.starts_with("native_call_")) return "kernel";
  return "other";
}

bool IsCall(const std::string& kind) { return kind == "operator_call" || kind == "delegate_call"; }

}  // namespace

BoundaryRecorder::BoundaryRecorder(std::size_t counters, std::function<void(std::uint64_t*)> read,
                                   OperatorCallback on_operator)
    : counters_(counters), read_(std::move(read)), on_operator_(std::move(on_operator)) {
  boundaries_.reserve(kReservedOperators * counters);
  operators_.reserve(kReservedOperators);
}

BoundaryRecorder::Values BoundaryRecorder::ReadCounters() const {
  Values values(counters_);
  read_(values.data());
  return values;
}

void BoundaryRecorder::BeginRun(bool is_measured) {
  open_spans_.clear();
  calls_.clear();
  ordinals_.clear();
  boundaries_.clear();
  operators_.clear();
  in_run_ = true;
  is_measured_ = is_measured;
}

void BoundaryRecorder::EndRun() {
  in_run_ = false;
  if (is_measured_) ++runs_;
}

void BoundaryRecorder::BeginSpan(std::string_view name, std::int64_t chain, std::int64_t instruction) {
  if (!in_run_) return;
  Span span{SpanKind(name), std::string(name), chain, instruction, 0, {}};
  // Kernels that EXECUTORCH_LIBRARY registers log their name unchanged: "llama::custom_sdpa.out".
  const bool is_in_operator_call = !open_spans_.empty() && open_spans_.back().kind == "operator_call";
  if (span.kind == "other" && is_in_operator_call) span.kind = "kernel";
  if (IsCall(span.kind)) span.occurrence = calls_[{chain, instruction, span.kind}]++;
  if (span.kind == "delegate_call") {
    boundaries_.clear();
    operators_.clear();
  }
  span.start = ReadCounters();  // read last, so that the work above is not counted
  open_spans_.push_back(std::move(span));
}

void BoundaryRecorder::EndSpan() {
  if (!in_run_ || open_spans_.empty()) return;
  const Values end = ReadCounters();
  const Span span = std::move(open_spans_.back());
  open_spans_.pop_back();
  const auto add = [&](const Key& key) { Add(key, span.name, span.start.data(), end.data()); };
  if (span.kind == "method") {
    add({0, -1, "method", 0, 0});
  } else if (IsCall(span.kind)) {
    if (span.kind == "delegate_call") EndDelegateCall(span);
    add({span.chain, span.instruction, span.kind, 0, span.occurrence});
  } else if (span.kind == "kernel") {
    const auto call =
        std::find_if(open_spans_.rbegin(), open_spans_.rend(), [](const Span& s) { return IsCall(s.kind); });
    const Span& call_span = call == open_spans_.rend() ? span : *call;
    Key key{call_span.chain, call_span.instruction, span.kind, 0, call_span.occurrence};
    key.ordinal = ordinals_[key]++;
    add(key);
  }
}

void BoundaryRecorder::RecordBoundary() {
  if (!in_run_) return;
  boundaries_.resize(boundaries_.size() + counters_);
  read_(boundaries_.data() + (boundaries_.size() - counters_));
}

void BoundaryRecorder::RecordDelegateOperator(std::string_view name) {
  if (in_run_) operators_.emplace_back(name);
}

void BoundaryRecorder::EndDelegateCall(const Span& call) {
  if (counters_ == 0 || boundaries_.size() != (operators_.size() + 1) * counters_) {
    if (is_measured_) ++unmatched_;
    return;
  }
  for (std::size_t i = 0; i < operators_.size(); ++i) {
    const std::uint64_t* const before = boundaries_.data() + i * counters_;
    Add({call.chain, call.instruction, "backend", static_cast<std::int64_t>(i), call.occurrence},
        operators_[i], before, before + counters_);
  }
}

void BoundaryRecorder::Add(const Key& key, const std::string& name, const std::uint64_t* before,
                           const std::uint64_t* after) {
  if (!is_measured_) return;
  if (on_operator_) return on_operator_(key, name, before, after);
  Sums& sums = sums_[key];
  if (sums.runs == 0) {
    sums.order = sums_.size();
    sums.name = name;
    sums.counts.assign(counters_, 0);
  }
  ++sums.runs;
  // Counters never decrease; an apparent decrease was read while another process used the counter.
  for (std::size_t i = 0; i < counters_; ++i)
    sums.counts[i] += after[i] > before[i] ? after[i] - before[i] : 0;
}

void BoundaryRecorder::Fill(const std::vector<double>& scale, protocol::CountersReply& reply) const {
  reply.runs = runs_;
  reply.unmatched_calls = unmatched_;
  std::vector<const std::pair<const Key, Sums>*> entries_in_order;
  for (const auto& entry : sums_) entries_in_order.push_back(&entry);
  std::ranges::sort(entries_in_order, {}, [](const auto* entry) { return entry->second.order; });
  for (const auto* const entry : entries_in_order) {
    const auto& [key, sums] = *entry;
    protocol::OperatorCounts counts;
    counts.place = key;
    counts.name = sums.name;
    counts.runs = sums.runs;
    for (std::size_t i = 0; i < counters_; ++i)
      counts.means.push_back(static_cast<double>(sums.counts[i]) * scale[i] / static_cast<double>(sums.runs));
    reply.operators.push_back(std::move(counts));
  }
}

}  // namespace etprof::runner
