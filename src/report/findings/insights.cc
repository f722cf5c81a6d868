#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "analysis/operators.h"
#include "core/text/text.h"
#include "program/xnn/delegable.h"
#include "report/findings/traced.h"
#include "report/kernels/watched.h"
#include "report/run/pair.h"
#include "xnnpack/operator_name.h"

namespace etprof {
namespace {

using finding::TimePart;
using finding::TypeTime;
using finding::TypeTimes;
using finding::UpperBound;

// Below these shares of an inference nobody gains anything by acting.
constexpr double kWorthSaying = 0.02;
constexpr double kBottleneckShare = 0.05;
constexpr double kNearlyAll = 0.9;
constexpr double kLossWorthSaying = 0.001;
// Reading the clocks takes part of a microsecond, which processor time holds and wall time does not.
constexpr double kLeastDisagreement = 0.02;

template <typename Keep>
TypeTimes SumByType(const ReportExperiment& experiment, const Keep& keep) {
  std::map<std::string, TypeTime> sums;
  for (const OperatorRow& row : experiment.operators) {
    const Operator& op = experiment.profile->operators[row.op];
    if (!keep(op)) continue;
    TypeTime& sum = sums[op.type];
    sum.type = op.type;
    ++sum.operators;
    sum.ns += row.mean_self;
    if (!experiment.profile->program) continue;
    const std::string& why = experiment.profile->program->operators[row.op].why_not_delegated;
    if (!why.empty()) AddOnce(why, sum.not_delegated);
  }
  TypeTimes sorted;
  for (auto& [type, sum] : sums) sorted.push_back(std::move(sum));
  std::ranges::stable_sort(sorted, [](const TypeTime& a, const TypeTime& b) { return a.ns > b.ns; });
  return sorted;
}

double TimeOf(const TypeTimes& types) {
  return std::accumulate(types.begin(), types.end(), 0.0,
                         [](double sum, const TypeTime& type) { return sum + type.ns; });
}

// The largest group that is an operator's.
Group LargestGroup(const ReportExperiment& experiment) {
  Group largest = Group::kConvolution;
  for (const Group group : kAllGroups) {
    if (group == Group::kFrameworkOverhead || group == Group::kDelegateOverhead) continue;
    if (experiment.MeanOfGroup(group) > experiment.MeanOfGroup(largest)) largest = group;
  }
  return largest;
}

// Part and whole are means over the same traced runs, so that the bound is that of the share beside it.
UpperBound BoundIfFree(const TimePart& part, const ReportExperiment& experiment) {
  if (TracedDisagree(experiment)) return std::nullopt;
  return part.ns < part.whole_ns ? std::optional(part.whole_ns / (part.whole_ns - part.ns)) : std::nullopt;
}

// How much more a part grew, or less it shrank, than another at the least, by the ends of both intervals:
// above 1 that is certain. Nothing where an interval is missing.
std::optional<double> GrowthAtLeast(const Quantity& part, const Quantity& other) {
  if (!part.estimate || !other.estimate) return std::nullopt;
  return other.estimate->low() / part.estimate->high();
}

class Finder {
 public:
  explicit Finder(const Report& report) : report_(report) {}

  std::vector<Insight> Run() {
    // What is to be done next concerns the side that one wants to ship: the candidate of a pair, or a lone
    // experiment.
    std::vector<std::size_t> subjects;
    if (report_.ladder) return RunLadder(*report_.ladder);
    const auto add = [&](const ReportComparison& pair) {
      if (std::ranges::find(subjects, pair.candidate) == subjects.end()) subjects.push_back(pair.candidate);
    };
    // Of several pairs nobody ships a variant that is significantly slower.
    for (const ReportComparison& pair : report_.comparisons) {
      if (pair.comparison.latency.verdict != stats::Verdict::kSlower) add(pair);
    }
    if (subjects.empty()) std::ranges::for_each(report_.comparisons, add);
    if (subjects.empty()) {
      for (std::size_t i = 0; i < report_.experiments.size(); ++i) subjects.push_back(i);
    }
    for (const ReportComparison& pair : report_.comparisons) AddPair(pair);
    for (const std::size_t subject : subjects) AddExperiment(subject);
    return Sorted();
  }

