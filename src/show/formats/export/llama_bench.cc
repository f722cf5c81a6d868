#include "show/formats/export/llama_bench.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json/json.h"
#include "core/views.h"
#include "report/generate/generate.h"
#include "stats/distribution.h"

namespace etprof {
namespace {

using BenchFields = nlohmann::ordered_json;

std::int64_t RoundToInteger(double value) { return std::llround(value); }

// All keys of llama-bench in its order, except the samples, which only JSON has.
BenchFields MakeBenchFields(const Report& report, const GenerationVariant& variant,
                            const GenerationTest& test, const std::vector<double>& rates) {
  const ExperimentData& data = report.DataAt(test.parts.front());
  const stats::Distribution time = stats::Summarize(test.samples), rate = stats::Summarize(rates);
  std::string cpu = report.run.device ? report.run.device->cpu_model : "";
  if (!variant.isa.empty()) cpu += fmt::format(" ({})", variant.isa);
  std::string backends = "ExecuTorch";
  for (const std::string& backend : variant.backends) backends += "," + backend;
  const std::int64_t chunk = test.chunk > 0 ? test.chunk : 1;
  std::error_code error;
  const auto bytes = std::filesystem::file_size(data.model, error);
  return {{"build_commit", data.model_sha256.substr(0, 8)},
          {"build_number", 0},
          {"cpu_info", cpu},
          {"gpu_info", ""},
          {"backends", backends},
          {"model_filename", variant.model_file},
          {"model_type", variant.model},
          {"model_size", error ? 0 : static_cast<std::int64_t>(bytes)},
          {"model_n_params", 0},
          {"n_batch", chunk},
          {"n_ubatch", chunk},
          {"n_threads", variant.threads},
          {"cpu_mask", data.cpus},
          {"cpu_strict", !data.cpus.empty()},
          {"poll", 0},
          {"type_k", ""},
          {"type_v", ""},
          {"n_gpu_layers", 0},
          {"split_mode", "none"},
          {"main_gpu", 0},
          {"no_kv_offload", true},
          {"flash_attn", false},
          {"tensor_split", ""},
          {"tensor_buft_overrides", ""},
          {"use_mmap", true},
          {"embeddings", false},
          {"no_op_offload", 0},
          {"n_prompt", test.prompt},
          {"n_gen", test.generated},
          {"n_depth", test.depth},
          {"test_time", report.run.generated_at},
          {"avg_ns", RoundToInteger(time.mean.value_or(0))},
          {"stddev_ns", RoundToInteger(time.sd.value_or(0))},
          {"avg_ts", rate.mean.value_or(0)},
          {"stddev_ts", rate.sd.value_or(0)}};
}

std::string QuoteBenchField(const BenchFields& value, char quote) {
  std::string text(1, quote);
  for (const char c : value.is_string() ? value.get<std::string>() : value.dump())
    text += std::string(c == quote ? 2 : 1, c);
  return text + quote;
}

std::string FormatBenchSql(const BenchFields& value) {
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  return value.is_string() ? QuoteBenchField(value, '\'') : value.dump();
}

// Quotes all fields except Booleans, like llama-bench.
std::string FormatBenchCsv(const BenchFields& value) {
  return value.is_boolean() ? FormatBenchSql(value) : QuoteBenchField(value, '"');
}

template <typename Format>
std::string JoinBenchFields(const BenchFields& fields, Format format) {
  std::string text;
  for (const auto& [key, value] : fields.items()) text += (text.empty() ? "" : ",") + format(key, value);
  return text;
}

}  // namespace

std::string LlamaBenchText(const GenerationReport& generation, const std::string& format) {
  const Report& report = *generation.report;
  std::string text;
  BenchFields records = BenchFields::array();
  bool first = true;
  for (const GenerationVariant& variant : generation.variants) {
    for (const GenerationTest& test : variant.tests) {
      if (test.samples.empty() || test.IsEncoder() || report.emulated) continue;  // these tests have no rates
      const std::vector<double> rates =
          MapEach(test.samples, [&](double sample) { return double(test.Tokens()) * 1e9 / sample; });
      BenchFields fields = MakeBenchFields(report, variant, test, rates);
      if (format == "csv") {
        if (first) text += JoinBenchFields(fields, [](const auto& key, const auto&) { return key; }) + "\n";
        text +=
            JoinBenchFields(fields, [](const auto&, const auto& value) { return FormatBenchCsv(value); }) +
            "\n";
      } else if (format == "sql") {
        if (first) {
          text += fmt::format(
              "CREATE TABLE IF NOT EXISTS llama_bench (\n  {}\n);\n\n",
              JoinBenchFields(fields, [](const auto& key, const auto& value) {
                return key + (value.is_string() ? " TEXT" : value.is_number_float() ? " REAL" : " INTEGER");
              }));
        }
        text += fmt::format(
            "INSERT INTO llama_bench ({}) VALUES ({});\n",
            JoinBenchFields(fields, [](const auto& key, const auto&) { return key; }),
            JoinBenchFields(fields, [](const auto&, const auto& value) { return FormatBenchSql(value); }));
      } else if (format == "md") {
        if (first)
          text +=
              "| model | size | backend | threads | test | t/s |\n| --- | ---: | --- | ---: | ---: | ---: "
              "|\n";
        text += fmt::format("| {} {} | {:.2f} MiB | {} | {} | {} | {:.2f} ± {:.2f} |\n", variant.model,
                            variant.name, fields["model_size"].get<double>() / (1 << 20),
                            fields["backends"].get<std::string>(), variant.threads, test.name,
                            fields["avg_ts"].get<double>(), fields["stddev_ts"].get<double>());
      } else {
        fields["samples_ns"] = MapEach(test.samples, RoundToInteger);
        fields["samples_ts"] = rates;
        if (format == "jsonl") text += JsonText(fields) + "\n";
        records.push_back(std::move(fields));
      }
      first = false;
    }
  }
  return format == "json" ? JsonText(records, 2) + "\n" : text;
}

}  // namespace etprof
