#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/profile.h"
#include "analysis/span_tree.h"
#include "stats/level.h"

namespace etprof {
namespace {

constexpr std::string_view kKernelPrefix = "native_call_";

// "Convolution (NHWC, F32) IGEMM #1" -> "Convolution (NHWC, F32) IGEMM", "native_call_mean.out" ->
// "mean.out".
std::string TypeOfName(std::string_view name) {
  if (name.starts_with(kKernelPrefix)) name.remove_prefix(kKernelPrefix.size());
  const std::size_t hash = name.rfind(" #");
  if (hash != std::string_view::npos && hash + 2 < name.size() &&
      name.find_first_not_of("0123456789", hash + 2) == std::string_view::npos) {
    name = name.substr(0, hash);
  }
  return std::string(name);
}

// Only XNNPACK numbers its operators and says their layout and data type in parentheses.
bool LooksLikeXnnpack(std::string_view name) {
  return name.find(" #") != std::string_view::npos && TypeOfName(name) != name;
}

Category CategoryOf(SpanKind kind, std::string_view name) {
  switch (kind) {
    case SpanKind::kMethod:
    case SpanKind::kOperatorCall:
    case SpanKind::kOther:
      return {"framework", Group::kFrameworkOverhead, true};
    case SpanKind::kDelegateCall:
      return {"framework", Group::kDelegateOverhead, true};
    case SpanKind::kKernel:
    case SpanKind::kBackend:
      break;
  }
  return Categorize(name);
}

class Attributor {
 public:
  Attributor(const Trace& trace, const AttributeOptions& options) : trace_(trace), options_(options) {
    profile_.experiment = options.experiment;
    profile_.model_id = options.model_id;
    profile_.health.AddAll(trace.health);
  }

  Profile Run() {
    for (std::uint32_t block = 0; block < trace_.blocks.size(); ++block) AddBlock(block);
    FillMatrix();
    LabelRuns();
    MarkCommonSet();
    return std::move(profile_);
  }

 private:
  // The columns of a run as far as they decide which operator each of its events is.
  struct Layout {
    std::uint32_t first = 0;
    std::vector<std::int32_t> parent;
    std::vector<std::int32_t> operators;  // index into Profile::operators, by position
  };

  // The runs of a block: each ends with its Method::execute (children come first).
  void AddBlock(std::uint32_t index) {
    const Trace::Block& block = trace_.blocks[index];
    std::uint32_t first = block.first_event;
    const std::uint32_t end = block.first_event + block.event_count;
    Nanoseconds load_program = -1;
    Nanoseconds init = -1;
    for (std::uint32_t event = first; event < end; ++event) {
      if (trace_.source[event] == Trace::Source::kDelegate) continue;
      const std::string_view name = trace_.names.Text(trace_.name[event]);
      if (name == "Method::execute") {
        AddRun(index, first, event + 1 - first);
        first = event + 1;
      } else if (name == "Program::load_method") {
        load_program = trace_.end[event] - trace_.start[event];
      } else if (name == "Method::init") {
        init = trace_.end[event] - trace_.start[event];
      }
    }
    const Nanoseconds load = std::max(load_program, init);  // the first contains the second
    if (load >= 0 && !profile_.load_method) profile_.load_method = load;
    if (first < end && load < 0) {
      HealthEntry entry;
      entry.name = "run_incomplete";
      entry.severity = HealthEntry::Severity::kDataLoss;
      entry.explanation =
          "a block without Method::execute: the run was stopped in the middle, it is left out";
      entry.count = 1;
      entry.first_place = fmt::format("block {} {}", index, block.name);
      profile_.health.Add(std::move(entry));
    }
  }

  void AddRun(std::uint32_t block, std::uint32_t first, std::uint32_t count) {
    BuildSpanTree(trace_, block, first, count, profile_.health, tree_);
    if (layouts_.empty() || !SameLayout(layouts_.back())) layouts_.push_back(NewLayout());
    ProfiledRun run;
    run.block = block;
    run.total = tree_.duration.back();
    run.clipped = tree_.clipped;
    profile_.runs.push_back(run);
    layout_of_run_.push_back(layouts_.size() - 1);
    run_self_.insert(run_self_.end(), tree_.self.begin(), tree_.self.end());
    run_duration_.insert(run_duration_.end(), tree_.duration.begin(), tree_.duration.end());
  }

