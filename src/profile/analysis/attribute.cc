#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "core/error.h"
#include "core/parallel.h"
#include "core/text/escape.h"
#include "core/views.h"
#include "format/delegates/delegate.h"
#include "format/xnnpack/operator_name.h"
#include "profile/analysis/operators.h"
#include "profile/analysis/profile.h"
#include "profile/analysis/span_tree.h"
#include "protocol/operator_place.h"
#include "stats/stability.h"

namespace etprof {
namespace {

constexpr std::size_t kMinRunsPerThread = 2048;  // fewer runs take less time than the start of a thread
constexpr std::size_t kRunsPerBatch = 8;         // number of times in a cache line
constexpr std::string_view kKernelPrefix = "native_call_";

// "Convolution (NHWC, F32) IGEMM #1" -> "Convolution (NHWC, F32) IGEMM", "native_call_mean.out" ->
// "mean.out", "Convolution: aten_conv (brgconv_avx512_f32)" -> "Convolution (brgconv_avx512_f32)".
std::string OperatorType(std::string_view name) {
  if (const auto layer = delegates::ParseOpenvinoLayer(name))
    return fmt::format("{} ({})", layer->type, layer->executed);
  if (name.starts_with(kKernelPrefix)) name.remove_prefix(kKernelPrefix.size());
  const std::size_t hash = name.rfind(" #");
  if (hash != std::string_view::npos && hash + 2 < name.size() &&
      name.find_first_not_of("0123456789", hash + 2) == std::string_view::npos) {
    name = name.substr(0, hash);
  }
  return std::string(name);
}

Category SpanCategory(SpanKind kind, std::string_view name) {
  switch (kind) {
    case SpanKind::kMethod:
    case SpanKind::kOperatorCall:
    case SpanKind::kOther:
      return {"framework", OperatorGroup::kFrameworkOverhead};
    case SpanKind::kDelegateCall:
      return {"framework", OperatorGroup::kDelegateOverhead};
    case SpanKind::kKernel:
    case SpanKind::kBackend:
      break;
  }
  return Categorize(name);
}

// The location of a run in the trace.
struct RunLocation {
  std::uint32_t block = 0;
  std::uint32_t first = 0;    // event of the block with which the run begins
  std::uint32_t variant = 0;  // index into Runs::variants
  std::uint32_t number = 0;   // number among all complete runs of the file, from 0
  bool is_first = false;      // the first run of all, or the first after a Method::init
};

// Runs whose events are equal except for their times, represented by the first of these runs.
struct RunVariant {
  std::uint32_t layout = 0;  // index into Trace::layouts
  Segment segment;
};

// The runs of a trace and other contents of its blocks.
struct Runs {
  std::vector<RunVariant> variants;
  std::vector<RunLocation> locations;
  std::optional<Nanoseconds> load_method;  // ns; duration of the event in the first block that has it
  std::int64_t init_count = 0;             // number of Method::init events: methods times launches
  TraceHealth health;
};

// The runs of a layout, each ending with its Method::execute (children come first), and its load events.
struct LayoutContents {
  std::vector<std::uint32_t> variants;  // variants of the runs, in order
  std::vector<std::uint32_t> first_events;
  std::int32_t load_event = -1, init_event = -1;  // events that load the program and the method; -1: no event
  std::int64_t init_count = 0;
  bool incomplete = false;  // other events than load events follow the last run
};

// A lookup key of the events of a segment, without their times.
std::string EventsKey(const Trace::Layout& layout, Segment segment) {
  std::string key;
  const auto append = [&](const auto& column) {
    const auto* first = reinterpret_cast<const char*>(column.data() + segment.first);
    key.append(first, first + segment.count * sizeof(column[0]));
  };
  append(layout.name);
  append(layout.source);
  append(layout.chain);
  append(layout.instruction);
  append(layout.delegate_id);
  if (!layout.backend.empty()) append(layout.backend);
  return key;
}

using VariantsByKey = std::unordered_map<std::string, std::uint32_t>;

LayoutContents ReadLayout(const Trace& trace, std::uint32_t index, std::vector<RunVariant>& variants,
                          VariantsByKey& variants_by_key) {
  LayoutContents contents;
  const Trace::Layout& layout = trace.layouts[index];
  const auto count = static_cast<std::uint32_t>(layout.size());
  std::uint32_t first = 0;
  for (std::uint32_t event = 0; event < count; ++event) {
    if (layout.source[event] == Trace::Source::kDelegate) continue;
    const std::string_view name = trace.GetName(layout, event);
    if (name == "Method::execute") {
      const RunVariant variant{index, {first, event + 1 - first}};
      const auto [entry, is_new] = variants_by_key.try_emplace(EventsKey(layout, variant.segment),
                                                               static_cast<std::uint32_t>(variants.size()));
      if (is_new) variants.push_back(variant);
      contents.variants.push_back(entry->second);
      contents.first_events.push_back(first);
      first = event + 1;
    } else if (name == "Program::load_method") {
      contents.load_event = static_cast<std::int32_t>(event);
    } else if (name == "Method::init") {
      contents.init_event = static_cast<std::int32_t>(event);
      ++contents.init_count;
    }
  }
  contents.incomplete = first < count && contents.load_event < 0 && contents.init_event < 0;
  return contents;
}

// Marks the first run, and the first run after each Method::init. `inits` has the end times of Method::init.
// A merged file has the loading blocks of all processes before their runs, so times decide.
void MarkFirstRuns(const Trace& trace, const std::vector<Nanoseconds>& inits, Runs& runs) {
  const auto start = [&](std::size_t run) {
    const RunLocation& location = runs.locations[run];
    const std::uint32_t execute_position = location.first + runs.variants[location.variant].segment.count - 1;
    return trace.start[trace.blocks[location.block].first_event + execute_position];
  };
  std::vector<std::size_t> by_time(runs.locations.size());
  std::iota(by_time.begin(), by_time.end(), std::size_t{0});
  if (!std::ranges::is_sorted(by_time, {}, start)) std::ranges::stable_sort(by_time, {}, start);
  if (!runs.locations.empty()) runs.locations.front().is_first = true;
  for (const Nanoseconds init : inits) {
    const auto next = std::ranges::lower_bound(by_time, init, {}, start);
    if (next != by_time.end()) runs.locations[*next].is_first = true;
  }
}

Runs FindRuns(const Trace& trace) {
  Runs runs;
  std::vector<Nanoseconds> inits;
  VariantsByKey variants_by_key;
  std::vector<LayoutContents> contents;
  for (std::uint32_t layout = 0; layout < trace.layouts.size(); ++layout)
    contents.push_back(ReadLayout(trace, layout, runs.variants, variants_by_key));
  for (std::uint32_t index = 0; index < trace.blocks.size(); ++index) {
    const Trace::Block& block = trace.blocks[index];
    const LayoutContents& layout_contents = contents[block.layout];
    for (std::size_t i = 0; i < layout_contents.variants.size(); ++i)
      runs.locations.push_back({index, layout_contents.first_events[i], layout_contents.variants[i],
                                static_cast<std::uint32_t>(runs.locations.size())});
    runs.init_count += layout_contents.init_count;
    if (layout_contents.init_event >= 0)
      inits.push_back(trace.end[block.first_event + static_cast<std::size_t>(layout_contents.init_event)]);
    if (layout_contents.incomplete) {
      runs.health.Add(
          "run_incomplete", HealthEntry::Severity::kDataLoss,
          "events at the end of a block that no Method::execute follows are excluded: the run was stopped, "
          "or the events are not in the order in which they ended",
          1, fmt::format("block {} {}", index, block.name));
    }
    const auto duration = [&](std::int32_t event) -> Nanoseconds {
      if (event < 0) return -1;
      const std::size_t at = block.first_event + static_cast<std::size_t>(event);
      return trace.end[at] - trace.start[at];
    };
    // Program::load_method contains Method::init.
    const Nanoseconds load =
        std::max(duration(layout_contents.load_event), duration(layout_contents.init_event));
    if (load >= 0 && !runs.load_method) runs.load_method = load;
  }
  MarkFirstRuns(trace, inits, runs);
  return runs;
}

// Builds the profile of selected runs of a trace.
class Attributor {
 public:
  Attributor(const Trace& trace, const Runs& runs, const AttributeOptions& options)
      : trace_(trace), runs_(runs), options_(options) {
    profile_.experiment = options.experiment;
    profile_.model_id = options.model_id;
    profile_.load_method = runs.load_method;
    profile_.health.AddAll(trace.health);
    profile_.health.AddAll(runs.health);
  }

