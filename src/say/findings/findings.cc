#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/units.h"
#include "program/program.h"
#include "report/findings/contention.h"
#include "report/findings/traced.h"
#include "say/findings/finding_numbers.h"
#include "say/run/report.h"
#include "say/run/report_parts.h"
#include "say/wording.h"

namespace etprof::say {
namespace {

using finding::TimePart;
using finding::TypeTime;

using Lines = std::vector<std::string>;

constexpr std::size_t kEvidenceLines = 5;

// "0.833 of 1.526 ms (55%)"
std::string Of(const TimePart& part) { return TimesWithin(part.whole_ns).Of(part.ns); }

std::string IfFree(const finding::UpperBound& bound) {
  return bound ? fmt::format(" Upper bound if eliminated: {:.2f}x.", *bound) : "";
}

Lines LinesOf(const finding::TypeTimes& types, double whole_ns) {
  const TimesWithin times(whole_ns);
  Lines lines;
  for (const TypeTime& type : types) {
    if (lines.size() == kEvidenceLines) {
      lines.push_back("and " + CountedText(types.size() - lines.size(), "more type", "more types"));
      break;
    }
    lines.push_back(fmt::format("{}: {}, {}{}{}", type.type, CountedText(type.operators, "operator"),
                                times.Text(type.ns), type.not_delegated.empty() ? "" : "; ",
                                fmt::join(type.not_delegated, "; ")));
  }
  return lines;
}

// "12% more".
std::string GapText(const TracedGap& gap) {
  return fmt::format("{} {}", PercentText(std::fabs(gap.relative())), gap.relative() < 0 ? "less" : "more");
}

std::string LikelyCause(const finding::TracedApart& apart) {
  const finding::TracingCause& cause = apart.cause;
  const std::string fastest = TimesWithin(apart.gap.traced).Text(cause.fastest_ns);
  switch (cause.kind) {
    case finding::TracingCause::Kind::kDisturbedUntraced:
      return "Likely cause: disturbed untraced runs. Measure again on an idle machine.";
    case finding::TracingCause::Kind::kDisturbedTraced:
      return fmt::format(
          "Likely cause: disturbed traced runs (the fastest takes {}). Measure again on an idle machine or "
          "with more traced runs (--runs).",
          fastest);
    case finding::TracingCause::Kind::kSlowerMachine:
      return fmt::format(
          "Likely cause: a slower machine during traced runs (even the fastest takes {}). Measure again on "
          "an idle machine.",
          fastest);
    case finding::TracingCause::Kind::kTracer:
      return fmt::format("Likely cause: tracing overhead, about {} for each of {} events.",
                         FormatDuration(cause.an_event_ns), cause.events);
    case finding::TracingCause::Kind::kUnknown:
      break;
  }
  return "";
}

const char* CauseOf(bool slower) {
  return slower ? "thermal throttling or another process" : "a rising clock, or another process that ended";
}

const char* UnitOf(bool bursts) { return bursts ? "burst" : "run"; }

Lines LinesOf(const finding::ConditionChanges& changes) {
  constexpr std::pair<const char*, const char*> kConditions[] = {{"CPU clock", "GHz"},
                                                                 {"clock's cap", "GHz"},
                                                                 {"temperature", "degrees C"},
                                                                 {"load", "(1 minute)"},
                                                                 {"rounds with capped clocks", "%"},
                                                                 {"skin", "degrees C"},
                                                                 {"CPU", "degrees C"}};
  Lines lines;
  for (const finding::ConditionChange& change : changes) {
    const auto& [name, unit] = kConditions[static_cast<std::size_t>(change.of)];
    const auto value = [unit = std::string_view(unit)](double number) {
      return unit == "%" ? PercentText(number) : fmt::format("{:.2f} {}", number, unit);
    };
    lines.push_back(fmt::format("{}: {}, then {}", name, value(change.first), value(change.second)));
  }
  return lines;
}

// Each finding has its words in a function of its own.
class Wording {
 public:
  Wording(const Report& report, const Insight& insight)
      : report_(report), experiment_(report.experiments[insight.experiment]) {
    if (insight.pair) pair_ = &report.comparisons[*insight.pair];
  }

