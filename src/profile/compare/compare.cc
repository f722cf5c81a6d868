#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "core/units.h"
#include "core/views.h"
#include "profile/analysis/operators.h"
#include "profile/compare/comparison.h"
#include "stats/ratio/multiple.h"
#include "stats/ratio/unpaired.h"

namespace etprof {
namespace {

constexpr int kMinPreciseRounds = 9;     // intervals of fewer rounds are rough
constexpr double kXnnpackTickNs = 1000;  // ns; XNNPACK's clock counts whole microseconds and rounds down

using BurstIndex = std::pair<int, int>;             // launch, round
using BurstMedians = std::map<BurstIndex, double>;  // ns

// The compared times of one variant: the median of each burst, if there are rounds, and all times in
// the order of the runs.
struct Series {
  BurstMedians bursts;
  std::vector<double> runs;
  std::map<int, std::vector<double>> times_by_launch;
  std::set<int> launches;  // all measured launches, clean or not
  Comparison::CleanRuns clean;
};

Series MakeLatencySeries(const std::vector<UntracedBurst>& bursts) {
  Series series;
  for (const UntracedBurst& burst : bursts) {
    std::vector<double> latency(burst.latency.begin(), burst.latency.end());
    if (const auto median = stats::Median(latency); median && burst.round >= 0)
      series.bursts[{burst.launch, burst.round}] = *median;
    series.runs.insert(series.runs.end(), latency.begin(), latency.end());
    std::vector<double>& launch_runs = series.times_by_launch[burst.launch];
    launch_runs.insert(launch_runs.end(), latency.begin(), latency.end());
    if (burst.round >= 0) series.launches.insert(burst.launch);
    const auto clean = static_cast<std::int64_t>(burst.latency.size());
    series.clean.clean += clean;
    series.clean.all += std::max(burst.runs, clean);
  }
  return series;
}

// A profile and the runs whose times are compared: the steady runs, grouped by burst.
struct SteadyRuns {
  const Profile& profile;
  std::map<BurstIndex, std::vector<std::size_t>> bursts;
  std::vector<std::size_t> runs;
  // Indexed by operator: the number of rounded durations in its self time. Each adds an error of up to
  // kXnnpackTickNs.
  std::vector<int> rounded_durations;

