#include "analysis/host_time.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "delegates/delegate.h"

namespace etprof {
namespace {

class HostTimeKeeper {
 public:
  HostTimeKeeper(Trace& trace, const BackendOf& backend_of) : trace_(trace), backend_of_(backend_of) {}

  void Run() {
    starts_.resize(trace_.layouts.size());
    for (const Trace::Block& block : trace_.blocks) starts_[block.layout].push_back(block.first_event);
    // A backend whose events are in another unit anywhere is not believed elsewhere: the first pass finds it.
    for (const bool looking : {true, false}) {
      looking_ = looking;
      plans_.clear();
      for (std::size_t layout = 0; layout < trace_.layouts.size(); ++layout) plans_.push_back(PlanOf(layout));
    }
    const bool all_host = std::ranges::all_of(plans_, [](const Plan& plan) { return plan.series.empty(); });
    if (all_host) return;
    MoveEvents();
    for (std::size_t i = 0; i < plans_.size(); ++i) Shrink(trace_.layouts[i], plans_[i]);
  }

 private:
  // What becomes of a layout's events.
  struct Plan {
    std::vector<std::int32_t> series;  // by event: in Trace::reported; kHost, kNoRun. Empty: all are kHost
    std::uint32_t runs = 0;            // complete ones
    std::vector<std::uint32_t> run;    // by event: complete runs before it
  };
  static constexpr std::size_t kMaxSampledRuns = 64;  // of a layout, to compare durations
  static constexpr std::int32_t kHost = -1;
  static constexpr std::int32_t kNoRun = -2;  // no host time, and in no complete run

  // A place of the program, and which of the events there that are called alike.
  using Place = std::tuple<NameId, NameId, ValueKind, std::int32_t, std::int32_t, std::int32_t>;

  Plan PlanOf(std::size_t index) {
    Trace::Layout& layout = trace_.layouts[index];
    Plan plan;
    layout.backend.assign(layout.size(), kNoName);
    plan.run.resize(layout.size());
    ordinals_.clear();
    pending_.clear();
    for (std::size_t event = 0; event < layout.size(); ++event) {
      plan.run[event] = plan.runs;
      if (layout.source[event] == Trace::Source::kFramework && IsDelegatesOwn(layout.name[event]))
        layout.source[event] = Trace::Source::kDelegate;
      if (layout.source[event] == Trace::Source::kDelegate) {
        pending_.push_back(event);
        continue;
      }
      const std::string& name = trace_.NameOf(layout, event);
      if (name == "DELEGATE_CALL") {
        layout.backend[event] = Decide(index, event, plan);
      } else {
        Decide(index, layout.size(), plan);
      }
      if (name == "Method::execute") {
        ++plan.runs;
        ordinals_.clear();
      }
    }
    Decide(index, layout.size(), plan);
    for (std::size_t event = 0; event < plan.series.size(); ++event) {
      if (plan.series[event] != kHost && plan.run[event] == plan.runs) plan.series[event] = kNoRun;
    }
    return plan;
  }

  // Whose the pending events are, which end with the call (or are in none): its backend, by name.
  NameId Decide(std::size_t index, std::size_t call, Plan& plan) {
    Trace::Layout& layout = trace_.layouts[index];
    const std::size_t of = pending_.empty() ? call : pending_.front();
    if (of >= layout.size()) return kNoName;
    std::string backend = backend_of_ ? backend_of_(layout.chain[of], layout.instruction[of]) : "";
    const delegates::Delegate* delegate = delegates::OfBackend(backend);
    if ((backend.empty() || delegate != nullptr) && !pending_.empty()) {
      delegates::Evidence evidence;
      for (const std::size_t event : pending_) evidence.Add(WritersOf(layout, event));
      if (delegate == nullptr || !evidence.MayBeOf(*delegate)) {
        delegate = evidence.Owner();
        if (!backend.empty()) NoteAnother(backend, trace_.NameOf(layout, pending_.front()));
        backend = delegate == nullptr ? "" : delegate->backend;
      }
    }
    if (backend.empty() && pending_.empty()) return kNoName;
    // Which the program names: events whose writer is not known could be estimates of one that etprof knows.
    const bool unregistered = delegate == nullptr && !backend.empty();
    const NameId id = trace_.names.Intern(backend);
    if (looking_) {
      if (HostTimesOutlast(delegate, index, call)) of_another_unit_.insert(id);
      if (unregistered) {
        for (const std::size_t event : pending_)
          if (!LiesInCall(index, event, call)) outside_call_.insert(PlaceOf(layout, event, id));
      }
      pending_.clear();
      return id;
    }
    const bool another_unit = of_another_unit_.contains(id);
    for (const std::size_t event : pending_) {
      const delegates::Reading& reading = Read(delegate, layout, event, event == pending_.back());
      layout.backend[event] = id;
      if (Trace::Metadata* const metadata = MetadataOf(layout, event)) metadata->backend = backend;
      const bool host = reading.kind == ValueKind::kHostTime;
      if (host && !another_unit) continue;
      if (unregistered && !outside_call_.contains(PlaceOf(layout, event, id))) {
        NoteUnregistered(backend, trace_.NameOf(layout, event));
        continue;
      }
      if (host) NoteAnotherUnit(backend, trace_.NameOf(layout, event));
      if (delegate == nullptr) NoteUnknown(backend, trace_.NameOf(layout, event));
      plan.series.resize(layout.size(), kHost);
      plan.series[event] = host ? SeriesOf(layout, event, id, {ValueKind::kDeviceTime, {}, reading.name})
                                : SeriesOf(layout, event, id, reading);
    }
    pending_.clear();
    return id;
  }

