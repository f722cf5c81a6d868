#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "compare/comparison.h"
#include "core/units.h"
#include "stats/multiple.h"
#include "stats/unpaired.h"

namespace etprof {
namespace {

constexpr int kFewRounds = 9;  // fewer than this and an interval is a rough one

using BurstPlace = std::pair<int, int>;             // launch, round
using BurstMedians = std::map<BurstPlace, double>;  // ns

// Times of the same thing on one side: by burst where there are rounds, and all of them in order.
struct Series {
  BurstMedians bursts;
  std::vector<double> runs;
  std::set<int> launches;  // those in which it was measured, clean or not
  Comparison::CleanRuns clean;
};

Series SeriesOfLatency(const std::vector<UntracedBurst>& bursts) {
  Series series;
  for (const UntracedBurst& burst : bursts) {
    std::vector<double> latency(burst.latency.begin(), burst.latency.end());
    if (const auto median = stats::Median(latency); median && burst.round >= 0)
      series.bursts[{burst.launch, burst.round}] = *median;
    series.runs.insert(series.runs.end(), latency.begin(), latency.end());
    if (burst.round >= 0) series.launches.insert(burst.launch);
    const auto clean = static_cast<std::int64_t>(burst.latency.size());
    series.clean.clean += clean;
    series.clean.all += std::max(burst.runs, clean);
  }
  return series;
}

// The runs of a profile that times are taken from: the steady ones, grouped by burst.
struct SteadyRuns {
  std::map<BurstPlace, std::vector<std::size_t>> bursts;
  std::vector<std::size_t> all;

  explicit SteadyRuns(const Profile& profile) : all(profile.RunsOf(Phase::kSteady)) {
    if (all.empty()) all = profile.CommonSet();
    for (const std::size_t run : all) {
      const RunLabel& label = profile.runs[run].label;
      if (label.round >= 0) bursts[{label.launch, label.round}].push_back(run);
    }
  }
};

// `time_of(run)` in ns; the series over the steady runs.
template <typename TimeOf>
Series SeriesOfRuns(const SteadyRuns& steady, const TimeOf& time_of) {
  Series series;
  for (const auto& [place, runs] : steady.bursts) {
    std::vector<double> values;
    for (const std::size_t run : runs) values.push_back(time_of(run));
    series.bursts[place] = *stats::Median(values);
  }
  for (const std::size_t run : steady.all) series.runs.push_back(time_of(run));
  return series;
}

// Whether other processes left too few clean runs: runs were left out for it, and of the launches that both
// sides have fewer than kLeastCleanLaunches can be compared.
bool IsContended(const Series& a, const Series& b, const std::optional<stats::RatioEstimate>& estimate) {
  if (a.clean.clean == a.clean.all && b.clean.clean == b.clean.all) return false;
  std::size_t measured = 0;
  for (const int launch : a.launches) measured += b.launches.contains(launch) ? 1 : 0;
  if (measured == 0) return !estimate;  // not paired
  const auto wanted = std::min<std::size_t>(measured, kLeastCleanLaunches);
  return !estimate || static_cast<std::size_t>(estimate->launches) < wanted;
}

// Bursts of both sides, launch by launch; a round that one side lacks is NaN there.
std::vector<stats::LaunchBursts> Pair(const BurstMedians& baseline, const BurstMedians& candidate) {
  std::map<BurstPlace, std::pair<double, double>> rounds;
  const double missing = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [place, median] : baseline) rounds[place] = {median, missing};
  for (const auto& [place, median] : candidate) {
    const auto [position, is_new] = rounds.try_emplace(place, missing, median);
    if (!is_new) position->second.second = median;
  }
  std::map<int, stats::LaunchBursts> launches;
  for (const auto& [place, medians] : rounds) {
    launches[place.first].baseline.push_back(medians.first);
    launches[place.first].candidate.push_back(medians.second);
  }
  std::vector<stats::LaunchBursts> result;
  for (auto& [index, launch] : launches) result.push_back(std::move(launch));
  return result;
}

class Comparer {
 public:
  Comparer(const Side& baseline, const Side& candidate, const CompareOptions& options)
      : baseline_(baseline),
        candidate_(candidate),
        options_(options),
        emulated_(baseline.emulated || candidate.emulated),
        refused_(baseline.trace_enabled || candidate.trace_enabled) {}

