#include "render/json/timeline_json.h"

#include <nlohmann/json.hpp>

#include "analysis/sampled_runs.h"
#include "core/json.h"

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

Json TimelineOf(const ReportExperiment& experiment) {
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
  return json;
}

}  // namespace

void RenderTimelineJson(const Report& report, std::ostream& out) {
  Json json = {{"experiments", Json::array()}};
  for (const ReportExperiment& experiment : report.experiments)
    json["experiments"].push_back(TimelineOf(experiment));
  // As in json.cc: names come from files.
  out << JsonText(json) << '\n';
}

}  // namespace etprof
