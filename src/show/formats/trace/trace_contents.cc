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
#include "report/kernels/watched.h"
#include "show/formats/trace/trace_writer.h"

namespace etprof {
namespace {

bool HasClocks(const RunData& run) {
  return std::ranges::any_of(run.experiments, [](const ExperimentData& data) {
    return std::ranges::any_of(data.launches, [](const Launch& launch) { return launch.clocks.has_value(); });
  });
}

void AddIfKnown(std::vector<TraceArgument>& list, const std::string& name, const std::string& text) {
  if (!text.empty()) list.push_back({name, text});
}

// The facts about an operator that are the same in every run.
std::vector<TraceArgument> OperatorFacts(const Profile& profile, std::size_t index, bool on_arm) {
  const Operator& op = profile.operators[index];
  std::vector<TraceArgument> facts;
  AddIfKnown(facts, "kind", std::string(SpanKindName(op.key.kind)));
  if (op.key.kind == SpanKind::kBackend || op.key.kind == SpanKind::kKernel)
    AddIfKnown(facts, "kernel", op.type);
  AddIfKnown(facts, "backend", op.backend);
  AddIfKnown(facts, "category", std::string(op.category.name));
  AddIfKnown(facts, "group", std::string(OperatorGroupName(op.category.group)));
  AddIfKnown(facts, "node_id", KeyText(op.key));
  if (op.key.instruction >= 0) facts.push_back({"instruction", std::int64_t{op.key.instruction}});
  if (!profile.program) return facts;
  const OperatorSource& source = profile.program->operators[index];
  if (const auto layer = ModulePath(*profile.program, index))
    AddIfKnown(facts, "layer", layer->empty() ? "(model)" : *layer);
  AddIfKnown(facts, "source", SourceLine(*profile.program, index).value_or(""));
  AddIfKnown(facts, "shape", FormatTensors(source.tensors));
  if (source.work.macs) facts.push_back({"macs", *source.work.macs});
  if (source.work.bytes) facts.push_back({"bytes", *source.work.bytes});
  if (source.kleidiai && on_arm) AddIfKnown(facts, "matrix_kernels", GetName(source.kleidiai->kernels));
  return facts;
}

class ExperimentWriter {
 public:
  ExperimentWriter(const RunData& run, const ExperimentData& data, const Trace& trace, const Profile& profile,
                   TraceWriter& writer)
      : run_(run), data_(data), trace_(trace), profile_(profile), writer_(writer) {
    on_arm_ = RanOnArm(profile, data.isa_state);
    if (!HasClocks(run)) origin_ = EarliestTime();
    process_ = writer.AddProcess(data.LabelOrName());
  }

  std::size_t Write(const TraceSelection& selection, const std::function<void()>& before_each_run) {
    for (const Launch& launch : data_.launches) {
      if (launch.clocks) writer_.AlignClocks(*launch.clocks);
    }
    const std::vector<std::size_t> runs = SelectRuns(selection);
    WriteRuns(runs, before_each_run);
    if (selection.runs == TraceSelection::Runs::kAll) {
      WriteOutsideRuns();
      WriteBursts();
    }
    if (selection.runs != TraceSelection::Runs::kSingle && data_.watch != nullptr &&
        data_.watch->reply.timeline)
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

  std::vector<std::size_t> SelectRuns(const TraceSelection& selection) const {
    std::vector<std::size_t> runs;
    switch (selection.runs) {
      case TraceSelection::Runs::kAll:
        for (std::size_t i = 0; i < profile_.runs.size(); ++i) runs.push_back(i);
        break;
      case TraceSelection::Runs::kMedian:
        if (const auto median = MedianRun(profile_)) runs.push_back(*median);
        break;
      case TraceSelection::Runs::kSingle:
        if (selection.index >= profile_.runs.size()) {
          throw Error(ExitCode::kUsage,
                      fmt::format("run {} is not in the trace of {}, which has {} (counted from 0)",
                                  selection.index, data_.LabelOrName(), profile_.runs.size()));
        }
        runs.push_back(selection.index);
    }
    return runs;
  }

  void WriteRuns(const std::vector<std::size_t>& runs, const std::function<void()>& before_each) {
    if (runs.empty()) return;
    std::vector<TraceWriter::SliceKindId> kind_ids;
    for (std::size_t op = 0; op < profile_.operators.size(); ++op) kind_ids.push_back(AddOperatorKind(op));
    const TrackId thread = writer_.AddThread(process_, run_.method);
    const TrackId latency = writer_.AddCounter(process_, "traced latency", "ms");
    SpanPlacer placer(trace_, profile_);
    std::vector<PlacedSpan> spans;
    std::vector<TraceArgument> arguments;
    for (const std::size_t index : runs) {
      before_each();
      placer.Place(index, spans);
      const ProfiledRun& run = profile_.runs[index];
      for (const PlacedSpan& span : spans) {
        arguments.clear();
        if (span.depth == 0) {
          arguments = {{"run", static_cast<std::int64_t>(index)},
                       {"phase", std::string(GetName(run.label.phase))},
                       {"launch", std::int64_t{run.label.launch}},
                       {"round", std::int64_t{run.label.round}}};
        }
        if (!span.has_recorded_times) {
          arguments.push_back({"recorded_start_ns", trace_.start[span.event]});
          arguments.push_back({"recorded_end_ns", trace_.end[span.event]});
        }
        writer_.Slice(thread, span.depth, kind_ids[static_cast<std::size_t>(span.op)],
                      RelativeTime(span.start), RelativeTime(span.end), arguments);
      }
      if (!spans.empty())
        writer_.Value(latency, RelativeTime(spans.front().start), static_cast<double>(run.total) / 1e6);
    }
  }

  TraceWriter::SliceKindId AddOperatorKind(std::size_t op) {
    const Operator& profiled = profile_.operators[op];
    return writer_.AddSliceKind(profiled.name, std::string(profiled.category.name),
                                OperatorFacts(profile_, op, on_arm_));
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
    std::vector<Nanoseconds> open_ends;
    for (const Event& event : events) {
      while (!open_ends.empty() && open_ends.back() <= event.start) open_ends.pop_back();
      const Nanoseconds end = open_ends.empty() ? event.end : std::min(event.end, open_ends.back());
      const auto kind = writer_.AddSliceKind(trace_.names.Text(event.name), "outside runs", {});
      writer_.Slice(thread, static_cast<int>(open_ends.size()), kind, RelativeTime(event.start),
                    RelativeTime(end), {});
      open_ends.push_back(end);
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
        } else if (conditions != nullptr && conditions->vitals.HottestCelsius()) {
          value(temperature, "temperature", "°C", burst.start, *conditions->vitals.HottestCelsius());
        }
      }
    }
  }

