#include "profile/analysis/host_time.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "format/delegates/delegate.h"

namespace etprof {
namespace {

class HostTimeSeparator {
 public:
  HostTimeSeparator(Trace& trace, const BackendResolver& resolve_backend)
      : trace_(trace), resolve_backend_(resolve_backend) {}

  void Run() {
    starts_.resize(trace_.layouts.size());
    for (const Trace::Block& block : trace_.blocks) starts_[block.layout].push_back(block.first_event);
    // The first pass finds backends with events in another unit, since none of their events count as host
    // time.
    for (const bool is_scanning : {true, false}) {
      is_scanning_ = is_scanning;
      plans_.clear();
      for (std::size_t layout = 0; layout < trace_.layouts.size(); ++layout)
        plans_.push_back(PlanLayout(layout));
      for (const auto& [call, runs] : runs_by_call_) {
        if (2 * runs.longer > runs.all) other_unit_backends_.insert(std::get<NameId>(call));
      }
    }
    const bool is_all_host_time =
        std::ranges::all_of(plans_, [](const LayoutPlan& plan) { return plan.series.empty(); });
    if (is_all_host_time) return;
    MoveEvents();
    for (std::size_t i = 0; i < plans_.size(); ++i) RemoveMovedEvents(trace_.layouts[i], plans_[i]);
  }

 private:
  // The destination of each event of a layout.
  struct LayoutPlan {
    // Indexed by event: index into Trace::reported, kHost, or kNoRun. Empty: all kHost.
    std::vector<std::int32_t> series;
    std::uint32_t runs = 0;          // number of complete runs
    std::vector<std::uint32_t> run;  // indexed by event: number of complete runs before it
  };
  static constexpr std::size_t kMaxSampledRuns = 64;  // runs of a layout whose durations are compared
  static constexpr std::int32_t kHost = -1;
  static constexpr std::int32_t kNoRun = -2;  // not host time, and in no complete run

  // Backend, event name, kind, chain, instruction, and the ordinal among events of the same name.
  using SeriesKey = std::tuple<NameId, NameId, ValueKind, std::int32_t, std::int32_t, std::int32_t>;

  LayoutPlan PlanLayout(std::size_t index) {
    Trace::Layout& layout = trace_.layouts[index];
    LayoutPlan plan;
    layout.backend.assign(layout.size(), kNoName);
    plan.run.resize(layout.size());
    ordinals_.clear();
    pending_.clear();
    for (std::size_t event = 0; event < layout.size(); ++event) {
      plan.run[event] = plan.runs;
      if (layout.source[event] == Trace::Source::kFramework && IsDelegateEventName(layout.name[event]))
        layout.source[event] = Trace::Source::kDelegate;
      if (layout.source[event] == Trace::Source::kDelegate) {
        pending_.push_back(event);
        continue;
      }
      const std::string& name = trace_.GetName(layout, event);
      if (name == "DELEGATE_CALL") {
        layout.backend[event] = AssignPendingEvents(index, event, plan);
      } else {
        AssignPendingEvents(index, layout.size(), plan);
      }
      if (name == "Method::execute") {
        ++plan.runs;
        ordinals_.clear();
      }
    }
    AssignPendingEvents(index, layout.size(), plan);
    for (std::size_t event = 0; event < plan.series.size(); ++event) {
      if (plan.series[event] != kHost && plan.run[event] == plan.runs) plan.series[event] = kNoRun;
    }
    return plan;
  }

