#include "render/json/timeline_json.h"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "analysis/sampled_runs.h"
#include "core/json.h"
#include "measure/store/watch.h"
#include "render/watched_run.h"

namespace etprof {
namespace {

using Json = nlohmann::ordered_json;

Json TimelineOfRun(const Profile& profile, const SampledRuns::Run& run) {
  const RunLabel& label = profile.runs[run.run].label;
  Json times = Json::array();
  for (std::size_t i = 0; i < run.gap.size(); ++i) {
    times.push_back(run.gap[i]);
    times.push_back(run.duration[i]);
  }
  return {{"run", run.run},         {"shape", run.shape},   {"phase", std::string(NameOf(label.phase))},
          {"launch", label.launch}, {"round", label.round}, {"times", std::move(times)}};
}

// The run that was watched; null: there is none. What the profile has not is added to `operators`.
Json WatchedRun(const Profile& profile, const WatchData* watch, Json& operators) {
  if (watch == nullptr || !watch->reply.timeline || watch->reply.timeline->spans.empty()) return nullptr;
  std::map<std::string, std::size_t> index = OperatorsByKey(profile);
  const auto index_of = [&](const protocol::WatchedOperator& op) {
    const std::string key = op.place.KeyText(watch->method);
    const auto [known, added] = index.emplace(key, operators.size());
    if (added) {
      operators.push_back(
          {{"key", key}, {"name", op.name}, {"kind", op.place.kind}, {"category", ""}, {"group", ""}});
    }
    return known->second;
  };
  const PlacedWatch placed(*watch->reply.timeline);
  Json json = {{"op", Json::array()}, {"depth", Json::array()}, {"times", Json::array()}};
  for (const PlacedWatch::Span& span : placed.spans) {
    json["op"].push_back(index_of(watch->reply.operators[span.op]));
    json["depth"].push_back(span.depth);
    json["times"].push_back(span.begin);
    json["times"].push_back(span.end - span.begin);
  }
  Json& list = json["slices"] = {{"thread", Json::array()},
                                 {"span", Json::array()},
                                 {"times", Json::array()},
                                 {"tasks", Json::array()},
                                 {"busy", Json::array()}};
  for (const auto& [span, slice] : placed.slices) {
    list["thread"].push_back(slice->thread);
    list["span"].push_back(span);
    list["times"].push_back(slice->begin_ns);
    list["times"].push_back(slice->end_ns - slice->begin_ns);
    list["tasks"].push_back(slice->tasks);
    list["busy"].push_back(slice->busy_ns);
  }
  json["threads"] = watch->reply.threads;
  json["left_out"] = watch->reply.timeline->left_out;
  return json;
}

Json TimelineOf(const ReportExperiment& experiment, const ExperimentData& data) {
  if (!experiment.profile || experiment.profile->sampled.runs.empty()) return nullptr;
  const Profile& profile = *experiment.profile;
  Json json = {{"label", experiment.label},
               {"traced_runs", profile.runs.size()},
               {"median", profile.sampled.median ? Json(*profile.sampled.median) : Json(nullptr)},
               {"operators", Json::array()},
               {"shapes", Json::array()},
               {"runs", Json::array()}};
  for (const Operator& op : profile.operators) {
    json["operators"].push_back({{"key", KeyText(op.key)},
                                 {"name", op.name},
                                 {"kind", std::string(SpanKindName(op.key.kind))},
                                 {"category", std::string(op.category.name)},
                                 {"group", std::string(GroupName(op.category.group))}});
  }
  for (const SampledRuns::Shape& shape : profile.sampled.shapes)
    json["shapes"].push_back({{"op", shape.op}, {"depth", shape.depth}});
  for (const SampledRuns::Run& run : profile.sampled.runs)
    json["runs"].push_back(TimelineOfRun(profile, run));
  if (Json watched = WatchedRun(profile, data.watch.get(), json["operators"]); !watched.is_null())
    json["watched"] = std::move(watched);
  return json;
}

}  // namespace

void RenderTimelineJson(const Report& report, std::ostream& out) {
  Json json = {{"experiments", Json::array()}};
  for (const ReportExperiment& experiment : report.experiments)
    json["experiments"].push_back(TimelineOf(experiment, report.run.experiments[experiment.index]));
  // As in json.cc: names come from files.
  out << JsonText(json) << '\n';
}

}  // namespace etprof
