#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "measure/store/run_files.h"
#include "validate/validator.h"

namespace etprof {
namespace {

using nlohmann::json;

constexpr const char* kFile = kAnalysisFile;

// Sums are computed modulo 2^64, since numbers from a file must not cause overflow.
std::uint64_t Integer(const json& value) {
  return value.is_number_unsigned() ? value.get<std::uint64_t>()
                                    : static_cast<std::uint64_t>(value.get<std::int64_t>());
}

std::uint64_t Sum(const json& rows, const char* key) {
  std::uint64_t sum = 0;
  for (const json& row : rows) sum += Integer(row.at(key));
  return sum;
}

std::string SignedText(std::uint64_t sum) { return fmt::format("{}", static_cast<std::int64_t>(sum)); }

void CheckExperiment(const json& experiment, Findings& findings) {
  const std::string name = experiment.at("label").get<std::string>();
  if (!experiment.contains("groups")) return;
  const std::uint64_t experiment_total = Integer(experiment.at("groups").at("total_ns"));
  const auto expect = [&](const char* table, std::uint64_t sum, std::uint64_t total) {
    if (sum == total) return;
    findings.Broken("sums", kFile,
                    fmt::format("{}: the rows of {} add up to {} ns, the whole is {} ns", name, table,
                                SignedText(sum), SignedText(total)));
  };
  for (const char* table : {"groups", "categories", "places"}) {
    const json& rows = experiment.at(table);
    expect(table, Sum(rows.at("rows"), "total_ns"), Integer(rows.at("total_ns")));
    expect(table, Integer(rows.at("total_ns")), experiment_total);
  }
  expect(
      "operators",
      Sum(experiment.at("operators"), "total_ns") + Integer(experiment.at("operators_rest").at("total_ns")),
      experiment_total);
  const json& mean = experiment.at("mean_execute_ms");
  const json& tracer = experiment.at("tracer_ms");
  const json& median = experiment.at("latency_ms").at("p50");
  if (mean.is_number() && tracer.is_number() && median.is_number()) {
    const double sum = mean.get<double>() + tracer.get<double>(), p50 = median.get<double>();
    if (std::fabs(sum - p50) > 1e-9 * std::fabs(p50)) {
      findings.Broken("sums", kFile,
                      fmt::format("{}: mean_execute_ms and tracer_ms add up to {} ms, the median is {} ms",
                                  name, sum, p50));
    }
  }
}

void CheckComparison(const json& comparison, Findings& findings) {
  const std::string name = fmt::format("{} against {}", comparison.at("candidate").get<std::string>(),
                                       comparison.at("baseline").get<std::string>());
  const auto add_finding = [&](const std::string& problem) {
    findings.Broken("deltas", kFile, fmt::format("{}: {}", name, problem));
  };
  const json& whole = comparison.at("whole");
  for (const char* table : {"groups", "categories", "operators"}) {
    // Without traces, the tables are empty.
    if (comparison.at(table).empty() && Integer(whole.at("delta_numerator_ns")) == 0) continue;
    for (const char* key : {"baseline_total_ns", "candidate_total_ns", "delta_numerator_ns"}) {
      const std::uint64_t sum = Sum(comparison.at(table), key);
      if (sum == Integer(whole.at(key))) continue;
      add_finding(fmt::format("the {} of {} add up to {}, the whole's is {}", key, table, SignedText(sum),
                              whole.at(key).dump()));
    }
  }
  const std::uint64_t baseline_runs = Integer(comparison.at("baseline_runs"));
  const std::uint64_t candidate_runs = Integer(comparison.at("candidate_runs"));
  if (Integer(comparison.at("delta_denominator")) != baseline_runs * candidate_runs) {
    add_finding("delta_denominator is not the product of the numbers of runs");
  }
  const std::uint64_t delta = Integer(whole.at("candidate_total_ns")) * baseline_runs -
                              Integer(whole.at("baseline_total_ns")) * candidate_runs;
  if (delta != Integer(whole.at("delta_numerator_ns"))) {
    add_finding(fmt::format("the whole's delta_numerator_ns is {}, its totals give {}",
                            whole.at("delta_numerator_ns").dump(), SignedText(delta)));
  }
}

}  // namespace

void CheckSums(const json& summary, Findings& findings) {
  for (const json& experiment : summary.at("experiments")) CheckExperiment(experiment, findings);
  for (const json& comparison : summary.at("comparisons")) CheckComparison(comparison, findings);
  // The totals over all ETDumps are fractional milliseconds, so they are compared with a tolerance.
  std::map<std::string, double> totals;
  for (const json& etdump : summary.at("per_etdump")) {
    for (const auto& [group, ms] : etdump.at("category_totals_ms").items()) totals[group] += ms.get<double>();
  }
  for (const auto& [group, ms] : summary.at("category_totals_ms").items()) {
    if (std::fabs(totals[group] - ms.get<double>()) > 1e-9 * std::fabs(ms.get<double>())) {
      findings.Broken("sums", kFile,
                      fmt::format("category_totals_ms.{} is {} ms, its ETDumps have {} ms", group,
                                  ms.get<double>(), totals[group]));
    }
  }
}

}  // namespace etprof