  Comparison Run() {
    result_.baseline_label = baseline_.label;
    result_.candidate_label = candidate_.label;
    if (refused_) {
      result_.warnings.push_back(
          fmt::format("{} is a kernel-log run: its log costs time, so its times are not compared",
                      baseline_.trace_enabled ? baseline_.label : candidate_.label));
    }
    CompareLatency();
    if (baseline_.profile != nullptr && candidate_.profile != nullptr) {
      CompareProfiles(*baseline_.profile, *candidate_.profile);
    }
    if (result_.pairing == Pairing::kUnpaired) {
      result_.warnings.push_back(
          "the two variants are not known to be interleaved: drift between their measurements may be "
          "mistaken for a difference");
    }
    if (result_.pairing == Pairing::kLaunches && result_.rounds < kFewRounds && result_.latency.estimate) {
      result_.warnings.push_back(
          fmt::format("only {}: the interval is a rough one", CountedText(result_.rounds, "round")));
    }
    return std::move(result_);
  }

  std::vector<DeltaRow> Sets(const std::vector<OperatorSet>& sets) {
    if (baseline_.profile == nullptr || candidate_.profile == nullptr) return {};
    const Profile& a = *baseline_.profile;
    const Profile& b = *candidate_.profile;
    result_.baseline_runs = static_cast<std::int64_t>(a.CommonSet().size());
    result_.candidate_runs = static_cast<std::int64_t>(b.CommonSet().size());
    const SteadyRuns steady_a(a);
    const SteadyRuns steady_b(b);
    CompareLatency();
    FindContention(a, b);
    std::vector<DeltaRow> rows;
    for (const OperatorSet& set : sets) {
      DeltaRow row;
      row.name = set.name;
      for (const std::size_t op : set.baseline) row.baseline_total += a.statistics[op].total_self;
      for (const std::size_t op : set.candidate) row.candidate_total += b.statistics[op].total_self;
      row.quantity =
          QuantityOf(row.baseline_total, row.candidate_total, SeriesOfOperators(a, steady_a, set.baseline),
                     SeriesOfOperators(b, steady_b, set.candidate));
      rows.push_back(std::move(row));
    }
    JudgeTogether(rows);
    return rows;
  }

 private:
  void CompareLatency() {
    if (refused_) return;
    Series a = SeriesOfLatency(baseline_.bursts);
    Series b = SeriesOfLatency(candidate_.bursts);
    if ((a.clean.all == 0 || b.clean.all == 0) && baseline_.profile != nullptr &&
        candidate_.profile != nullptr) {
      result_.latency_from_trace = true;
      a = SeriesOfTotals(*baseline_.profile);
      b = SeriesOfTotals(*candidate_.profile);
    }
    result_.latency.baseline_ns = stats::Median(a.runs);
    result_.latency.candidate_ns = stats::Median(b.runs);
    result_.latency.estimate = Estimate(a, b);
    result_.baseline_clean = a.clean;
    result_.candidate_clean = b.clean;
    contended_ = IsContended(a, b, result_.latency.estimate);
    if (contended_) {
      if (!a.launches.empty() && !b.launches.empty()) result_.pairing = Pairing::kLaunches;
      if (result_.latency.estimate) {
        result_.launches = result_.latency.estimate->launches;
        result_.rounds = result_.latency.estimate->rounds;
      }
      result_.latency.estimate.reset();
      result_.latency.verdict = VerdictOf(stats::Verdict::kContended);
      return;
    }
    if (result_.latency.estimate && result_.latency.estimate->launches > 0 && options_.look_confidence > 0) {
      result_.latency.estimate = stats::WithConfidence(*result_.latency.estimate, options_.look_confidence);
      result_.latency.estimate->confidence = options_.confidence;  // what it covers, looks and all
    }
    if (result_.latency.estimate) {
      const stats::RatioEstimate& estimate = *result_.latency.estimate;
      result_.latency.verdict = VerdictOf(stats::Judge(estimate.log_low, estimate.log_high, options_.margin));
      result_.pairing = estimate.launches > 0 ? Pairing::kLaunches : Pairing::kUnpaired;
      result_.launches = estimate.launches;
      result_.rounds = estimate.rounds;
    } else {
      result_.latency.verdict = VerdictOf(stats::Verdict::kInconclusive);
      if (a.bursts.empty() || b.bursts.empty()) {
        WarnOfDependence(baseline_.label, a.runs);
        WarnOfDependence(candidate_.label, b.runs);
      }
    }
  }

  // Why there is no interval, where the runs are there.
  void WarnOfDependence(const std::string& label, const std::vector<double>& runs) {
    const double independent = stats::IndependentRuns(runs);
    if (runs.size() < stats::kLeastRuns || independent >= stats::kLeastIndependentRuns) return;
    result_.warnings.push_back(
        fmt::format("no interval: the latency of {} drifts or comes in waves, so that its {} runs are worth "
                    "only about {:.0f} independent ones",
                    label, runs.size(), independent));
  }

