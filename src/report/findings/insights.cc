#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "analysis/operators.h"
#include "program/delegable.h"
#include "report/findings/contention.h"
#include "report/findings/insight_words.h"
#include "report/findings/noise.h"
#include "report/findings/traced.h"
#include "report/report.h"

namespace etprof {
namespace {

// Below these shares of an inference nobody gains anything by acting.
constexpr double kWorthSaying = 0.02;
constexpr double kBottleneckShare = 0.05;
constexpr double kNearlyAll = 0.9;
constexpr double kLossWorthSaying = 0.001;
constexpr std::size_t kEvidenceLines = 5;

std::string Count(std::int64_t n, const char* one, const char* many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

// Operators of one experiment that meet a condition, added up by type, most time first.
struct TypeSum {
  std::string type;
  std::int64_t operators = 0;
  double mean = 0;  // ns an inference
  // Why they are in no delegate, where the program shows it: each reason once, that of the costliest first.
  std::vector<std::string> not_delegated;
};

template <typename Keep>
std::vector<TypeSum> SumByType(const ReportExperiment& experiment, const Keep& keep) {
  std::map<std::string, TypeSum> sums;
  for (const OperatorRow& row : experiment.operators) {
    const Operator& op = experiment.profile->operators[row.op];
    if (!keep(op)) continue;
    TypeSum& sum = sums[op.type];
    sum.type = op.type;
    ++sum.operators;
    sum.mean += row.mean_self;
    if (!experiment.profile->program) continue;
    const std::string& why = experiment.profile->program->operators[row.op].why_not_delegated;
    if (!why.empty() &&
        std::find(sum.not_delegated.begin(), sum.not_delegated.end(), why) == sum.not_delegated.end())
      sum.not_delegated.push_back(why);
  }
  std::vector<TypeSum> sorted;
  for (auto& [type, sum] : sums) sorted.push_back(std::move(sum));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const TypeSum& a, const TypeSum& b) { return a.mean > b.mean; });
  return sorted;
}

std::vector<std::string> Lines(const std::vector<TypeSum>& sums, const TimesWithin& times) {
  std::vector<std::string> lines;
  for (const TypeSum& sum : sums) {
    if (lines.size() == kEvidenceLines) {
      lines.push_back(fmt::format(
          "and {}", Count(static_cast<std::int64_t>(sums.size() - lines.size()), "more type", "more types")));
      break;
    }
    lines.push_back(fmt::format("{}: {}, {}{}{}", sum.type, Count(sum.operators, "operator", "operators"),
                                times.Text(sum.mean), sum.not_delegated.empty() ? "" : "; ",
                                fmt::join(sum.not_delegated, "; ")));
  }
  return lines;
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

double ShareOf(const ReportExperiment& experiment, Group group) {
  const auto whole = experiment.MeanExecute();
  return whole && *whole > 0 ? experiment.MeanOfGroup(group) / *whole : 0;
}

// Amdahl 1967: how many times as fast an inference would be at most if this part took no time. Part and whole
// are means over the same traced runs, so that the bound is 1 / (1 - share) of the share beside it. Absent:
// there is none, or no bound on the latency, since that was measured apart and disagrees.
std::optional<double> BoundIfFree(double part, double whole, const ReportExperiment& experiment) {
  if (TracedDisagree(experiment)) return std::nullopt;
  return part < whole ? std::optional(whole / (whole - part)) : std::nullopt;
}

std::string IfFree(double part, double whole, const ReportExperiment& experiment) {
  const auto bound = BoundIfFree(part, whole, experiment);
  return bound ? fmt::format(" Upper bound if eliminated: {:.2f}x.", *bound) : "";
}

// "GEMM #1 (blocks.0.mlp)": names repeat from delegate to delegate.
std::string NameWithLayer(const ReportExperiment& experiment, std::size_t op) {
  const std::string& name = experiment.profile->operators[op].name;
  const auto layer =
      experiment.profile->program ? ModulePath(*experiment.profile->program, op) : std::nullopt;
  return layer && !layer->empty() ? fmt::format("{} ({})", name, *layer) : name;
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
      if (std::find(subjects.begin(), subjects.end(), pair.candidate) == subjects.end())
        subjects.push_back(pair.candidate);
    };
    // Of several pairs nobody ships a side that is slower for certain.
    for (const ReportComparison& pair : report_.comparisons) {
      if (pair.comparison.latency.verdict != stats::Verdict::kSlower) add(pair);
    }
    if (subjects.empty()) std::for_each(report_.comparisons.begin(), report_.comparisons.end(), add);
    if (subjects.empty()) {
      for (std::size_t i = 0; i < report_.experiments.size(); ++i) subjects.push_back(i);
    }
    for (const ReportComparison& pair : report_.comparisons) AddPair(pair);
    for (const std::size_t subject : subjects) AddExperiment(subject);
    return Sorted();
  }