  explicit SteadyRuns(const Profile& steady_profile)
      : profile(steady_profile),
        runs(steady_profile.SteadyOrCommonRuns()),
        rounded_durations(steady_profile.operators.size()) {
    if (HasMicrosecondClock(profile)) {
      for (std::size_t op = 0; op < profile.operators.size(); ++op) {
        if (!RunsInXnnpack(profile.operators[op])) continue;
        ++rounded_durations[op];
        if (const std::int32_t parent = profile.operators[op].parent; parent >= 0)
          ++rounded_durations[static_cast<std::size_t>(parent)];
      }
    }
    for (const std::size_t run : runs) {
      const RunLabel& label = profile.runs[run].label;
      if (label.round >= 0) bursts[{label.launch, label.round}].push_back(run);
    }
  }
};

// The series of the steady runs. `get_time(run)` is in ns.
template <typename GetTime>
Series MakeRunSeries(const SteadyRuns& steady, const GetTime& get_time) {
  Series series;
  for (const auto& [burst, runs] : steady.bursts) {
    series.bursts[burst] = *stats::Median(MapEach(runs, get_time));
  }
  for (const std::size_t run : steady.runs) {
    series.runs.push_back(get_time(run));
    series.times_by_launch[steady.profile.runs[run].label.launch].push_back(series.runs.back());
  }
  return series;
}

// The medians of all launches that have runs.
std::vector<double> LaunchMedians(const Series& series) {
  std::vector<double> medians;
  for (const auto& [launch, runs] : series.times_by_launch) {
    if (const auto median = stats::Median(runs)) medians.push_back(*median);
  }
  return medians;
}

// Returns whether too few of a variant's launches have clean runs, if its launches are not paired.
bool HasFewCleanLaunches(const Series& series) {
  const auto clean = std::ranges::count_if(series.times_by_launch,
                                           [](const auto& launch) { return !launch.second.empty(); });
  return AreTooFewClean(static_cast<std::size_t>(clean), series.times_by_launch.size());
}

// Returns whether other processes disturbed so many runs that too few launches have clean runs
// (AreTooFewClean). Interleaved launches count only if both variants have them; otherwise, the launches of
// each variant count separately.
bool IsContended(const Series& a, const Series& b, const std::optional<stats::RatioEstimate>& estimate) {
  if (a.clean.clean == a.clean.all && b.clean.clean == b.clean.all) return false;
  std::size_t measured = 0;
  for (const int launch : a.launches) measured += b.launches.contains(launch) ? 1U : 0U;
  if (measured == 0) return !estimate || HasFewCleanLaunches(a) || HasFewCleanLaunches(b);
  return !estimate || AreTooFewClean(static_cast<std::size_t>(estimate->launches), measured);
}

// The bursts of both variants by launch. A round that one variant lacks is NaN there.
std::vector<stats::LaunchBursts> PairBursts(const BurstMedians& baseline, const BurstMedians& candidate) {
  std::set<BurstIndex> bursts;
  for (const BurstMedians* medians : {&baseline, &candidate}) {
    for (const auto& [burst, median] : *medians) bursts.insert(burst);
  }
  const auto get_median = [](const BurstMedians& medians, const BurstIndex& burst) {
    const auto found = medians.find(burst);
    return found == medians.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
  };
  std::map<int, stats::LaunchBursts> launches;
  for (const BurstIndex& burst : bursts) {
    launches[burst.first].baseline.push_back(get_median(baseline, burst));
    launches[burst.first].candidate.push_back(get_median(candidate, burst));
  }
  return MapValues(launches);
}

class Comparer {
 public:
  Comparer(const ComparedVariant& baseline, const ComparedVariant& candidate, const CompareOptions& options)
      : baseline_(baseline),
        candidate_(candidate),
        options_(options),
        is_emulated_(baseline.emulated || candidate.emulated),
        is_refused_(baseline.trace_enabled || candidate.trace_enabled || baseline.has_mixed_runs ||
                    candidate.has_mixed_runs || baseline.sustained_seconds != candidate.sustained_seconds) {
    if (baseline.profile == nullptr || candidate.profile == nullptr) return;
    a_.emplace(*baseline.profile);
    b_.emplace(*candidate.profile);
    result_.baseline_runs = static_cast<std::int64_t>(a_->profile.CommonSet().size());
    result_.candidate_runs = static_cast<std::int64_t>(b_->profile.CommonSet().size());
    if (baseline.settings == candidate.settings) differing_share_ = DifferingShare();
  }

  Comparison Run() {
    result_.baseline_label = baseline_.label;
    result_.candidate_label = candidate_.label;
    for (const ComparedVariant* variant : {&baseline_, &candidate_}) {
      if (variant->trace_enabled)
        result_.warnings.push_back(fmt::format(
            "{} is a kernel-log run: its log costs time, so its times are not compared", variant->label));
      if (variant->has_mixed_runs)
        result_.warnings.push_back(fmt::format(
            "the runs of {} do different work, so that its times are not compared: trace them apart",
            variant->label));
    }
    if (baseline_.sustained_seconds != candidate_.sustained_seconds) {
      const auto load_text = [](const ComparedVariant& variant) {
        return variant.sustained_seconds > 0
                   ? fmt::format("for {:.4g} s without a rest", variant.sustained_seconds)
                   : std::string("in bursts");
      };
      result_.warnings.push_back(
          fmt::format("{} ran {} and {} ran {}: the heat differs, so their times are not compared",
                      baseline_.label, load_text(baseline_), candidate_.label, load_text(candidate_)));
    }
    CompareLatency();
    if (a_) CompareProfiles();
    const bool has_intervals =
        result_.latency.estimate || std::ranges::any_of(result_.operators, [](const OperatorMatch& match) {
          return match.time_comparison.estimate.has_value();
        });
    if (is_unpaired_ && has_intervals) {
      result_.warnings.push_back(
          fmt::format("the two variants are not known to be interleaved: intervals include {:.2g}% of drift",
                      100 * options_.drift));
    }
    if (result_.pairing == Pairing::kLaunches && result_.rounds < kMinPreciseRounds &&
        result_.latency.estimate) {
      result_.warnings.push_back(
          fmt::format("only {}: the interval is a rough one", CountedText(result_.rounds, "round")));
    }
    return std::move(result_);
  }