  bool SameLayout(const Layout& known) const {
    const std::size_t count = tree_.size();
    if (known.parent.size() != count) return false;
    const auto same = [&](const auto& column) {
      return std::equal(column.begin() + tree_.first,
                        column.begin() + tree_.first + static_cast<std::ptrdiff_t>(count),
                        column.begin() + known.first);
    };
    return same(trace_.name) && same(trace_.instruction) && same(trace_.chain) && same(trace_.source) &&
           tree_.parent == known.parent;
  }

  // Names the operators of the run in tree_ by their identity, and adds those that are new.
  Layout NewLayout() {
    Layout layout{tree_.first, tree_.parent, std::vector<std::int32_t>(tree_.size(), -1)};
    // Parents come after their children, so calls are numbered first.
    std::vector<std::int32_t> call_of(tree_.size(), -1);
    std::vector<std::int32_t> call_index(tree_.size(), -1);
    std::int32_t calls = 0;
    for (std::size_t position = 0; position < tree_.size(); ++position) {
      if (tree_.kind[position] == SpanKind::kOperatorCall ||
          tree_.kind[position] == SpanKind::kDelegateCall) {
        call_index[position] = calls++;
      }
    }
    for (std::size_t i = tree_.size(); i-- > 0;) {
      const std::int32_t parent = tree_.parent[i];
      if (call_index[i] >= 0) {
        call_of[i] = static_cast<std::int32_t>(i);
      } else if (parent >= 0) {
        call_of[i] = call_of[static_cast<std::size_t>(parent)];
      }
    }
    std::map<std::tuple<std::int32_t, std::int32_t, SpanKind>, std::int32_t> occurrences;  // of calls
    std::map<std::pair<std::int32_t, SpanKind>, std::int32_t> ordinals;                    // within a call
    std::vector<std::int32_t> occurrence(tree_.size(), 0);
    for (std::size_t position = 0; position < tree_.size(); ++position) {
      if (call_index[position] < 0) continue;
      const std::size_t event = tree_.first + position;
      occurrence[position] =
          occurrences[{trace_.chain[event], trace_.instruction[event], tree_.kind[position]}]++;
    }
    for (std::size_t position = 0; position < tree_.size(); ++position) {
      const SpanKind kind = tree_.kind[position];
      const std::int32_t call = call_of[position];
      const std::size_t event = tree_.first + (call >= 0 ? static_cast<std::size_t>(call) : position);
      Operator op;
      op.key.method = options_.method;
      op.key.kind = kind;
      op.key.chain = kind == SpanKind::kMethod ? 0 : trace_.chain[event];
      op.key.instruction = kind == SpanKind::kMethod ? -1 : trace_.instruction[event];
      op.key.occurrence = call >= 0 ? occurrence[static_cast<std::size_t>(call)] : 0;
      if (call_index[position] < 0 && kind != SpanKind::kMethod) op.key.ordinal = ordinals[{call, kind}]++;
      op.call_index = call >= 0 ? call_index[static_cast<std::size_t>(call)] : -1;
      op.name = trace_.names.Text(trace_.name[tree_.first + position]);
      layout.operators[position] = FindOrAdd(std::move(op));
    }
    for (std::size_t position = 0; position < tree_.size(); ++position) {
      const std::int32_t parent = tree_.parent[position];
      if (parent < 0) continue;
      auto& op = profile_.operators[static_cast<std::size_t>(layout.operators[position])];
      if (op.parent < 0) op.parent = layout.operators[static_cast<std::size_t>(parent)];
    }
    return layout;
  }

  std::int32_t FindOrAdd(Operator op) {
    const auto [known, is_new] =
        by_key_.try_emplace(op.key, static_cast<std::int32_t>(profile_.operators.size()));
    if (!is_new) {
      const Operator& first = profile_.operators[static_cast<std::size_t>(known->second)];
      if (first.name != op.name) {
        HealthEntry entry;
        entry.name = "operator_renamed";
        entry.explanation =
            "the same place in the program ran under another name in a later run; the first name is shown";
        entry.count = 1;
        entry.first_place = fmt::format("{} as {}", first.name, op.name);
        profile_.health.Add(std::move(entry));
      }
      return known->second;
    }
    op.type = TypeOfName(op.name);
    op.category = CategoryOf(op.key.kind, op.name);
    op.portable = op.key.kind == SpanKind::kKernel;
    if (op.key.kind == SpanKind::kBackend && LooksLikeXnnpack(op.name)) op.backend = "XnnpackBackend";
    profile_.operators.push_back(std::move(op));
    return known->second;
  }