  static Series SeriesOfTotals(const Profile& profile) {
    return SeriesOfRuns(SteadyRuns(profile),
                        [&](std::size_t run) { return static_cast<double>(profile.runs[run].total); });
  }

  std::optional<stats::RatioEstimate> Estimate(const Series& a, const Series& b) const {
    if (refused_) return std::nullopt;
    if (!a.bursts.empty() && !b.bursts.empty()) {
      const std::vector<stats::LaunchBursts> launches = Pair(a.bursts, b.bursts);
      const auto estimate = stats::EstimateRatio(launches, options_.confidence);
      const double waited = std::max(baseline_.waited_share, candidate_.waited_share);
      return estimate ? std::optional(stats::WithSystematicError(*estimate, kErrorOfWaiting * waited))
                      : std::nullopt;
    }
    return stats::EstimateUnpaired(a.runs, b.runs, options_.confidence, options_.seed);
  }

  stats::Verdict VerdictOf(stats::Verdict verdict) const {
    if (emulated_) return stats::Verdict::kEmulated;
    return contended_ ? stats::Verdict::kContended : verdict;
  }

  void CompareProfiles(const Profile& a, const Profile& b) {
    const SteadyRuns steady_a(a);
    const SteadyRuns steady_b(b);
    FindContention(a, b);
    const Breakdown whole_a = ByOperator(a);
    const Breakdown whole_b = ByOperator(b);
    result_.baseline_runs = whole_a.runs;
    result_.candidate_runs = whole_b.runs;
    result_.baseline_total = whole_a.total;
    result_.candidate_total = whole_b.total;
    result_.baseline_clipped = whole_a.rows.back().total;
    result_.candidate_clipped = whole_b.rows.back().total;

    const std::vector<MatchedPair> matches =
        options_.matches != nullptr ? *options_.matches : MatchOperators(a, b);
    for (const MatchedPair& pair : matches) {
      OperatorMatch match;
      match.baseline = pair.baseline;
      match.candidate = pair.candidate;
      Series series_a;
      Series series_b;
      if (pair.baseline) {
        match.baseline_total = whole_a.rows[*pair.baseline].total;
        series_a = SeriesOfOperators(a, steady_a, {*pair.baseline});
      }
      if (pair.candidate) {
        match.candidate_total = whole_b.rows[*pair.candidate].total;
        series_b = SeriesOfOperators(b, steady_b, {*pair.candidate});
      }
      match.match_score = pair.score;
      match.evidence = pair.evidence;
      match.change = ChangeOf(a, b, pair.baseline, pair.candidate, pair.moved);
      match.quantity = QuantityOf(match.baseline_total, match.candidate_total, series_a, series_b);
      if (!pair.baseline) match.quantity.baseline_ns.reset();
      if (!pair.candidate) match.quantity.candidate_ns.reset();
      result_.operators.push_back(std::move(match));
    }
    JudgeTogether(result_.operators);

    const auto of_group = [](const Operator& op) { return std::string(GroupName(op.category.group)); };
    result_.groups = CompareRows(a, b, steady_a, steady_b, ByGroup(a), ByGroup(b), of_group);
    const auto of_category = [](const Operator& op) { return std::string(op.category.name); };
    result_.categories = CompareRows(a, b, steady_a, steady_b, ByCategory(a), ByCategory(b), of_category);
  }

  // The same of the traced runs.
  void FindContention(const Profile& a, const Profile& b) {
    const auto whole = [](const Profile& profile) {
      Series series = SeriesOfTotals(profile);
      for (const ProfiledRun& run : profile.runs) {
        const bool steady = run.label.phase == Phase::kSteady;
        if (!steady && run.label.phase != Phase::kDisturbed) continue;
        if (run.label.round >= 0) series.launches.insert(run.label.launch);
        series.clean.clean += steady ? 1 : 0;
        ++series.clean.all;
      }
      if (series.clean.clean == 0) series.bursts.clear();  // they were made of disturbed runs
      return series;
    };
    const Series of_a = whole(a);
    const Series of_b = whole(b);
    const bool known = !of_a.bursts.empty() && !of_b.bursts.empty();
    contended_ = contended_ || IsContended(of_a, of_b, known ? Estimate(of_a, of_b) : std::nullopt);
  }

  // The sum of these operators' self times, run by run.
  static Series SeriesOfOperators(const Profile& profile, const SteadyRuns& steady,
                                  const std::vector<std::size_t>& operators) {
    return SeriesOfRuns(steady, [&](std::size_t run) {
      Nanoseconds sum = 0;
      for (const std::size_t op : operators) sum += std::max<Nanoseconds>(0, profile.Self(op)[run]);
      return static_cast<double>(sum);
    });
  }