  std::vector<DeltaRow> CompareOperatorSets(const std::vector<OperatorSet>& sets) {
    if (!a_) return {};
    CompareLatency();
    FindContention();
    return MakeRows(sets);
  }

 private:
  void CompareLatency() {
    if (is_refused_) return;
    Series a = MakeLatencySeries(baseline_.bursts);
    Series b = MakeLatencySeries(candidate_.bursts);
    if ((a.clean.all == 0 || b.clean.all == 0) && a_) {
      result_.latency_from_trace = true;
      a = MakeTotalSeries(*a_);
      b = MakeTotalSeries(*b_);
    }
    result_.latency.baseline_ns = stats::Median(a.runs);
    result_.latency.candidate_ns = stats::Median(b.runs);
    result_.latency.estimate = Estimate(a, b);
    WidenForTracer(result_.latency.estimate);
    is_unpaired_ = a.bursts.empty() || b.bursts.empty();
    result_.baseline_clean = a.clean;
    result_.candidate_clean = b.clean;
    is_contended_ = IsContended(a, b, result_.latency.estimate);
    if (is_contended_) {
      if (!a.launches.empty() && !b.launches.empty()) result_.pairing = Pairing::kLaunches;
      if (result_.latency.estimate) {
        result_.launches = result_.latency.estimate->launches;
        result_.rounds = result_.latency.estimate->rounds;
      }
      result_.latency.estimate.reset();
      result_.latency.verdict = AdjustVerdict(stats::Verdict::kContended);
      return;
    }
    if (result_.latency.estimate && result_.latency.estimate->launches > 0 &&
        options_.interim_confidence > 0) {
      result_.latency.estimate =
          stats::WithConfidence(*result_.latency.estimate, options_.interim_confidence);
      result_.latency.estimate->confidence = options_.confidence;  // the coverage over all interim analyses
    }
    if (result_.latency.estimate) {
      const stats::RatioEstimate& estimate = *result_.latency.estimate;
      result_.latency.verdict =
          AdjustVerdict(stats::DecideVerdict(estimate.log_low, estimate.log_high, options_.margin));
      result_.pairing = estimate.launches > 0 ? Pairing::kLaunches : Pairing::kUnpaired;
      result_.launches = estimate.launches;
      result_.rounds = estimate.rounds;
    } else {
      result_.latency.verdict = AdjustVerdict(stats::Verdict::kInconclusive);
      if (is_unpaired_) {
        is_dependent_ = WarnIfDependent(baseline_.label, a.runs);
        is_dependent_ |= WarnIfDependent(candidate_.label, b.runs);
      }
    }
  }

  // Widens the estimate by the maximum cost of an event tracer, if only one of two releases was measured with
  // an event tracer.
  void WidenForTracer(std::optional<stats::RatioEstimate>& estimate) {
    const auto has_own_tracer = [](const ComparedVariant& variant) {
      return variant.profile != nullptr && !variant.tracer_added;
    };
    const bool baseline_has_tracer = has_own_tracer(baseline_);
    if (baseline_.executorch == candidate_.executorch || baseline_has_tracer == has_own_tracer(candidate_))
      return;
    const ComparedVariant &with_tracer = baseline_has_tracer ? baseline_ : candidate_,
                          &without_tracer = baseline_has_tracer ? candidate_ : baseline_;
    const auto latency = stats::Median(MakeLatencySeries(with_tracer.bursts).runs);
    std::optional<double> share;
    if (with_tracer.clock_read_ns && latency && *latency > 0) {
      share = kIdleTracerReads * *with_tracer.clock_read_ns *
              static_cast<double>(with_tracer.profile->operators.size()) / *latency;
    }
    const std::string bound = share ? fmt::format("at most {:.2g}%", 100 * *share) : "an unknown share";
    if (without_tracer.profile != nullptr) {
      result_.warnings.push_back(
          fmt::format("{} has no event tracer and was measured with one, as {} has: without it, it is faster "
                      "by {}",
                      without_tracer.label, with_tracer.label, bound));
      return;
    }
    if (estimate) {
      estimate = share
                     ? stats::WithSystematicError(*estimate, estimate->systematic_error + std::log1p(*share))
                     : stats::MarkUnresolved(*estimate);
    }
    result_.warnings.push_back(
        fmt::format("{} has an event tracer and {} has none: its idle cost, {} of the latency, is never "
                    "called faster or slower",
                    with_tracer.label, without_tracer.label, bound));
  }