  // Finds the backend of the pending events, assigns them to it, and returns its name. `call` is the call
  // that contains the events; the number of events if there is no call.
  NameId AssignPendingEvents(std::size_t index, std::size_t call, LayoutPlan& plan) {
    Trace::Layout& layout = trace_.layouts[index];
    const std::size_t located_event = pending_.empty() ? call : pending_.front();
    if (located_event >= layout.size()) return kNoName;
    std::string backend =
        resolve_backend_ ? resolve_backend_(layout.chain[located_event], layout.instruction[located_event])
                         : "";
    const delegates::Delegate* delegate = delegates::FindDelegate(backend);
    if ((backend.empty() || delegate != nullptr) && !pending_.empty()) {
      delegates::Evidence evidence;
      for (const std::size_t event : pending_) evidence.Add(FindWriters(layout, event));
      if (delegate == nullptr || !evidence.MayBeWrittenBy(*delegate)) {
        delegate = evidence.Owner();
        if (!backend.empty()) ReportWrongDelegate(backend, trace_.GetName(layout, pending_.front()));
        backend = delegate == nullptr ? "" : delegate->backend;
      }
    }
    if (backend.empty() && pending_.empty()) return kNoName;
    // A delegate counts as unregistered only if the program names it: events of an unknown writer could be
    // estimates of a delegate that etprof knows.
    const bool is_unregistered = delegate == nullptr && !backend.empty();
    const NameId id = trace_.names.Intern(backend);
    if (is_scanning_) {
      CountLongerRuns(delegate, index, call, id);
      if (is_unregistered) {
        for (const std::size_t event : pending_)
          if (!LiesInCall(index, event, call)) outside_call_.insert(MakeEventPlace(layout, event, id));
      }
      pending_.clear();
      return id;
    }
    const bool has_other_unit = other_unit_backends_.contains(id);
    for (const std::size_t event : pending_) {
      const delegates::EventMeaning& meaning = Interpret(delegate, layout, event, event == pending_.back());
      layout.backend[event] = id;
      if (Trace::Metadata* const metadata = FindMetadata(layout, event)) metadata->backend = backend;
      const bool is_host_time = meaning.kind == ValueKind::kHostTime;
      if (is_host_time && !has_other_unit) continue;
      if (is_unregistered && !outside_call_.contains(MakeEventPlace(layout, event, id))) {
        ReportUnregisteredDelegate(backend, trace_.GetName(layout, event));
        continue;
      }
      if (is_host_time) ReportOtherUnit(backend, trace_.GetName(layout, event));
      if (delegate == nullptr) ReportUnknownDelegate(backend, trace_.GetName(layout, event));
      plan.series.resize(layout.size(), kHost);
      plan.series[event] =
          is_host_time ? FindOrAddSeries(layout, event, id, {ValueKind::kDeviceTime, {}, meaning.name})
                       : FindOrAddSeries(layout, event, id, meaning);
    }
    pending_.clear();
    return id;
  }

  // Counts the runs in which a pending event of host time is longer than its call, by at least half, since
  // both clocks may be coarse.
  void CountLongerRuns(const delegates::Delegate* delegate, std::size_t index, std::size_t call,
                       NameId backend) {
    const Trace::Layout& layout = trace_.layouts[index];
    if (call >= layout.size()) return;
    std::vector<std::size_t> timed_events;
    std::ranges::copy_if(pending_, std::back_inserter(timed_events), [&](std::size_t event) {
      return Interpret(delegate, layout, event, event == pending_.back()).kind == ValueKind::kHostTime;
    });
    if (timed_events.empty()) return;
    CallRuns& runs = runs_by_call_[{backend, layout.chain[call], layout.instruction[call]}];
    const std::vector<std::size_t>& starts = starts_[index];
    const std::size_t step = starts.size() / kMaxSampledRuns + 1;
    for (std::size_t block = 0; block < starts.size(); block += step, ++runs.all) {
      const auto duration = [&](std::size_t event) {
        return static_cast<double>(trace_.end[starts[block] + event]) -
               static_cast<double>(trace_.start[starts[block] + event]);
      };
      const double limit = 1.5 * duration(call);
      runs.longer +=
          std::ranges::any_of(timed_events, [&](std::size_t event) { return duration(event) > limit; });
    }
  }

  using EventPlace = std::tuple<NameId, std::int32_t, std::int32_t, NameId>;
  static EventPlace MakeEventPlace(const Trace::Layout& layout, std::size_t event, NameId backend) {
    return {backend, layout.chain[event], layout.instruction[event], layout.name[event]};
  }

  // Returns whether an event begins and ends within its call in every run of the layout. Values that are not
  // host times do not, since the host clock counts from the start of the machine.
  bool LiesInCall(std::size_t index, std::size_t event, std::size_t call) const {
    if (call >= trace_.layouts[index].size()) return false;
    return std::ranges::all_of(starts_[index], [&](std::size_t start) {
      return trace_.start[start + call] <= trace_.start[start + event] &&
             trace_.start[start + event] <= trace_.end[start + event] &&
             trace_.end[start + event] <= trace_.end[start + call];
    });
  }

