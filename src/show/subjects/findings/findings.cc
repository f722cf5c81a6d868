#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/json/describe.h"
#include "core/units.h"
#include "format/program/program.h"
#include "report/findings/traced.h"
#include "report/run/pair.h"
#include "show/subjects/run/report.h"
#include "show/subjects/run/report_parts.h"
#include "show/wording.h"

namespace etprof::show {
namespace {

using finding::TimePart;
using finding::TypeTime;

using Lines = std::vector<Text>;

constexpr std::size_t kMaxEvidenceLines = 5;

// "0.833 of 1.526 ms (55%)"
Text TimePartText(const TimePart& part) {
  return FormatText("{} of {} ({})", PartTime{{part.ns}, 0}, Time{part.whole_ns}, Share{part.share()});
}

Text UpperBoundText(const finding::UpperBound& bound) {
  return bound ? FormatText(" Upper bound if eliminated: {}.", Ratio{*bound}) : Text();
}

// One line per element; if there are too many, the first ones and the number of the others, which `more`
// names.
Lines FirstLines(const auto& all, const char* more, const auto& line_of) {
  Lines lines;
  for (const auto& one : all) {
    if (lines.size() == kMaxEvidenceLines) {
      lines.push_back("and " + CountedText(all.size() - lines.size(), more));
      break;
    }
    lines.push_back(line_of(one));
  }
  return lines;
}

Lines EvidenceLines(const finding::TypeTimes& types) {
  return FirstLines(types, "more type", [](const TypeTime& type) {
    return FormatText("{}: {}, {}{}{}", type.type, CountedText(type.operators, "operator"), Time{type.ns},
                      type.not_delegated.empty() ? "" : "; ",
                      fmt::format("{}", fmt::join(type.not_delegated, "; ")));
  });
}

// "12% more".
Text GapText(const TracedGap& gap) {
  return FormatText("{} {}", Share{std::fabs(gap.relative())}, gap.relative() < 0 ? "less" : "more");
}

Text LikelyCause(const finding::TracingDiscrepancy& apart) {
  const finding::TracingCause& cause = apart.cause;
  const Time fastest{cause.fastest_ns};
  switch (cause.kind) {
    case finding::TracingCause::Kind::kDisturbedUntraced:
      return "Likely cause: disturbed untraced runs. Measure again on an idle machine.";
    case finding::TracingCause::Kind::kDisturbedTraced:
      return FormatText(
          "Likely cause: disturbed traced runs (the fastest takes {}). Measure again on an idle machine or "
          "with more traced runs (--runs).",
          fastest);
    case finding::TracingCause::Kind::kSlowerMachine:
      return FormatText(
          "Likely cause: a slower machine during traced runs (even the fastest takes {}). Measure again on "
          "an idle machine.",
          fastest);
    case finding::TracingCause::Kind::kTracer:
      return FormatText("Likely cause: tracing overhead, about {} for each of {} events.",
                        Duration{cause.ns_per_event}, Count{cause.events});
    case finding::TracingCause::Kind::kUnknown:
      break;
  }
  return "";
}

const char* SampleUnit(bool bursts) { return bursts ? "burst" : "run"; }

Lines EvidenceLines(const finding::ConditionChanges& changes) {
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
      return unit == "%" ? Text(Share{number}) : Text(fmt::format("{:.2f} {}", number, unit));
    };
    lines.push_back(FormatText("{}: {}, then {}", name, value(change.first), value(change.second)));
  }
  return lines;
}

// Makes the text of each kind of finding.
class FindingFormatter {
 public:
  FindingFormatter(const Report& report, const Insight& insight)
      : report_(report), experiment_(report.experiments[insight.experiment]) {
    if (insight.pair) pair_ = &report.comparisons[*insight.pair];
  }

