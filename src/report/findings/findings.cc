#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "core/text/text.h"
#include "core/views.h"
#include "format/program/xnn/delegable.h"
#include "format/xnnpack/operator_name.h"
#include "profile/analysis/operators.h"
#include "report/findings/traced.h"
#include "report/kernels/watched.h"
#include "report/run/pair.h"

namespace etprof {
namespace {

using finding::TimePart;
using finding::TypeTime;
using finding::TypeTimes;
using finding::UpperBound;

// Parts with smaller shares of an inference are not worth acting on.
constexpr double kMinShare = 0.02;
constexpr double kBottleneckShare = 0.05;
constexpr double kMaxShareWithBound = 0.9;
constexpr double kMinLossShare = 0.001;
// Smaller differences may come from reading the clocks, which counts as CPU time but not as wall time.
constexpr double kMinSpeedupDisagreement = 0.02;

template <typename Keep>
TypeTimes SumByType(const ReportExperiment& experiment, const Keep& keep) {
  std::map<std::string, TypeTime> sums;
  for (const OperatorRow& row : experiment.operators) {
    const Operator& op = experiment.profile->operators[row.op];
    if (!keep(op)) continue;
    TypeTime& sum = sums[op.type];
    sum.type = op.type;
    ++sum.operators;
    sum.ns += row.mean_self_ns;
    if (!experiment.profile->program) continue;
    const std::string& reason = experiment.profile->program->operators[row.op].not_delegated_reason;
    if (!reason.empty()) AppendUnique(reason, sum.not_delegated);
  }
  TypeTimes sorted = MapValues(sums);
  std::ranges::stable_sort(sorted, [](const TypeTime& a, const TypeTime& b) { return a.ns > b.ns; });
  return sorted;
}

double SumTimes(const TypeTimes& types) {
  return std::accumulate(types.begin(), types.end(), 0.0,
                         [](double sum, const TypeTime& type) { return sum + type.ns; });
}

// The largest group of operators, without overheads.
OperatorGroup LargestGroup(const ReportExperiment& experiment) {
  OperatorGroup largest = OperatorGroup::kConvolution;
  for (const OperatorGroup group : kAllOperatorGroups) {
    if (!IsOverhead(group) && experiment.GroupMean(group) > experiment.GroupMean(largest)) largest = group;
  }
  return largest;
}

// Part and whole are means over the same traced runs, so that the bound matches the reported share.
UpperBound FindUpperBound(const TimePart& part, const ReportExperiment& experiment) {
  if (TracedTimesDisagree(experiment)) return std::nullopt;
  return part.ns < part.whole_ns ? std::optional(part.whole_ns / (part.whole_ns - part.ns)) : std::nullopt;
}

// The least ratio between the growths of a part and another part, by the ends of both intervals; above 1, the
// part certainly grew more. Absent if an interval is missing.
std::optional<double> MinRelativeGrowth(const TimeComparison& part, const TimeComparison& other) {
  if (!part.estimate || !other.estimate) return std::nullopt;
  return other.estimate->low() / part.estimate->high();
}

class Finder {
 public:
  explicit Finder(const Report& report) : report_(report) {}

  std::vector<Finding> Run() {
    // Advice concerns the variant to be shipped: the candidate of a pair, or a single experiment.
    std::vector<std::size_t> subjects;
    if (report_.ladder) return MakeLadderFindings(*report_.ladder);
    const auto add = [&](const ReportComparison& pair) {
      if (std::ranges::find(subjects, pair.candidate) == subjects.end()) subjects.push_back(pair.candidate);
    };
    // If there are several pairs, a variant that is significantly slower will not be shipped.
    for (const ReportComparison& pair : report_.comparisons) {
      if (pair.comparison.latency.verdict != stats::Verdict::kSlower) add(pair);
    }
    if (subjects.empty()) std::ranges::for_each(report_.comparisons, add);
    if (subjects.empty()) {
      for (std::size_t i = 0; i < report_.experiments.size(); ++i) subjects.push_back(i);
    }
    for (const ReportComparison& pair : report_.comparisons) AddFindingsOfPair(pair);
    for (const std::size_t subject : subjects) AddExperiment(subject);
    return TakeSorted();
  }