  // Whether one of the pending events that are host times takes longer than the call that it is in, in most
  // runs: by half, since the clocks of both may be coarse.
  bool HostTimesOutlast(const delegates::Delegate* delegate, std::size_t index, std::size_t call) {
    const Trace::Layout& layout = trace_.layouts[index];
    if (call >= layout.size()) return false;
    std::vector<std::size_t> timed;
    std::ranges::copy_if(pending_, std::back_inserter(timed), [&](std::size_t event) {
      return Read(delegate, layout, event, event == pending_.back()).kind == ValueKind::kHostTime;
    });
    const std::vector<std::size_t>& starts = starts_[index];
    const std::size_t step = starts.size() / kMaxSampledRuns + 1;
    std::size_t longer = 0, runs = 0;
    for (std::size_t block = 0; block < starts.size(); block += step, ++runs) {
      const auto duration = [&](std::size_t event) {
        return static_cast<double>(trace_.end[starts[block] + event]) -
               static_cast<double>(trace_.start[starts[block] + event]);
      };
      const double limit = 1.5 * duration(call);
      longer += std::ranges::any_of(timed, [&](std::size_t event) { return duration(event) > limit; });
    }
    return 2 * longer > runs;
  }

  using EventPlace = std::tuple<NameId, std::int32_t, std::int32_t, NameId>;
  static EventPlace PlaceOf(const Trace::Layout& layout, std::size_t event, NameId backend) {
    return {backend, layout.chain[event], layout.instruction[event], layout.name[event]};
  }

  // Whether an event begins and ends within its call, in every run of the layout: what is no time of the
  // host's clock does not, since that clock counts from the start of the machine.
  bool LiesInCall(std::size_t index, std::size_t event, std::size_t call) const {
    if (call >= trace_.layouts[index].size()) return false;
    return std::ranges::all_of(starts_[index], [&](std::size_t start) {
      return trace_.start[start + call] <= trace_.start[start + event] &&
             trace_.start[start + event] <= trace_.end[start + event] &&
             trace_.end[start + event] <= trace_.end[start + call];
    });
  }

  bool IsDelegatesOwn(NameId name) {
    const auto [known, is_new] = own_.try_emplace(name);
    if (is_new) known->second = delegates::IsDelegatesOwn(trace_.names.Text(name));
    return known->second;
  }

  delegates::Event EventOf(const Trace::Layout& layout, std::size_t event, bool last) const {
    const Trace::Metadata* const metadata = MetadataOf(layout, event);
    return {trace_.NameOf(layout, event), layout.delegate_id[event] != -1, last,
            metadata == nullptr ? std::string_view() : metadata->first};
  }

  Trace::Metadata* MetadataOf(const Trace::Layout& layout, std::size_t event) const {
    if (trace_.metadata.empty()) return nullptr;
    const auto found = trace_.metadata.find({layout.instruction[event], trace_.NameOf(layout, event)});
    return found == trace_.metadata.end() ? nullptr : &found->second;
  }

  delegates::Writers WritersOf(const Trace::Layout& layout, std::size_t event) {
    const auto [known, is_new] = writers_.try_emplace(
        {layout.name[event], layout.delegate_id[event] != -1, layout.instruction[event]});
    if (is_new) known->second = delegates::WritersOf(EventOf(layout, event, false));
    return known->second;
  }

  const delegates::Reading& Read(const delegates::Delegate* delegate, const Trace::Layout& layout,
                                 std::size_t event, bool last) {
    const auto [known, is_new] =
        readings_.try_emplace({delegate, layout.name[event], layout.delegate_id[event] != -1, last});
    if (is_new) known->second = delegates::Read(delegate, EventOf(layout, event, last));
    return known->second;
  }

  std::int32_t SeriesOf(const Trace::Layout& layout, std::size_t event, NameId backend,
                        const delegates::Reading& reading) {
    const std::int32_t chain = layout.chain[event], instruction = layout.instruction[event];
    const NameId name = layout.name[event];
    const std::int32_t ordinal = ordinals_[{chain, instruction, name}]++;
    const auto [known, is_new] =
        series_.try_emplace({backend, name, reading.kind, chain, instruction, ordinal},
                            static_cast<std::int32_t>(trace_.reported.size()));
    if (is_new) {
      trace_.reported.push_back({trace_.names.Text(backend),
                                 reading.name,
                                 reading.kind,
                                 std::string(reading.unit),
                                 chain,
                                 instruction,
                                 {},
                                 {}});
    }
    return known->second;
  }

