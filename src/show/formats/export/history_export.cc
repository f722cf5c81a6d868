#include "show/formats/export/history_export.h"

#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/json/json.h"

namespace etprof {
namespace {

using ExportJson = nlohmann::ordered_json;

void RenderBmf(const HistoryReport& history, std::ostream& out) {
  ExportJson report = ExportJson::object();
  for (const Trend& trend : history.trends) {
    const TrendRun& newest = trend.runs.back();
    if (!newest.latency) continue;
    ExportJson latency = {{"value", newest.latency->mean}};
    if (newest.latency->low) {
      latency["lower_value"] = *newest.latency->low;
      latency["upper_value"] = *newest.latency->high;
    }
    report[GetName(trend.data.key)] = {{"latency", latency}};
  }
  out << JsonText(report, 2) << '\n';
}

void RenderHud(const HistoryReport& history, std::ostream& out) {
  ExportJson records = ExportJson::array();
  for (const Trend& trend : history.trends) {
    const SeriesKey& key = trend.data.key;
    for (const TrendPoint& point : trend.data.points) {
      ExportJson values = ExportJson::array();
      for (const HistoryLaunch& launch : point.launches) {
        if (launch.latency) values.push_back(static_cast<double>(*launch.latency) / 1e6);
      }
      if (values.empty()) continue;
      // All values of extra_info are strings: the database stores a map of strings.
      const ExportJson benchmark = {{"commit", point.commit},
                                    {"measured_at", FormatUtc(point.measured_at)},
                                    {"device", key.device},
                                    {"arch", point.machine.platform},
                                    {"cpu", point.machine.cpu_model},
                                    {"os", point.machine.os},
                                    {"threads", std::to_string(key.threads)},
                                    {"settings", key.settings}};
      records.push_back(
          {{"benchmark", {{"name", "etprof"}, {"mode", "inference"}, {"extra_info", benchmark}}},
           {"model",
            {{"name", key.model},
             {"type", key.method},
             {"extra_info",
              {{"experiment", key.experiment},
               {"sha256", point.model_sha256},
               {"executorch", point.executorch_version}}}}},
           {"metric", {{"name", "latency(ms)"}, {"benchmark_values", std::move(values)}}}});
    }
  }
  out << JsonText(records, 2) << '\n';
}

constexpr HistoryFormat kHistoryFormats[] = {
    {"bmf", "Bencher's metric format, of the newest runs", RenderBmf},
    {"hud", "PyTorch HUD's benchmark records, of all runs shown", RenderHud}};

}  // namespace

std::span<const HistoryFormat> HistoryFormats() { return kHistoryFormats; }

}  // namespace etprof
