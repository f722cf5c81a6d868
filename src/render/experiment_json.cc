#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "core/table.h"
#include "program/tensors.h"
#include "render/facts.h"
#include "render/json_parts.h"
#include "render/wording.h"
#include "report/matrix.h"

namespace etprof {
namespace {

Json DistributionMs(const stats::Distribution& d) {
  return {{"n", d.n},
          {"mean", Ms(d.mean)},
          {"sd", Ms(d.sd)},
          {"cv", Number(d.cv)},
          {"min", Ms(d.min)},
          {"max", Ms(d.max)},
          {"p50", Ms(d.p50)},
          {"p90", Ms(d.p90)},
          {"p95", Ms(d.p95)},
          {"p99", Ms(d.p99)},
          {"mad", Ms(d.mad)},
          {"trimmed_mean_5", Ms(d.trimmed_mean_5)},
          {"trimmed_mean_10", Ms(d.trimmed_mean_10)},
          {"outliers", d.outliers}};
}

// `self` gives the distribution of a row's self time over the runs, or null where a row has none.
Json BreakdownJson(const Breakdown& breakdown,
                   const std::function<const stats::Distribution*(const std::string&)>& self) {
  Json rows = Json::array();
  for (const AdditiveRow& row : breakdown.rows) {
    const double runs = static_cast<double>(breakdown.runs);
    rows.push_back({{"name", row.name},
                    {"total_ns", row.total},
                    {"operators", row.operators},
                    {"mean_ms", breakdown.runs > 0 ? Number(static_cast<double>(row.total) / runs / 1e6)
                                                   : Json(nullptr)},
                    {"share", breakdown.total > 0 ? Number(static_cast<double>(row.total) /
                                                           static_cast<double>(breakdown.total))
                                                  : Json(nullptr)}});
    const stats::Distribution* const distribution = self(row.name);
    rows.back()["self_ms"] = distribution != nullptr ? DistributionMs(*distribution) : Json(nullptr);
  }
  return {{"runs", breakdown.runs}, {"total_ns", breakdown.total}, {"rows", std::move(rows)}};
}

Json GroupsJson(const ReportExperiment& experiment) {
  const Profile& profile = *experiment.profile;
  return BreakdownJson(experiment.groups, [&](const std::string& name) -> const stats::Distribution* {
    for (std::size_t i = 0; i < profile.groups.size(); ++i) {
      if (GroupName(kAllGroups[i]) == name) return &profile.groups[i];
    }
    return nullptr;  // "Clipped"
  });
}

Json CategoriesJson(const ReportExperiment& experiment) {
  return BreakdownJson(experiment.categories, [&](const std::string& name) -> const stats::Distribution* {
    for (const auto& [category, distribution] : experiment.profile->categories) {
      if (category == name) return &distribution;
    }
    return nullptr;
  });
}

const char* JoinName(OperatorSource::Join join) {
  switch (join) {
    case OperatorSource::Join::kNodes:
      return "nodes";
    case OperatorSource::Join::kInserted:
      return "inserted";
    case OperatorSource::Join::kKernel:
      return "kernel";
    case OperatorSource::Join::kFramework:
      return "framework";
    case OperatorSource::Join::kNone:
      break;
  }
  return "none";
}

Json Count(const std::optional<std::int64_t>& count) { return count ? Json(*count) : Json(nullptr); }

// How an operator is joined to the program that ran; null where that is not known.
Json SourceJson(const Profile& profile, std::size_t op) {
  if (!profile.program) return nullptr;
  const OperatorSource& source = profile.program->operators[op];
  const auto keys = [&](const std::vector<std::size_t>& operators) {
    Json list = Json::array();
    for (const std::size_t other : operators) list.push_back(KeyText(profile.operators[other].key));
    return list;
  };
  Json json = {{"join", JoinName(source.join)},
               {"why", Text(source.why)},
               {"why_not_delegated", Text(source.why_not_delegated)},
               {"layer", nullptr},
               {"layer_type", nullptr},
               {"source", nullptr},
               {"function", nullptr},
               {"between", source.between},
               {"nodes", source.nodes},
               {"debug_handles", source.debug_handles},
               {"shape", Text(TensorsText(source.tensors))},
               {"macs", Count(source.work.macs)},
               {"bytes_read", Count(source.work.read)},
               {"bytes_written", Count(source.work.written)},
               {"bytes", Count(source.work.bytes)},
               {"producers", keys(source.producers)},
               {"consumers", keys(source.consumers)}};
  if (!source.place) return json;
  const SourcePlace& place = profile.program->places[*source.place];
  if (!place.modules.empty()) {
    json["layer"] = place.modules.back().path;
    json["layer_type"] = place.modules.back().type;
  }
  if (place.frame) {
    json["source"] = fmt::format("{}:{}", place.frame->file, place.frame->line);
    json["function"] = place.frame->function;
  }
  return json;
}

Json LayersJson(const ReportExperiment& experiment) {
  Json rows = Json::array();
  for (const LayerRow& layer : experiment.layers) {
    rows.push_back({{"path", layer.path},
                    {"type", Text(layer.type)},
                    {"parent", layer.parent},
                    {"depth", layer.depth},
                    {"self_ns", layer.self},
                    {"total_ns", layer.total},
                    {"operators", layer.operators.size()}});
  }
  return rows;
}

Json RooflineJson(const ReportExperiment& experiment) {
  if (!experiment.roofline) return nullptr;
  const Roofline& roofline = *experiment.roofline;
  Json rows = Json::array();
  for (const RooflineRow& row : roofline.rows) {
    const Operator& op = experiment.profile->operators[row.op];
    rows.push_back({{"key", KeyText(op.key)},
                    {"name", op.name},
                    {"dtype", row.dtype},
                    {"roof_dtype", row.roof_dtype},
                    {"time_ms", Number(row.time.ns / 1e6)},
                    {"time_low_ms", Ms(row.time.low)},
                    {"time_high_ms", Ms(row.time.high)},
                    {"macs", row.macs},
                    {"bytes", row.bytes},
                    {"flops_per_byte", row.bytes == 0 ? Json() : Number(row.intensity())},
                    {"macs_per_s", Number(row.macs_per_s())},
                    {"bytes_per_s", Number(row.bytes_per_s())},
                    {"bound", row.bound == RooflineRow::Bound::kCompute ? "compute" : "memory"},
                    {"roof_ms", Number(row.roof_ns / 1e6)},
                    {"share_of_roof", Number(row.share())},
                    {"would_save_ms", Number(row.gap_ns() / 1e6)}});
  }
  Json roofs = Json::array();
  for (const Roof& roof : roofline.roofs) {
    roofs.push_back({{"kind", roof.kind == Roof::Kind::kCompute ? "compute" : "memory"},
                     {"name", roof.name},
                     {"per_s", Number(roof.per_second)}});
  }
  return {{"roofs", std::move(roofs)},
          {"covered_ms", Number(roofline.covered_ns / 1e6)},
          {"roof_ms", Number(roofline.roof_ns / 1e6)},
          {"not_covered_ms", Number(roofline.not_covered_ns / 1e6)},
          {"rows", std::move(rows)}};
}

Json MatrixKernelsJson(const ReportExperiment& experiment) {
  Json rows = Json::array();
  for (const MatrixKernelRow& row : experiment.matrix_kernels) {
    Json keys = Json::array();
    for (const std::size_t op : row.operators) keys.push_back(KeyText(experiment.profile->operators[op].key));
    rows.push_back({{"kernels", KernelsName(row.ran)},
                    {"why", Text(row.why)},
                    {"change", Text(row.change)},
                    {"mean_ms", Number(row.mean_ns / 1e6)},
                    {"operators", std::move(keys)}});
  }
  return rows;
}

// Of the experiment's own method: a program of several has them in one file.
Json CountersJson(const ExperimentData& data, const Profile& profile) {
  Json rows = Json::array();
  const std::string method = profile.operators.empty() ? "" : profile.operators.front().key.method;
  for (const CountersRow& row : data.counters) {
    if (!row.key.starts_with(method + "/")) continue;
    Json means = Json::object();
    for (const auto& [name, mean] : row.means) means[name] = Number(mean);
    rows.push_back({{"key", row.key},
                    {"name", row.name},
                    {"runs", row.runs},
                    {"means", std::move(means)},
                    {"effective_hz", Number(row.EffectiveFrequency())},
                    {"instructions_per_cycle", Number(row.InstructionsPerCycle())},
                    {"cache_misses_per_1000_instructions", Number(row.CacheMissesPerThousand())},
                    {"branch_misses_per_1000_instructions", Number(row.BranchMissesPerThousand())}});
  }
  return rows;
}

Json OperatorsJson(const ReportExperiment& experiment) {
  Json rows = Json::array();
  for (const OperatorRow& row : experiment.operators) {
    const Operator& op = experiment.profile->operators[row.op];
    rows.push_back({{"key", KeyText(op.key)},
                    {"name", op.name},
                    {"type", op.type},
                    {"backend", Text(op.backend)},
                    {"portable", op.portable},
                    {"category", std::string(op.category.name)},
                    {"group", std::string(GroupName(op.category.group))},
                    {"call", op.call_index >= 0 ? Json(op.call_index) : Json(nullptr)},
                    {"runs", row.runs},
                    {"total_ns", row.total_self},
                    {"mean_ms", Number(row.mean_self / 1e6)},
                    {"share", Number(row.share)},
                    {"self_ms", DistributionMs(row.self)},
                    {"program", SourceJson(*experiment.profile, row.op)}});
  }
  return rows;
}

// What the framework's own spans and clipping take: with `operators` they add up to the whole.
Json RestJson(const ReportExperiment& experiment) {
  Nanoseconds operators = 0;
  for (const OperatorRow& row : experiment.operators) operators += row.total_self;
  return {{"name", "framework's spans and clipped"}, {"total_ns", experiment.groups.total - operators}};
}

Json HealthJson(const Health& health) {
  Json entries = Json::array();
  for (const HealthEntry& entry : health.entries()) {
    const char* severity = entry.severity == HealthEntry::Severity::kInfo       ? "info"
                           : entry.severity == HealthEntry::Severity::kDataLoss ? "data_loss"
                                                                                : "error";
    entries.push_back({{"name", entry.name},
                       {"severity", severity},
                       {"explanation", entry.explanation},
                       {"count", entry.count},
                       {"amount_ns", entry.amount},
                       {"first_offset", entry.first_offset ? Json(*entry.first_offset) : Json(nullptr)},
                       {"first_place", Text(entry.first_place)}});
  }
  return entries;
}

// Edges are from_ms + i width_ms.
Json HistogramJson(const stats::Histogram& histogram) {
  return {{"from_ms", histogram.counts.empty() ? Json(nullptr) : Number(histogram.from / 1e6)},
          {"width_ms", histogram.counts.empty() ? Json(nullptr) : Number(histogram.width / 1e6)},
          {"counts", histogram.counts},
          {"beyond", histogram.beyond}};
}

Json EcdfJson(const std::vector<stats::EcdfPoint>& points) {
  Json json = {{"ms", Json::array()}, {"share", Json::array()}};
  for (const stats::EcdfPoint& point : points) {
    json["ms"].push_back(Number(point.value / 1e6));
    json["share"].push_back(Number(point.share));
  }
  return json;
}

Json SustainedJson(const Sustained& sustained) {
  Json json = {{"seconds", Number(sustained.seconds)},
               {"window_seconds", Number(sustained.window_seconds)},
               {"first_ms", Ms(sustained.first_ns)},
               {"last_ms", Ms(sustained.last_ns)},
               {"change", nullptr},
               {"points", Json::array()}};
  if (const auto& change = sustained.change) {
    json["change"] = {{"ratio", Number(change->ratio())},
                      {"low", Number(std::exp(change->log_low))},
                      {"high", Number(std::exp(change->log_high))},
                      {"confidence", change->confidence}};
  }
  for (const SustainedPoint& point : sustained.points) {
    json["points"].push_back({{"seconds", Number(point.seconds)},
                              {"runs", point.runs},
                              {"median_ms", Number(point.median_ns / 1e6)},
                              {"p95_ms", Number(point.p95_ns / 1e6)},
                              {"frequency_mhz", Number(point.mhz)},
                              {"frequency_cap_mhz", Number(point.cap_mhz)},
                              {"temperature_c", Number(point.celsius)}});
  }
  return json;
}

// In columns: entry i of each is burst i.
Json BurstsJson(const ReportExperiment& experiment) {
  Json json = Json::object();
  const auto column = [&](const char* name, const auto& value) {
    Json& values = json[name] = Json::array();
    for (const BurstPoint& burst : experiment.bursts) values.push_back(value(burst));
  };
  column("launch", [](const BurstPoint& burst) { return burst.launch; });
  column("round", [](const BurstPoint& burst) { return burst.round; });
  column("seconds", [](const BurstPoint& burst) { return Number(burst.seconds); });
  column("median_ms", [](const BurstPoint& burst) { return Number(burst.median / 1e6); });
  column("disturbed", [](const BurstPoint& burst) { return burst.disturbed; });
  column("throttled", [](const BurstPoint& burst) { return burst.throttled; });
  column("frequency_mhz", [](const BurstPoint& burst) { return Number(burst.mhz); });
  column("temperature_c", [](const BurstPoint& burst) { return Number(burst.celsius); });
  return json;
}

}  // namespace

Json FactsJson(const std::vector<Fact>& facts) {
  Json json = Json::array();
  for (const Fact& fact : facts) json.push_back({{"name", fact.name}, {"value", fact.value}});
  return json;
}

Json ExperimentJson(const Report& report, const ReportExperiment& experiment) {
  const ExperimentData& data = report.run.experiments[experiment.index];
  Json json = {{"name", data.name},
               {"label", experiment.label},
               {"threads", experiment.threads},
               {"mode", data.mode},
               {"isa", Text(data.isa)},
               {"emulated", data.emulated},
               {"trace_enabled", data.trace_enabled},
               {"etdump", Text(experiment.etdump_name)},
               {"latency_from", experiment.latency.n == 0
                                    ? Json(nullptr)
                                    : Json(experiment.latency_from_trace ? "trace" : "untraced")},
               {"tracer_always_on", experiment.tracer_always_on},
               {"period_ms",
                experiment.period > 0 ? Number(static_cast<double>(experiment.period) / 1e6) : Json(nullptr)},
               {"late_runs", experiment.period > 0 ? Json(experiment.late_runs) : Json(nullptr)},
               {"latency_ms", DistributionMs(experiment.latency)},
               {"clean_runs", experiment.clean_runs},
               {"all_runs", experiment.latency_of_all.n},
               {"latency_of_all_ms", DistributionMs(experiment.latency_of_all)},
               {"cpu_time_ms", Ms(experiment.cpu_time)},
               {"cpu_of_busiest_thread_ms", Ms(experiment.cpu_of_busiest)},
               {"traced_ms", DistributionMs(experiment.traced)},
               {"latency_histogram", HistogramJson(experiment.latency_histogram)},
               {"latency_ecdf", EcdfJson(experiment.latency_ecdf)},
               {"first_run_ms", Ms(experiment.first_run)},
               {"load_ms", Ms(experiment.load)},
               {"peak_rss_bytes", experiment.peak_rss ? Json(*experiment.peak_rss) : Json(nullptr)},
               {"launches", experiment.launches},
               {"bursts", experiment.bursts.size()},
               {"disturbed_bursts", experiment.disturbed_bursts},
               {"burst_medians", BurstsJson(experiment)},
               {"conditions", FactsJson(ExperimentFacts(report, experiment))}};
  json["latency_interval_ms"] = experiment.interval ? Json{{"low", Number(experiment.interval->low / 1e6)},
                                                           {"high", Number(experiment.interval->high / 1e6)},
                                                           {"confidence", experiment.interval->confidence},
                                                           {"launches", experiment.interval->launches}}
                                                    : Json(nullptr);
  json["sustained"] = experiment.sustained ? SustainedJson(*experiment.sustained) : Json(nullptr);
  json["runs"] = {{"traced", experiment.traced_runs},       {"first", experiment.first_runs},
                  {"warmup", experiment.warmup_runs},       {"steady", experiment.steady_runs},
                  {"disturbed", experiment.disturbed_runs}, {"common_set", experiment.common_runs}};
  if (!experiment.profile) return json;
  json["mean_execute_ms"] = Ms(experiment.MeanExecute());
  json["tracer_ms"] = Ms(experiment.tracer);
  json["groups"] = GroupsJson(experiment);
  json["categories"] = CategoriesJson(experiment);
  json["places"] = BreakdownJson(experiment.places, [](const std::string&) { return nullptr; });
  const auto no_distribution = [](const std::string&) { return nullptr; };
  json["by_delegate"] = BreakdownJson(experiment.by_delegate, no_distribution);
  json["program"] = nullptr;
  if (const auto& program = experiment.profile->program) {
    json["program"] = {{"problem", Text(program->problem)},
                       {"no_sources", Text(program->no_sources)},
                       {"attributed_share", Number(experiment.attributed)},
                       {"layers", LayersJson(experiment)},
                       {"by_layer", BreakdownJson(experiment.by_layer, no_distribution)},
                       {"by_source", BreakdownJson(experiment.by_source, no_distribution)}};
  }
  json["roofline"] = RooflineJson(experiment);
  json["operators"] = OperatorsJson(experiment);
  json["operators_rest"] = RestJson(experiment);
  json["delegate_calls"] = experiment.delegate_calls;
  json["portable_kernels"] = experiment.portable_kernels;
  json["unknown_operators"] = experiment.unknown_operators;
  json["kernel_evidence"] = experiment.kernel_evidence;
  json["matrix_kernels"] = MatrixKernelsJson(experiment);
  json["counters"] = CountersJson(report.run.experiments[experiment.index], *experiment.profile);
  json["health"] = HealthJson(experiment.profile->health);
  return json;
}

}  // namespace etprof