 private:
  std::vector<Finding> TakeSorted() {
    // Findings that limit the meaning of all others come first.
    std::ranges::stable_sort(found_, std::ranges::greater(), [](const Finding& finding) {
      return std::pair(finding.kind() == finding::TracingDiscrepancy::kKind, finding.impact_ns);
    });
    return std::move(found_);
  }

  // For a ladder, makes the findings on its best setting, and on the change from its lowest to its highest
  // level.
  std::vector<Finding> MakeLadderFindings(const Ladder& ladder) {
    const auto lowest = ladder.experiments[0][ladder.Lowest()];
    const auto highest = ladder.experiments[0][ladder.Highest()];
    for (const ReportComparison& pair : report_.comparisons) {
      if (pair.baseline == lowest && pair.candidate == highest) AddFindingsOfPair(pair);
    }
    const auto best =
        ladder.best ? ladder.experiments[ladder.best->setting.threads][ladder.best->setting.level] : highest;
    if (best) AddExperiment(*best);
    return TakeSorted();
  }

  void Add(double impact_ns, Finding::Details details) {
    found_.push_back({std::move(details), impact_ns, experiment_, pair_});
  }
  void Add(std::optional<Finding> found) {
    if (found) Add(found->impact_ns, std::move(found->details));
  }

  void AddFindingsOfPair(const ReportComparison& pair) {
    pair_ = static_cast<std::size_t>(&pair - report_.comparisons.data());
    experiment_ = pair.candidate;
    AddPairFindings(pair,
                    {report_.run, report_.experiments[pair.baseline], report_.experiments[pair.candidate]});
    pair_.reset();
  }

  void AddPairFindings(const ReportComparison& pair, const ExperimentPair& variants) {
    const ReportExperiment &baseline = variants.baseline, &candidate = variants.candidate;
    if (pair.comparison.latency.verdict == stats::Verdict::kContended)
      Add(candidate.latency_of_all.p50.value_or(0), finding::Contended{IsThrottled(pair)});
    AddCpuTime(pair.comparison.latency, variants);
    AddCompilers(variants);
    if (!baseline.profile || !candidate.profile) return;
    if (HasMeaningfulTimes(baseline) && HasMeaningfulTimes(candidate)) {
      AddTracedRatio(pair.comparison, variants);
      AddShift(pair.comparison, variants);
      AddSlower(pair.comparison, candidate);
    }
    if (baseline.kernel_evidence.empty() != candidate.kernel_evidence.empty())
      Add(0, finding::PackedKernels{!candidate.kernel_evidence.empty()});
    AddObservedCode(variants);
  }

  // Returns whether the pair's runs waited mostly for a quota, not for other processes.
  bool IsThrottled(const ReportComparison& pair) const {
    if (!report_.run.device || !report_.run.device->limits.quota_cpus) return false;
    double waited = 0, throttled_ns = 0;
    for (const std::size_t variant : {pair.baseline, pair.candidate}) {
      for (const Launch& launch : report_.run.experiments[variant].launches) {
        for (const Burst& burst : launch.bursts) {
          throttled_ns += static_cast<double>(burst.throttled_time.value_or(0));
          for (const auto* waits : {&burst.opening_wait, &burst.recorded_wait, &burst.traced_wait}) {
            for (const Nanoseconds wait : *waits)
              waited += static_cast<double>(std::max<Nanoseconds>(0, wait));
          }
        }
      }
    }
    return throttled_ns > 0 && throttled_ns >= waited / 2;
  }

