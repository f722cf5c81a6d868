#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json_line.h"
#include "core/json/json_members.h"
#include "core/json/json_schema_of.h"
#include "core/views.h"
#include "measure/store/watch.h"
#include "profile/analysis/sampled_runs.h"
#include "report/kernels/watched.h"
#include "show/formats/json/json.h"

namespace etprof {
namespace {

// Interleaves the two times of each span.
std::vector<Nanoseconds> InterleaveTimes(const auto& first, const auto& second) {
  std::vector<Nanoseconds> times;
  times.reserve(2 * first.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    times.push_back(first[i]);
    times.push_back(second[i]);
  }
  return times;
}

struct TimelineOperatorJson {
  std::string key;
  std::string_view name, kind, category, group;

  static constexpr const char* kSchemaName = "timeline_operator";
  static void Describe(auto& v) {
    using J = TimelineOperatorJson;
    v("key", &J::key, {.meaning = "as `key` of an operator in analysis_summary.json"});
    v("name", &J::name, {.meaning = "of the operator or span"});
    v("kind", &J::kind, {.meaning = "method, operator_call, delegate_call, kernel, backend, other"});
    v("category", &J::category, {.meaning = "empty: only the watched run has it"});
    v("group", &J::group, {.meaning = "likewise"});
  }
};

struct TimelineShapeJson {
  const SampledRuns::Shape& source;

  static void Describe(auto& v) {
    v("op", &SampledRuns::Shape::op, {.meaning = "index of `operators`, by span"});
    v("depth", &SampledRuns::Shape::depth, {.meaning = "likewise; 0: the method"});
  }
};

struct TimelineRunJson {
  const Profile& profile;
  const SampledRuns::Run& run;
  const RunLabel& source = profile.runs[run.run].label;

  static void Describe(auto& v) {
    using J = const TimelineRunJson&;
    v("run", [](J json) { return json.run.run; }, {.meaning = "of the trace, from 0"});
    v("shape", [](J json) { return json.run.shape; }, {.meaning = "index of `shapes`"});
    v("phase", &RunLabel::phase, {.meaning = "of the run within its launch"});
    v("launch", &RunLabel::launch, {.meaning = "that it was part of, from 0"});
    v("round", &RunLabel::round, {.meaning = "-1: none", .min = -1});
    v("times", [](J json) { return InterleaveTimes(json.run.gap, json.run.duration); },
      {.meaning = "by span two, in ns: the gap since the span before it under the same parent, or since the "
                  "parent's start, and the duration"});
  }
};

struct WatchedRunJson {
  const protocol::WatchReply& reply;
  std::vector<std::size_t> operators;  // index into the timeline's operators, by span
  WatchSpans placed = WatchSpans(*reply.timeline);

  static constexpr const char* kSchemaName = "watched_run";
  static void Describe(auto& v) {
    using J = const WatchedRunJson&;
    using Span = WatchSpans::Span;
    using Slice = WatchSpans::Slice;
    v("op", &WatchedRunJson::operators, {.meaning = "index of `operators`, by span"});
    v("depth", [](J json) { return MapEach(json.placed.spans, &Span::depth); }, {.meaning = "likewise"});
    v("times",
      [](J json) {
        return InterleaveTimes(
            MapEach(json.placed.spans, &Span::begin),
            MapEach(json.placed.spans, [](const Span& span) { return span.end - span.begin; }));
      },
      {.meaning = "by span two, in ns: its begin, since that of the run, and its duration"});
    v.Object(
        "slices",
        [](auto& object) {
          const auto column = [](auto member) {
            return [member](J json) {
              return MapEach(json.placed.slices, [&](const Slice& slice) { return slice.slice->*member; });
            };
          };
          using protocol::WatchedSlice;
          object("thread", column(&WatchedSlice::thread), {.meaning = "of the pool, from 0"});
          object("span", [](J json) { return MapEach(json.placed.slices, &Slice::span); },
                 {.meaning = "index of the span in which it lies"});
          object("times",
                 [](J json) {
                   const auto duration = [](const Slice& slice) {
                     return slice.slice->end_ns - slice.slice->begin_ns;
                   };
                   return InterleaveTimes(
                       MapEach(json.placed.slices, [](const Slice& slice) { return slice.slice->begin_ns; }),
                       MapEach(json.placed.slices, duration));
                 },
                 {.meaning = "by slice two, likewise"});
          object("tasks", column(&WatchedSlice::tasks), {.meaning = "of the region that this thread took"});
          object("busy", column(&WatchedSlice::busy_ns), {.meaning = "ns"});
        },
        {.meaning = "what one thread did in one parallel region, in order of time; in columns"});
    v("threads", [](J json) { return json.reply.threads; }, {.meaning = "of the runner's thread pool"});
    v("left_out", [](J json) { return json.reply.timeline->omitted_slices; },
      {.meaning = "slices that are not here: there are too many"});
  }
};

struct ExperimentTimelineJson {
  const ReportExperiment& source;
  const Profile& profile;
  std::vector<TimelineOperatorJson> operators;
  std::optional<WatchedRunJson> watched;