  Profile Run(const std::vector<RunLocation>& locations) {
    profile_.runs.reserve(locations.size());
    locations_.reserve(locations.size());
    FindOrderedRuns(locations);
    for (std::size_t run = 0; run < locations.size(); ++run) AddRun(locations[run], run);
    FillMatrix();
    NameOpaqueCalls();
    NameUnloggedKernels();
    LabelRuns();
    MarkCommonSet();
    AddReportedValues();
    AddMetadata();
    ComputeStatistics(profile_, options_.threads);
    return std::move(profile_);
  }

  // The variants of runs in which a place of the program has another operator than in earlier runs.
  const std::set<std::uint32_t>& renaming_variants() const { return renaming_variants_; }

 private:
  // A span tree of a variant of runs, and its layout in the profile.
  struct Tree {
    std::vector<std::int32_t> parent;
    std::uint32_t layout = 0;  // index into profile_.layouts
  };

  const Nanoseconds* StartTimes(const RunLocation& location) const {
    return trace_.start.data() + trace_.blocks[location.block].first_event + location.first;
  }
  const Nanoseconds* EndTimes(const RunLocation& location) const {
    return trace_.end.data() + trace_.blocks[location.block].first_event + location.first;
  }

  // Finds the ordered runs, which share a tree for each variant. All other runs need their own tree.
  void FindOrderedRuns(const std::vector<RunLocation>& locations) {
    ordered_trees_.resize(runs_.variants.size());
    for (const RunLocation& location : locations) {
      auto& tree = ordered_trees_[location.variant];
      if (tree) continue;
      const RunVariant& variant = runs_.variants[location.variant];
      tree.emplace(trace_, trace_.layouts[variant.layout], variant.segment);
    }
    ordered_.resize(locations.size());
    ParallelForParts(locations.size(), kMinRunsPerThread, options_.threads,
                     [&](std::size_t first, std::size_t end) {
                       for (std::size_t run = first; run < end; ++run) {
                         const RunLocation& location = locations[run];
                         const OrderedTree& tree = *ordered_trees_[location.variant];
                         ordered_[run] = tree.KeepsOrder(StartTimes(location), EndTimes(location)) ? 1 : 0;
                       }
                     });
    trees_.resize(runs_.variants.size());
    ordered_layouts_.resize(runs_.variants.size());
  }