  FindingTexts operator()(const finding::BottleneckShift& shift) const {
    const auto& [from, to, grown, groups] = shift;
    FindingTexts words;
    if (shift.Moved()) {
      words.text = FormatText("The bottleneck moved from {} ({} of {}) to {} ({} of {}).",
                              GroupName(from.group), Share{from.baseline.share()}, Baseline().label,
                              GroupName(to.group), Share{to.candidate.share()}, experiment_.label);
    } else {
      // An overhead may be larger than the largest group of operators.
      const char* const place =
          grown.candidate.ns > to.candidate.ns ? "still the largest group of operators" : "still the largest";
      words.text = FormatText("{} grew from {} of an inference in {} to {} in {}. {} is {}, at {}.",
                              GroupName(grown.group), Share{grown.baseline.share()}, Baseline().label,
                              Share{grown.candidate.share()}, experiment_.label, GroupName(to.group), place,
                              Share{to.candidate.share()});
    }
    for (const finding::GroupShift& group : groups) {
      words.evidence.push_back(FormatText("{}: {} ({}) before, {} ({}) after", GroupName(group.group),
                                          Time{group.baseline.ns}, Share{group.baseline.share()},
                                          Time{group.candidate.ns}, Share{group.candidate.share()}));
    }
    words.formula =
        "share = mean self time of the group / mean Method::execute of the same traced runs, reported where "
        "the intervals of both variants' times show that it grew; at stake: its time now";
    return words;
  }

  FindingTexts operator()(const finding::Bottleneck& of) const {
    Text text = FormatText("{}: {}, {}.{}", GroupName(of.group), GroupTimeText(of.group, of.time),
                           CountedText(of.operators, "operator"), UpperBoundText(of.bound));
    if (of.costliest)
      text += FormatText(" Most expensive: {}, {}.", NameWithLayer(of.costliest->op), Time{of.costliest->ns});
    return {
        text, EvidenceLines(of.types),
        "share = mean self time of the group / mean Method::execute of the same traced runs; upper bound = "
        "1 / (1 - share)"};
  }

  FindingTexts operator()(const finding::UpperBounds& of) const {
    Lines bounds, evidence;
    for (const auto& [category, time, bound] : of.categories) {
      if (bounds.size() < 3) bounds.push_back(FormatText("{} {}", category, Ratio{bound}));
      evidence.push_back(FormatText("{}: {}, {}", category, TimePartText(time), Ratio{bound}));
    }
    return {
        FormatText("Upper bounds per category (Amdahl's law): {}.", JoinTexts(bounds)), std::move(evidence),
        "Amdahl 1967: 1 / (1 - share); share = mean self time of the category / mean Method::execute of the "
        "same traced runs; at stake: the second largest part"};
  }

  FindingTexts operator()(const finding::NotDelegated& of) const {
    const auto names = [](const finding::TypeTimes& types, std::size_t most) {
      std::vector<std::string> shown;
      for (const TypeTime& type : types) shown.push_back(shown.size() < most ? type.type : "...");
      shown.resize(std::min(shown.size(), most + 1));
      return fmt::format("{}", fmt::join(shown, ", "));
    };
    if (experiment_.delegate_calls == 0) {
      return {
          FormatText(
              "No delegate was called: all of {} ran as ExecuTorch's own kernels ({}): {}. Export the model "
              "with a backend's partitioner, as `etprof export` does with XNNPACK's.",
              CountedText(of.operators, "operator"), names(of.types, 3), TimePartText(of.time)),
          EvidenceLines(of.types), "sum of the mean self times of kernels; no DELEGATE_CALL in the trace"};
    }
    Text text =
        FormatText("{} not delegated ({}): {}.", CountedText(of.operators, "operator is", "operators are"),
                   names(of.types, 3), TimePartText(of.time));
    if (of.boundaries_ns > 0) {
      text += FormatText(" {} {} delegates, which takes another {} for calls and conversions.",
                         of.operators == 1 ? "It divides the model into" : "They divide the model into",
                         std::to_string(experiment_.delegate_calls), Time{of.boundaries_ns});
      // This is not called an upper bound: a network of attention gained 1.70x [1.59, 1.81] where these times
      // give 1.55x, since the operators of one delegate run faster than those of many.
      if (of.bound)
        text +=
            FormatText(" If all of this took no time: {}, and more where delegates join.", Ratio{*of.bound});
    } else {
      text += UpperBoundText(of.bound);
    }
    Lines evidence = EvidenceLines(of.types);
    if (!of.remedies.empty()) {
      AddRemedies(of, text, evidence);
      return {text, std::move(evidence), std::string(kNotDelegatedFormula)};
    }
    const auto has = [&](std::string_view type) {
      return std::ranges::find(of.types, type, &TypeTime::type) != of.types.end();
    };
    // torch.export creates these operators from the softmax in scaled_dot_product_attention.
    if (has("any.out") && has("full_like.out") && has("where.self_out")) {
      text += FormatText(
          " These are of attention: `etprof.wrappers.attention` exports it without them "
          "(docs/guides/models.md#wrappers).");
    }
    TypeTime delegable;
    for (const TypeTime& type : of.delegable) {
      delegable.operators += type.operators;
      delegable.ns += type.ns;
    }
    if (delegable.operators > 0) {
      const TypeTime& costliest = of.delegable.front();
      text += FormatText(
          " XNNPACK has kernels for {} ({}, {}) and took none here. {}.",
          of.operators == 1                     ? "it"
          : delegable.operators == of.operators ? "all of them"
                                                : std::to_string(delegable.operators) + " of them",
          names(of.delegable, 1), Time{delegable.ns},
          costliest.not_delegated.empty() ? fmt::format("Data type, shape, or the partitioner kept {} out",
                                                        delegable.operators == 1 ? "it" : "them")
                                          : costliest.type + ": " + costliest.not_delegated.front());
    }
    return {text, std::move(evidence),
            std::string(kNotDelegatedFormula) + "; what XNNPACK can take is its partitioner's list"};
  }