  FindingWords operator()(const finding::BottleneckShift& shift) const {
    const auto& [from, to, grown, groups] = shift;
    FindingWords words;
    if (shift.Moved()) {
      words.text = fmt::format("The bottleneck moved from {} ({} of {}) to {} ({} of {}).",
                               GroupName(from.group), PercentText(from.baseline.share()), Baseline().label,
                               GroupName(to.group), PercentText(to.candidate.share()), experiment_.label);
    } else {
      // An overhead may be larger than the largest group of operators.
      const char* const place =
          grown.candidate.ns > to.candidate.ns ? "still the largest group of operators" : "still the largest";
      words.text = fmt::format("{} grew from {} of an inference in {} to {} in {}. ", GroupName(grown.group),
                               PercentText(grown.baseline.share()), Baseline().label,
                               PercentText(grown.candidate.share()), experiment_.label);
      words.text +=
          fmt::format("{} is {}, at {}.", GroupName(to.group), place, PercentText(to.candidate.share()));
    }
    const TimesWithin times(std::max(to.baseline.whole_ns, to.candidate.whole_ns));
    for (const finding::GroupShift& group : groups) {
      words.evidence.push_back(fmt::format("{}: {} ({}) before, {} ({}) after", GroupName(group.group),
                                           times.Text(group.baseline.ns), PercentText(group.baseline.share()),
                                           times.Text(group.candidate.ns),
                                           PercentText(group.candidate.share())));
    }
    words.formula =
        "share = mean self time of the group / mean Method::execute of the same traced runs, reported where "
        "the intervals of both variants' times show that it grew; at stake: its time now";
    return words;
  }

  FindingWords operator()(const finding::Bottleneck& of) const {
    std::string text = fmt::format("{}: {}, {}.{}", GroupName(of.group), OfGroup(of.group, of.time),
                                   CountedText(of.operators, "operator"), IfFree(of.bound));
    if (of.costliest) {
      text += fmt::format(" Most expensive: {}, {}.", NameWithLayer(of.costliest->op),
                          TimesWithin(of.time.whole_ns).Text(of.costliest->ns));
    }
    return {
        text, LinesOf(of.types, of.time.whole_ns),
        "share = mean self time of the group / mean Method::execute of the same traced runs; upper bound = "
        "1 / (1 - share)"};
  }

  FindingWords operator()(const finding::UpperBounds& of) const {
    Lines bounds, evidence;
    for (const auto& [category, time, bound] : of.categories) {
      if (bounds.size() < 3) bounds.push_back(fmt::format("{} {:.2f}x", category, bound));
      evidence.push_back(fmt::format("{}: {}, {:.2f}x", category, Of(time), bound));
    }
    return {
        fmt::format("Upper bounds per category (Amdahl's law): {}.", fmt::join(bounds, ", ")),
        std::move(evidence),
        "Amdahl 1967: 1 / (1 - share); share = mean self time of the category / mean Method::execute of the "
        "same traced runs; at stake: the second largest part"};
  }

  FindingWords operator()(const finding::NotDelegated& of) const {
    const TimesWithin times(of.time.whole_ns);
    const auto names = [](const finding::TypeTimes& types, std::size_t most) {
      Lines shown;
      for (const TypeTime& type : types) shown.push_back(shown.size() < most ? type.type : "...");
      shown.resize(std::min(shown.size(), most + 1));
      return fmt::format("{}", fmt::join(shown, ", "));
    };
    std::string text =
        fmt::format("{} not delegated ({}): {}.{}", CountedText(of.operators, "operator is", "operators are"),
                    names(of.types, 3), Of(of.time), IfFree(of.bound));
    TypeTime could;
    for (const TypeTime& type : of.takeable) {
      could.operators += type.operators;
      could.ns += type.ns;
    }
    if (could.operators > 0) {
      const TypeTime& costliest = of.takeable.front();
      text += fmt::format(" XNNPACK can take {} ({}, {}) in another form. {}.",
                          of.operators == 1                 ? "it"
                          : could.operators == of.operators ? "all of them"
                                                            : std::to_string(could.operators) + " of them",
                          names(of.takeable, 1), times.Text(could.ns),
                          costliest.not_delegated.empty()
                              ? fmt::format("Data type, shape, or the partitioner kept {} out",
                                            could.operators == 1 ? "it" : "them")
                              : costliest.type + ": " + costliest.not_delegated.front());
    }
    return {text, LinesOf(of.types, of.time.whole_ns),
            "sum of the mean self times of native_call_ kernels; what XNNPACK can take is its partitioner's "
            "list"};
  }