  void AddRun(const RunLocation& location, std::size_t index) {
    ProfiledRun run;
    run.block = location.block;
    run.first_event = location.first;
    const OrderedTree& ordered = *ordered_trees_[location.variant];
    if (ordered_[index] != 0) {
      run.total = EndTimes(location)[ordered.size() - 1] - StartTimes(location)[ordered.size() - 1];
      std::optional<std::uint32_t>& layout = ordered_layouts_[location.variant];
      if (!layout) layout = FindOrAddLayout(location.variant, ordered.kind(), ordered.parent());
      run.layout = *layout;
    } else {
      const Segment segment{location.first, runs_.variants[location.variant].segment.count};
      BuildSpanTree(trace_, location.block, segment, profile_.health, tree_);
      run.total = tree_.duration.back();
      run.clipped = tree_.clipped;
      run.layout = FindOrAddLayout(location.variant, tree_.kind, tree_.parent);
      disordered_runs_.push_back({index, tree_.duration, tree_.self});
    }
    profile_.runs.push_back(run);
    locations_.push_back(location);
  }

  std::uint32_t FindOrAddLayout(std::uint32_t variant, const std::vector<SpanKind>& kinds,
                                const std::vector<std::int32_t>& parent) {
    for (const Tree& tree : trees_[variant]) {
      if (tree.parent == parent) return tree.layout;
    }
    const auto layout = static_cast<std::uint32_t>(profile_.layouts.size());
    renamed_ = false;
    profile_.layouts.push_back(FindOrAddOperators(runs_.variants[variant], kinds, parent));
    if (renamed_) renaming_variants_.insert(variant);
    trees_[variant].push_back({parent, layout});
    return layout;
  }