  static constexpr const char* kSchemaName = "experiment_timeline";
  static void Describe(auto& v) {
    using J = const ExperimentTimelineJson&;
    v("label", &ReportExperiment::label, {.meaning = "of the experiment"});
    v("traced_runs", [](J json) { return json.profile.runs.size(); }, {.meaning = "of the whole trace"});
    v("median", [](J json) { return json.profile.sampled.median; }, {.meaning = "index of `runs`"});
    v("operators", &ExperimentTimelineJson::operators, {.meaning = "what `op` of spans counts"});
    v("shapes", [](J json) { return MakeViews<TimelineShapeJson>(json.profile.sampled.shapes); },
      {.meaning = "what the spans of a run are; runs share it"});
    v("watched", &ExperimentTimelineJson::watched,
      {.meaning = "one run of another process, whose calls were watched", .omit_if_empty = true});
    v("runs", [](J json) { return MakeViews<TimelineRunJson>(json.profile.sampled.runs, json.profile); },
      {.meaning = "some of them, spread over the trace"});
  }
};

// The watched run. Operators that the profile does not have are appended to `operators`.
std::optional<WatchedRunJson> MakeWatchedRun(const Profile& profile, const WatchData* watch,
                                             std::vector<TimelineOperatorJson>& operators) {
  if (watch == nullptr || !watch->reply.timeline || watch->reply.timeline->spans.empty()) return std::nullopt;
  std::map<std::string, std::size_t> operator_index = OperatorsByKey(profile);
  std::vector<std::size_t> by_span;
  for (const protocol::WatchedSpan& span : watch->reply.timeline->spans) {
    const protocol::WatchedOperator& op = watch->reply.operators[static_cast<std::size_t>(span.op)];
    const std::string key = op.place.KeyText(watch->method);
    const auto [entry, is_new] = operator_index.emplace(key, operators.size());
    if (is_new) operators.push_back({key, op.name, op.place.kind, "", ""});
    by_span.push_back(entry->second);
  }
  return WatchedRunJson{watch->reply, std::move(by_span)};
}

struct TimelineJson {
  const Report& report;

  std::vector<std::optional<ExperimentTimelineJson>> Experiments() const {
    return MapEach(
        report.experiments, [&](const ReportExperiment& experiment) -> std::optional<ExperimentTimelineJson> {
          if (!experiment.profile || experiment.profile->sampled.runs.empty()) return std::nullopt;
          const Profile& profile = *experiment.profile;
          auto operators = MapEach(profile.operators, [](const Operator& op) {
            return TimelineOperatorJson{KeyText(op.key), op.name, SpanKindName(op.key.kind), op.category.name,
                                        OperatorGroupName(op.category.group)};
          });
          auto watched = MakeWatchedRun(profile, experiment.Data(report).watch.get(), operators);
          return ExperimentTimelineJson{experiment, profile, std::move(operators), std::move(watched)};
        });
  }

  static void Describe(auto& v) {
    v("experiments", &TimelineJson::Experiments,
      {.meaning = "in the order of analysis_summary.json; null of one without a trace"});
  }
};

}  // namespace

void RenderTimelineJson(const Report& report, std::ostream& out) {
  out << ToJson<JsonLine>(TimelineJson{report}).Text() << '\n';
}

nlohmann::ordered_json TimelineSchema() {
  return MakeSchema<TimelineJson>("Timelines of report.html",
                                  "What the page draws as timelines: the spans of some runs of each "
                                  "experiment. Of a run they are parents "
                                  "before children, siblings in order of time.");
}

}  // namespace etprof