  FindingTexts operator()(const finding::DataMoved& of) const {
    constexpr NamedValue<Movement> kMoves[] = {{Movement::kTranspose, "transpose"},
                                               {Movement::kCopy, "copy"},
                                               {Movement::kReshape, "reshape"},
                                               {Movement::kConversion, "conversion"},
                                               {Movement::kOther, "other move"}};
    std::vector<std::pair<double, Text>> parts;
    for (const auto& [kind, sum] : experiment_.movement) {
      const char* const many = kind == Movement::kCopy ? "copies" : "";
      parts.emplace_back(
          sum.ns,
          FormatText("{} ({})", CountedText(sum.operators, FindName(kMoves, kind), many), Time{sum.ns}));
    }
    std::ranges::stable_sort(parts, std::greater(), [](const auto& one) { return one.first; });
    Lines lines = EvidenceLines(of.types), texts;
    for (const auto& [ns, part_text] : parts) {
      texts.push_back(part_text);
      lines.push_back(FormatText("of these {}", part_text));
    }
    const bool mostly = parts.size() > 1 && parts.front().first >= of.time.ns / 2;
    Text text = FormatText("{}: {}, {}{}.", GroupName(Group::kDataMovement),
                           GroupTimeText(Group::kDataMovement, of.time), mostly ? "mostly " : "",
                           mostly ? texts.front() : JoinTexts(texts));
    if (of.boundary_operators > 0) {
      text +=
          FormatText(" {} ({}) {} at a delegate boundary.", CountedText(of.boundary_operators, "operator"),
                     Time{of.boundary_ns}, of.boundary_operators == 1 ? "sits" : "sit");
    }
    return {
        text + UpperBoundText(of.bound), std::move(lines),
        "sum of the mean self times of transposes, reshapes, copies and conversions / mean Method::execute "
        "of the same traced runs; upper bound = 1 / (1 - share); at a boundary: those that a delegate call "
        "begins or ends with, and those that run portable between two delegate calls"};
  }

  FindingTexts operator()(const finding::DelegateOverhead& of) const {
    const Text tracing = FormatText(" Up to {} of it may be tracing overhead.", Time{of.tracing_ns});
    const bool packs = experiment_.steady_runs == 0 && experiment_.first_runs > 0;
    return {
        FormatText("Delegate overhead: {} in {}, excluding operators.{}{}",
                   GroupTimeText(Group::kDelegateOverhead, of.time), CountedText(of.calls, "call"),
                   of.tracing_ns > 0 ? tracing : Text(),
                   packs ? " A first inference packs weights in it; steady ones do not." : ""),
        {FormatText("{} per call", Duration{of.time.ns / static_cast<double>(of.calls)})},
        "self time of DELEGATE_CALL spans / mean Method::execute of the same traced runs; tracing overhead: "
        "mean traced - median untraced run; at stake: without tracing overhead"};
  }

  FindingTexts operator()(const finding::SlowerOperators& of) const {
    Lines evidence = FirstLines(of.operators, "more operator", [&](const auto& loss) {
      return FormatText("{}: {} before, {} after", experiment_.profile->operators[loss.op].name,
                        Time{loss.baseline_ns}, Time{loss.candidate_ns});
    });
    return {FormatText("{} slower in {}, by {} in total.",
                       CountedText(of.operators.size(), "operator is", "operators are"),
                       pair_->comparison.candidate_label, Time{of.lost.ns}),
            std::move(evidence),
            "sum of (candidate - baseline) mean self time over operators with the verdict slower"};
  }