  // Identifies the operators of a run, adds new ones to the profile, and returns the operator of each event.
  std::vector<std::int32_t> FindOrAddOperators(const RunVariant& run, const std::vector<SpanKind>& kinds,
                                               const std::vector<std::int32_t>& parents) {
    const Trace::Layout& columns = trace_.layouts[run.layout];
    const std::size_t first = run.segment.first;
    const std::size_t count = kinds.size();
    std::vector<std::int32_t> operators(count, -1);
    // Parents come after their children, so calls are numbered first.
    std::vector<std::int32_t> enclosing_call(count, -1);
    std::vector<std::int32_t> call_index(count, -1);
    // Number of calls so far, in all and by instruction and kind.
    std::int32_t calls = 0;
    std::map<std::tuple<std::int32_t, std::int32_t, SpanKind>, std::int32_t> occurrences;
    std::vector<std::int32_t> occurrence(count, 0);
    for (std::size_t position = 0; position < count; ++position) {
      const SpanKind kind = kinds[position];
      if (kind != SpanKind::kOperatorCall && kind != SpanKind::kDelegateCall) continue;
      call_index[position] = calls++;
      const std::size_t event = first + position;
      occurrence[position] = occurrences[{columns.chain[event], columns.instruction[event], kind}]++;
    }
    for (std::size_t i = count; i-- > 0;) {
      const std::int32_t parent = parents[i];
      if (call_index[i] >= 0) {
        enclosing_call[i] = static_cast<std::int32_t>(i);
      } else if (parent >= 0) {
        enclosing_call[i] = enclosing_call[static_cast<std::size_t>(parent)];
      }
    }
    // Number of events so far, by key without ordinal. Events outside of any call may have the same
    // instruction as a call.
    std::map<OperatorKey, std::int32_t> ordinals;
    for (std::size_t position = 0; position < count; ++position) {
      const SpanKind kind = kinds[position];
      const std::int32_t call = enclosing_call[position];
      const std::size_t event = first + (call >= 0 ? static_cast<std::size_t>(call) : position);
      Operator op;
      op.key.method = options_.method;
      op.key.kind = kind;
      op.key.chain = kind == SpanKind::kMethod ? 0 : columns.chain[event];
      op.key.instruction = kind == SpanKind::kMethod ? -1 : columns.instruction[event];
      op.key.occurrence = call >= 0 ? occurrence[static_cast<std::size_t>(call)] : 0;
      if (call_index[position] < 0 && kind != SpanKind::kMethod) op.key.ordinal = ordinals[op.key]++;
      op.call_index = call >= 0 ? call_index[static_cast<std::size_t>(call)] : -1;
      op.name = xnnpack::ModernOperatorName(trace_.GetName(columns, first + position));
      if (kind == SpanKind::kBackend) op.backend = GetBackend(columns, first + position);
      operators[position] = FindOrAddOperator(std::move(op));
      if (kind == SpanKind::kDelegateCall && !columns.backend.empty())
        call_backend_[static_cast<std::size_t>(operators[position])] = columns.backend[first + position];
    }
    for (std::size_t position = 0; position < count; ++position) {
      const std::int32_t parent = parents[position];
      if (parent < 0) continue;
      auto& op = profile_.operators[static_cast<std::size_t>(operators[position])];
      const std::int32_t parent_op = operators[static_cast<std::size_t>(parent)];
      if (op.parent < 0) op.parent = parent_op;
      has_children_[static_cast<std::size_t>(parent_op)] = 1;
    }
    return operators;
  }