  FindingWords operator()(const finding::DataMoved& of) const {
    const DataMovement& movement = experiment_.movement;
    const TimesWithin times(of.time.whole_ns);
    std::vector<std::pair<double, std::string>> parts;
    const auto part = [&](std::int64_t count, double ns, const char* one, const char* many = "") {
      if (count > 0)
        parts.emplace_back(ns, fmt::format("{} ({})", CountedText(count, one, many), times.Text(ns)));
    };
    part(movement.transposes, movement.transpose_ns, "transpose");
    part(movement.copies, movement.copy_ns, "copy", "copies");
    part(movement.reshapes, movement.reshape_ns, "reshape");
    part(movement.conversions, movement.conversion_ns, "conversion");
    part(movement.others, movement.other_ns, "other move", "other moves");
    std::ranges::stable_sort(parts, std::greater(), [](const auto& one) { return one.first; });
    Lines lines = LinesOf(of.types, of.time.whole_ns), texts;
    for (const auto& [ns, text] : parts) {
      texts.push_back(text);
      lines.push_back("of these " + text);
    }
    const bool mostly = parts.size() > 1 && parts.front().first >= of.time.ns / 2;
    std::string text =
        fmt::format("Data movement: {}, {}.", OfGroup(Group::kDataMovement, of.time),
                    mostly ? "mostly " + texts.front() : fmt::format("{}", fmt::join(texts, ", ")));
    if (of.operators_at_edges > 0) {
      text +=
          fmt::format(" {} ({}) {} at a delegate boundary.", CountedText(of.operators_at_edges, "operator"),
                      times.Text(of.at_edges_ns), of.operators_at_edges == 1 ? "sits" : "sit");
    }
    return {
        text + IfFree(of.bound), std::move(lines),
        "sum of the mean self times of transposes, reshapes, copies and conversions / mean Method::execute "
        "of the same traced runs; upper bound = 1 / (1 - share); at a boundary: those that a delegate call "
        "begins or ends with, and those that run portable between two delegate calls"};
  }

  FindingWords operator()(const finding::DelegateOverhead& of) const {
    const std::string tracing = fmt::format(" Up to {} of it may be tracing overhead.",
                                            TimesWithin(of.time.whole_ns).Text(of.tracing_ns));
    const bool packs = experiment_.steady_runs == 0 && experiment_.first_runs > 0;
    return {
        fmt::format("Delegate overhead: {} in {}, excluding operators.{}{}",
                    OfGroup(Group::kDelegateOverhead, of.time), CountedText(of.calls, "call"),
                    of.tracing_ns > 0 ? tracing : "",
                    packs ? " A first inference packs weights in it; steady ones do not." : ""),
        {FormatDuration(of.time.ns / static_cast<double>(of.calls)) + " per call"},
        "self time of DELEGATE_CALL spans / mean Method::execute of the same traced runs; tracing overhead: "
        "mean traced - median untraced run; at stake: without tracing overhead"};
  }

  FindingWords operator()(const finding::SlowerOperators& of) const {
    const TimesWithin times(of.lost.whole_ns);
    Lines evidence;
    for (const auto& loss : of.operators) {
      if (evidence.size() == kEvidenceLines) break;
      evidence.push_back(fmt::format("{}: {} before, {} after", experiment_.profile->operators[loss.op].name,
                                     times.Text(loss.baseline_ns), times.Text(loss.candidate_ns)));
    }
    return {fmt::format("{} slower in {}, by {} in total.",
                        CountedText(of.operators.size(), "operator is", "operators are"),
                        pair_->comparison.candidate_label, times.Text(of.lost.ns)),
            std::move(evidence),
            "sum of (candidate - baseline) mean self time over operators with the verdict slower"};
  }

  FindingWords operator()(const finding::FirstRun& of) const {
    const TimesWithin times(of.first_ns);
    std::string text = fmt::format("First inference: {} ({:.1f}x a steady-state run)",
                                   times.Text(of.first_ns), of.first_ns / of.steady_ns);
    if (of.load_ns) text += fmt::format(", after {} to load the model", times.Text(*of.load_ns));
    return {text + ".", {}, "median over launches of the first run / median of the steady runs"};
  }