  FindingTexts operator()(const finding::FirstRun& of) const {
    Text text = FormatText("First inference: {} ({} a steady-state run)", Duration{of.first_ns},
                           fmt::format("{:.1f}x", of.first_ns / of.steady_ns));
    if (of.load_ns) text += FormatText(", after {} to load the model", Duration{*of.load_ns});
    return {text + ".", {}, "median over launches of the first run / median of the steady runs"};
  }

  FindingTexts operator()(const finding::UnknownOperators& of) const {
    const std::size_t types = experiment_.unknown_operators.size();
    return {FormatText("{} not in the category table and {} as Other: {}.",
                       CountedText(types, "operator type is", "operator types are"),
                       types == 1 ? "counts" : "count", TimePartText(of.time)),
            EvidenceLines(of.types), "sum of the mean self times of these operators"};
  }

  FindingTexts operator()(const finding::PackedKernels& of) const {
    const ReportExperiment& with = of.with_candidate ? experiment_ : Baseline();
    const ReportExperiment& without = of.with_candidate ? Baseline() : experiment_;
    return {fmt::format("KleidiAI's SME kernels ran in {}, not in {}: {}.", with.label, without.label,
                        CountedText(with.kernel_evidence.size(), "operator type")),
            Lines(with.kernel_evidence.begin(), with.kernel_evidence.end()),
            "XNNPACK names an operator PF32, PF16 or PQS8 when it has chosen a packed kernel; where a "
            "watched run (--watch) saw what was called, that counts"};
  }

  FindingTexts operator()(const finding::ProvenCode& of) const {
    return {fmt::format("Proven: {} {} code in {}, and {} code in {}.",
                        CountedText(of.operators, "matrix multiplication ran", "matrix multiplications ran"),
                        fmt::join(of.candidate, " and "), experiment_.label, fmt::join(of.baseline, " and "),
                        Baseline().label),
            {},
            "the runner saw these functions called (--watch); their machine code needs what is named"};
  }

  FindingTexts operator()(const finding::NamesContradicted& of) const {
    Lines evidence = FirstLines(of.operators, "more operator", [&](std::size_t op) {
      return Text(experiment_.profile->operators[op].name);
    });
    return {
        fmt::format(
            "{} than {} {}. The observed ones are reported.",
            CountedText(of.operators.size(), "operator ran other kernels", "operators ran other kernels"),
            of.operators.size() == 1 ? "its" : "their", of.operators.size() == 1 ? "name says" : "names say"),
        std::move(evidence), "functions that the runner saw called (--watch), compared with XNNPACK's names"};
  }

  FindingTexts operator()(const finding::NotOnKleidiai& of) const {
    Lines evidence;
    for (const MatrixKernelRow& row : experiment_.matrix_kernels) {
      if (!row.change.empty()) {
        evidence.push_back(FormatText("{}, {}: {}; {}", CountedText(row.operators.size(), "operator"),
                                      Time{row.mean_ns}, row.why, row.change));
      }
    }
    return {
        FormatText("{} without KleidiAI's SME2 kernels: {}. Another export can use them; see the details.",
                   CountedText(of.operators, "matrix multiplication", "matrix multiplications"),
                   TimePartText(of.time)),
        std::move(evidence), "sum of the mean self times of these operators"};
  }

  FindingTexts operator()(const finding::Fp16ComputedAsFp32& of) const {
    return {FormatText(
                "{} of fp16 computed as fp32: {}. The CPU features in use have no fp16 arithmetic, so that "
                "fp16 saves memory and no time. Compare with fp32 or int8.",
                CountedText(of.operators, "operator"), TimePartText(of.time)),
            {},
            "sum of the mean self times of operators with fp16 operands, for which none of the instructions "
            "that the peaks were measured with multiplies fp16"};
  }

