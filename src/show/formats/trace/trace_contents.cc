#include "show/formats/trace/trace_contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "core/error.h"
#include "format/program/tensors.h"
#include "measure/store/watch.h"
#include "profile/analysis/placed_spans.h"
#include "profile/analysis/sampled_runs.h"
#include "report/kernels/matrix_kernels.h"
#include "report/kernels/placed_watch.h"

namespace etprof {
namespace {

bool HasClocks(const RunData& run) {
  return std::ranges::any_of(run.experiments, [](const ExperimentData& data) {
    return std::ranges::any_of(data.launches, [](const Launch& launch) { return launch.clocks.has_value(); });
  });
}

void Add(std::vector<TraceArgument>& list, const std::string& name, const std::string& text) {
  if (!text.empty()) list.push_back({name, text});
}

// The facts about an operator that are the same in every run.
std::vector<TraceArgument> OperatorFacts(const Profile& profile, std::size_t index, bool on_arm) {
  const Operator& op = profile.operators[index];
  std::vector<TraceArgument> facts;
  Add(facts, "kind", std::string(SpanKindName(op.key.kind)));
  if (op.key.kind == SpanKind::kBackend || op.key.kind == SpanKind::kKernel) Add(facts, "kernel", op.type);
  Add(facts, "backend", op.backend);
  Add(facts, "category", std::string(op.category.name));
  Add(facts, "group", std::string(GroupName(op.category.group)));
  Add(facts, "node_id", KeyText(op.key));
  if (op.key.instruction >= 0) facts.push_back({"instruction", std::int64_t{op.key.instruction}});
  if (!profile.program) return facts;
  const OperatorSource& source = profile.program->operators[index];
  if (const auto layer = ModulePath(*profile.program, index))
    Add(facts, "layer", layer->empty() ? "(model)" : *layer);
  Add(facts, "source", SourceLine(*profile.program, index).value_or(""));
  Add(facts, "shape", FormatTensors(source.tensors));
  if (source.work.macs) facts.push_back({"macs", *source.work.macs});
  if (source.work.bytes) facts.push_back({"bytes", *source.work.bytes});
  if (source.kleidiai && on_arm) Add(facts, "matrix_kernels", GetName(source.kleidiai->kernels));
  return facts;
}

class ExperimentWriter {
 public:
  ExperimentWriter(const RunData& run, const ExperimentData& data, const Trace& trace, const Profile& profile,
                   TraceWriter& writer)
      : run_(run), data_(data), trace_(trace), profile_(profile), writer_(writer) {
    on_arm_ = RanOnArm(profile, data.isa_state);
    if (!HasClocks(run)) origin_ = EarliestTime();
    process_ = writer.AddProcess(data.label.empty() ? data.name : data.label);
  }

  std::size_t Write(const TraceChoice& choice, const std::function<void()>& before_each_run) {
    for (const Launch& launch : data_.launches) {
      if (launch.clocks) writer_.AlignClocks(*launch.clocks);
    }
    const std::vector<std::size_t> runs = ChosenRuns(choice);
    WriteRuns(runs, before_each_run);
    if (choice.runs == TraceChoice::Runs::kAll) {
      WriteOutsideRuns();
      WriteBursts();
    }
    if (choice.runs != TraceChoice::Runs::kOne && data_.watch != nullptr && data_.watch->reply.timeline)
      WriteWatched(*data_.watch, *data_.watch->reply.timeline);
    return runs.size();
  }

 private:
  using TrackId = TraceWriter::TrackId;

  Nanoseconds EarliestTime() const {
    Nanoseconds earliest = std::numeric_limits<Nanoseconds>::max();
    for (const Nanoseconds start : trace_.start) earliest = std::min(earliest, start);
    for (const Launch& launch : data_.launches) {
      for (const Burst& burst : launch.bursts) {
        if (burst.start > 0) earliest = std::min(earliest, burst.start);
      }
    }
    return earliest;
  }

  // No format has times before 0.
  Nanoseconds RelativeTime(Nanoseconds time) const { return std::max<Nanoseconds>(0, time - origin_); }

  std::vector<std::size_t> ChosenRuns(const TraceChoice& choice) const {
    std::vector<std::size_t> runs;
    switch (choice.runs) {
      case TraceChoice::Runs::kAll:
        for (std::size_t i = 0; i < profile_.runs.size(); ++i) runs.push_back(i);
        break;
      case TraceChoice::Runs::kMedian:
        if (const auto median = MedianRun(profile_)) runs.push_back(*median);
        break;
      case TraceChoice::Runs::kOne:
        if (choice.index >= profile_.runs.size()) {
          throw Error(
              ExitCode::kUsage,
              fmt::format("run {} is not in the trace of {}, which has {} (counted from 0)", choice.index,
                          data_.label.empty() ? data_.name : data_.label, profile_.runs.size()));
        }
        runs.push_back(choice.index);
    }
    return runs;
  }

