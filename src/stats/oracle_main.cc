// Computes statistics with etprof, which python/tests/runs/test_stats_scipy.py compares with SciPy. Reads a
// JSON array of questions from stdin and writes the array of answers to stdout; an absent value is null.

#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "stats/distribution.h"
#include "stats/ratio/launches.h"
#include "stats/ratio/multiple.h"
#include "stats/ratio/unpaired.h"
#include "stats/stability.h"

namespace {

using nlohmann::json;
namespace stats = etprof::stats;

json OrNull(const std::optional<double>& value) { return value ? json(*value) : json(nullptr); }

json Summarize(const std::vector<double>& values) {
  const stats::Distribution d = stats::Summarize(values);
  return {{"n", d.n},
          {"mean", OrNull(d.mean)},
          {"sd", OrNull(d.sd)},
          {"cv", OrNull(d.cv)},
          {"min", OrNull(d.min)},
          {"max", OrNull(d.max)},
          {"p50", OrNull(d.p50)},
          {"p90", OrNull(d.p90)},
          {"p95", OrNull(d.p95)},
          {"p99", OrNull(d.p99)},
          {"mad", OrNull(d.mad)},
          {"trimmed_mean_5", OrNull(d.trimmed_mean_5)},
          {"trimmed_mean_10", OrNull(d.trimmed_mean_10)},
          {"outliers", d.outliers}};
}

json AsJson(const std::optional<stats::RatioEstimate>& e) {
  if (!e) return nullptr;
  return {{"log_ratio", e->log_ratio},
          {"log_low", e->log_low},
          {"log_high", e->log_high},
          {"standard_error", e->standard_error},
          {"p_value", OrNull(e->p_value)}};
}

json Answer(const json& question) {
  const auto statistic = question.at("what").get<std::string>();
  const auto values = question.at("values").get<std::vector<double>>();
  if (statistic == "describe") return Summarize(values);
  if (statistic == "estimate_ratio")
    return AsJson(stats::EstimateRatio(values, question.at("confidence").get<double>()));
  if (statistic == "unpaired_launches") {
    const auto other = question.at("other").get<std::vector<double>>();
    return AsJson(stats::EstimateUnpairedLaunches(values, other, question.at("confidence").get<double>()));
  }
  if (statistic == "benjamini_hochberg") return stats::BenjaminiHochberg(values);
  if (statistic == "theil_slope") return stats::TheilSlope(values);
  if (statistic == "kendall_p") return stats::KendallP(values);
  throw std::invalid_argument("unknown question: " + statistic);
}

}  // namespace

int main() {
  try {
    json answers = json::array();
    for (const json& question : json::parse(std::cin)) answers.push_back(Answer(question));
    std::cout << answers << '\n';
  } catch (const std::exception& error) {
    std::cerr << "etprof_stats_oracle: " << error.what() << '\n';
    return 1;
  }
  return std::cout.flush() ? 0 : 1;
}