  FindingTexts operator()(const finding::BelowRoofline& of) const {
    Lines evidence = FirstLines(of.rows, "more operator", [&](std::size_t i) {
      const RooflineRow& row = experiment_.roofline->rows[i];
      return FormatText("{}: {}, {} of its {} roofline; potential saving {}", NameWithLayer(row.op),
                        Time{row.time.ns}, Share{row.share()},
                        row.bound == RooflineRow::Bound::kCompute ? "compute" : "memory", Time{row.gap_ns()});
    });
    return {FormatText("{} less than 50% of {} roofline; {} {}. Largest gap: {}.",
                       CountedText(of.rows.size(), "operator reaches", "operators reach"),
                       of.rows.size() == 1 ? "its" : "their",
                       of.of_traced_runs ? "in traced runs the gap is" : "closing the gap would save up to",
                       Time{of.gap.ns}, NameWithLayer(experiment_.roofline->rows[of.rows.front()].op)),
            std::move(evidence),
            "sum of (time - time at the roofline) over operators below half of theirs (Williams et al., CACM "
            "2009)"};
  }

  // Causes that the trace contradicts are not named: a slower machine slows all operators.
  Text CauseOfChangeText(const finding::ConfinedOperators& operators, bool slower) const {
    if (operators.empty()) {
      return slower ? "Likely cause: thermal throttling or another process."
                    : "Likely cause: a rising clock, or another process that ended.";
    }
    const finding::OperatorShift& largest = operators.front();
    return FormatText(
        "The change is confined to {}: {} from {} to {}. A slower machine would slow all operators. Likely "
        "cause: work that differs between runs, such as attention over a growing context.",
        CountedText(operators.size(), "operator"), NameWithLayer(largest.op), Time{largest.before_ns},
        Time{largest.after_ns});
  }

  Lines ChangeEvidence(const finding::ConfinedOperators& operators,
                       const finding::ConditionChanges& conditions) const {
    Lines lines = FirstLines(operators, "more operator", [&](const finding::OperatorShift& of) {
      return FormatText("{}: {} before, {} after", NameWithLayer(of.op), Time{of.before_ns},
                        Time{of.after_ns});
    });
    std::ranges::move(EvidenceLines(conditions), std::back_inserter(lines));
    return lines;
  }

  FindingTexts operator()(const finding::LatencyStep& of) const {
    const double change = of.after_ns / of.before_ns - 1;
    return {
        FormatText("Latency {} by {} at {} {} of {} ({}, previously {}). {}",
                   change > 0 ? "increased" : "decreased", Share{std::fabs(change)}, SampleUnit(of.of_bursts),
                   Count{of.from}, Count{of.last}, Time{of.after_ns}, Time{of.before_ns},
                   CauseOfChangeText(of.operators, change > 0)),
        ChangeEvidence(of.operators, of.conditions),
        "the cut in time that leaves the least variance, reported if Ashman's D is 4 or more and the change "
        "is 3% or more; at stake: (high - low) x share of high"};
  }

  FindingTexts operator()(const finding::LatencyTrend& of) const {
    return {FormatText("Latency drifted {} by {} during the measurement ({} {}s). {}",
                       of.change > 0 ? "up" : "down", Share{std::fabs(of.change)}, Count{of.count},
                       SampleUnit(of.of_bursts), CauseOfChangeText(of.operators, of.change > 0)),
            ChangeEvidence(of.operators, of.conditions),
            "Theil's slope over 20 stretches in the order of time, reported if Kendall's p < 0.01 and the "
            "change is 3% or more"};
  }

  FindingTexts operator()(const finding::LatencyLevels& of) const {
    return {FormatText("Latency is bimodal: {} in {} of the {}s, {} in the others. Likely cause: two clock "
                       "frequencies or a shared CPU.",
                       Time{of.low_ns}, Share{1 - of.share_high}, SampleUnit(of.of_bursts), Time{of.high_ns}),
            EvidenceLines(of.conditions),
            "Otsu's split, reported if Ashman's D is 5 or more; at stake: (high - low) x share of high"};
  }