  Quantity QuantityOf(Nanoseconds baseline_total, Nanoseconds candidate_total, const Series& a,
                      const Series& b) const {
    Quantity quantity;
    if (result_.baseline_runs > 0)
      quantity.baseline_ns = static_cast<double>(baseline_total) / static_cast<double>(result_.baseline_runs);
    if (result_.candidate_runs > 0)
      quantity.candidate_ns =
          static_cast<double>(candidate_total) / static_cast<double>(result_.candidate_runs);
    const bool both_have_time = baseline_total > 0 && candidate_total > 0;
    if (both_have_time && !contended_) quantity.estimate = Estimate(a, b);
    if (quantity.estimate && !IsResolved(quantity)) {
      quantity.estimate = stats::Unresolved(*quantity.estimate);
    }
    return quantity;
  }

  // By the means that tables show, and by the times that the ratio is one of.
  static bool IsResolved(const Quantity& quantity) {
    const auto differ = [](const std::optional<double>& a, const std::optional<double>& b) {
      return !a || !b || std::abs(*a - *b) >= static_cast<double>(kLeastDifference);
    };
    return differ(quantity.baseline_ns, quantity.candidate_ns) &&
           differ(quantity.estimate->baseline(), quantity.estimate->candidate());
  }

  template <typename NameOf>
  std::vector<DeltaRow> CompareRows(const Profile& a, const Profile& b, const SteadyRuns& steady_a,
                                    const SteadyRuns& steady_b, const Breakdown& rows_a,
                                    const Breakdown& rows_b, const NameOf& name_of) const {
    std::vector<DeltaRow> rows;
    const auto row_named = [&](const std::string& name) -> DeltaRow& {
      for (DeltaRow& row : rows) {
        if (row.name == name) return row;
      }
      rows.push_back({name, 0, 0, {}});
      return rows.back();
    };
    // "Clipped" closes every breakdown, and this one too.
    for (std::size_t i = 0; i + 1 < rows_a.rows.size(); ++i)
      row_named(rows_a.rows[i].name).baseline_total = rows_a.rows[i].total;
    for (std::size_t i = 0; i + 1 < rows_b.rows.size(); ++i)
      row_named(rows_b.rows[i].name).candidate_total = rows_b.rows[i].total;
    const auto members = [&](const Profile& profile, const std::string& name) {
      std::vector<std::size_t> found;
      for (std::size_t op = 0; op < profile.operators.size(); ++op) {
        if (name_of(profile.operators[op]) == name) found.push_back(op);
      }
      return found;
    };
    for (DeltaRow& row : rows) {
      row.quantity = QuantityOf(row.baseline_total, row.candidate_total,
                                SeriesOfOperators(a, steady_a, members(a, row.name)),
                                SeriesOfOperators(b, steady_b, members(b, row.name)));
    }
    JudgeTogether(rows);
    rows.push_back({"Clipped", rows_a.rows.back().total, rows_b.rows.back().total, {}});
    return rows;
  }

  // Verdicts with the false discovery rate controlled over all rows that have an estimate.
  template <typename Row>
  void JudgeTogether(std::vector<Row>& rows) const {
    std::vector<stats::RatioEstimate> estimates;
    std::vector<Row*> judged;
    for (Row& row : rows) {
      row.quantity.verdict = VerdictOf(stats::Verdict::kInconclusive);
      if (!row.quantity.estimate) continue;
      estimates.push_back(*row.quantity.estimate);
      judged.push_back(&row);
    }
    const std::vector<stats::OperatorVerdict> verdicts =
        stats::JudgeMany(estimates, options_.false_discovery, options_.margin);
    for (std::size_t i = 0; i < judged.size(); ++i) {
      judged[i]->quantity.estimate = verdicts[i].estimate;
      judged[i]->quantity.verdict = VerdictOf(verdicts[i].verdict);
    }
  }

  const Side& baseline_;
  const Side& candidate_;
  const CompareOptions& options_;
  bool emulated_;           // times mean nothing
  bool refused_;            // they are not to be compared
  bool contended_ = false;  // too few runs are clean
  Comparison result_;
};

}  // namespace

Comparison Compare(const Side& baseline, const Side& candidate, const CompareOptions& options) {
  return Comparer(baseline, candidate, options).Run();
}

std::vector<DeltaRow> CompareSets(const Side& baseline, const Side& candidate,
                                  const std::vector<OperatorSet>& sets, const CompareOptions& options) {
  return Comparer(baseline, candidate, options).Sets(sets);
}

}  // namespace etprof