  void WriteRuns(const std::vector<std::size_t>& runs, const std::function<void()>& before_each) {
    if (runs.empty()) return;
    std::vector<TraceWriter::SliceId> slice_ids;
    for (std::size_t op = 0; op < profile_.operators.size(); ++op) slice_ids.push_back(DescribeOperator(op));
    const TrackId thread = writer_.AddThread(process_, run_.method);
    const TrackId latency = writer_.AddCounter(process_, "traced latency", "ms");
    SpanPlacer placer(trace_, profile_);
    std::vector<PlacedSpan> spans;
    std::vector<TraceArgument> more;
    for (const std::size_t index : runs) {
      before_each();
      placer.Place(index, spans);
      const ProfiledRun& run = profile_.runs[index];
      for (const PlacedSpan& span : spans) {
        more.clear();
        if (span.depth == 0) {
          more = {{"run", static_cast<std::int64_t>(index)},
                  {"phase", std::string(GetName(run.label.phase))},
                  {"launch", std::int64_t{run.label.launch}},
                  {"round", std::int64_t{run.label.round}}};
        }
        if (!span.as_recorded) {
          more.push_back({"recorded_start_ns", trace_.start[span.event]});
          more.push_back({"recorded_end_ns", trace_.end[span.event]});
        }
        writer_.Slice(thread, span.depth, slice_ids[static_cast<std::size_t>(span.op)],
                      RelativeTime(span.start), RelativeTime(span.end), more);
      }
      if (!spans.empty())
        writer_.Value(latency, RelativeTime(spans.front().start), static_cast<double>(run.total) / 1e6);
    }
  }

  TraceWriter::SliceId DescribeOperator(std::size_t op) {
    const Operator& own = profile_.operators[op];
    return writer_.Describe(own.name, std::string(own.category.name), OperatorFacts(profile_, op, on_arm_));
  }