  std::int32_t FindOrAddOperator(Operator op) {
    const auto [entry, is_new] =
        by_key_.try_emplace(op.key, static_cast<std::int32_t>(profile_.operators.size()));
    if (!is_new) {
      const Operator& known_operator = profile_.operators[static_cast<std::size_t>(entry->second)];
      if (known_operator.name != op.name) {
        renamed_ = true;
        profile_.health.Add(
            "operator_renamed", HealthEntry::Severity::kInfo,
            "the same place in the program ran under another name in a later run; the first name is shown", 1,
            fmt::format("{} as {}", known_operator.name, op.name));
      }
      return entry->second;
    }
    op.type = OperatorType(op.name);
    op.category = SpanCategory(op.key.kind, op.name);
    // Most delegates name internal steps, which the table of categories does not have.
    const delegates::Delegate* const delegate = delegates::FindDelegate(op.backend);
    if (delegate != nullptr && !delegate->names_operators) {
      op.category = delegate->interpret({op.name}).moves_data
                        ? Category{"DATA_MOVEMENT", OperatorGroup::kDataMovement}
                        : Category{"OTHER", OperatorGroup::kOther};
    }
    op.portable = op.key.kind == SpanKind::kKernel;
    profile_.operators.push_back(std::move(op));
    has_children_.push_back(0);
    return entry->second;
  }

  std::string GetBackend(const Trace::Layout& layout, std::size_t event) const {
    if (!layout.backend.empty()) return trace_.names.Text(layout.backend[event]);
    const bool is_xnnpack = delegates::kXnnpack.writes({trace_.GetName(layout, event)});
    return is_xnnpack ? std::string(delegates::kXnnpack.backend) : "";
  }

  // Names the calls without child spans of delegates other than XNNPACK. They are not overhead: their time is
  // the delegate's.
  void NameOpaqueCalls() {
    for (const auto& [op, name] : call_backend_) {
      if (has_children_[op] != 0 || name == kNoName) continue;
      const std::string& backend = trace_.names.Text(name);
      if (backend == delegates::kXnnpack.backend) continue;
      Operator& call = profile_.operators[op];
      call.backend = backend;
      call.name = call.type = (backend.empty() ? "unknown" : backend) + " delegate call";
      call.category = {"OTHER", OperatorGroup::kOther};
    }
  }

  // A kernel logs nothing within its OPERATOR_CALL if its library was built without ET_EVENT_TRACER_ENABLED,
  // or if it is a primitive of ExecuTorch. Then the call's time is the kernel's.
  void NameUnloggedKernels() {
    for (std::size_t op = 0; op < profile_.operators.size(); ++op) {
      Operator& call = profile_.operators[op];
      if (call.key.kind != SpanKind::kOperatorCall || has_children_[op] != 0) continue;
      call.name = call.type = kUnloggedKernel;
      call.category = {"OTHER", OperatorGroup::kOther};
      call.portable = true;
    }
  }