  void AddObservedCode(const ExperimentPair& variants) {
    const auto matrix_code = [&](const ExperimentData& data, std::int64_t& operators) {
      std::set<std::string> classes;
      for (const WatchedRow& row : FindWatchedRows(report_.watched, data)) {
        const auto name = xnnpack::ParseOperatorName(row.name);
        if (row.code.empty() || !name || (name->kind != "GEMM" && name->kind != "IGEMM")) continue;
        classes.insert(row.code);
        ++operators;
      }
      return classes;
    };
    std::int64_t baseline_operators = 0, candidate_operators = 0;
    const std::set<std::string> baseline_code = matrix_code(variants.BaselineData(), baseline_operators),
                                candidate_code = matrix_code(variants.CandidateData(), candidate_operators);
    if (baseline_code.empty() || candidate_code.empty() || baseline_code == candidate_code) return;
    Add(0, finding::ObservedCode{{baseline_code.begin(), baseline_code.end()},
                                 {candidate_code.begin(), candidate_code.end()},
                                 candidate_operators});
  }

  // Reports if the speedup in CPU time differs from that in wall time by more than its interval.
  void AddCpuTime(const TimeComparison& latency, const ExperimentPair& variants) {
    const std::optional<double>&before = variants.baseline.cpu_time, &after = variants.candidate.cpu_time;
    // A coarse clock reads 0 for short runs.
    if (latency.verdict == stats::Verdict::kEmulated || !latency.estimate || !before || !after ||
        *before <= 0 || *after <= 0 || variants.baseline.threads != variants.candidate.threads)
      return;
    const double margin = std::max(latency.estimate->half_width(), kMinSpeedupDisagreement);
    const double difference = std::fabs(std::log(*before / *after) - latency.estimate->log_ratio);
    if (difference <= std::log1p(margin)) return;
    Add(std::fabs(*after - variants.candidate.latency.p50.value_or(*after)),
        finding::CpuTimeDiscrepancy{*before, *after});
  }

  // Portable and optimized kernels are C++, so two compilers make different kernels of the same source.
  void AddCompilers(const ExperimentPair& variants) {
    const ExperimentData &before = variants.BaselineData(), &after = variants.CandidateData();
    const auto compiler = [](const ExperimentData& data) {
      return data.runner_built ? data.runner_built->compiler : std::string();
    };
    finding::CompilersDiffer differ{compiler(before), compiler(after), {}, {}};
    if (differ.baseline == differ.candidate || before.runner_sha256 == after.runner_sha256) return;
    // An unknown runner is not reported.
    if (before.runner_sha256.empty() || after.runner_sha256.empty()) return;
    if (HasMeaningfulTimes(variants.candidate)) {
      TypeTimes types = SumByType(variants.candidate, [](const Operator& op) { return op.portable; });
      const TimePart portable{SumTimes(types), variants.candidate.MeanExecute().value_or(0)};
      if (portable.ns > 0 && portable.whole_ns > 0) {
        differ.portable = portable;
        differ.types = std::move(types);
      }
    }
    Add(differ.portable ? differ.portable->ns : 0, differ);
  }