  // Writes the watched run as a separate process. All tasks of a thread in an operator are one slice.
  void WriteWatched(const WatchData& watch, const protocol::WatchedTimeline& timeline) {
    const std::map<std::string, std::size_t> index = OperatorsByKey(profile_);
    std::map<std::size_t, TraceWriter::SliceKindId> kind_ids;
    const auto get_kind_id = [&](std::size_t op_index) {
      const auto cached = kind_ids.find(op_index);
      if (cached != kind_ids.end()) return cached->second;
      const protocol::WatchedOperator& op = watch.reply.operators[op_index];
      const std::string key = op.place.KeyText(watch.method);
      const auto found = index.find(key);
      const auto kind_id = found == index.end()
                               ? writer_.AddSliceKind(op.name, op.place.kind, {{"node_id", key}})
                               : AddOperatorKind(found->second);
      return kind_ids.emplace(op_index, kind_id).first->second;
    };
    const TrackId process = writer_.AddProcess(data_.LabelOrName() + ", watched");
    const TrackId method_thread = writer_.AddThread(process, watch.method);
    const auto to_time = [&](Nanoseconds offset) { return RelativeTime(timeline.begin_ns + offset); };
    const WatchSpans placed(timeline);
    for (const WatchSpans::Span& span : placed.spans)
      writer_.Slice(method_thread, static_cast<int>(span.depth), get_kind_id(span.op), to_time(span.begin),
                    to_time(span.end), {});
    for (std::int64_t thread = 0; thread < watch.reply.threads; ++thread) {
      const TrackId track =
          writer_.AddThread(process, thread == 0 ? "thread 0 (caller)" : fmt::format("thread {}", thread));
      for (const auto& [span, slice] : placed.slices) {
        if (slice->thread != thread) continue;
        writer_.Slice(track, 0, get_kind_id(placed.spans[span].op), to_time(slice->begin_ns),
                      to_time(slice->end_ns), {{"tasks", slice->tasks}, {"busy_ns", slice->busy_ns}});
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
  AddIfKnown(attributes, "etprof_version", etprof_version);
  AddIfKnown(attributes, "measured_by_etprof_version", run.etprof_version);
  AddIfKnown(attributes, "generated_at", run.generated_at);
  AddIfKnown(attributes, "model_id", run.model_id);
  AddIfKnown(attributes, "model_sha256", run.model_sha256);
  AddIfKnown(attributes, "method", run.method);
  AddIfKnown(attributes, "platform", run.platform);
  AddIfKnown(attributes, "config_hash", run.config_hash);
  if (run.device) {
    AddIfKnown(attributes, "device", run.device->name);
    AddIfKnown(attributes, "cpu_model", run.device->cpu_model);
    AddIfKnown(attributes, "topology", run.device->topology);
    attributes.push_back({"cores", std::int64_t{run.device->cores}});
    AddIfKnown(attributes, "os", run.device->os);
    AddIfKnown(attributes, "kernel", run.device->kernel);
    AddIfKnown(attributes, "virtualization", run.device->virtualization);
  }
  for (const ExperimentData& data : run.experiments) {
    const std::string& name = data.LabelOrName();
    if (data.threads > 0) attributes.push_back({name + ".threads", std::int64_t{data.threads}});
    AddIfKnown(attributes, name + ".isa", data.isa);
    AddIfKnown(attributes, name + ".cpus", data.cpus);
    AddIfKnown(attributes, name + ".executorch_version", data.executorch_version);
    AddIfKnown(attributes, name + ".runner_sha256", data.runner_sha256);
    if (data.emulated) AddIfKnown(attributes, name + ".emulated", "timings are not meaningful");
    if (data.trace_enabled)
      AddIfKnown(attributes, name + ".trace_enabled", "evidence of kernels, not of time");
  }
  writer.Attributes(attributes);
}

std::size_t WriteExperimentTrace(const RunData& run, const ExperimentData& data, const Trace& trace,
                                 const Profile& profile, const TraceSelection& selection,
                                 const std::function<void()>& before_each_run, TraceWriter& writer) {
  return ExperimentWriter(run, data, trace, profile, writer).Write(selection, before_each_run);
}

}  // namespace etprof