 private:
  std::vector<Insight> Sorted() {
    // What limits the meaning of the others stands before them.
    std::ranges::stable_sort(found_, std::ranges::greater(), [](const Insight& one) {
      return std::pair(one.kind() == finding::TracedApart::kKind, one.at_stake);
    });
    return std::move(found_);
  }

  // Of a ladder what is left to do at its best setting, and what moved from its lowest level to its highest.
  std::vector<Insight> RunLadder(const Ladder& ladder) {
    const auto lowest = ladder.experiments[0][ladder.Lowest()];
    const auto highest = ladder.experiments[0][ladder.Highest()];
    for (const ReportComparison& pair : report_.comparisons) {
      if (pair.baseline == lowest && pair.candidate == highest) AddPair(pair);
    }
    const auto best =
        ladder.best ? ladder.experiments[ladder.best->setting.threads][ladder.best->setting.level] : highest;
    if (best) AddExperiment(*best);
    return Sorted();
  }

  void Add(double at_stake, Insight::What what) {
    found_.push_back({std::move(what), at_stake, experiment_, pair_});
  }
  void Add(std::optional<Insight> found) {
    if (found) Add(found->at_stake, std::move(found->what));
  }

  void AddPair(const ReportComparison& pair) {
    pair_ = static_cast<std::size_t>(&pair - report_.comparisons.data());
    experiment_ = pair.candidate;
    FindInPair(pair, {report_.run, report_.experiments[pair.baseline], report_.experiments[pair.candidate]});
    pair_.reset();
  }

  void FindInPair(const ReportComparison& pair, const Sides& sides) {
    const ReportExperiment &baseline = sides.baseline, &candidate = sides.candidate;
    if (pair.comparison.latency.verdict == stats::Verdict::kContended)
      Add(candidate.latency_of_all.p50.value_or(0), finding::Contended{IsThrottled(pair)});
    AddCpuTime(pair.comparison.latency, sides);
    AddCompilers(sides);
    if (!baseline.profile || !candidate.profile) return;
    if (TimesMean(baseline) && TimesMean(candidate)) {
      AddTracedRatio(pair.comparison, sides);
      AddShift(pair.comparison, sides);
      AddSlower(pair.comparison, candidate);
    }
    if (baseline.kernel_evidence.empty() != candidate.kernel_evidence.empty())
      Add(0, finding::PackedKernels{!candidate.kernel_evidence.empty()});
    AddProvenCode(sides);
  }

  // Whether a quota, not other processes, is what the pair's runs mostly waited for.
  bool IsThrottled(const ReportComparison& pair) const {
    if (!report_.run.device || !report_.run.device->limits.quota_cpus) return false;
    double waited = 0, throttled = 0;
    for (const std::size_t side : {pair.baseline, pair.candidate}) {
      for (const Launch& launch : report_.run.experiments[side].launches) {
        for (const Burst& burst : launch.bursts) {
          throttled += static_cast<double>(burst.throttled.value_or(0));
          for (const auto* waits : {&burst.opening_wait, &burst.recorded_wait, &burst.traced_wait}) {
            for (const Nanoseconds wait : *waits)
              waited += static_cast<double>(std::max<Nanoseconds>(0, wait));
          }
        }
      }
    }
    return throttled > 0 && throttled >= waited / 2;
  }

  void AddProvenCode(const Sides& sides) {
    const auto products = [&](const ExperimentData& of, std::int64_t& count) {
      std::set<std::string> classes;
      for (const WatchedRow& row : RowsOf(report_.watched, of)) {
        const auto name = xnnpack::ParseOperatorName(row.name);
        if (row.code.empty() || !name || (name->kind != "GEMM" && name->kind != "IGEMM")) continue;
        classes.insert(row.code);
        ++count;
      }
      return classes;
    };
    std::int64_t before = 0, after = 0;
    const std::set<std::string> first = products(sides.BaselineData(), before),
                                second = products(sides.CandidateData(), after);
    if (first.empty() || second.empty() || first == second) return;
    Add(0, finding::ProvenCode{{first.begin(), first.end()}, {second.begin(), second.end()}, after});
  }