  void FillMatrix() {
    const std::size_t runs = profile_.runs.size();
    profile_.self.assign(profile_.operators.size() * runs, Profile::kAbsent);
    profile_.duration.assign(profile_.operators.size() * runs, Profile::kAbsent);
    std::size_t from = 0;
    for (std::size_t run = 0; run < runs; ++run) {
      const Layout& layout = layouts_[layout_of_run_[run]];
      for (std::size_t position = 0; position < layout.operators.size(); ++position) {
        const std::size_t cell = static_cast<std::size_t>(layout.operators[position]) * runs + run;
        profile_.self[cell] = run_self_[from + position];
        profile_.duration[cell] = run_duration_[from + position];
      }
      from += layout.operators.size();
    }
  }

  void LabelRuns() {
    if (options_.labels.size() == profile_.runs.size() && !options_.labels.empty()) {
      for (std::size_t run = 0; run < profile_.runs.size(); ++run)
        profile_.runs[run].label = options_.labels[run];
      return;
    }
    if (!options_.labels.empty()) {
      HealthEntry entry;
      entry.name = "labels_do_not_fit";
      entry.severity = HealthEntry::Severity::kDataLoss;
      entry.explanation =
          fmt::format("the manifest knows {} traced runs, the file has {}; launches are told apart no more",
                      options_.labels.size(), profile_.runs.size());
      entry.count = 1;
      profile_.health.Add(std::move(entry));
    }
    std::vector<double> totals;
    for (const ProfiledRun& run : profile_.runs) totals.push_back(static_cast<double>(run.total));
    const std::size_t level = std::max(stats::FirstLevelRun(totals),
                                       static_cast<std::size_t>(std::max(0, options_.minimum_warmup)));
    for (std::size_t run = 0; run < profile_.runs.size(); ++run) {
      RunLabel label;
      label.round = -1;
      label.phase = run == 0 ? Phase::kFirst : run < level ? Phase::kWarmup : Phase::kSteady;
      profile_.runs[run].label = label;
    }
  }

  void MarkCommonSet() {
    std::vector<std::size_t> steady = profile_.RunsOf(Phase::kSteady);
    if (steady.empty() && !profile_.runs.empty()) {
      HealthEntry entry;
      entry.name = "no_steady_run";
      entry.explanation = "every run is a first or a warm-up run; the tables are made of them";
      entry.count = static_cast<std::int64_t>(profile_.runs.size());
      profile_.health.Add(std::move(entry));
      for (std::size_t run = 0; run < profile_.runs.size(); ++run) steady.push_back(run);
    }
    std::vector<double> totals;
    for (const std::size_t run : steady) totals.push_back(static_cast<double>(profile_.runs[run].total));
    const stats::Fences fences = stats::TukeyFences(totals);
    for (const std::size_t run : steady) {
      const auto total = static_cast<double>(profile_.runs[run].total);
      profile_.runs[run].in_common_set = fences.low <= total && total <= fences.high;
    }
  }

  const Trace& trace_;
  const AttributeOptions& options_;
  Profile profile_;
  SpanTree tree_;
  std::vector<Layout> layouts_;
  std::vector<std::size_t> layout_of_run_;
  std::vector<Nanoseconds> run_self_, run_duration_;  // every run's columns, one after the other
  std::map<OperatorKey, std::int32_t> by_key_;
};

}  // namespace

std::string_view SpanKindName(SpanKind kind) {
  switch (kind) {
    case SpanKind::kMethod:
      return "method";
    case SpanKind::kOperatorCall:
      return "operator_call";
    case SpanKind::kDelegateCall:
      return "delegate_call";
    case SpanKind::kKernel:
      return "kernel";
    case SpanKind::kBackend:
      return "backend";
    case SpanKind::kOther:
      return "other";
  }
  return "other";
}

std::string_view PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kFirst:
      return "first";
    case Phase::kWarmup:
      return "warmup";
    case Phase::kSteady:
      return "steady";
  }
  return "steady";
}

std::string KeyText(const OperatorKey& key) {
  std::string text =
      fmt::format("{}/{}/{}/{}", key.method, key.instruction, SpanKindName(key.kind), key.ordinal);
  if (key.chain > 0) text += fmt::format("/chain{}", key.chain);
  if (key.occurrence > 0) text += fmt::format("/again{}", key.occurrence);
  return text;
}

std::vector<std::size_t> Profile::RunsOf(Phase phase) const {
  std::vector<std::size_t> found;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    if (runs[run].label.phase == phase) found.push_back(run);
  }
  return found;
}

std::vector<std::size_t> Profile::CommonSet() const {
  std::vector<std::size_t> found;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    if (runs[run].in_common_set) found.push_back(run);
  }
  return found;
}

Profile Attribute(const Trace& trace, const AttributeOptions& options) {
  return Attributor(trace, options).Run();
}

}  // namespace etprof