  void AddShift(const Comparison& comparison, const ExperimentPair& variants) {
    const ReportExperiment &baseline = variants.baseline, &candidate = variants.candidate;
    const double baseline_ns = baseline.MeanExecute().value_or(0);
    const double candidate_ns = candidate.MeanExecute().value_or(0);
    const auto make_shift = [&](OperatorGroup group) {
      return finding::GroupShift{
          group, {baseline.GroupMean(group), baseline_ns}, {candidate.GroupMean(group), candidate_ns}};
    };
    const auto share_growth = [](const finding::GroupShift& shift) {
      return shift.candidate.share() - shift.baseline.share();
    };
    finding::BottleneckShift shift{
        make_shift(LargestGroup(baseline)), make_shift(LargestGroup(candidate)), {}, {}};
    // The bottleneck moves to the group whose share grew most.
    shift.grown_most = shift.to;
    for (const OperatorGroup group : kAllOperatorGroups) {
      finding::GroupShift group_shift = make_shift(group);
      if (share_growth(group_shift) > share_growth(shift.grown_most)) shift.grown_most = group_shift;
      if (group_shift.baseline.ns != 0 || group_shift.candidate.ns != 0) shift.groups.push_back(group_shift);
    }
    if (!shift.HasMoved() && share_growth(shift.grown_most) < 0.05) return;
    const auto find_time_comparison = [&](const finding::GroupShift& group_shift) {
      const auto row = std::ranges::find_if(comparison.groups, [&](const DeltaRow& delta) {
        return delta.name == OperatorGroupName(group_shift.group);
      });
      return row == comparison.groups.end() ? TimeComparison() : row->time_comparison;
    };
    const auto growth =
        shift.HasMoved() ? MinRelativeGrowth(find_time_comparison(shift.to), find_time_comparison(shift.from))
                         : MinRelativeGrowth(find_time_comparison(shift.grown_most), comparison.latency);
    if (!growth || *growth <= 1) return;
    Add((shift.HasMoved() ? shift.to : shift.grown_most).candidate.ns, shift);
  }

  void AddSlower(const Comparison& comparison, const ReportExperiment& candidate) {
    finding::SlowerOperators slower;
    slower.lost_time.whole_ns = candidate.MeanExecute().value_or(0);
    for (const OperatorMatch& match : comparison.operators) {
      if (!match.candidate || !match.baseline || match.time_comparison.verdict != stats::Verdict::kSlower)
        continue;
      const finding::SlowerOperators::SlowedOperator slowed{*match.candidate,
                                                            match.time_comparison.baseline_ns.value_or(0),
                                                            match.time_comparison.candidate_ns.value_or(0)};
      if (slowed.LossNs() <= 0) continue;
      slower.lost_time.ns += slowed.LossNs();
      slower.operators.push_back(slowed);
    }
    if (slower.operators.empty() || slower.lost_time.share() < kMinLossShare) return;
    std::ranges::stable_sort(slower.operators, std::greater(),
                             &finding::SlowerOperators::SlowedOperator::LossNs);
    Add(slower.lost_time.ns, slower);
  }

  // Reports if the tables of a pair add up to a different speedup than the headline, and why.
  void AddTracedRatio(const Comparison& comparison, const ExperimentPair& variants) {
    auto found = FindTracedSpeedupDiscrepancy(comparison, variants.baseline, variants.candidate);
    if (found && TracedTimesDisagree(variants.candidate)) experiments_with_discrepancy_.insert(experiment_);
    Add(std::move(found));
  }

  // Times of an emulated CPU are not meaningful, and those of a kernel-log run include its log, so they give
  // no advice.
  bool HasMeaningfulTimes(const ReportExperiment& experiment) const {
    const ExperimentData& data = report_.run.experiments[experiment.index];
    return !data.emulated && !data.trace_enabled && !experiment.TablesAreDisturbed();
  }

  void AddExperiment(std::size_t index) {
    const ReportExperiment& experiment = report_.experiments[index];
    if (!HasMeaningfulTimes(experiment)) return;
    experiment_ = index;
    AddFirstRun(experiment);
    AddNamesContradicted(experiment);
    for (Finding& noise : FindNoise(report_.run, experiment)) Add(std::move(noise));
    const auto execute_ns = experiment.MeanExecute();
    if (!experiment.profile || !execute_ns || *execute_ns <= 0) return;
    // Traced times of operators are not parts of the latency if traced and untraced times disagree.
    if (!experiments_with_discrepancy_.contains(index)) Add(FindTracingDiscrepancy(experiment));
    AddBottleneck(experiment, *execute_ns);
    AddDataMovement(experiment, *execute_ns);
    AddPortable(experiment, *execute_ns);
    AddDelegates(experiment, *execute_ns);
    AddNotOnKleidiai(experiment, *execute_ns);
    AddFp16AsFp32(experiment, *execute_ns);
    if (!experiment.unknown_operators.empty()) {
      TypeTimes types = SumByType(experiment, [](const Operator& op) { return !op.category.known; });
      const double time = SumTimes(types);
      Add(time, finding::UnknownOperators{{time, *execute_ns}, std::move(types)});
    }
    AddRoofline(experiment, *execute_ns);
    AddUpperBounds(experiment, *execute_ns);
  }