  // Where the speedup of the processor time differs from that of the wall time by more than its interval.
  void AddCpuTime(const Quantity& latency, const Sides& sides) {
    const std::optional<double>&before = sides.baseline.cpu_time, &after = sides.candidate.cpu_time;
    if (latency.verdict == stats::Verdict::kEmulated || !latency.estimate || !before || !after ||
        *after <= 0 || sides.baseline.threads != sides.candidate.threads)
      return;
    const double margin = std::max(latency.estimate->half_width(), kLeastDisagreement);
    const double apart = std::fabs(std::log(*before / *after) - latency.estimate->log_ratio);
    if (apart <= std::log1p(margin)) return;
    Add(std::fabs(*after - sides.candidate.latency.p50.value_or(*after)),
        finding::CpuTimeApart{*before, *after});
  }

  // Portable and optimized kernels are C++: two compilers make two kernels of one source.
  void AddCompilers(const Sides& sides) {
    const ExperimentData &before = sides.BaselineData(), &after = sides.CandidateData();
    const auto compiler = [](const ExperimentData& data) {
      return data.runner_built ? data.runner_built->compiler : std::string();
    };
    finding::CompilersDiffer differ{compiler(before), compiler(after), {}, {}};
    if (differ.baseline == differ.candidate || before.runner_sha256 == after.runner_sha256) return;
    // Of a runner that is not known at all this is not said either.
    if (before.runner_sha256.empty() || after.runner_sha256.empty()) return;
    if (TimesMean(sides.candidate)) {
      TypeTimes types = SumByType(sides.candidate, [](const Operator& op) { return op.portable; });
      const TimePart portable{TimeOf(types), sides.candidate.MeanExecute().value_or(0)};
      if (portable.ns > 0 && portable.whole_ns > 0) {
        differ.portable = portable;
        differ.types = std::move(types);
      }
    }
    Add(differ.portable ? differ.portable->ns : 0, differ);
  }

  void AddShift(const Comparison& comparison, const Sides& sides) {
    const ReportExperiment &baseline = sides.baseline, &candidate = sides.candidate;
    const double baseline_ns = baseline.MeanExecute().value_or(0);
    const double candidate_ns = candidate.MeanExecute().value_or(0);
    const auto shift_of = [&](Group group) {
      return finding::GroupShift{
          group, {baseline.MeanOfGroup(group), baseline_ns}, {candidate.MeanOfGroup(group), candidate_ns}};
    };
    const auto growth_of = [](const finding::GroupShift& shift) {
      return shift.candidate.share() - shift.baseline.share();
    };
    finding::BottleneckShift shift{
        shift_of(LargestGroup(baseline)), shift_of(LargestGroup(candidate)), {}, {}};
    // The group whose share grew most is where the bottleneck is going.
    shift.grown = shift.to;
    for (const Group group : kAllGroups) {
      finding::GroupShift one = shift_of(group);
      if (growth_of(one) > growth_of(shift.grown)) shift.grown = one;
      if (one.baseline.ns != 0 || one.candidate.ns != 0) shift.groups.push_back(one);
    }
    if (!shift.Moved() && growth_of(shift.grown) < 0.05) return;
    const auto row_of = [&](const finding::GroupShift& of) {
      const auto row = std::ranges::find_if(
          comparison.groups, [&](const DeltaRow& one) { return one.name == GroupName(of.group); });
      return row == comparison.groups.end() ? Quantity() : row->quantity;
    };
    const auto growth = shift.Moved() ? GrowthAtLeast(row_of(shift.to), row_of(shift.from))
                                      : GrowthAtLeast(row_of(shift.grown), comparison.latency);
    if (!growth || *growth <= 1) return;
    Add((shift.Moved() ? shift.to : shift.grown).candidate.ns, shift);
  }