  FindingTexts operator()(const finding::Contended& of) const {
    const auto all = [](const ReportExperiment& experiment) {
      return FormatText("{}: median of all runs {}, p99 {}", experiment.label,
                        Time{experiment.latency_of_all.p50.value_or(0)},
                        Time{experiment.latency_of_all.p99.value_or(0)});
    };
    const std::string quota = of.throttled ? QuotaText(report_.run.device->limits) : "";
    const auto& load = report_.run.other_load_during;
    const std::string cause = !quota.empty() ? quota : load ? LoadUsersText(*load) : "";
    // If no launch was clean, more launches are unlikely to help.
    const bool more_time = pair_->comparison.launches > 0;
    return {
        fmt::format("Contended: {}{}. No speedup is reported. {}{}{}.", CleanRunsText(pair_->comparison),
                    cause.empty() ? "" : "; " + cause,
                    quota.empty() ? "Stop the other processes" : "Raise the quota",
                    experiment_.threads > 1 ? ", use fewer threads" : "",
                    more_time ? ", or allow more time (--max-seconds)" : ""),
        {all(Baseline()), all(experiment_)},
        "a run is clean if its threads waited for a processor for at most 1% of its time; an interval takes "
        "clean runs of both variants in at least 6 launches"};
  }

  FindingTexts operator()(const finding::CpuTimeDiscrepancy& of) const {
    const stats::RatioEstimate& wall = *pair_->comparison.latency.estimate;
    return {
        fmt::format("Wall time and CPU time disagree: {:.2f}x in wall time [{:.2f}, {:.2f}], {:.2f}x in CPU "
                    "time. Likely cause: one variant waits (for memory, I/O, or another processor), or its "
                    "threads spin.",
                    wall.ratio(), wall.low(), wall.high(), of.baseline_ns / of.candidate_ns),
        {FormatText("{}: CPU time of a run {}", Baseline().label, Time{of.baseline_ns}),
         FormatText("{}: CPU time of a run {}", experiment_.label, Time{of.candidate_ns})},
        "medians over the clean runs of the processor time of all threads; reported where its ratio lies "
        "outside of the interval of the wall time's ratio by more than the interval's half-width, and by 2%"};
  }

  FindingTexts operator()(const finding::CompilersDiffer& of) const {
    const auto or_unknown = [](const std::string& text) {
      return text.empty() ? "an unknown compiler" : text;
    };
    Text text =
        fmt::format("The runners' compilers {}: {} is built with {}, {} with {}.",
                    of.baseline.empty() || of.candidate.empty() ? "may differ" : "differ", Baseline().label,
                    or_unknown(of.baseline), experiment_.label, or_unknown(of.candidate));
    if (of.portable) {
      text += FormatText(" Kernels outside of delegates: {}. They can differ by the compiler alone.",
                         TimePartText(*of.portable));
    }
    return {text, EvidenceLines(of.types),
            "compilers as etprof-build.json or the files' .comment sections name them"};
  }

  FindingTexts operator()(const finding::TracingDiscrepancy& of) const {
    const TracedGap& gap = of.gap;
    return {
        FormatText("Traced runs take {} (mean), {} than the untraced median of {}. Operator times are from "
                   "traced runs, so no upper bounds are reported. {}",
                   Time{gap.traced}, GapText(gap), Time{gap.untraced}, LikelyCause(of)),
        {FormatText("traced: fastest {}, mean {}", Time{experiment_.traced.min.value_or(gap.traced)},
                    Time{gap.traced}),
         FormatText("untraced: fastest {}, median {}", Time{experiment_.latency.min.value_or(gap.untraced)},
                    Time{gap.untraced})},
        fmt::format("mean Method::execute of the traced runs / median of the untraced ones, reported beyond "
                    "{}; tracing overhead is the likely cause where the fastest runs are apart by at least "
                    "half as much, and by at most 10 µs per event",
                    PercentText(kMaxTracedGap))};
  }