  void FillMatrix() {
    const std::size_t operators = profile_.operators.size();
    const std::size_t runs = profile_.runs.size();
    std::uint32_t num_rows = 0;
    for (const std::uint8_t has_children : has_children_)
      profile_.duration_row.push_back(has_children != 0 ? num_rows++ : Profile::kNoRow);
    // Runs normally have the same operators. If each run has other operators, the table would be huge and
    // almost empty.
    constexpr std::size_t kMaxCells = std::size_t{1} << 24;
    if (operators * runs > std::max(kMaxCells, 64 * trace_.event_count())) {
      throw Error(
          ExitCode::kBadInput,
          fmt::format("{} runs with {} different operators have too little in common to be one model's", runs,
                      operators))
          .Remedy("measure again with fewer runs");
    }
    profile_.self.resize(operators * runs);
    profile_.duration.resize(num_rows * runs);
    // Cells stay unwritten below only if a run lacks an operator.
    if (std::ranges::any_of(profile_.layouts,
                            [&](const auto& layout) { return layout.size() != operators; })) {
      std::ranges::fill(profile_.self, Profile::kAbsent);
      std::ranges::fill(profile_.duration, Profile::kAbsent);
    }
    ParallelForParts(runs, kMinRunsPerThread, options_.threads, [&](std::size_t first, std::size_t end) {
      std::vector<Nanoseconds> duration, self;
      for (std::size_t run = first; run < end;) {
        // A batch contains consecutive runs of the same variant, so that rows of the table are written one
        // cache line at a time.
        std::size_t batch_size = 0;
        const auto is_like_first = [&](std::size_t other) {
          return other < end && ordered_[other] != 0 && locations_[other].variant == locations_[run].variant;
        };
        while (batch_size < kRunsPerBatch && is_like_first(run + batch_size)) ++batch_size;
        if (batch_size == 0) {
          ++run;
          continue;
        }
        const OrderedTree& tree = *ordered_trees_[locations_[run].variant];
        duration.resize(kRunsPerBatch * tree.size());
        self.resize(kRunsPerBatch * tree.size());
        for (std::size_t i = 0; i < batch_size; ++i) {
          tree.ComputeTimes(StartTimes(locations_[run + i]), EndTimes(locations_[run + i]),
                            duration.data() + i * tree.size(), self.data() + i * tree.size());
        }
        Store(run, batch_size, duration.data(), self.data());
        run += batch_size;
      }
    });
    for (const DisorderedRun& run : disordered_runs_)
      Store(run.index, 1, run.duration.data(), run.self.data());
  }

  // Writes `count` runs of one layout into the table, beginning with run `first`. In `duration` and `self`,
  // the times of a run are consecutive.
  void Store(std::size_t first, std::size_t count, const Nanoseconds* duration, const Nanoseconds* self) {
    const std::size_t runs = profile_.runs.size();
    const std::vector<std::int32_t>& layout = profile_.layouts[profile_.runs[first].layout];
    const auto write = [&](Nanoseconds* row, const Nanoseconds* from) {
      for (std::size_t i = 0; i < count; ++i) row[first + i] = from[i * layout.size()];
    };
    for (std::size_t position = 0; position < layout.size(); ++position) {
      const auto op = static_cast<std::size_t>(layout[position]);
      write(profile_.self.data() + op * runs, self + position);
      if (has_children_[op] != 0)
        write(profile_.duration.data() + profile_.duration_row[op] * runs, duration + position);
    }
  }

  void LabelRuns() {
    if (options_.labels.size() == profile_.runs.size() && !options_.labels.empty()) {
      for (std::size_t run = 0; run < profile_.runs.size(); ++run)
        profile_.runs[run].label = options_.labels[run];
      return;
    }
    if (!options_.labels.empty()) {
      profile_.health.Add(
          "labels_do_not_fit", HealthEntry::Severity::kDataLoss,
          fmt::format("the manifest knows {} traced runs, the file has {}; launches are told apart no more",
                      options_.labels.size(), profile_.runs.size()),
          1);
    }
    const auto min_warmup = static_cast<std::size_t>(std::max(0, options_.min_warmup));
    std::map<std::uint32_t, std::vector<std::size_t>> runs_by_layout;
    for (std::size_t run = 0; run < profile_.runs.size(); ++run)
      runs_by_layout[profile_.runs[run].layout].push_back(run);
    // Slow runs with other events, such as a prefill, do other work: they are no warm-up of the others.
    for (const auto& [layout, runs] : runs_by_layout) {
      const std::size_t first_steady = stats::FirstSteadyRun(profile_.Totals(runs));
      for (std::size_t i = 0; i < runs.size(); ++i) {
        const std::size_t run = runs[i];
        RunLabel label;
        label.round = -1;
        label.phase = run == 0 || locations_[run].is_first   ? Phase::kFirst
                      : i < first_steady || run < min_warmup ? Phase::kWarmup
                                                             : Phase::kSteady;
        profile_.runs[run].label = label;
      }
    }
  }