  void AddSlower(const Comparison& comparison, const ReportExperiment& candidate) {
    finding::SlowerOperators slower;
    slower.lost.whole_ns = candidate.MeanExecute().value_or(0);
    for (const OperatorMatch& match : comparison.operators) {
      if (!match.candidate || !match.baseline || match.quantity.verdict != stats::Verdict::kSlower) continue;
      const finding::SlowerOperators::Loss loss{*match.candidate, match.quantity.baseline_ns.value_or(0),
                                                match.quantity.candidate_ns.value_or(0)};
      if (loss.ns() <= 0) continue;
      slower.lost.ns += loss.ns();
      slower.operators.push_back(loss);
    }
    if (slower.operators.empty() || slower.lost.share() < kLossWorthSaying) return;
    std::ranges::stable_sort(slower.operators, std::greater(), &finding::SlowerOperators::Loss::ns);
    Add(slower.lost.ns, slower);
  }

  // The tables of a pair add up to another speedup than the headline's: what to believe, and why.
  void AddTracedRatio(const Comparison& comparison, const Sides& sides) {
    auto found = FindTracedRatioApart(comparison, sides.baseline, sides.candidate);
    if (found && TracedDisagree(sides.candidate)) told_apart_.insert(experiment_);
    Add(std::move(found));
  }

  // An emulated CPU's times mean nothing, and those of a kernel-log run hold the cost of its log: no
  // advice from them.
  bool TimesMean(const ReportExperiment& experiment) const {
    const ExperimentData& data = report_.run.experiments[experiment.index];
    return !data.emulated && !data.trace_enabled && !experiment.TablesAreDisturbed();
  }

  void AddExperiment(std::size_t index) {
    const ReportExperiment& experiment = report_.experiments[index];
    if (!TimesMean(experiment)) return;
    experiment_ = index;
    AddFirstRun(experiment);
    AddNamesContradicted(experiment);
    for (Insight& noise : FindNoise(report_.run, experiment)) Add(std::move(noise));
    const auto whole = experiment.MeanExecute();
    if (!experiment.profile || !whole || *whole <= 0) return;
    // Times of operators, which are traced, are no parts of the latency where the two disagree.
    if (!told_apart_.contains(index)) Add(FindTracedApart(experiment));
    AddBottleneck(experiment, *whole);
    AddLayout(experiment, *whole);
    AddPortable(experiment, *whole);
    AddDelegates(experiment, *whole);
    AddNotOnKleidiai(experiment, *whole);
    AddHalfAsFloat(experiment, *whole);
    if (!experiment.unknown_operators.empty()) {
      TypeTimes types = SumByType(experiment, [](const Operator& op) { return !op.category.known; });
      const double time = TimeOf(types);
      Add(time, finding::UnknownOperators{{time, *whole}, std::move(types)});
    }
    AddRoofline(experiment, *whole);
    AddAmdahl(experiment, *whole);
  }

  void AddBottleneck(const ReportExperiment& experiment, double whole) {
    finding::Bottleneck found{LargestGroup(experiment)};
    found.time = {experiment.MeanOfGroup(found.group), whole};
    if (found.time.share() < kBottleneckShare) return;
    const auto is_of = [&](const Operator& op) { return op.category.group == found.group; };
    found.types = SumByType(experiment, is_of);
    for (const TypeTime& type : found.types) found.operators += type.operators;
    // A bound of 20x says nothing that the share has not said.
    if (found.time.share() < kNearlyAll) found.bound = BoundIfFree(found.time, experiment);
    // The rows fall by cost, so the first of the group is its costliest.
    const auto costliest = std::ranges::find_if(experiment.operators, [&](const OperatorRow& row) {
      return is_of(experiment.profile->operators[row.op]);
    });
    if (found.operators > 1 && costliest != experiment.operators.end())
      found.costliest = {costliest->op, costliest->mean_self};
    Add(found.time.ns, found);
  }

  // What each category would give at most, in one place. The bottleneck has said the first one's: at stake is
  // the second largest part.
  void AddAmdahl(const ReportExperiment& experiment, double whole) {
    const auto runs = static_cast<double>(experiment.categories.runs);
    if (runs <= 0) return;
    finding::UpperBounds found;
    for (const AdditiveRow& row : experiment.categories.rows) {
      const TimePart time{static_cast<double>(row.total) / runs, whole};
      const UpperBound bound = BoundIfFree(time, experiment);
      if (row.name != "framework" && time.share() >= kWorthSaying && bound)
        found.categories.push_back({row.name, time, *bound});
    }
    if (found.categories.size() < 2) return;
    std::ranges::stable_sort(found.categories, std::greater(),
                             [](const finding::UpperBounds::OfCategory& of) { return of.time.ns; });
    Add(found.categories[1].time.ns, found);
  }

