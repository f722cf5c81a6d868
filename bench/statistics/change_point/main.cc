// Tests FindChangePoints with series of runs whose changes are known, drawn from recorded noise
// (bench/statistics/noise.py).
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "history/trends.h"
#include "noise/recording.h"
#include "stats/change_point.h"
#include "stats/ratio/launches.h"

namespace etprof::bench {
namespace {

struct SeriesPlan {
  int runs = 40;         // runs in a series, one per commit
  int changed_run = 25;  // index of the first run of the slower code
  int launches = 20;     // launches per run
  double drift = 0;      // standard deviation from run to run, in addition to that of the launches
};

struct Result {
  int series = 0, alarms = 0, found = 0, at_right_run = 0, interval_holds = 0, covered = 0, more_than_one = 0;
  double spread = 0;  // mean standard deviation of a run around its level
  double width = 0;   // mean number of runs in the interval of a change
};

// Draws the launches of each run as stretches of ten consecutive launches of the recording, so that noise
// that lasts longer than a launch is included. The variant that counts as the reference is drawn too, since
// both variants of the recording are the same model.
std::vector<stats::RunLaunches> DrawSeries(const std::vector<double>& effects, const SeriesPlan& plan,
                                           double step, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<std::size_t> start(0, effects.size() - 1);
  std::bernoulli_distribution swap_sides(0.5);
  std::vector<stats::RunLaunches> series;
  for (int i = 0; i < plan.runs; ++i) {
    stats::RunLaunches run;
    run.group = i;
    const double run_effect = (i >= plan.changed_run ? step : 0) + plan.drift * normal(random);
    for (int drawn_launches = 0; drawn_launches < plan.launches;) {
      std::size_t from = start(random);
      for (int j = 0; j < 10 && drawn_launches < plan.launches; ++j, ++drawn_launches)
        run.logs.push_back(run_effect + (swap_sides(random) ? 1 : -1) *
                                            effects[(from + static_cast<std::size_t>(j)) % effects.size()]);
    }
    series.push_back(std::move(run));
  }
  return series;
}

Result Simulate(const std::vector<double>& effects, const SeriesPlan& plan, double step, int series,
                std::mt19937_64& random) {
  Result result;
  const double size = std::log1p(step);
  for (int i = 0; i < series; ++i) {
    stats::ChangePointOptions options;
    options.permutations = 399;
    options.seed = random();
    const auto found = stats::FindChangePoints(DrawSeries(effects, plan, size, random), options);
    ++result.series;
    result.spread += found.run_sd.value_or(0) / series;
    result.alarms += found.changes.empty() ? 0 : 1;
    result.more_than_one += found.changes.size() > 1 ? 1 : 0;
    if (found.changes.empty()) continue;
    const auto changed_run = static_cast<std::size_t>(plan.changed_run);
    const auto& change =
        *std::ranges::min_element(found.changes, {}, [&](const stats::LevelChange& candidate) {
          return std::abs(static_cast<double>(candidate.first_run) - static_cast<double>(changed_run));
        });
    ++result.found;
    result.at_right_run += change.first_run == changed_run ? 1 : 0;
    result.interval_holds += change.earliest <= changed_run && changed_run <= change.latest ? 1 : 0;
    result.covered += change.log_low <= size && size <= change.log_high ? 1 : 0;
    result.width += static_cast<double>(change.latest - change.earliest + 1);
  }
  if (result.found > 0) result.width /= result.found;
  return result;
}

// Counts what checks of a series, its reference, and its operators find.
struct CheckCounts {
  int reports = 0, latencies = 0, operators = 0, any = 0, found = 0, at_right_run = 0, other_operators = 0;
};

// The machine drifts by 3 % from run to run, which the reference compensates. The noise of operators is that
// of the recording; half of it is common to all operators of a model. `step` is the slowdown of the first
// operator.
std::vector<TrendData> DrawTrends(const std::vector<double>& effects, const SeriesPlan& plan, int operators,
                                  double step, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  SeriesPlan unchanged = plan;
  unchanged.changed_run = plan.runs;
  const auto draw = [&] { return DrawSeries(effects, unchanged, 0, random); };
  const std::vector<stats::RunLaunches> base_series = draw(), reference_series = draw(), shared = draw();
  TrendData base, reference;
  base.key = {"net", "forward", "base", 1, "", "local"};
  reference.key = {"fixed", "forward", "fixed", 1, "", "local"};
  const auto ns = [](double log) { return std::llround(std::exp(log)); };
  for (std::size_t i = 0; i < base_series.size(); ++i) {
    TrendPoint point;
    point.commit = fmt::format("c{}", i);
    point.time = point.measured_at = static_cast<UnixTime>(i);
    point.reference = "fixed";
    TrendPoint reference_point = point;
    const double machine = 16 + 0.03 * normal(random);
    for (std::size_t l = 0; l < base_series[i].logs.size(); ++l) {
      const double level = machine + reference_series[i].logs[l], relative = base_series[i].logs[l];
      point.launches.push_back({static_cast<int>(l), ns(level + relative), 10, 10, relative, ns(level)});
      reference_point.launches.push_back({static_cast<int>(l), ns(level), 10, 10, std::nullopt, ns(level)});
      point.reference_traced.push_back(ns(level));
    }
    base.points.push_back(std::move(point));
    reference.points.push_back(std::move(reference_point));
  }
  for (int op = 0; op < operators; ++op) {
    const std::vector<stats::RunLaunches> op_launches = draw();
    OperatorTimes times{fmt::format("{}", op), "op", 1.0 / operators, {}};
    for (std::size_t i = 0; i < op_launches.size(); ++i) {
      SelfTime self;
      const double slowdown = op == 0 && static_cast<int>(i) >= plan.changed_run ? std::log1p(step) : 0;
      for (std::size_t l = 0; l < op_launches[i].logs.size(); ++l) {
        const double log = std::log(static_cast<double>(base.points[i].reference_traced[l]) / operators) +
                           slowdown + std::sqrt(0.5) * (op_launches[i].logs[l] + shared[i].logs[l]);
        self.by_launch.push_back(ns(log));
      }
      self.mean = static_cast<double>(self.by_launch.front());
      times.times.push_back(std::move(self));
    }
    base.operators.push_back(std::move(times));
  }
  return {std::move(base), std::move(reference)};
}

CheckCounts CheckOperators(const std::vector<double>& effects, const SeriesPlan& plan, int operators,
                           double step, int reports, std::mt19937_64& random) {
  CheckCounts result;
  for (int i = 0; i < reports; ++i) {
    const HistoryReport report = FindTrends(DrawTrends(effects, plan, operators, step, random), "");
    const Trend& base = report.trends[0];
    const bool latency_changed = !base.changes.empty() || !report.trends[1].changes.empty();
    bool has_other_operator = false;
    for (const OperatorTrend& op : base.operators) {
      has_other_operator = has_other_operator || op.key != "0" || step == 0;
      if (op.key != "0" || step == 0) continue;
      ++result.found;
      result.at_right_run += op.changes[0].first_run == static_cast<std::size_t>(plan.changed_run) ? 1 : 0;
    }
    ++result.reports;
    result.latencies += latency_changed ? 1 : 0;
    result.operators += base.operators.empty() ? 0 : 1;
    result.any += latency_changed || !base.operators.empty() ? 1 : 0;
    result.other_operators += has_other_operator ? 1 : 0;
  }
  return result;
}

std::vector<double> ReadLaunchEffects(const std::string& file) {
  std::ifstream in(file);
  std::vector<double> effects;
  for (const stats::LaunchBursts& launch : ReadRecording(in).launches) {
    if (const auto effect = stats::LaunchEffect(launch)) effects.push_back(*effect);
  }
  return effects;
}

std::string Percent(int part, int whole) {
  return whole == 0 ? "-" : fmt::format("{:.1f} %", 100.0 * part / whole);
}

void PrintSeries(const std::vector<std::string>& files, int runs, int changed_run, int series, double step,
                 const std::vector<int>& launches) {
  fmt::print(
      "# When something changed, in recorded noise\n\n"
      "What `etprof history check` finds in series of {} runs, one a commit, whose launches are drawn from "
      "recordings of a model against itself (`bench/results/statistics/noise_*.csv`, a shared two-core "
      "x86-64 virtual "
      "machine): stretches of ten launches, relative to the other side as to a reference. {} series a line "
      "as they are (A/A), and as many of which the code takes {:g} % longer from run {} on.\n\n"
      "- **false alarms**: a change was found where there is none. At most 5 % of whole series "
      "are promised; one standard error of {} is {:.1f} points.\n"
      "- **right commit**: of the steps found, those that were said to be most likely at the right commit.\n"
      "- **interval holds it**: the interval of commits, at 95 %, holds the right one; next to it how many "
      "commits are "
      "in it.\n"
      "- **size covered**: the interval of the size, at 95 %, holds the true one.\n"
      "- **more than one**: a second change was found, which is not there.\n"
      "- **run against step**: the standard deviation of a run around its level, as a part of the step. At a "
      "fifth, "
      "the right commit is found in more than 95 %.\n",
      runs, series, 100 * step, changed_run + 1, series, 100 * std::sqrt(0.05 * 0.95 / series));
  for (const std::string& file : files) {
    std::mt19937_64 random(1);
    const std::vector<double> effects = ReadLaunchEffects(file);
    std::string name = std::filesystem::path(file).stem().string();
    fmt::print("\n## {}\n\n{} launches recorded.\n\n", name.substr(name.find('_') + 1), effects.size());
    fmt::print(
        "| launches of a run | run against step | false alarms, A/A | step found | right commit | interval "
        "holds it | commits "
        "in the interval | size covered | more than one |\n");
    fmt::print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for (const int count : launches) {
      const SeriesPlan plan{runs, changed_run, count, 0};
      const Result no_step = Simulate(effects, plan, 0, series, random);
      const Result with_step = Simulate(effects, plan, step, series, random);
      fmt::print("| {} | {:.2f} | {} | {} | {} | {} | {:.1f} | {} | {} |\n", count,
                 with_step.spread / std::log1p(step), Percent(no_step.alarms, no_step.series),
                 Percent(with_step.found, with_step.series), Percent(with_step.at_right_run, with_step.found),
                 Percent(with_step.interval_holds, with_step.found), with_step.width,
                 Percent(with_step.covered, with_step.found),
                 Percent(with_step.more_than_one, with_step.series));
    }
  }
}

void PrintOperators(const std::vector<std::string>& files, int runs, int changed_run, int operators,
                    int reports) {
  fmt::print(
      "# When an operator changed, in recorded noise\n\n"
      "Whole checks of a series, its reference, and {} operators, of {} runs with 20 launches. The machine "
      "drifts by 3 % from run to run; the noise of an operator is the recording's, half of which all share. "
      "{} checks a line without any change (A/A), and as many in which one operator takes 5 % longer from "
      "run "
      "{} on. One standard error of 5 % is {:.1f} points.\n\n"
      "| recording | any change, A/A | of a latency | of an operator | the operator found | at the right "
      "commit | another one, too |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
      operators, runs, reports, changed_run + 1, 100 * std::sqrt(0.05 * 0.95 / reports));
  for (const std::string& file : files) {
    std::mt19937_64 random(2);
    const std::vector<double> effects = ReadLaunchEffects(file);
    const std::string name = std::filesystem::path(file).stem().string();
    const SeriesPlan plan{runs, changed_run, 20, 0};
    const CheckCounts no_step = CheckOperators(effects, plan, operators, 0, reports, random);
    const CheckCounts with_step = CheckOperators(effects, plan, operators, 0.05, reports, random);
    fmt::print("| {} | {} | {} | {} | {} | {} | {} |\n", name.substr(name.find('_') + 1),
               Percent(no_step.any, no_step.reports), Percent(no_step.latencies, no_step.reports),
               Percent(no_step.operators, no_step.reports), Percent(with_step.found, with_step.reports),
               Percent(with_step.at_right_run, with_step.found),
               Percent(with_step.other_operators, with_step.reports));
  }
}

// Draws runs of one launch whose values drift: an autoregressive process, or a slow season in addition to
// noise. The standard deviation without the season is 1.
std::vector<double> DrawDrift(int runs, double correlation, double season, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> begin;
  std::vector<double> values;
  double value = normal(random);
  const double phase = begin(random);
  for (int i = 0; i < runs; ++i) {
    values.push_back(value + season * std::sin(2 * std::numbers::pi * (1.2 * i / runs + phase)));
    value = correlation * value + std::sqrt(1 - correlation * correlation) * normal(random);
  }
  return values;
}

// Counts the series in which a change is found. From the middle on, `step` standard deviations are added.
int CountFoundInDrift(int runs, double correlation, double season, double step, int series, bool allow_drift,
                      std::mt19937_64& random) {
  int found = 0;
  for (int i = 0; i < series; ++i) {
    const std::vector<double> values = DrawDrift(runs, correlation, season, random);
    std::vector<stats::RunLaunches> drawn;
    for (int run = 0; run < runs; ++run)
      drawn.push_back({{0.01 * (values[static_cast<std::size_t>(run)] + (2 * run >= runs ? step : 0))}, run});
    stats::ChangePointOptions options;
    options.seed = random();
    options.test_drift = allow_drift;
    found += stats::FindChangePoints(drawn, options).changes.empty() ? 0 : 1;
  }
  return found;
}

void PrintDrift(int series) {
  fmt::print(
      "# What drifts and does not change\n\n"
      "{} series a cell, of runs of one launch. Neighbors are correlated as said; the season is a sine of "
      "1.2 "
      "periods with the amplitude of the noise's standard deviation, or half of it. Before: the permutation "
      "test "
      "alone. Steps are in standard deviations of a run, in the middle.\n\n"
      "| runs | series | false alarms before | false alarms | step of 3 found before | found | of 4 | of 6 "
      "|\n"
      "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
      series);
  struct Kind {
    const char* name;
    double correlation, season;
  };
  for (const int runs : {20, 30, 60}) {
    for (const Kind& kind : {Kind{"no drift", 0, 0}, Kind{"correlation 0.5", 0.5, 0},
                             Kind{"correlation 0.8", 0.8, 0}, Kind{"correlation 0.95", 0.95, 0},
                             Kind{"season of half the noise", 0, 0.5}, Kind{"season like the noise", 0, 1}}) {
      std::mt19937_64 random(3);
      const auto share = [&](double step, bool allow_drift) {
        return Percent(
            CountFoundInDrift(runs, kind.correlation, kind.season, step, series, allow_drift, random),
            series);
      };
      fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} |\n", runs, kind.name, share(0, false),
                 share(0, true), share(3, false), share(3, true), share(4, true), share(6, true));
    }
  }
}

}  // namespace
}  // namespace etprof::bench

int main(int argc, char** argv) {
  using namespace etprof::bench;
  CLI::App app("What `etprof history check` finds in recorded noise");
  std::vector<std::string> files;
  int series = 2000, runs = 40, changed_run = 25, operators = 30, reports = 0;
  double step = 0.02;
  std::vector<int> launches = {10, 20, 40, 80, 160, 320};
  int drifting = 0;
  app.add_option("recording", files);
  app.add_option("--drifting", drifting, "Series that drift; 0: not this part");
  app.add_option("--series", series, "0: not this part");
  app.add_option("--runs", runs);
  app.add_option("--at", changed_run);
  app.add_option("--operators", operators);
  app.add_option("--reports", reports, "Checks with operators; 0: not this part");
  app.add_option("--step", step);
  app.add_option("--launches", launches)->delimiter(',');
  CLI11_PARSE(app, argc, argv);
  if (drifting > 0) PrintDrift(drifting);
  if (series > 0) PrintSeries(files, runs, changed_run, series, step, launches);
  if (reports > 0) PrintOperators(files, runs, changed_run, operators, reports);
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  fmt::print("\nPeak memory of the simulation: {:.0f} MB.\n", static_cast<double>(usage.ru_maxrss) / 1e3);
  return 0;
}
