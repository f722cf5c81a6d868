#include <fmt/format.h>

#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "analysis/sampled_runs.h"
#include "core/json/json.h"
#include "measure/store/watch.h"
#include "render/json/json.h"
#include "render/watched_run.h"

namespace etprof {
namespace {

using Json = nlohmann::ordered_json;

// Tens of thousands of times are written as they are: each as a value of its own would take ten times as
// long.
void WriteRun(const Profile& profile, const SampledRuns::Run& run, fmt::memory_buffer& out) {
  const RunLabel& label = profile.runs[run.run].label;
  fmt::format_to(std::back_inserter(out),
                 R"({{"run":{},"shape":{},"phase":"{}","launch":{},"round":{},"times":[)", run.run, run.shape,
                 NameOf(label.phase), label.launch, label.round);
  const auto append = [&](Nanoseconds time, char after) {
    const fmt::format_int digits(time);
    out.append(digits.data(), digits.data() + digits.size());
    out.push_back(after);
  };
  for (std::size_t i = 0; i < run.gap.size(); ++i) {
    append(run.gap[i], ',');
    append(run.duration[i], i + 1 < run.gap.size() ? ',' : ']');
  }
  out.push_back('}');
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

void WriteTimelineOf(const ReportExperiment& experiment, const ExperimentData& data,
                     fmt::memory_buffer& out) {
  if (!experiment.profile || experiment.profile->sampled.runs.empty())
    return out.append(std::string_view("null"));
  const Profile& profile = *experiment.profile;
  Json json = {{"label", experiment.label},
               {"traced_runs", profile.runs.size()},
               {"median", profile.sampled.median ? Json(*profile.sampled.median) : Json(nullptr)},
               {"operators", Json::array()},
               {"shapes", Json::array()}};
  for (const Operator& op : profile.operators) {
    json["operators"].push_back({{"key", KeyText(op.key)},
                                 {"name", op.name},
                                 {"kind", std::string(SpanKindName(op.key.kind))},
                                 {"category", std::string(op.category.name)},
                                 {"group", std::string(GroupName(op.category.group))}});
  }
  for (const SampledRuns::Shape& shape : profile.sampled.shapes)
    json["shapes"].push_back({{"op", shape.op}, {"depth", shape.depth}});
  if (Json watched = WatchedRun(profile, data.watch.get(), json["operators"]); !watched.is_null())
    json["watched"] = std::move(watched);
  // Names come from files (JsonText).
  const std::string text = JsonText(json);
  out.append(std::string_view(text).substr(0, text.size() - 1));  // without the brace
  for (std::size_t i = 0; i < profile.sampled.runs.size(); ++i) {
    out.append(std::string_view(i == 0 ? R"(,"runs":[)" : ","));
    WriteRun(profile, profile.sampled.runs[i], out);
  }
  out.append(std::string_view("]}"));
}

}  // namespace

void RenderTimelineJson(const Report& report, std::ostream& out) {
  fmt::memory_buffer text;
  const auto append = [&](std::string_view more) { text.append(more); };
  append(R"({"experiments":[)");
  for (std::size_t i = 0; i < report.experiments.size(); ++i) {
    if (i > 0) append(",");
    WriteTimelineOf(report.experiments[i], report.run.experiments[report.experiments[i].index], text);
  }
  append("]}\n");
  out << std::string_view(text.data(), text.size());
}

}  // namespace etprof