  void AddLayout(const ReportExperiment& experiment, double whole) {
    finding::DataMoved found{{experiment.MeanOfGroup(Group::kDataMovement), whole}};
    if (found.time.share() < kWorthSaying) return;
    std::tie(found.operators_at_edges, found.at_edges_ns) = MovementAtEdges(experiment, Edges::kAll);
    found.bound = BoundIfFree(found.time, experiment);
    found.types =
        SumByType(experiment, [](const Operator& op) { return op.category.group == Group::kDataMovement; });
    Add(found.time.ns, found);
  }

  // Layout conversions that the boundary between backends costs: how many, and their time (ns).
  // `kBetweenDelegates` leaves out portable kernels, and what a single delegate would have at its ends, too.
  enum class Edges { kAll, kBetweenDelegates };
  static std::pair<std::int64_t, double> MovementAtEdges(const ReportExperiment& experiment, Edges edges) {
    std::pair<std::int64_t, double> found;
    const Profile& profile = *experiment.profile;
    const auto runs = static_cast<double>(experiment.groups.runs);
    // Operators in the order they ran, call by call.
    std::map<std::int32_t, std::vector<std::size_t>> calls;
    std::set<std::int32_t> delegates;
    for (std::size_t i = 0; i < profile.operators.size(); ++i) {
      const Operator& op = profile.operators[i];
      if (op.call_index < 0) continue;
      if (op.key.kind == SpanKind::kDelegateCall) delegates.insert(op.call_index);
      if (IsOperator(op)) calls[op.call_index].push_back(i);
    }
    const auto moves = [&](std::size_t i) {
      return profile.operators[i].category.group == Group::kDataMovement;
    };
    const auto take = [&](std::size_t i) {
      ++found.first;
      found.second += static_cast<double>(profile.statistics[i].total_self) / runs;
    };
    for (const auto& [call, operators] : calls) {
      if (!delegates.contains(call)) {
        const bool between = !delegates.empty() && *delegates.begin() < call && call < *delegates.rbegin();
        for (const std::size_t i : operators) {
          if (between && moves(i) && edges == Edges::kAll) take(i);
        }
        continue;
      }
      std::size_t first = 0, end = operators.size();
      if (edges == Edges::kAll || call != *delegates.begin()) {
        while (first < operators.size() && moves(operators[first])) take(operators[first++]);
      }
      if (edges == Edges::kAll || call != *delegates.rbegin()) {
        while (end > first && moves(operators[end - 1])) take(operators[--end]);
      }
    }
    return found;
  }

  // The overhead of delegate calls: with the tracer's part of it, and how many calls there are.
  static finding::DelegateOverhead OverheadOfDelegates(const ReportExperiment& experiment, double whole) {
    // What the tracer costs, it costs at the ends of spans: it stands in the self times of the calls around
    // operators. All of it is taken off, so that what is left is there without it, too.
    const double tracer = experiment.latency_from_trace ? 0 : -experiment.tracer.value_or(0);
    // Without those of delegates that tell nothing of what they run: all of their time is an operator's.
    const auto calls = std::ranges::count_if(experiment.profile->operators, [](const Operator& op) {
      return op.category.group == Group::kDelegateOverhead;
    });
    return {{experiment.MeanOfGroup(Group::kDelegateOverhead), whole}, std::max(0.0, tracer), calls};
  }

  void AddNamesContradicted(const ReportExperiment& experiment) {
    finding::NamesContradicted found;
    for (const MatrixKernelRow& row : experiment.matrix_kernels) {
      if (row.contradicts)
        found.operators.insert(found.operators.end(), row.operators.begin(), row.operators.end());
    }
    if (!found.operators.empty()) Add(0, std::move(found));
  }