  bool IsDelegateEventName(NameId name) {
    const auto [entry, is_new] = is_delegate_name_.try_emplace(name);
    if (is_new) entry->second = delegates::IsDelegateEventName(trace_.names.Text(name));
    return entry->second;
  }

  delegates::Event MakeEvent(const Trace::Layout& layout, std::size_t event, bool last) const {
    const Trace::Metadata* const metadata = FindMetadata(layout, event);
    return {trace_.GetName(layout, event), layout.delegate_id[event] != -1, last,
            metadata == nullptr ? std::string_view() : metadata->first};
  }

  Trace::Metadata* FindMetadata(const Trace::Layout& layout, std::size_t event) const {
    if (trace_.metadata.empty()) return nullptr;
    const auto found = trace_.metadata.find({layout.instruction[event], trace_.GetName(layout, event)});
    return found == trace_.metadata.end() ? nullptr : &found->second;
  }

  delegates::Writers FindWriters(const Trace::Layout& layout, std::size_t event) {
    const auto [entry, is_new] = writers_.try_emplace(
        {layout.name[event], layout.delegate_id[event] != -1, layout.instruction[event]});
    if (is_new) entry->second = delegates::PossibleWriters(MakeEvent(layout, event, false));
    return entry->second;
  }

  const delegates::EventMeaning& Interpret(const delegates::Delegate* delegate, const Trace::Layout& layout,
                                           std::size_t event, bool last) {
    const auto [entry, is_new] =
        meanings_.try_emplace({delegate, layout.name[event], layout.delegate_id[event] != -1, last});
    if (is_new) entry->second = delegates::Interpret(delegate, MakeEvent(layout, event, last));
    return entry->second;
  }

  std::int32_t FindOrAddSeries(const Trace::Layout& layout, std::size_t event, NameId backend,
                               const delegates::EventMeaning& meaning) {
    const std::int32_t chain = layout.chain[event], instruction = layout.instruction[event];
    const NameId name = layout.name[event];
    const std::int32_t ordinal = ordinals_[{chain, instruction, name}]++;
    const auto [entry, is_new] =
        series_.try_emplace({backend, name, meaning.kind, chain, instruction, ordinal},
                            static_cast<std::int32_t>(trace_.reported.size()));
    if (is_new) {
      trace_.reported.push_back({trace_.names.Text(backend),
                                 meaning.name,
                                 meaning.kind,
                                 std::string(meaning.unit),
                                 chain,
                                 instruction,
                                 {},
                                 {}});
    }
    return entry->second;
  }

  void ReportUnknownDelegate(const std::string& backend, const std::string& event) {
    trace_.health.Add("delegate_unknown", HealthEntry::Severity::kInfo,
                      "what the events of a delegate count is not known: they are listed as it wrote them, "
                      "and are part of no time",
                      1, (backend.empty() ? "" : backend + ": ") + event);
  }

  void ReportUnregisteredDelegate(const std::string& backend, const std::string& event) {
    trace_.health.Add("delegate_unregistered", HealthEntry::Severity::kInfo,
                      "events of a delegate that etprof does not know begin and end within their calls: they "
                      "count as times of the host's clock",
                      1, backend + ": " + event);
  }

  void ReportOtherUnit(const std::string& backend, const std::string& event) {
    trace_.health.Add("delegate_unit", HealthEntry::Severity::kError,
                      "events of a delegate last longer than the calls that they are in: their unit is not "
                      "that of the framework's events. They are listed as the file has them, and are part of "
                      "no time. `--delegate-time-scale` states their tick",
                      1, backend + ": " + event);
  }

  void ReportWrongDelegate(const std::string& backend, const std::string& event) {
    if (is_scanning_) return;
    trace_.health.Add("delegate_differs", HealthEntry::Severity::kError,
                      "events that the program's delegate does not write: the program is not the one that "
                      "ran, and the events are read without it",
                      1, backend + ": " + event);
  }

  // The value as recorded in the file, without the clock's scale.
  std::int64_t UnscaledValue(Nanoseconds value) const {
    if (trace_.delegate_nanoseconds_per_tick == 1.0) return value;
    return std::llround(static_cast<double>(value) / trace_.delegate_nanoseconds_per_tick);
  }