 private:
  std::vector<Insight> Sorted() {
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Insight& a, const Insight& b) { return a.at_stake > b.at_stake; });
    // What limits the meaning of the others stands before them.
    std::stable_partition(found_.begin(), found_.end(),
                          [](const Insight& one) { return one.kind == Insight::Kind::kTracing; });
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

  void Add(Insight::Kind kind, std::size_t experiment, double at_stake, std::string text,
           std::vector<std::string> evidence, std::string formula) {
    if (subject_count() > 1) text = report_.experiments[experiment].label + ": " + text;
    found_.push_back({kind, std::move(text), std::move(evidence), std::move(formula), at_stake, experiment});
  }

  std::size_t subject_count() const {
    return report_.comparisons.empty() ? report_.experiments.size() : report_.comparisons.size();
  }

  void AddPair(const ReportComparison& pair) {
    const ReportExperiment& baseline = report_.experiments[pair.baseline];
    const ReportExperiment& candidate = report_.experiments[pair.candidate];
    if (pair.comparison.latency.verdict != stats::Verdict::kEmulated) {
      AddFinding(Insight::Kind::kContention, pair.candidate, FindContended(report_, pair));
      AddFinding(Insight::Kind::kCpuTime, pair.candidate, FindCpuTime(report_, pair));
    }
    AddCompilers(pair, baseline, candidate);
    if (!baseline.profile || !candidate.profile) return;
    if (TimesMean(pair.baseline) && TimesMean(pair.candidate)) {
      AddTracedRatio(pair, baseline, candidate);
      AddShift(pair, baseline, candidate);
      AddSlower(pair);
    }
    if (baseline.kernel_evidence.empty() != candidate.kernel_evidence.empty()) {
      const ReportExperiment& with = baseline.kernel_evidence.empty() ? candidate : baseline;
      const ReportExperiment& without = baseline.kernel_evidence.empty() ? baseline : candidate;
      Add(Insight::Kind::kEvidence, pair.candidate, 0,
          fmt::format("Packed (KleidiAI SME) operators ran in {} and none in {}: {}.", with.label,
                      without.label,
                      Count(static_cast<std::int64_t>(with.kernel_evidence.size()), "type", "types")),
          with.kernel_evidence,
          "XNNPACK names an operator PF32, PF16 or PQS8 when it has chosen a packed kernel");
    }
  }

  void AddFinding(Insight::Kind kind, std::size_t experiment, std::optional<NoiseFinding> found) {
    if (!found) return;
    Add(kind, experiment, found->at_stake, std::move(found->text), std::move(found->evidence),
        std::move(found->formula));
  }

  // Portable and optimized kernels are C++: two compilers make two kernels of one source.
  void AddCompilers(const ReportComparison& pair, const ReportExperiment& baseline,
                    const ReportExperiment& candidate) {
    const ExperimentData& before = report_.run.experiments[baseline.index];
    const ExperimentData& after = report_.run.experiments[candidate.index];
    const auto compiler = [](const ExperimentData& data) {
      return data.runner_built ? data.runner_built->compiler : std::string();
    };
    const std::string from = compiler(before), to = compiler(after);
    if (from == to || before.runner_sha256 == after.runner_sha256) return;
    const auto or_unknown = [](const std::string& text) {
      return text.empty() ? "an unknown compiler" : text;
    };
    std::string text = fmt::format("The runners' compilers differ: {} is built with {}, {} with {}.",
                                   baseline.label, or_unknown(from), candidate.label, or_unknown(to));
    double time = 0;
    std::vector<std::string> evidence;
    if (TimesMean(pair.candidate)) {
      const auto sums = SumByType(candidate, [](const Operator& op) { return op.portable; });
      const double whole = candidate.MeanExecute().value_or(0);
      for (const TypeSum& sum : sums) time += sum.mean;
      if (time > 0 && whole > 0) {
        const TimesWithin times(whole);
        text += fmt::format(" Kernels outside of delegates: {}. They can differ by the compiler alone.",
                            times.Of(time));
        evidence = Lines(sums, times);
      }
    }
    Add(Insight::Kind::kCompilers, pair.candidate, time, std::move(text), std::move(evidence),
        "compilers as etprof-build.json or the files' .comment sections name them");
  }

  void AddShift(const ReportComparison& pair, const ReportExperiment& baseline,
                const ReportExperiment& candidate) {
    const Group before = LargestGroup(baseline);
    const Group after = LargestGroup(candidate);
    // The group whose share grew most is where the bottleneck is going.
    Group grown = after;
    for (const Group group : kAllGroups) {
      const double gain = ShareOf(candidate, group) - ShareOf(baseline, group);
      if (gain > ShareOf(candidate, grown) - ShareOf(baseline, grown)) grown = group;
    }
    const double from = ShareOf(baseline, grown);
    const double to = ShareOf(candidate, grown);
    if (before == after && to - from < 0.05) return;
    const Comparison& comparison = pair.comparison;
    const auto row_of = [&](Group group) {
      const auto row = std::find_if(comparison.groups.begin(), comparison.groups.end(),
                                    [&](const DeltaRow& one) { return one.name == GroupName(group); });
      return row == comparison.groups.end() ? Quantity() : row->quantity;
    };
    const auto growth = before != after ? GrowthAtLeast(row_of(after), row_of(before))
                                        : GrowthAtLeast(row_of(grown), comparison.latency);
    if (!growth || *growth <= 1) return;
    std::string text;
    if (before != after) {
      text = fmt::format("The bottleneck moved from {} ({} of {}) to {} ({} of {}).", GroupName(before),
                         Percent(ShareOf(baseline, before)), baseline.label, GroupName(after),
                         Percent(ShareOf(candidate, after)), candidate.label);
      grown = after;
    } else {
      text = fmt::format("{} grew from {} of an inference in {} to {} in {}. {} is still the largest, at {}.",
                         GroupName(grown), Percent(from), baseline.label, Percent(to), candidate.label,
                         GroupName(after), Percent(ShareOf(candidate, after)));
    }
    std::vector<std::string> evidence;
    const TimesWithin times(std::max(*baseline.MeanExecute(), *candidate.MeanExecute()));
    for (const Group group : kAllGroups) {
      if (baseline.MeanOfGroup(group) == 0 && candidate.MeanOfGroup(group) == 0) continue;
      evidence.push_back(
          fmt::format("{}: {} ({}) before, {} ({}) after", GroupName(group),
                      times.Text(baseline.MeanOfGroup(group)), Percent(ShareOf(baseline, group)),
                      times.Text(candidate.MeanOfGroup(group)), Percent(ShareOf(candidate, group))));
    }
    Add(Insight::Kind::kBottleneckShift, pair.candidate, candidate.MeanOfGroup(grown), std::move(text),
        std::move(evidence),
        "share = mean self time of the group / mean Method::execute of the same traced runs, reported where "
        "the intervals of both variants' times show that it grew; at stake: its time now");
  }

  // Operators that are slower, by a verdict and not by a point estimate.
  void AddSlower(const ReportComparison& pair) {
    const Comparison& comparison = pair.comparison;
    const ReportExperiment& candidate = report_.experiments[pair.candidate];
    struct Loss {
      double ns;
      const OperatorMatch* match;
    };
    std::vector<Loss> losses;
    double lost = 0;
    for (const OperatorMatch& match : comparison.operators) {
      if (!match.candidate || !match.baseline || match.quantity.verdict != stats::Verdict::kSlower) continue;
      const double ns = match.quantity.candidate_ns.value_or(0) - match.quantity.baseline_ns.value_or(0);
      if (ns <= 0) continue;
      lost += ns;
      losses.push_back({ns, &match});
    }
    const auto whole = candidate.MeanExecute();
    if (losses.empty() || !whole || lost / *whole < kLossWorthSaying) return;
    std::stable_sort(losses.begin(), losses.end(), [](const Loss& a, const Loss& b) { return a.ns > b.ns; });
    const TimesWithin times(*whole);
    std::vector<std::string> evidence;
    for (const Loss& loss : losses) {
      if (evidence.size() == kEvidenceLines) break;
      evidence.push_back(fmt::format(
          "{}: {} before, {} after", candidate.profile->operators[*loss.match->candidate].name,
          times.Text(*loss.match->quantity.baseline_ns), times.Text(*loss.match->quantity.candidate_ns)));
    }
    Add(Insight::Kind::kSlower, pair.candidate, lost,
        fmt::format("{} slower in {}, by {} in total.",
                    Count(static_cast<std::int64_t>(losses.size()), "operator is", "operators are"),
                    comparison.candidate_label, times.Text(lost)),
        std::move(evidence),
        "sum of (candidate - baseline) mean self time over operators with the verdict slower");
  }

  // The tables of a pair add up to another speedup than the headline's: what to believe, and why.
  void AddTracedRatio(const ReportComparison& pair, const ReportExperiment& baseline,
                      const ReportExperiment& candidate) {
    auto finding = FindTracedRatioApart(pair.comparison, baseline, candidate);
    if (!finding) return;
    if (TracedDisagree(candidate)) told_apart_.insert(pair.candidate);
    found_.push_back({Insight::Kind::kTracing, std::move(finding->text), std::move(finding->evidence),
                      std::move(finding->formula), finding->at_stake, pair.candidate});
  }

  // Times of operators, which are traced, are no parts of the latency where the two disagree.
  void AddTracedGap(std::size_t index, const ReportExperiment& experiment) {
    if (told_apart_.contains(index)) return;
    if (auto finding = FindTracedApart(experiment)) {
      Add(Insight::Kind::kTracing, index, finding->at_stake, std::move(finding->text),
          std::move(finding->evidence), std::move(finding->formula));
    }
  }

  // An emulated CPU's times mean nothing, and those of a trace-enabled run hold the cost of its log: no
  // advice from them.
  bool TimesMean(std::size_t index) const {
    const ExperimentData& data = report_.run.experiments[report_.experiments[index].index];
    return !data.emulated && !data.trace_enabled && !report_.experiments[index].TablesAreDisturbed();
  }

  void AddExperiment(std::size_t index) {
    if (!TimesMean(index)) return;
    const ReportExperiment& experiment = report_.experiments[index];
    AddFirstRun(index, experiment);
    for (NoiseFinding& noise : FindNoise(report_.run, experiment)) {
      Add(Insight::Kind::kNoise, index, noise.at_stake, std::move(noise.text), std::move(noise.evidence),
          std::move(noise.formula));
    }
    const auto whole = experiment.MeanExecute();
    if (!experiment.profile || !whole || *whole <= 0) return;
    AddTracedGap(index, experiment);
    AddBottleneck(index, experiment, *whole);
    AddLayout(index, experiment, *whole);
    AddPortable(index, experiment, *whole);
    AddDelegates(index, experiment, *whole);
    AddNotOnKleidiai(index, experiment, *whole);
    if (!experiment.unknown_operators.empty()) {
      const auto unknown = SumByType(experiment, [](const Operator& op) { return !op.category.known; });
      double time = 0;
      for (const TypeSum& sum : unknown) time += sum.mean;
      Add(Insight::Kind::kUnknown, index, time,
          fmt::format("{} not in the category table and {} as Other: {}.",
                      Count(static_cast<std::int64_t>(experiment.unknown_operators.size()),
                            "operator type is", "operator types are"),
                      experiment.unknown_operators.size() == 1 ? "counts" : "count",
                      TimesWithin(*whole).Of(time)),
          Lines(unknown, TimesWithin(*whole)), "sum of the mean self times of these operators");
    }
    AddRoofline(index, experiment, *whole);
    AddAmdahl(index, experiment, *whole);
  }

  void AddBottleneck(std::size_t index, const ReportExperiment& experiment, double whole) {
    const Group group = LargestGroup(experiment);
    const double time = experiment.MeanOfGroup(group);
    if (time / whole < kBottleneckShare) return;
    const auto sums = SumByType(experiment, [&](const Operator& op) { return op.category.group == group; });
    std::int64_t operators = 0;
    for (const TypeSum& sum : sums) operators += sum.operators;
    const TimesWithin times(whole);
    std::string text = fmt::format("{}: {}, {}.", GroupName(group), times.Of(time),
                                   Count(operators, "operator", "operators"));
    // A bound of 20x says nothing that the share has not said.
    if (time / whole < kNearlyAll) text += IfFree(time, whole, experiment);
    // The rows fall by cost, so the first of the group is its costliest.
    const auto costliest =
        std::find_if(experiment.operators.begin(), experiment.operators.end(), [&](const OperatorRow& row) {
          return experiment.profile->operators[row.op].category.group == group;
        });
    if (operators > 1 && costliest != experiment.operators.end()) {
      text += fmt::format(" Most expensive: {}, {}.", NameWithLayer(experiment, costliest->op),
                          times.Text(costliest->mean_self));
    }
    Add(Insight::Kind::kBottleneck, index, time, std::move(text), Lines(sums, times),
        "share = mean self time of the group / mean Method::execute of the same traced runs; upper bound = "
        "1 / (1 - share)");
  }

  // What each category would give at most, in one place.
  void AddAmdahl(std::size_t index, const ReportExperiment& experiment, double whole) {
    const auto runs = static_cast<double>(experiment.categories.runs);
    if (runs <= 0) return;
    std::vector<std::pair<double, std::string>> rows;
    for (const AdditiveRow& row : experiment.categories.rows) {
      const double time = static_cast<double>(row.total) / runs;
      if (row.name != "framework" && time / whole >= kWorthSaying && BoundIfFree(time, whole, experiment))
        rows.emplace_back(time, row.name);
    }
    if (rows.size() < 2) return;
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<std::string> evidence;
    const TimesWithin times(whole);
    std::string text = "Upper bounds per category (Amdahl's law):";
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto& [time, name] = rows[i];
      const double bound = *BoundIfFree(time, whole, experiment);
      if (i < 3) text += fmt::format("{} {} {:.2f}x", i > 0 ? "," : "", name, bound);
      evidence.push_back(fmt::format("{}: {}, {:.2f}x", name, times.Of(time), bound));
    }
    // The bottleneck has said the first one's.
    Add(Insight::Kind::kAmdahl, index, rows[1].first, text + ".", std::move(evidence),
        "Amdahl 1967: 1 / (1 - share); share = mean self time of the category / mean Method::execute of the "
        "same traced runs; at stake: the second largest part");
  }

  void AddLayout(std::size_t index, const ReportExperiment& experiment, double whole) {
    const double time = experiment.MeanOfGroup(Group::kDataMovement);
    if (time / whole < kWorthSaying) return;
    const DataMovement& movement = experiment.movement;
    const TimesWithin times(whole);
    std::vector<std::pair<double, std::string>> parts;
    const auto part = [&](std::int64_t count, double ns, const char* one, const char* many) {
      if (count > 0) parts.emplace_back(ns, fmt::format("{} ({})", Count(count, one, many), times.Text(ns)));
    };
    part(movement.transposes, movement.transpose_ns, "transpose", "transposes");
    part(movement.copies, movement.copy_ns, "copy", "copies");
    part(movement.reshapes, movement.reshape_ns, "reshape", "reshapes");
    part(movement.conversions, movement.conversion_ns, "conversion", "conversions");
    part(movement.others, movement.other_ns, "other move", "other moves");
    std::stable_sort(parts.begin(), parts.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::string list;
    if (parts.size() > 1 && parts.front().first >= time / 2) {
      list = "mostly " + parts.front().second;
    } else {
      for (const auto& [ns, text] : parts) list += (list.empty() ? "" : ", ") + text;
    }
    std::string text = fmt::format("Data movement: {}, {}.", times.Of(time), list);
    const Edges edges = MovementAtEdges(experiment);
    if (edges.operators > 0) {
      text +=
          fmt::format(" {} ({}) {} at a delegate boundary.", Count(edges.operators, "operator", "operators"),
                      times.Text(edges.time), edges.operators == 1 ? "sits" : "sit");
    }
    text += IfFree(time, whole, experiment);
    std::vector<std::string> evidence = Lines(
        SumByType(experiment, [](const Operator& op) { return op.category.group == Group::kDataMovement; }),
        times);
    for (const auto& [ns, line] : parts) evidence.push_back("of these " + line);
    Add(Insight::Kind::kLayout, index, time, std::move(text), std::move(evidence),
        "sum of the mean self times of transposes, reshapes, copies and conversions / mean Method::execute "
        "of "
        "the same traced runs; upper bound = 1 / (1 - share); at a boundary: those that a delegate call "
        "begins "
        "or ends with, and those that run portable between two delegate calls");
  }

  // Layout conversions that the boundary between backends costs.
  struct Edges {
    std::int64_t operators = 0;
    double time = 0;  // ns an inference
  };
  static Edges MovementAtEdges(const ReportExperiment& experiment) {
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
    Edges edges;
    const auto moves = [&](std::size_t i) {
      return profile.operators[i].category.group == Group::kDataMovement;
    };
    const auto take = [&](std::size_t i) {
      ++edges.operators;
      edges.time += static_cast<double>(profile.statistics[i].total_self) / runs;
    };
    for (const auto& [call, operators] : calls) {
      if (!delegates.contains(call)) {
        const bool between = !delegates.empty() && *delegates.begin() < call && call < *delegates.rbegin();
        for (const std::size_t i : operators) {
          if (between && moves(i)) take(i);
        }
        continue;
      }
      std::size_t first = 0;
      while (first < operators.size() && moves(operators[first])) take(operators[first++]);
      std::size_t end = operators.size();
      while (end > first && moves(operators[end - 1])) take(operators[--end]);
    }
    return edges;
  }

  // What an export could do so that it runs KleidiAI's kernels, where they are there to be had.
  void AddNotOnKleidiai(std::size_t index, const ReportExperiment& experiment, double whole) {
    const auto& isa = report_.run.experiments[experiment.index].isa_state;
    if (!isa || std::find(isa->enabled.begin(), isa->enabled.end(), "sme2") == isa->enabled.end()) return;
    std::vector<std::string> evidence;
    const TimesWithin times(whole);
    double time = 0;
    std::int64_t operators = 0;
    for (const MatrixKernelRow& row : experiment.matrix_kernels) {
      if (row.change.empty()) continue;
      const auto count = static_cast<std::int64_t>(row.operators.size());
      time += row.mean_ns;
      operators += count;
      evidence.push_back(fmt::format("{}, {}: {}; {}", Count(count, "operator", "operators"),
                                     times.Text(row.mean_ns), row.why, row.change));
    }
    if (time / whole < kWorthSaying) return;
    Add(Insight::Kind::kNotOnKleidiai, index, time,
        fmt::format("{} without KleidiAI's SME2 kernels: {}. Another export would change that.",
                    Count(operators, "matrix multiplication", "matrix multiplications"), times.Of(time)),
        std::move(evidence), "sum of the mean self times of these operators");
  }

  void AddPortable(std::size_t index, const ReportExperiment& experiment, double whole) {
    if (experiment.portable_kernels == 0) return;
    const auto sums = SumByType(experiment, [](const Operator& op) { return op.portable; });
    const TimesWithin times(whole);
    double time = 0;
    for (const TypeSum& sum : sums) time += sum.mean;
    std::string names;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, sums.size()); ++i)
      names += (i > 0 ? ", " : "") + sums[i].type;
    if (sums.size() > 3) names += ", ...";
    const auto takeable =
        SumByType(experiment, [](const Operator& op) { return op.portable && XnnpackCanTake(op.type); });
    std::int64_t could = 0;
    double could_time = 0;
    for (const TypeSum& sum : takeable) {
      could += sum.operators;
      could_time += sum.mean;
    }
    std::string hint;
    if (could > 0) {
      const TypeSum& costliest = takeable.front();
      const std::string why =
          costliest.not_delegated.empty()
              ? fmt::format("Data type, shape, or the partitioner kept {} out", could == 1 ? "it" : "them")
              : fmt::format("{}: {}", costliest.type, costliest.not_delegated.front());
      hint = fmt::format(" XNNPACK can take {} of them ({}, {}) in another form. {}.",
                         could == experiment.portable_kernels ? "all" : std::to_string(could),
                         costliest.type + (takeable.size() > 1 ? ", ..." : ""), times.Text(could_time), why);
    }
    Add(Insight::Kind::kPortable, index, time,
        fmt::format("{} not delegated ({}): {}.{}",
                    Count(experiment.portable_kernels, "operator is", "operators are"), names, times.Of(time),
                    time / whole >= kWorthSaying ? IfFree(time, whole, experiment) : "") +
            hint,
        Lines(sums, times),
        "sum of the mean self times of native_call_ kernels; what XNNPACK can take is its partitioner's "
        "list");
  }

  // What the tracer costs, it costs at the ends of spans: it stands in the self times of the calls around
  // operators. All of it is taken off, so that what is left is there without it, too.
  void AddDelegates(std::size_t index, const ReportExperiment& experiment, double whole) {
    const double traced = experiment.MeanOfGroup(Group::kDelegateOverhead);
    const double tracer = experiment.latency_from_trace ? 0 : -experiment.tracer.value_or(0);
    const double overhead = traced - std::max(0.0, tracer);
    if (experiment.delegate_calls == 0 || overhead / whole < kWorthSaying) return;
    const TimesWithin times(whole);
    Add(Insight::Kind::kDelegates, index, overhead,
        fmt::format("Delegate overhead: {} in {}, excluding operators.{}", times.Of(traced),
                    Count(experiment.delegate_calls, "call", "calls"),
                    overhead < traced ? fmt::format(" Up to {} of it may be tracing overhead.",
                                                    times.Text(traced - overhead))
                                      : ""),
        {fmt::format("{} per call", FormatDuration(traced / static_cast<double>(experiment.delegate_calls)))},
        "self time of DELEGATE_CALL spans / mean Method::execute of the same traced runs; tracing overhead: "
        "mean traced - median untraced run; at stake: without tracing overhead");
  }

  // What is far below the machine's limits: another form of the operator, or a better kernel, could take it.
  void AddRoofline(std::size_t index, const ReportExperiment& experiment, double whole) {
    constexpr double kFarBelow = 0.5;  // of the roof
    if (!experiment.roofline) return;
    const TimesWithin times(whole);
    double gap = 0;
    std::int64_t operators = 0;
    std::vector<std::string> evidence;
    std::string costliest;
    for (const RooflineRow& row : experiment.roofline->rows) {  // by falling gap
      if (row.share() >= kFarBelow || row.gap_ns() <= 0) continue;
      gap += row.gap_ns();
      const std::string name = NameWithLayer(experiment, row.op);
      if (++operators == 1) costliest = name;
      if (evidence.size() < kEvidenceLines)
        evidence.push_back(fmt::format(
            "{}: {} at {} of its {} roof, would save {}", name, times.Text(row.time.ns), Percent(row.share()),
            row.bound == RooflineRow::Bound::kCompute ? "compute" : "memory", times.Text(row.gap_ns())));
    }
    if (gap / whole < kWorthSaying) return;
    Add(Insight::Kind::kRoofline, index, gap,
        fmt::format(
            "{} less than 50% of {} roofline; {} {}. Largest gap: {}.",
            Count(operators, "operator reaches", "operators reach"), operators == 1 ? "its" : "their",
            TracedDisagree(experiment) ? "in traced runs the gap is" : "closing the gap would save up to",
            times.Text(gap), costliest),
        std::move(evidence),
        "sum of (time - time at the roof) over operators below half of theirs (Williams et al., CACM 2009)");
  }

  void AddFirstRun(std::size_t index, const ReportExperiment& experiment) {
    if (!experiment.first_run || !experiment.latency.p50 || *experiment.latency.p50 <= 0 ||
        *experiment.first_run < 1.5 * *experiment.latency.p50)
      return;
    // Paid once a process, not in every inference: it ranks last.
    const TimesWithin times(*experiment.first_run);
    std::string text =
        fmt::format("First inference: {} ({:.1f}x a steady-state run)", times.Text(*experiment.first_run),
                    *experiment.first_run / *experiment.latency.p50);
    if (experiment.load) text += fmt::format(", after {} to load the model", times.Text(*experiment.load));
    Add(Insight::Kind::kFirstRun, index, 0, text + ".", {},
        "median over launches of the first run / median of the steady runs");
  }

  const Report& report_;
  std::vector<Insight> found_;
  std::set<std::size_t> told_apart_;  // of these experiments a pair's finding says that tracing disagrees
};

}  // namespace

std::vector<Insight> FindInsights(const Report& report) { return Finder(report).Run(); }

}  // namespace etprof