  FindingWords operator()(const finding::UnknownOperators& of) const {
    const std::size_t types = experiment_.unknown_operators.size();
    return {fmt::format("{} not in the category table and {} as Other: {}.",
                        CountedText(types, "operator type is", "operator types are"),
                        types == 1 ? "counts" : "count", Of(of.time)),
            LinesOf(of.types, of.time.whole_ns), "sum of the mean self times of these operators"};
  }

  FindingWords operator()(const finding::PackedKernels& of) const {
    const ReportExperiment& with = of.with_candidate ? experiment_ : Baseline();
    const ReportExperiment& without = of.with_candidate ? Baseline() : experiment_;
    return {fmt::format("KleidiAI's SME kernels ran in {}, not in {}: {}.", with.label, without.label,
                        CountedText(with.kernel_evidence.size(), "operator type")),
            with.kernel_evidence,
            "XNNPACK names an operator PF32, PF16 or PQS8 when it has chosen a packed kernel"};
  }

  FindingWords operator()(const finding::ProvenCode& of) const {
    return {fmt::format("Proven: {} {} code in {}, and {} code in {}.",
                        CountedText(of.operators, "matrix multiplication ran", "matrix multiplications ran"),
                        fmt::join(of.candidate, " and "), experiment_.label, fmt::join(of.baseline, " and "),
                        Baseline().label),
            {},
            "the runner saw these functions called (--watch); their machine code needs what is named"};
  }

  FindingWords operator()(const finding::NamesContradicted& of) const {
    Lines evidence;
    for (const std::size_t op : of.operators) {
      if (evidence.size() < kEvidenceLines) evidence.push_back(experiment_.profile->operators[op].name);
    }
    return {
        fmt::format(
            "{} than {} {}. The observed ones are reported.",
            CountedText(of.operators.size(), "operator ran other kernels", "operators ran other kernels"),
            of.operators.size() == 1 ? "its" : "their", of.operators.size() == 1 ? "name says" : "names say"),
        std::move(evidence), "functions that the runner saw called (--watch), against XNNPACK's names"};
  }

  FindingWords operator()(const finding::NotOnKleidiai& of) const {
    const TimesWithin times(of.time.whole_ns);
    Lines evidence;
    for (const MatrixKernelRow& row : experiment_.matrix_kernels) {
      if (!row.change.empty()) {
        evidence.push_back(fmt::format("{}, {}: {}; {}", CountedText(row.operators.size(), "operator"),
                                       times.Text(row.mean_ns), row.why, row.change));
      }
    }
    return {fmt::format(
                "{} without KleidiAI's SME2 kernels: {}. Another export can use them; see the details.",
                CountedText(of.operators, "matrix multiplication", "matrix multiplications"), Of(of.time)),
            std::move(evidence), "sum of the mean self times of these operators"};
  }

  FindingWords operator()(const finding::BelowRoofline& of) const {
    const TimesWithin times(of.gap.whole_ns);
    Lines evidence;
    for (const std::size_t i : of.rows) {
      if (evidence.size() == kEvidenceLines) break;
      const RooflineRow& row = experiment_.roofline->rows[i];
      evidence.push_back(fmt::format("{}: {}, {} of its {} roofline; potential saving {}",
                                     NameWithLayer(row.op), times.Text(row.time.ns), PercentText(row.share()),
                                     row.bound == RooflineRow::Bound::kCompute ? "compute" : "memory",
                                     times.Text(row.gap_ns())));
    }
    return {fmt::format("{} less than 50% of {} roofline; {} {}. Largest gap: {}.",
                        CountedText(of.rows.size(), "operator reaches", "operators reach"),
                        of.rows.size() == 1 ? "its" : "their",
                        of.of_traced_runs ? "in traced runs the gap is" : "closing the gap would save up to",
                        times.Text(of.gap.ns), NameWithLayer(experiment_.roofline->rows[of.rows.front()].op)),
            std::move(evidence),
            "sum of (time - time at the roofline) over operators below half of theirs (Williams et al., CACM "
            "2009)"};
  }

  FindingWords operator()(const finding::LatencyStep& of) const {
    const double change = of.after_ns / of.before_ns - 1;
    return {
        fmt::format("Latency {} by {} at {} {} of {} ({}, previously {}). Likely cause: {}.",
                    change > 0 ? "increased" : "decreased", PercentText(std::fabs(change)),
                    UnitOf(of.of_bursts), of.from, of.last, Ms(of.after_ns), Ms(of.before_ns),
                    CauseOf(change > 0)),
        LinesOf(of.conditions),
        "the cut in time that leaves the least variance, reported if Ashman's D is 4 or more and the change "
        "is 3% or more; at stake: (high - low) x share of high"};
  }