  // Returns true, and adds a warning, if there is no interval because the runs depend on each other.
  bool WarnIfDependent(const std::string& label, const std::vector<double>& runs) {
    const double independent_runs = stats::IndependentRuns(runs);
    if (runs.size() < stats::kMinUnpairedRuns || independent_runs >= stats::kMinIndependentRuns) return false;
    result_.warnings.push_back(
        fmt::format("no interval: the latency of {} drifts or comes in waves, so that its {} runs are worth "
                    "only about {:.0f} independent ones",
                    label, runs.size(), independent_runs));
    return true;
  }

  const std::vector<NodePair>& Matches() {
    if (!matches_)
      matches_ = options_.matches != nullptr ? *options_.matches : MatchOperators(a_->profile, b_->profile);
    return *matches_;
  }

  // The share of the time of traced inferences in which the variants do different work: operators that only
  // one variant has or whose types differ, and the differences between the times of all others. 1: not known.
  double DifferingShare() {
    const Profile &a = a_->profile, &b = b_->profile;
    if (result_.baseline_runs == 0 || result_.candidate_runs == 0) return 1;
    const auto mean = [](const Profile& profile, const std::optional<std::size_t>& op, std::int64_t runs) {
      return op ? static_cast<double>(profile.statistics[*op].total_self) / static_cast<double>(runs) : 0;
    };
    double total = 0, differing = 0;
    for (const NodePair& pair : Matches()) {
      const double baseline_ns = mean(a, pair.baseline, result_.baseline_runs);
      const double candidate_ns = mean(b, pair.candidate, result_.candidate_runs);
      const double larger = std::max(baseline_ns, candidate_ns);
      const bool has_same_type = pair.baseline && pair.candidate &&
                                 a.operators[*pair.baseline].type == b.operators[*pair.candidate].type;
      total += larger;
      differing += has_same_type ? std::abs(baseline_ns - candidate_ns) : larger;
    }
    return total > 0 ? std::clamp(differing / total, 0.0, 1.0) : 1;
  }

  static Series MakeTotalSeries(const SteadyRuns& steady) {
    return MakeRunSeries(
        steady, [&](std::size_t run) { return static_cast<double>(steady.profile.runs[run].total); });
  }

  std::optional<stats::RatioEstimate> Estimate(const Series& a, const Series& b) const {
    if (is_refused_) return std::nullopt;
    const auto estimate = !a.bursts.empty() && !b.bursts.empty()
                              ? stats::EstimateRatio(PairBursts(a.bursts, b.bursts), options_.confidence)
                              : EstimateUnpaired(a, b);
    if (!estimate) return estimate;
    return WithWaitingError(*estimate, baseline_.waited_share, candidate_.waited_share, differing_share_);
  }

  // Compares the medians of the launches; files without launches are compared run by run.
  std::optional<stats::RatioEstimate> EstimateUnpaired(const Series& a, const Series& b) const {
    const std::vector<double> baseline_medians = LaunchMedians(a), candidate_medians = LaunchMedians(b);
    if (std::min(baseline_medians.size(), candidate_medians.size()) >= std::size_t{stats::kMinLaunches})
      return stats::EstimateLaunchesWithDrift(baseline_medians, candidate_medians, options_.confidence,
                                              options_.drift);
    const auto estimate = stats::EstimateUnpaired(a.runs, b.runs, options_.confidence, options_.seed);
    return estimate ? std::optional(stats::WithDrift(*estimate, options_.drift)) : std::nullopt;
  }

  stats::Verdict AdjustVerdict(stats::Verdict verdict) const {
    if (is_emulated_) return stats::Verdict::kEmulated;
    return is_contended_ ? stats::Verdict::kContended : verdict;
  }