  void NoteUnknown(const std::string& backend, const std::string& event) {
    trace_.health.Add("delegate_unknown", HealthEntry::Severity::kInfo,
                      "what the events of a delegate count is not known: they are listed as it wrote them, "
                      "and are part of no time",
                      1, (backend.empty() ? "" : backend + ": ") + event);
  }

  void NoteUnregistered(const std::string& backend, const std::string& event) {
    trace_.health.Add("delegate_unregistered", HealthEntry::Severity::kInfo,
                      "events of a delegate that etprof does not know begin and end within their calls: they "
                      "count as times of the host's clock",
                      1, backend + ": " + event);
  }

  void NoteAnotherUnit(const std::string& backend, const std::string& event) {
    trace_.health.Add("delegate_unit", HealthEntry::Severity::kError,
                      "events of a delegate last longer than the calls that they are in: their unit is not "
                      "that of the framework's events. They are listed as the file has them, and are part of "
                      "no time. `--delegate-time-scale` states their tick",
                      1, backend + ": " + event);
  }

  void NoteAnother(const std::string& backend, const std::string& event) {
    if (looking_) return;
    trace_.health.Add("delegate_differs", HealthEntry::Severity::kError,
                      "events that the program's delegate does not write: the program is not the one that "
                      "ran, and the events are read without it",
                      1, backend + ": " + event);
  }

  // Values are what the file has: no clock's factor is theirs.
  std::int64_t InTheFile(Nanoseconds value) const {
    if (trace_.delegate_nanoseconds_per_tick == 1.0) return value;
    return std::llround(static_cast<double>(value) / trace_.delegate_nanoseconds_per_tick);
  }

  void MoveEvents() {
    std::size_t to = 0;
    std::uint32_t runs = 0;
    for (Trace::Block& block : trace_.blocks) {
      const Plan& plan = plans_[block.layout];
      const std::size_t from = std::exchange(block.first_event, to);
      for (std::size_t event = 0; event < block.event_count; ++event) {
        const Nanoseconds start = trace_.start[from + event], end = trace_.end[from + event];
        const std::int32_t series = plan.series.empty() ? kHost : plan.series[event];
        if (series == kHost) {
          trace_.start[to] = start;
          trace_.end[to] = end;
          ++to;
        } else if (series >= 0 && start <= end) {
          Trace::Reported& reported = trace_.reported[static_cast<std::size_t>(series)];
          reported.run.push_back(runs + plan.run[event]);
          reported.value.push_back(InTheFile(end - start));
        }
      }
      block.event_count = static_cast<std::uint32_t>(to - block.first_event);
      runs += plan.runs;
    }
    trace_.start.resize(to);
    trace_.end.resize(to);
  }

  static void Shrink(Trace::Layout& layout, const Plan& plan) {
    if (plan.series.empty()) return;
    const auto keep = [&](auto& column) {
      std::size_t to = 0;
      for (std::size_t event = 0; event < column.size(); ++event) {
        if (plan.series[event] == kHost) column[to++] = column[event];
      }
      column.resize(to);
    };
    keep(layout.name);
    keep(layout.source);
    keep(layout.chain);
    keep(layout.instruction);
    keep(layout.delegate_id);
    keep(layout.backend);
  }

  Trace& trace_;
  const BackendOf& backend_of_;
  bool looking_ = false;  // for backends of another unit: nothing is noted nor moved
  std::set<NameId> of_another_unit_;
  std::set<EventPlace> outside_call_;             // events of unregistered delegates, in any run
  std::vector<std::vector<std::size_t>> starts_;  // by layout: the first events of its blocks
  std::vector<Plan> plans_;                       // by layout
  std::vector<std::size_t> pending_;              // events of a layout whose delegate is not decided yet
  std::map<std::tuple<std::int32_t, std::int32_t, NameId>, std::int32_t> ordinals_;  // in this run
  std::map<Place, std::int32_t> series_;
  // What is known of names.
  std::map<NameId, bool> own_;
  std::map<std::tuple<NameId, bool, std::int32_t>, delegates::Writers> writers_;  // at an instruction
  std::map<std::tuple<const delegates::Delegate*, NameId, bool, bool>, delegates::Reading> readings_;
};

}  // namespace

BackendOf BackendsOf(const Program& program, const std::string& method) {
  const bool named = MethodNamed(program, method) != nullptr;
  std::map<std::pair<std::int32_t, std::int32_t>, std::string> backends;  // "": methods differ
  for (const Method& one : program.methods) {
    if (named && one.name != method) continue;
    for (const Instruction& instruction : one.instructions) {
      if (instruction.kind != Instruction::Kind::kDelegate) continue;
      const std::string& backend = one.delegates[instruction.target].backend;
      const auto [known, is_new] = backends.try_emplace({instruction.chain, instruction.index}, backend);
      if (!is_new && known->second != backend) known->second.clear();
    }
  }
  return [backends = std::move(backends)](std::int32_t chain, std::int32_t instruction) {
    const auto found = backends.find({chain, instruction});
    return found == backends.end() ? "" : found->second;
  };
}

void KeepHostTime(Trace& trace, const BackendOf& backend_of) { HostTimeKeeper(trace, backend_of).Run(); }

}  // namespace etprof