  void AddBottleneck(const ReportExperiment& experiment, double execute_ns) {
    finding::Bottleneck found{LargestGroup(experiment)};
    if (found.group == OperatorGroup::kDataMovement) return;  // AddDataMovement reports it
    found.time = {experiment.GroupMean(found.group), execute_ns};
    if (found.time.share() < kBottleneckShare) return;
    const auto is_in_group = [&](const Operator& op) { return op.category.group == found.group; };
    found.types = SumByType(experiment, is_in_group);
    for (const TypeTime& type : found.types) found.operators += type.operators;
    // A bound of 20x adds no information to the share.
    if (found.time.share() < kMaxShareWithBound) found.bound = FindUpperBound(found.time, experiment);
    // The rows are in decreasing order, so the first of the group is its most expensive operator.
    const auto most_expensive = std::ranges::find_if(experiment.operators, [&](const OperatorRow& row) {
      return is_in_group(experiment.profile->operators[row.op]);
    });
    if (found.operators > 1 && most_expensive != experiment.operators.end())
      found.most_expensive = {most_expensive->op, most_expensive->mean_self_ns};
    Add(found.time.ns, found);
  }

  // Lists the upper bounds of all categories. The finding on the bottleneck already has the first bound, so
  // `impact_ns` is the time of the second largest part.
  void AddUpperBounds(const ReportExperiment& experiment, double execute_ns) {
    finding::UpperBounds found;
    for (const AdditiveRow& row : experiment.categories.rows) {
      const TimePart time{row.Mean(experiment.categories).value_or(0), execute_ns};
      const UpperBound bound = FindUpperBound(time, experiment);
      if (row.name != "framework" && time.share() >= kMinShare && bound)
        found.categories.push_back({row.name, time, *bound});
    }
    if (found.categories.size() < 2) return;
    std::ranges::stable_sort(
        found.categories, std::greater(),
        [](const finding::UpperBounds::CategoryBound& category) { return category.time.ns; });
    Add(found.categories[1].time.ns, found);
  }

  void AddDataMovement(const ReportExperiment& experiment, double execute_ns) {
    finding::DataMoved found{{experiment.GroupMean(OperatorGroup::kDataMovement), execute_ns}};
    if (found.time.share() < kMinShare) return;
    std::tie(found.boundary_operators, found.boundary_ns) =
        FindBoundaryMovement(experiment, Boundaries::kAll);
    found.bound = FindUpperBound(found.time, experiment);
    found.types = SumByType(
        experiment, [](const Operator& op) { return op.category.group == OperatorGroup::kDataMovement; });
    Add(found.time.ns, found);
  }