  FindingTexts operator()(const finding::TracedSpeedupDiscrepancy& of) const {
    const Comparison& comparison = pair_->comparison;
    FindingTexts words;
    words.text = FormatText(
        "Operator and group times of {} and {} add up to {} ({} to {}), not to the measured speedup of {}.",
        comparison.baseline_label, comparison.candidate_label, Ratio{of.ratio}, Time{of.baseline_ns},
        Time{of.candidate_ns}, Ratio{comparison.latency.estimate->ratio()});
    if (comparison.latency_from_trace)
      words.text += " The measured speedup is of medians, the sums are of means, which slow runs raise.";
    if (of.baseline && of.candidate) {
      const auto apart = [](const finding::TracingDiscrepancy& side) {
        return std::fabs(side.gap.relative());
      };
      words.text += FormatText(
          " Traced runs take {} time than untraced ones in {} and {} in {}. {}", GapText(of.baseline->gap),
          comparison.baseline_label, GapText(of.candidate->gap), comparison.candidate_label,
          LikelyCause(apart(*of.baseline) > apart(*of.candidate) ? *of.baseline : *of.candidate));
      for (const auto& [side, traced_gap] :
           {std::pair{&Baseline(), *of.baseline}, std::pair{&experiment_, *of.candidate}}) {
        words.evidence.push_back(FormatText("{}: mean of traced runs {}, median of untraced runs {}. {}",
                                            side->label, Time{traced_gap.gap.traced},
                                            Time{traced_gap.gap.untraced}, LikelyCause(traced_gap)));
      }
    }
    words.text += " Use the measured speedup: those of groups and operators are distorted.";
    if (of.no_bounds)
      words.text += fmt::format(" No upper bounds are reported for {}.", comparison.candidate_label);
    words.formula = fmt::format(
        "mean Method::execute of the baseline's traced runs / of the candidate's, reported where it lies "
        "outside of the speedup's interval widened by {}; at stake: the candidate's traced mean - (the "
        "baseline's / speedup)",
        PercentText(kMaxTracedGap));
    return words;
  }

 private:
  static constexpr std::string_view kNotDelegatedFormula =
      "sum of the mean self times of native_call_ kernels; boundaries: delegate overhead without that of one "
      "call, and data movement at the edges of delegates; without both = 1 / (1 - share of both)";

  // What is advised in evidence, the most of it in the text, too.
  static void AddRemedies(const finding::NotDelegated& of, Text& text, Lines& evidence) {
    constexpr std::size_t kMost = 2;  // changes in the text
    for (std::size_t i = 0; i < std::min(kMost, of.remedies.size()); ++i) {
      const finding::NotDelegated::Remedy& remedy = of.remedies[i];
      text += FormatText(" {}: {} of them, {}.", remedy.text, Count{remedy.operators}, Time{remedy.ns});
    }
    if (of.remedies.size() > kMost)
      text +=
          FormatText(" {} in the report's details.", CountedText(of.remedies.size() - kMost, "more change"));
    for (const finding::NotDelegated::Remedy& remedy : of.remedies)
      evidence.push_back(
          FormatText("{}: {}, {}", remedy.text, CountedText(remedy.operators, "operator"), Time{remedy.ns}));
    if (!of.without_operators) return;
    text += of.boundaries_ns > 0
                ? FormatText(" Estimate of {}: {} without these operators, {} without the boundaries, too.",
                             of.remedies.size() > 1 ? "all changes" : "this change",
                             Ratio{*of.without_operators}, Ratio{*of.without_boundaries})
                : FormatText(" Estimate: {} without these operators.", Ratio{*of.without_operators});
  }

  const ReportExperiment& Baseline() const { return report_.experiments[pair_->baseline]; }

  // "0.565 of 1.086 ms (52%)", with the digits of the group's row in the table of self times, whose rows add
  // up as printed.
  Text GroupTimeText(Group group, const TimePart& part) const {
    std::vector<double> parts;
    for (const AdditiveRow& row : experiment_.groups.rows)
      parts.push_back(MeanPerRun(row.total, experiment_.groups.runs));
    return FormatText("{} of {} ({})", PartTime{std::move(parts), static_cast<std::size_t>(group)},
                      Time{part.whole_ns}, Share{part.share()});
  }

  // "GEMM #1 (blocks.0.mlp)": names repeat in every delegate.
  std::string NameWithLayer(std::size_t op) const {
    const std::string& name = experiment_.profile->operators[op].name;
    const std::string layer = LayerName(*experiment_.profile, op).value_or("");
    return layer.empty() ? name : fmt::format("{} ({})", name, layer);
  }

  const Report& report_;
  const ReportExperiment& experiment_;
  const ReportComparison* pair_ = nullptr;  // set for findings about a pair
};

}  // namespace

FindingTexts MakeFindingTexts(const Report& report, const Insight& insight) {
  FindingTexts words = std::visit(FindingFormatter(report, insight), insight.what);
  const std::size_t subjects =
      report.comparisons.empty() ? report.experiments.size() : report.comparisons.size();
  const bool names_both = std::holds_alternative<finding::TracedSpeedupDiscrepancy>(insight.what);
  if (subjects > 1 && !names_both)
    words.text = report.experiments[insight.experiment].label + ": " + words.text;
  return words;
}

}  // namespace etprof::show