  void MarkCommonSet() {
    std::vector<std::size_t> steady = profile_.RunsInPhase(Phase::kSteady);
    if (steady.empty()) steady = profile_.RunsInPhase(Phase::kDisturbed);
    if (steady.empty() && !profile_.runs.empty()) {
      profile_.health.Add("no_steady_run", HealthEntry::Severity::kInfo,
                          "every run is a first or a warm-up run; the tables are made of them",
                          static_cast<std::int64_t>(profile_.runs.size()));
      for (std::size_t run = 0; run < profile_.runs.size(); ++run) steady.push_back(run);
    }
    const stats::Fences fences = stats::TukeyFences(profile_.Totals(steady));
    for (const std::size_t run : steady) {
      profile_.runs[run].in_common_set = fences.Contains(static_cast<double>(profile_.runs[run].total));
    }
  }

  void AddMetadata() {
    for (const auto& [event, metadata] : trace_.metadata) {
      const delegates::Delegate* const delegate = delegates::FindDelegate(metadata.backend);
      std::string text = delegate != nullptr && delegate->metadata != nullptr
                             ? delegate->metadata(metadata.first)
                             : metadata.first;
      if (metadata.size > metadata.first.size() || EscapeLines(text) != text) text.clear();
      profile_.metadata.push_back({metadata.backend, event.second, event.first, metadata.events,
                                   metadata.size, std::move(text), metadata.varies});
    }
  }

  // Collects the values that delegates report in the steady (or common) runs.
  void AddReportedValues() {
    std::vector<std::uint32_t> described_numbers;  // RunLocation::number
    for (const std::size_t run : profile_.SteadyOrCommonRuns())
      described_numbers.push_back(locations_[run].number);
    for (const Trace::ReportedValues& reported : trace_.reported) {
      std::vector<double> values;
      for (std::size_t i = 0; i < reported.run.size(); ++i) {
        if (std::ranges::binary_search(described_numbers, reported.run[i]))
          values.push_back(static_cast<double>(reported.value[i]));
      }
      if (values.empty()) continue;
      profile_.reported.push_back({reported.backend, reported.name, reported.kind, reported.unit,
                                   reported.instruction, stats::Summarize(values)});
    }
  }

  struct DisorderedRun {
    std::size_t index;
    std::vector<Nanoseconds> duration, self;
  };