  FindingWords operator()(const finding::LatencyTrend& of) const {
    return {fmt::format("Latency drifted {} by {} during the measurement ({} {}s). Likely cause: {}.",
                        of.change > 0 ? "up" : "down", PercentText(std::fabs(of.change)), of.count,
                        UnitOf(of.of_bursts), CauseOf(of.change > 0)),
            LinesOf(of.conditions),
            "Theil's slope over 20 stretches in the order of time, reported if Kendall's p < 0.01 and the "
            "change is 3% or more"};
  }

  FindingWords operator()(const finding::LatencyLevels& of) const {
    return {fmt::format("Latency is bimodal: {} in {} of the {}s, {} in the others. Likely cause: two clock "
                        "frequencies or a shared CPU.",
                        Ms(of.low_ns), PercentText(1 - of.share_high), UnitOf(of.of_bursts), Ms(of.high_ns)),
            LinesOf(of.conditions),
            "Otsu's split, reported if Ashman's D is 5 or more; at stake: (high - low) x share of high"};
  }

  FindingWords operator()(const finding::Contended&) const {
    const auto all = [](const ReportExperiment& experiment) {
      return fmt::format("{}: median of all runs {}, p99 {}", experiment.label,
                         Ms(experiment.latency_of_all.p50.value_or(0)),
                         Ms(experiment.latency_of_all.p99.value_or(0)));
    };
    const auto& load = report_.run.other_load_during;
    const std::string users = load ? LoadUsersText(*load) : "";
    return {
        fmt::format("Contended: {}{}. No speedup is reported. Stop the other processes{}, or allow more "
                    "time (--max-seconds).",
                    CleanText(pair_->comparison), users.empty() ? "" : "; " + users,
                    experiment_.threads > 1 ? ", use fewer threads" : ""),
        {all(Baseline()), all(experiment_)},
        "a run is clean if its threads waited for a processor for at most 1% of its time; an interval takes "
        "clean runs of both variants in at least 6 launches"};
  }

  FindingWords operator()(const finding::CpuTimeApart& of) const {
    const stats::RatioEstimate& wall = *pair_->comparison.latency.estimate;
    return {
        fmt::format("Wall time and CPU time disagree: {:.2f}x in wall time [{:.2f}, {:.2f}], {:.2f}x in CPU "
                    "time. Likely cause: one variant waits (for memory, I/O, or another processor), or its "
                    "threads spin.",
                    wall.ratio(), wall.low(), wall.high(), of.baseline_ns / of.candidate_ns),
        {fmt::format("{}: CPU time of a run {}", Baseline().label, Ms(of.baseline_ns)),
         fmt::format("{}: CPU time of a run {}", experiment_.label, Ms(of.candidate_ns))},
        "medians over the clean runs of the processor time of all threads; reported where its ratio lies "
        "outside of the interval of the wall time's by more than the interval's half-width, and by 2%"};
  }

  FindingWords operator()(const finding::CompilersDiffer& of) const {
    const auto or_unknown = [](const std::string& text) {
      return text.empty() ? "an unknown compiler" : text;
    };
    std::string text =
        fmt::format("The runners' compilers {}: {} is built with {}, {} with {}.",
                    of.baseline.empty() || of.candidate.empty() ? "may differ" : "differ", Baseline().label,
                    or_unknown(of.baseline), experiment_.label, or_unknown(of.candidate));
    if (of.portable) {
      text += fmt::format(" Kernels outside of delegates: {}. They can differ by the compiler alone.",
                          Of(*of.portable));
    }
    return {text, LinesOf(of.types, of.portable ? of.portable->whole_ns : 0),
            "compilers as etprof-build.json or the files' .comment sections name them"};
  }

  FindingWords operator()(const finding::TracedApart& of) const {
    const TracedGap& gap = of.gap;
    const TimesWithin times(gap.traced);
    return {
        fmt::format("Traced runs take {} (mean), {} than the untraced median of {}. Operator times are from "
                    "traced runs, so no upper bounds are reported. {}",
                    times.Text(gap.traced), GapText(gap), times.Text(gap.untraced), LikelyCause(of)),
        {fmt::format("traced: fastest {}, mean {}", times.Text(experiment_.traced.min.value_or(gap.traced)),
                     times.Text(gap.traced)),
         fmt::format("untraced: fastest {}, median {}",
                     times.Text(experiment_.latency.min.value_or(gap.untraced)), times.Text(gap.untraced))},
        fmt::format("mean Method::execute of the traced runs / median of the untraced ones, reported beyond "
                    "{}; tracing overhead is the likely cause where the fastest runs are apart by at least "
                    "half as much, and by at most 10 µs per event",
                    PercentText(kTracedApart))};
  }