  // Finds layout conversions at the boundaries between backends: their number and their time (ns).
  // `kBetweenDelegates` excludes portable kernels, and conversions that a single delegate would also have at
  // its ends.
  enum class Boundaries { kAll, kBetweenDelegates };
  static std::pair<std::int64_t, double> FindBoundaryMovement(const ReportExperiment& experiment,
                                                              Boundaries boundaries) {
    std::pair<std::int64_t, double> found;
    const Profile& profile = *experiment.profile;
    const auto runs = static_cast<double>(experiment.groups.runs);
    // Operators by call, in execution order.
    std::map<std::int32_t, std::vector<std::size_t>> calls;
    std::set<std::int32_t> delegates;
    for (std::size_t i = 0; i < profile.operators.size(); ++i) {
      const Operator& op = profile.operators[i];
      if (op.call_index < 0) continue;
      if (op.key.kind == SpanKind::kDelegateCall) delegates.insert(op.call_index);
      if (IsOperator(op)) calls[op.call_index].push_back(i);
    }
    const auto is_movement = [&](std::size_t i) {
      return profile.operators[i].category.group == OperatorGroup::kDataMovement;
    };
    const auto add_operator = [&](std::size_t i) {
      ++found.first;
      found.second += static_cast<double>(profile.statistics[i].total_self) / runs;
    };
    for (const auto& [call, operators] : calls) {
      if (!delegates.contains(call)) {
        const bool is_between_delegates =
            !delegates.empty() && *delegates.begin() < call && call < *delegates.rbegin();
        for (const std::size_t i : operators) {
          if (is_between_delegates && is_movement(i) && boundaries == Boundaries::kAll) add_operator(i);
        }
        continue;
      }
      std::size_t first = 0, end = operators.size();
      if (boundaries == Boundaries::kAll || call != *delegates.begin()) {
        while (first < operators.size() && is_movement(operators[first])) add_operator(operators[first++]);
      }
      if (boundaries == Boundaries::kAll || call != *delegates.rbegin()) {
        while (end > first && is_movement(operators[end - 1])) add_operator(operators[--end]);
      }
    }
    return found;
  }

  // Finds the overhead of delegate calls, the part that may be due to tracing, and the number of calls.
  static finding::DelegateOverhead FindDelegateOverhead(const ReportExperiment& experiment,
                                                        double execute_ns) {
    // Tracing takes time at the ends of spans, which is part of the self times of the calls around operators.
    // All of this time is subtracted, so the rest exists without tracing, too.
    const double tracer = experiment.latency_from_trace ? 0 : -experiment.tracer.value_or(0);
    // Calls of opaque delegates are excluded: all of their time is an operator's.
    const auto calls = std::ranges::count_if(experiment.profile->operators, [](const Operator& op) {
      return op.category.group == OperatorGroup::kDelegateOverhead;
    });
    return {
        {experiment.GroupMean(OperatorGroup::kDelegateOverhead), execute_ns}, std::max(0.0, tracer), calls};
  }

  void AddNamesContradicted(const ReportExperiment& experiment) {
    finding::NamesContradicted found;
    for (const MatrixKernelRow& row : experiment.matrix_kernels) {
      if (row.contradicts)
        found.operators.insert(found.operators.end(), row.operators.begin(), row.operators.end());
    }
    if (!found.operators.empty()) Add(0, std::move(found));
  }

  // Finds operators that would use KleidiAI's kernels with another export, if the CPU supports them.
  void AddNotOnKleidiai(const ReportExperiment& experiment, double execute_ns) {
    const auto& isa = report_.run.experiments[experiment.index].isa_state;
    if (!isa || std::ranges::find(isa->enabled, "sme2") == isa->enabled.end()) return;
    finding::NotOnKleidiai found{{0, execute_ns}};
    for (const MatrixKernelRow& row : experiment.matrix_kernels) {
      if (row.change.empty()) continue;
      found.time.ns += row.mean_ns;
      found.operators += static_cast<std::int64_t>(row.operators.size());
    }
    if (found.time.share() >= kMinShare) Add(found.time.ns, found);
  }

  void AddFp16AsFp32(const ReportExperiment& experiment, double execute_ns) {
    if (!experiment.roofline) return;
    finding::Fp16ComputedAsFp32 found{{0, execute_ns}};
    for (const RooflineRow& row : experiment.roofline->rows) {
      if (row.macs == 0 || row.dtype != "fp16" || row.ceiling_dtype == row.dtype) continue;
      found.time.ns += row.time.ns;
      ++found.operators;
    }
    if (found.time.share() >= kBottleneckShare) Add(found.time.ns, found);
  }