  const Trace& trace_;
  const Runs& runs_;
  const AttributeOptions& options_;
  Profile profile_;
  std::vector<RunLocation> locations_;
  std::vector<std::optional<OrderedTree>> ordered_trees_;      // indexed by variant
  std::vector<std::uint8_t> ordered_;                          // indexed by run
  std::vector<std::vector<Tree>> trees_;                       // indexed by variant
  std::vector<std::optional<std::uint32_t>> ordered_layouts_;  // indexed by variant, for ordered runs
  std::vector<DisorderedRun> disordered_runs_;
  SpanTree tree_;
  std::map<OperatorKey, std::int32_t> by_key_;
  bool renamed_ = false;  // whether the layout that is being added has another name for a known operator
  std::set<std::uint32_t> renaming_variants_;
  std::vector<std::uint8_t> has_children_;      // indexed by operator
  std::map<std::size_t, NameId> call_backend_;  // keyed by operator, for DELEGATE_CALLs
};

// Splits runs so that each place of a program has one operator in each part. A program does not change, so
// other operators are those of another method. Operators that only the first run of a process has are no
// method.
std::vector<std::vector<RunLocation>> SplitByNames(const Trace& trace, const Runs& runs,
                                                   const AttributeOptions& options) {
  constexpr std::size_t kMaxParts = 8;
  std::vector<std::vector<RunLocation>> parts;
  std::vector<RunLocation> remaining = runs.locations;
  while (parts.size() + 1 < kMaxParts) {
    Attributor attributor(trace, runs, options);
    attributor.Run(remaining);
    std::vector<RunLocation> same, renamed;
    for (const RunLocation& location : remaining)
      (attributor.renaming_variants().contains(location.variant) ? renamed : same).push_back(location);
    if (renamed.empty() || std::ranges::all_of(same, &RunLocation::is_first)) break;
    parts.push_back(std::move(same));
    remaining = std::move(renamed);
  }
  parts.push_back(std::move(remaining));
  return parts;
}

}  // namespace

std::vector<std::string> OperatorKeys(const Profile& profile, const std::vector<std::size_t>& operators) {
  return MapEach(operators, [&](std::size_t op) { return KeyText(profile.operators[op].key); });
}

std::string KeyText(const OperatorKey& key) {
  return protocol::OperatorPlace{key.chain, key.instruction, std::string(SpanKindName(key.kind)), key.ordinal,
                                 key.occurrence}
      .KeyText(key.method);
}

std::vector<std::size_t> Profile::RunsInPhase(Phase phase) const {
  return IndicesWhere(runs, [&](const ProfiledRun& run) { return run.label.phase == phase; });
}

std::vector<std::size_t> Profile::CommonSet() const {
  return IndicesWhere(runs, &ProfiledRun::in_common_set);
}

std::vector<double> Profile::Totals(const std::vector<std::size_t>& run_indices) const {
  return MapEach(run_indices, [&](std::size_t run) { return static_cast<double>(runs[run].total); });
}

std::vector<std::size_t> Profile::SteadyOrCommonRuns() const {
  std::vector<std::size_t> steady = RunsInPhase(Phase::kSteady);
  return steady.empty() ? CommonSet() : steady;
}

Profile Attribute(const Trace& trace, const AttributeOptions& options) {
  const Runs runs = FindRuns(trace);
  return Attributor(trace, runs, options).Run(runs.locations);
}

std::vector<Profile> AttributeMethods(const Trace& trace, const AttributeOptions& options) {
  Runs runs = FindRuns(trace);
  std::map<std::uint32_t, std::size_t> method_of_variant;  // variant -> index into `methods`
  std::vector<std::vector<RunLocation>> methods;
  // With one Method::init, other methods may have been loaded before the file began.
  const bool single_method = !options.labels.empty() || runs.init_count < 2;
  for (const RunLocation& location : runs.locations) {
    const auto [entry, is_new] =
        method_of_variant.try_emplace(single_method ? 0 : location.variant, methods.size());
    if (is_new) methods.emplace_back();
    methods[entry->second].push_back(location);
  }
  // Processes that initialize one method each, and run it, need no warning.
  if (!single_method && methods.size() == 1 &&
      runs.init_count > std::ranges::count(runs.locations, true, &RunLocation::is_first)) {
    runs.health.Add(
        "methods_alike", HealthEntry::Severity::kDataLoss,
        "methods were initialized, and all runs look alike: if they are of different ones, the tables mix "
        "them",
        runs.init_count);
  }
  if (methods.empty()) methods.emplace_back();
  if (methods.size() == 1 && single_method && options.labels.empty()) {
    Attributor attributor(trace, runs, options);
    Profile profile = attributor.Run(methods.front());
    if (attributor.renaming_variants().empty()) {
      std::vector<Profile> single;
      single.push_back(std::move(profile));
      return single;
    }
    methods = SplitByNames(trace, runs, options);
  }
  std::vector<Profile> profiles;
  for (std::size_t method = 0; method < methods.size(); ++method) {
    AttributeOptions method_options = options;
    if (methods.size() > 1) method_options.method = fmt::format("method {}", method + 1);
    profiles.push_back(Attributor(trace, runs, method_options).Run(methods[method]));
  }
  return profiles;
}

}  // namespace etprof