  void CompareProfiles() {
    FindContention();
    const Profile &a = a_->profile, &b = b_->profile;
    const Breakdown groups_a = ByGroup(a), groups_b = ByGroup(b);
    result_.baseline_total = groups_a.total;
    result_.candidate_total = groups_b.total;
    result_.baseline_clipped = groups_a.rows.back().total;
    result_.candidate_clipped = groups_b.rows.back().total;

    const auto single_set = [](const std::optional<std::size_t>& op) {
      return op ? std::vector{*op} : std::vector<std::size_t>();
    };
    for (const NodePair& pair : Matches()) {
      OperatorMatch& match = result_.operators.emplace_back();
      match.baseline = pair.baseline;
      match.candidate = pair.candidate;
      match.match_score = pair.score;
      match.evidence = pair.evidence;
      match.change = FindProgramChange(a, b, pair.baseline, pair.candidate, pair.moved);
      Measure(single_set(pair.baseline), single_set(pair.candidate), match);
      if (!pair.baseline) match.time_comparison.baseline_ns.reset();
      if (!pair.candidate) match.time_comparison.candidate_ns.reset();
    }
    UpdateVerdicts(result_.operators);

    result_.groups = CompareRows(groups_a, groups_b, [](const Operator& op) {
      return std::string_view(OperatorGroupName(op.category.group));
    });
    result_.categories = CompareRows(ByCategory(a), ByCategory(b),
                                     [](const Operator& op) { return std::string_view(op.category.name); });
  }

  // Sets is_contended_ if too few traced runs are clean.
  void FindContention() {
    if (is_refused_ || is_contended_) return;
    const auto make_series = [](const SteadyRuns& steady) {
      Series series = MakeTotalSeries(steady);
      for (const ProfiledRun& run : steady.profile.runs) {
        const bool is_steady = run.label.phase == Phase::kSteady;
        if (!is_steady && run.label.phase != Phase::kDisturbed) continue;
        if (run.label.round >= 0) series.launches.insert(run.label.launch);
        series.times_by_launch.try_emplace(run.label.launch);
        series.clean.clean += is_steady ? 1 : 0;
        ++series.clean.all;
      }
      return series;
    };
    const Series baseline_series = make_series(*a_), candidate_series = make_series(*b_);
    // Without clean runs, the series consist of disturbed runs.
    const bool has_clean_runs = baseline_series.clean.clean > 0 && candidate_series.clean.clean > 0;
    is_contended_ = IsContended(baseline_series, candidate_series,
                                has_clean_runs ? Estimate(baseline_series, candidate_series) : std::nullopt);
  }

  // The sum of these operators' self times, run by run.
  static Series MakeOperatorSeries(const SteadyRuns& steady, const std::vector<std::size_t>& operators) {
    return MakeRunSeries(steady, [&](std::size_t run) {
      Nanoseconds sum = 0;
      for (const std::size_t op : operators) sum += std::max<Nanoseconds>(0, steady.profile.Self(op)[run]);
      return static_cast<double>(sum);
    });
  }

  // Fills the totals and times of a row from these operators of the variants.
  template <typename Row>
  void Measure(const std::vector<std::size_t>& baseline_operators,
               const std::vector<std::size_t>& candidate_operators, Row& row) const {
    for (const std::size_t op : baseline_operators)
      row.baseline_total += a_->profile.statistics[op].total_self;
    for (const std::size_t op : candidate_operators)
      row.candidate_total += b_->profile.statistics[op].total_self;
    TimeComparison& time_comparison = row.time_comparison;
    time_comparison.baseline_ns = QuotientIfDefined(row.baseline_total, result_.baseline_runs);
    time_comparison.candidate_ns = QuotientIfDefined(row.candidate_total, result_.candidate_runs);
    if (is_contended_ || is_dependent_ || row.baseline_total <= 0 || row.candidate_total <= 0) return;
    const double rounding = std::max(RoundingError(*a_, baseline_operators, *time_comparison.baseline_ns),
                                     RoundingError(*b_, candidate_operators, *time_comparison.candidate_ns));
    time_comparison.too_short = !std::isfinite(rounding);
    if (time_comparison.too_short) return;
    time_comparison.estimate =
        Estimate(MakeOperatorSeries(*a_, baseline_operators), MakeOperatorSeries(*b_, candidate_operators));
    if (time_comparison.estimate && rounding > 0) {
      time_comparison.estimate = stats::WithSystematicError(
          *time_comparison.estimate, time_comparison.estimate->systematic_error + rounding);
    }
    if (time_comparison.estimate && !IsResolved(time_comparison))
      time_comparison.estimate = stats::MarkUnresolved(*time_comparison.estimate);
  }