  FindingWords operator()(const finding::TracedRatioApart& of) const {
    const Comparison& comparison = pair_->comparison;
    const TimesWithin times(std::max(of.baseline_ns, of.candidate_ns));
    FindingWords words;
    words.text = fmt::format(
        "Operator and group times of {} and {} add up to {:.2f}x ({} to {}), not to the measured speedup of "
        "{:.2f}x.",
        comparison.baseline_label, comparison.candidate_label, of.ratio, times.Text(of.baseline_ns),
        times.Text(of.candidate_ns), comparison.latency.estimate->ratio());
    if (comparison.latency_from_trace)
      words.text += " The measured speedup is of medians, the sums are of means, which slow runs raise.";
    if (of.baseline && of.candidate) {
      const auto apart = [](const finding::TracedApart& side) { return std::fabs(side.gap.relative()); };
      words.text += fmt::format(
          " Traced runs take {} time than untraced ones in {} and {} in {}. {}", GapText(of.baseline->gap),
          comparison.baseline_label, GapText(of.candidate->gap), comparison.candidate_label,
          LikelyCause(apart(*of.baseline) > apart(*of.candidate) ? *of.baseline : *of.candidate));
      for (const auto& [side, told] :
           {std::pair{&Baseline(), *of.baseline}, std::pair{&experiment_, *of.candidate}}) {
        words.evidence.push_back(fmt::format("{}: mean of traced runs {}, median of untraced runs {}. {}",
                                             side->label, times.Text(told.gap.traced),
                                             times.Text(told.gap.untraced), LikelyCause(told)));
      }
    }
    words.text += " Use the measured speedup: those of groups and operators are distorted.";
    if (of.no_bounds)
      words.text += fmt::format(" No upper bounds are reported for {}.", comparison.candidate_label);
    words.formula = fmt::format(
        "mean Method::execute of the baseline's traced runs / of the candidate's, reported where it lies "
        "outside of the speedup's interval widened by {}; at stake: the candidate's traced mean - (the "
        "baseline's / speedup)",
        PercentText(kTracedApart));
    return words;
  }

 private:
  const ReportExperiment& Baseline() const { return report_.experiments[pair_->baseline]; }

  // "0.565 of 1.086 ms (52%)", as the group's row in the table of self times, whose rows add up as printed.
  std::string OfGroup(Group group, const TimePart& part) const {
    const TimesWithin times(part.whole_ns);
    const Table::Span span = SpanOfLatencies(report_);
    if (!times.HasScale(ScaleFor(span.smallest_ns, span.largest_ns))) return times.Of(part.ns);
    std::vector<double> means;
    for (const AdditiveRow& row : experiment_.groups.rows)
      means.push_back(MeanOf(row.total, experiment_.groups.runs));
    return times.Of(means, static_cast<std::size_t>(group));
  }

  // "GEMM #1 (blocks.0.mlp)": names repeat from delegate to delegate.
  std::string NameWithLayer(std::size_t op) const {
    const std::string& name = experiment_.profile->operators[op].name;
    const auto layer =
        experiment_.profile->program ? ModulePath(*experiment_.profile->program, op) : std::nullopt;
    return layer && !layer->empty() ? fmt::format("{} ({})", name, *layer) : name;
  }

  const Report& report_;
  const ReportExperiment& experiment_;
  const ReportComparison* pair_ = nullptr;  // of a pair's finding: there
};

}  // namespace

FindingWords SayFinding(const Report& report, const Insight& insight) {
  FindingWords words = std::visit(Wording(report, insight), insight.what);
  const std::size_t subjects =
      report.comparisons.empty() ? report.experiments.size() : report.comparisons.size();
  const bool names_both = std::holds_alternative<finding::TracedRatioApart>(insight.what);
  if (subjects > 1 && !names_both)
    words.text = report.experiments[insight.experiment].label + ": " + words.text;
  return words;
}

}  // namespace etprof::say