  void MoveEvents() {
    std::size_t to = 0;
    std::uint32_t runs = 0;
    for (Trace::Block& block : trace_.blocks) {
      const LayoutPlan& plan = plans_[block.layout];
      const std::size_t from = std::exchange(block.first_event, to);
      for (std::size_t event = 0; event < block.event_count; ++event) {
        const Nanoseconds start = trace_.start[from + event], end = trace_.end[from + event];
        const std::int32_t series = plan.series.empty() ? kHost : plan.series[event];
        if (series == kHost) {
          trace_.start[to] = start;
          trace_.end[to] = end;
          ++to;
        } else if (series >= 0 && start <= end) {
          Trace::ReportedValues& reported = trace_.reported[static_cast<std::size_t>(series)];
          reported.run.push_back(runs + plan.run[event]);
          reported.value.push_back(UnscaledValue(end - start));
        }
      }
      block.event_count = static_cast<std::uint32_t>(to - block.first_event);
      runs += plan.runs;
    }
    trace_.start.resize(to);
    trace_.end.resize(to);
  }

  static void RemoveMovedEvents(Trace::Layout& layout, const LayoutPlan& plan) {
    if (plan.series.empty()) return;
    const auto remove_moved = [&](auto& column) {
      std::size_t to = 0;
      for (std::size_t event = 0; event < column.size(); ++event) {
        if (plan.series[event] == kHost) column[to++] = column[event];
      }
      column.resize(to);
    };
    remove_moved(layout.name);
    remove_moved(layout.source);
    remove_moved(layout.chain);
    remove_moved(layout.instruction);
    remove_moved(layout.delegate_id);
    remove_moved(layout.backend);
  }

  Trace& trace_;
  const BackendResolver& resolve_backend_;
  bool is_scanning_ = false;  // in the first pass, nothing is reported or moved
  // Runs of a delegate call, and those in which it has an event that is longer than the call. A few such runs
  // may be errors of a clock; if most are, the events have another unit. Keyed by backend, chain, and
  // instruction.
  struct CallRuns {
    std::size_t longer = 0, all = 0;
  };
  std::map<std::tuple<NameId, std::int32_t, std::int32_t>, CallRuns> runs_by_call_;
  std::set<NameId> other_unit_backends_;
  std::set<EventPlace> outside_call_;             // events of unregistered delegates outside of their call
  std::vector<std::vector<std::size_t>> starts_;  // indexed by layout: the first events of its blocks
  std::vector<LayoutPlan> plans_;                 // indexed by layout
  std::vector<std::size_t> pending_;              // events of a layout whose delegate is not yet known
  std::map<std::tuple<std::int32_t, std::int32_t, NameId>, std::int32_t> ordinals_;  // events so far
  std::map<SeriesKey, std::int32_t> series_;
  // Caches by event name and further properties of an event.
  std::map<NameId, bool> is_delegate_name_;
  std::map<std::tuple<NameId, bool, std::int32_t>, delegates::Writers> writers_;
  std::map<std::tuple<const delegates::Delegate*, NameId, bool, bool>, delegates::EventMeaning> meanings_;
};

}  // namespace

BackendResolver MakeBackendResolver(const Program& program, const std::string& method) {
  const bool named = FindMethod(program, method) != nullptr;
  std::map<std::pair<std::int32_t, std::int32_t>, std::string> backends;  // "": methods differ
  for (const Method& program_method : program.methods) {
    if (named && program_method.name != method) continue;
    for (const Instruction& instruction : program_method.instructions) {
      if (instruction.kind != Instruction::Kind::kDelegate) continue;
      const std::string& backend = program_method.delegates[instruction.target].backend;
      const auto [entry, is_new] = backends.try_emplace({instruction.chain, instruction.index}, backend);
      if (!is_new && entry->second != backend) entry->second.clear();
    }
  }
  return [backends = std::move(backends)](std::int32_t chain, std::int32_t instruction) {
    const auto found = backends.find({chain, instruction});
    return found == backends.end() ? "" : found->second;
  };
}

void SeparateHostTime(Trace& trace, const BackendResolver& resolve_backend) {
  HostTimeSeparator(trace, resolve_backend).Run();
}

}  // namespace etprof