  // What an export could do so that it runs KleidiAI's kernels, where they are there to be had.
  void AddNotOnKleidiai(const ReportExperiment& experiment, double whole) {
    const auto& isa = report_.run.experiments[experiment.index].isa_state;
    if (!isa || std::ranges::find(isa->enabled, "sme2") == isa->enabled.end()) return;
    finding::NotOnKleidiai found{{0, whole}};
    for (const MatrixKernelRow& row : experiment.matrix_kernels) {
      if (row.change.empty()) continue;
      found.time.ns += row.mean_ns;
      found.operators += static_cast<std::int64_t>(row.operators.size());
    }
    if (found.time.share() >= kWorthSaying) Add(found.time.ns, found);
  }

  void AddHalfAsFloat(const ReportExperiment& experiment, double whole) {
    if (!experiment.roofline) return;
    finding::HalfAsFloat found{{0, whole}};
    for (const RooflineRow& row : experiment.roofline->rows) {
      if (row.macs == 0 || row.dtype != "fp16" || row.roof_dtype == row.dtype) continue;
      found.time.ns += row.time.ns;
      ++found.operators;
    }
    if (found.time.share() >= kBottleneckShare) Add(found.time.ns, found);
  }

  void AddPortable(const ReportExperiment& experiment, double whole) {
    if (experiment.portable_kernels == 0) return;
    finding::NotDelegated found;
    found.operators = experiment.portable_kernels;
    found.types = SumByType(experiment, [](const Operator& op) { return op.portable; });
    found.takeable =
        SumByType(experiment, [](const Operator& op) { return op.portable && XnnpackCanTake(op.type); });
    found.time = {TimeOf(found.types), whole};
    if (const auto calls = static_cast<double>(experiment.delegate_calls); calls > 1) {
      const finding::DelegateOverhead overhead = OverheadOfDelegates(experiment, whole);
      found.boundaries_ns = std::max(0.0, overhead.time.ns - overhead.tracing_ns) * (calls - 1) / calls +
                            MovementAtEdges(experiment, Edges::kBetweenDelegates).second;
    }
    const finding::TimePart part{found.time.ns + found.boundaries_ns, whole};
    if (part.share() >= kWorthSaying) found.bound = BoundIfFree(part, experiment);
    Add(part.ns, found);
  }

  void AddDelegates(const ReportExperiment& experiment, double whole) {
    const finding::DelegateOverhead found = OverheadOfDelegates(experiment, whole);
    const double overhead = found.time.ns - found.tracing_ns;
    if (found.calls > 0 && overhead / whole >= kWorthSaying) Add(overhead, found);
  }

  // What is far below the machine's limits: another form of the operator, or a better kernel, could take it.
  void AddRoofline(const ReportExperiment& experiment, double whole) {
    constexpr double kFarBelow = 0.5;  // of the roof
    if (!experiment.roofline) return;
    finding::BelowRoofline found{{0, whole}, TracedDisagree(experiment), {}};
    const std::vector<RooflineRow>& rows = experiment.roofline->rows;  // by falling gap
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].share() >= kFarBelow || rows[i].gap_ns() <= 0) continue;
      found.gap.ns += rows[i].gap_ns();
      found.rows.push_back(i);
    }
    if (found.gap.share() >= kWorthSaying) Add(found.gap.ns, found);
  }

  void AddFirstRun(const ReportExperiment& experiment) {
    if (!experiment.first_run || !experiment.latency.p50 || *experiment.latency.p50 <= 0 ||
        *experiment.first_run < 1.5 * *experiment.latency.p50)
      return;
    // Paid once a process, not in every inference: it ranks last.
    Add(0, finding::FirstRun{*experiment.first_run, *experiment.latency.p50, experiment.load});
  }

  const Report& report_;
  std::vector<Insight> found_;
  std::size_t experiment_ = 0;        // that findings are of
  std::optional<std::size_t> pair_;   // that they are looked for in
  std::set<std::size_t> told_apart_;  // of these experiments a pair's finding says that tracing disagrees
};

}  // namespace

std::vector<Insight> FindInsights(const Report& report) { return Finder(report).Run(); }

}  // namespace etprof