  void AddPortable(const ReportExperiment& experiment, double execute_ns) {
    if (experiment.portable_kernels == 0) return;
    finding::NotDelegated found;
    found.operators = experiment.portable_kernels;
    found.types = SumByType(experiment, [](const Operator& op) { return op.portable; });
    found.delegable = SumByType(
        experiment, [](const Operator& op) { return op.portable && IsSupportedByXnnpack(op.type); });
    found.time = {SumTimes(found.types), execute_ns};
    if (const auto calls = static_cast<double>(experiment.delegate_calls); calls > 1) {
      const finding::DelegateOverhead overhead = FindDelegateOverhead(experiment, execute_ns);
      found.boundaries_ns = std::max(0.0, overhead.time.ns - overhead.tracing_ns) * (calls - 1) / calls +
                            FindBoundaryMovement(experiment, Boundaries::kBetweenDelegates).second;
    }
    const finding::TimePart part{found.time.ns + found.boundaries_ns, execute_ns};
    if (part.share() >= kMinShare) found.bound = FindUpperBound(part, experiment);
    AddRemedies(experiment, found);
    Add(part.ns, found);
  }

  static void AddRemedies(const ReportExperiment& experiment, finding::NotDelegated& found) {
    if (!experiment.profile->program) return;
    std::map<std::string, finding::NotDelegated::Remedy> remedies;
    finding::TimePart removed{0, found.time.whole_ns};
    for (const OperatorRow& row : experiment.operators) {
      const std::string& hint = experiment.profile->program->operators[row.op].hint;
      if (hint.empty()) continue;
      finding::NotDelegated::Remedy& remedy = remedies[hint];
      remedy.text = hint;
      ++remedy.operators;
      remedy.ns += row.mean_self_ns;
      removed.ns += row.mean_self_ns;
    }
    found.remedies = MapValues(remedies);
    std::ranges::stable_sort(found.remedies, std::ranges::greater(), &finding::NotDelegated::Remedy::ns);
    if (found.remedies.empty()) return;
    found.speedup_without_operators = FindUpperBound(removed, experiment);
    removed.ns += found.boundaries_ns;
    found.speedup_without_boundaries = FindUpperBound(removed, experiment);
  }

  void AddDelegates(const ReportExperiment& experiment, double execute_ns) {
    const finding::DelegateOverhead found = FindDelegateOverhead(experiment, execute_ns);
    const double overhead = found.time.ns - found.tracing_ns;
    if (found.calls > 0 && overhead / execute_ns >= kMinShare) Add(overhead, found);
  }

  // Finds operators far below the machine's limits, which another form of the operator or a better kernel may
  // speed up.
  void AddRoofline(const ReportExperiment& experiment, double execute_ns) {
    constexpr double kMaxCeilingShare = 0.5;
    if (!experiment.roofline) return;
    finding::BelowRoofline found{{0, execute_ns}, TracedTimesDisagree(experiment), {}};
    const std::vector<RooflineRow>& rows = experiment.roofline->rows;  // by decreasing gap

    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].share() >= kMaxCeilingShare || rows[i].gap_ns() <= 0) continue;
      found.gap.ns += rows[i].gap_ns();
      found.rows.push_back(i);
    }
    if (found.gap.share() >= kMinShare) Add(found.gap.ns, found);
  }

  void AddFirstRun(const ReportExperiment& experiment) {
    if (!experiment.first_run || !experiment.latency.p50 || *experiment.latency.p50 <= 0 ||
        *experiment.first_run < 1.5 * *experiment.latency.p50)
      return;
    // The cost occurs once per process, not in each inference, so the finding is last.
    Add(0, finding::FirstRun{*experiment.first_run, *experiment.latency.p50, experiment.load});
  }

  const Report& report_;
  std::vector<Finding> found_;
  std::size_t experiment_ = 0;                          // experiment of the current findings
  std::optional<std::size_t> pair_;                     // pair of the current findings
  std::set<std::size_t> experiments_with_discrepancy_;  // experiments whose TracingDiscrepancy a pair reports
};

}  // namespace

std::vector<Finding> MakeFindings(const Report& report) { return Finder(report).Run(); }

}  // namespace etprof