  // Writes loading and runs that were cut off. Only their times determine how these events nest.
  void WriteOutsideRuns() {
    std::vector<std::uint8_t> in_run(trace_.event_count());
    for (const ProfiledRun& run : profile_.runs) {
      const std::size_t first = trace_.blocks[run.block].first_event + run.first_event;
      std::fill_n(in_run.begin() + static_cast<std::ptrdiff_t>(first), profile_.layouts[run.layout].size(),
                  std::uint8_t{1});
    }
    struct Event {
      NameId name;
      Nanoseconds start, end;
    };
    std::vector<Event> events;
    for (const Trace::Block& block : trace_.blocks) {
      const Trace::Layout& layout = trace_.GetLayout(block);
      for (std::size_t i = 0; i < layout.size(); ++i) {
        const std::size_t event = block.first_event + i;
        if (in_run[event] == 0)
          events.push_back(
              {layout.name[i], trace_.start[event], std::max(trace_.start[event], trace_.end[event])});
      }
    }
    if (events.empty()) return;
    std::ranges::stable_sort(events, [](const Event& a, const Event& b) {
      return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
    const TrackId thread = writer_.AddThread(process_, "outside runs");
    std::vector<Nanoseconds> open;
    for (const Event& event : events) {
      while (!open.empty() && open.back() <= event.start) open.pop_back();
      const Nanoseconds end = open.empty() ? event.end : std::min(event.end, open.back());
      const auto kind = writer_.Describe(trace_.names.Text(event.name), "outside runs", {});
      writer_.Slice(thread, static_cast<int>(open.size()), kind, RelativeTime(event.start), RelativeTime(end),
                    {});
      open.push_back(end);
    }
  }

  // Writes the conditions, which the worker reads at the end of a burst, or the device before its round.
  void WriteBursts() {
    std::optional<TrackId> median, frequency, temperature;
    const auto value = [&](std::optional<TrackId>& track, const char* name, const char* unit,
                           Nanoseconds time, double number) {
      if (!track) track = writer_.AddCounter(process_, name, unit);
      writer_.Value(*track, RelativeTime(time), number);
    };
    for (const Launch& launch : data_.launches) {
      for (const Burst& burst : launch.bursts) {
        if (burst.start <= 0) continue;
        if (const auto ns = burst.Median())
          value(median, "untraced latency, median of a burst", "ms", burst.start,
                static_cast<double>(*ns) / 1e6);
        if (burst.frequency_khz)
          value(frequency, "CPU frequency", "MHz", burst.end,
                static_cast<double>(*burst.frequency_khz) / 1e3);
        const RoundConditions* conditions = FindConditions(run_, launch.index, burst);
        if (burst.temperature_celsius) {
          value(temperature, "temperature", "°C", burst.end, *burst.temperature_celsius);
        } else if (conditions != nullptr && conditions->vitals.Hottest()) {
          value(temperature, "temperature", "°C", burst.start, *conditions->vitals.Hottest());
        }
      }
    }
  }

  // Writes the watched run as a separate process. All tasks of a thread in an operator are one slice.
  void WriteWatched(const WatchData& watch, const protocol::WatchedTimeline& timeline) {
    const std::map<std::string, std::size_t> index = OperatorsByKey(profile_);
    std::map<std::size_t, TraceWriter::SliceId> slice_ids;
    const auto kind_of = [&](std::size_t of) {
      const auto known = slice_ids.find(of);
      if (known != slice_ids.end()) return known->second;
      const protocol::WatchedOperator& op = watch.reply.operators[of];
      const std::string key = op.place.KeyText(watch.method);
      const auto found = index.find(key);
      const auto kind = found == index.end() ? writer_.Describe(op.name, op.place.kind, {{"node_id", key}})
                                             : DescribeOperator(found->second);
      return slice_ids.emplace(of, kind).first->second;
    };
    const TrackId process =
        writer_.AddProcess((data_.label.empty() ? data_.name : data_.label) + ", watched");
    const TrackId whole = writer_.AddThread(process, watch.method);
    const auto at = [&](Nanoseconds since_begin) { return RelativeTime(timeline.begin_ns + since_begin); };
    const PlacedWatch placed(timeline);
    for (const PlacedWatch::Span& span : placed.spans)
      writer_.Slice(whole, static_cast<int>(span.depth), kind_of(span.op), at(span.begin), at(span.end), {});
    for (std::int64_t thread = 0; thread < watch.reply.threads; ++thread) {
      const TrackId track =
          writer_.AddThread(process, thread == 0 ? "thread 0 (caller)" : fmt::format("thread {}", thread));
      for (const auto& [span, slice] : placed.slices) {
        if (slice->thread != thread) continue;
        writer_.Slice(track, 0, kind_of(placed.spans[span].op), at(slice->begin_ns), at(slice->end_ns),
                      {{"tasks", slice->tasks}, {"busy_ns", slice->busy_ns}});
      }
    }
  }

  const RunData& run_;
  const ExperimentData& data_;
  const Trace& trace_;
  const Profile& profile_;
  TraceWriter& writer_;
  TrackId process_ = 0;
  bool on_arm_ = false;
  Nanoseconds origin_ = 0;
};

}  // namespace

void WriteTraceAttributes(const RunData& run, const std::string& etprof_version, TraceWriter& writer) {
  std::vector<TraceArgument> attributes;
  Add(attributes, "etprof_version", etprof_version);
  Add(attributes, "measured_by_etprof_version", run.etprof_version);
  Add(attributes, "generated_at", run.generated_at);
  Add(attributes, "model_id", run.model_id);
  Add(attributes, "model_sha256", run.model_sha256);
  Add(attributes, "method", run.method);
  Add(attributes, "platform", run.platform);
  Add(attributes, "config_hash", run.config_hash);
  if (run.device) {
    Add(attributes, "device", run.device->name);
    Add(attributes, "cpu_model", run.device->cpu_model);
    Add(attributes, "topology", run.device->topology);
    attributes.push_back({"cores", std::int64_t{run.device->cores}});
    Add(attributes, "os", run.device->os);
    Add(attributes, "kernel", run.device->kernel);
    Add(attributes, "virtualization", run.device->virtualization);
  }
  for (const ExperimentData& data : run.experiments) {
    const std::string name = data.label.empty() ? data.name : data.label;
    attributes.push_back({name + ".threads", std::int64_t{data.threads}});
    Add(attributes, name + ".isa", data.isa);
    Add(attributes, name + ".cpus", data.cpus);
    Add(attributes, name + ".executorch_version", data.executorch_version);
    Add(attributes, name + ".runner_sha256", data.runner_sha256);
    if (data.emulated) Add(attributes, name + ".emulated", "timings are not meaningful");
    if (data.trace_enabled) Add(attributes, name + ".trace_enabled", "evidence of kernels, not of time");
  }
  writer.Attributes(attributes);
}

std::size_t WriteExperimentTrace(const RunData& run, const ExperimentData& data, const Trace& trace,
                                 const Profile& profile, const TraceChoice& choice,
                                 const std::function<void()>& before_each_run, TraceWriter& writer) {
  return ExperimentWriter(run, data, trace, profile, writer).Write(choice, before_each_run);
}

}  // namespace etprof