  // The largest error of the logarithm of a mean self time. Times in whole microseconds, and differences of
  // such times, are wrong by up to one microsecond, which may be the same in every run. Infinite if the mean
  // is no larger than the error.
  static double RoundingError(const SteadyRuns& steady, const std::vector<std::size_t>& operators,
                              double mean) {
    double error = 0;
    for (const std::size_t op : operators) error += kXnnpackTickNs * steady.rounded_durations[op];
    return error < mean ? -std::log1p(-error / mean) : std::numeric_limits<double>::infinity();
  }

  // Returns whether the difference between the variants is at least kMinResolvableDifference, both in the
  // means that tables show and in the times from which the ratio is estimated. A missing mean counts as
  // different.
  static bool IsResolved(const TimeComparison& time_comparison) {
    const auto differ = [](const std::optional<double>& a, const std::optional<double>& b) {
      return !a || !b || std::abs(*a - *b) >= static_cast<double>(kMinResolvableDifference);
    };
    return differ(time_comparison.baseline_ns, time_comparison.candidate_ns) &&
           differ(time_comparison.estimate->baseline(), time_comparison.estimate->candidate());
  }

  std::vector<DeltaRow> MakeRows(const std::vector<OperatorSet>& sets) const {
    std::vector<DeltaRow> rows;
    for (const OperatorSet& set : sets)
      Measure(set.baseline, set.candidate, rows.emplace_back(DeltaRow{set.name, 0, 0, {}}));
    UpdateVerdicts(rows);
    return rows;
  }

  // The rows of both breakdowns. `get_row_name(op)` is the name of the row that contains the operator.
  template <typename GetName>
  std::vector<DeltaRow> CompareRows(const Breakdown& rows_a, const Breakdown& rows_b,
                                    const GetName& get_row_name) const {
    const auto members = [&](const Profile& profile, const std::string& name) {
      return IndicesWhere(profile.operators, [&](const Operator& op) { return get_row_name(op) == name; });
    };
    std::vector<OperatorSet> sets;
    for (const Breakdown* const breakdown : {&rows_a, &rows_b}) {
      for (std::size_t i = 0; i + 1 < breakdown->rows.size(); ++i) {
        const std::string& name = breakdown->rows[i].name;
        if (std::ranges::find(sets, name, &OperatorSet::name) == sets.end())
          sets.push_back({name, members(a_->profile, name), members(b_->profile, name)});
      }
    }
    std::vector<DeltaRow> rows = MakeRows(sets);
    // The last row of every breakdown is "Clipped".
    rows.push_back({kClipped, rows_a.rows.back().total, rows_b.rows.back().total, {}});
    return rows;
  }

  // Decides the verdicts and controls the false discovery rate over all rows that have an estimate.
  template <typename Row>
  void UpdateVerdicts(std::vector<Row>& rows) const {
    std::vector<stats::JointComparison> comparisons;
    for (Row& row : rows) comparisons.push_back({row.time_comparison.estimate, row.time_comparison.verdict});
    stats::UpdateVerdicts(comparisons, options_.false_discovery_rate, options_.margin);
    for (Row& row : rows) row.time_comparison.verdict = AdjustVerdict(row.time_comparison.verdict);
  }

  const ComparedVariant& baseline_;
  const ComparedVariant& candidate_;
  const CompareOptions& options_;
  std::optional<SteadyRuns> a_, b_;               // absent unless both variants have a profile
  std::optional<std::vector<NodePair>> matches_;  // cached result of matching the operators
  double differing_share_ = 1;                    // DifferingShare(); 1 if the settings differ
  bool is_emulated_;                              // a CPU was emulated, so the times are not meaningful
  bool is_refused_;                               // the times must not be compared
  bool is_contended_ = false;                     // too few clean runs
  bool is_unpaired_ = false;                      // a variant has no rounds
  bool is_dependent_ = false;  // the latency has no interval, since its runs depend on each other
  Comparison result_;
};

}  // namespace

Comparison Compare(const ComparedVariant& baseline, const ComparedVariant& candidate,
                   const CompareOptions& options) {
  return Comparer(baseline, candidate, options).Run();
}

std::vector<DeltaRow> CompareSets(const ComparedVariant& baseline, const ComparedVariant& candidate,
                                  const std::vector<OperatorSet>& sets, const CompareOptions& options) {
  return Comparer(baseline, candidate, options).CompareOperatorSets(sets);
}

}  // namespace etprof
