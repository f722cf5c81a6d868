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
  return FormatText("{} of {} ({})", PartTime{part.ns}, Time{part.whole_ns}, Share{part.share()});
}

Text UpperBoundText(const finding::UpperBound& bound) {
  return bound ? FormatText(" Upper bound if eliminated: {}.", Ratio{*bound}) : Text();
}

// One line for each of the first elements, then a line with the number of the remaining elements: "and 3 more
// operators" for the `noun` "more operator".
Lines FirstLines(const auto& elements, const char* noun, const auto& make_line) {
  Lines lines;
  for (const auto& element : elements) {
    if (lines.size() == kMaxEvidenceLines) {
      lines.push_back("and " + CountedText(elements.size() - lines.size(), noun));
      break;
    }
    lines.push_back(make_line(element));
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

Text LikelyCause(const finding::TracingDiscrepancy& discrepancy) {
  const finding::TracingCause& cause = discrepancy.cause;
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

const char* SampleUnit(bool uses_bursts) { return uses_bursts ? "burst" : "run"; }

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
    const auto& [name, unit] = kConditions[static_cast<std::size_t>(change.condition)];
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
  FindingFormatter(const Report& report, const Finding& finding)
      : report_(report), experiment_(report.experiments[finding.experiment]) {
    if (finding.pair) pair_ = &report.comparisons[*finding.pair];
  }

  FindingTexts operator()(const finding::BottleneckShift& shift) const {
    const auto& [from, to, grown_most, groups] = shift;
    FindingTexts texts;
    if (shift.HasMoved()) {
      texts.text = FormatText("The bottleneck moved from {} ({} of {}) to {} ({} of {}).",
                              OperatorGroupName(from.group), Share{from.baseline.share()}, Baseline().label,
                              OperatorGroupName(to.group), Share{to.candidate.share()}, experiment_.label);
    } else {
      // The overheads may be larger than the largest group of operators.
      const char* const rank = grown_most.candidate.ns > to.candidate.ns
                                   ? "still the largest group of operators"
                                   : "still the largest";
      texts.text = FormatText("{} grew from {} of an inference in {} to {} in {}. {} is {}, at {}.",
                              OperatorGroupName(grown_most.group), Share{grown_most.baseline.share()},
                              Baseline().label, Share{grown_most.candidate.share()}, experiment_.label,
                              OperatorGroupName(to.group), rank, Share{to.candidate.share()});
    }
    for (const finding::GroupShift& group : groups) {
      texts.evidence.push_back(FormatText("{}: {} ({}) before, {} ({}) after", OperatorGroupName(group.group),
                                          Time{group.baseline.ns}, Share{group.baseline.share()},
                                          Time{group.candidate.ns}, Share{group.candidate.share()}));
    }
    texts.formula =
        "share = mean self time of the group / mean Method::execute of the same traced runs, reported where "
        "the intervals of both variants' times show that it grew; at stake: its time now";
    return texts;
  }

  FindingTexts operator()(const finding::Bottleneck& bottleneck) const {
    Text text =
        FormatText("{}: {}, {}.{}", OperatorGroupName(bottleneck.group), TimePartText(bottleneck.time),
                   CountedText(bottleneck.operators, "operator"), UpperBoundText(bottleneck.bound));
    if (bottleneck.most_expensive)
      text += FormatText(" Most expensive: {}, {}.", NameWithLayer(bottleneck.most_expensive->op),
                         Time{bottleneck.most_expensive->ns});
    return {
        text, EvidenceLines(bottleneck.types),
        "share = mean self time of the group / mean Method::execute of the same traced runs; upper bound = "
        "1 / (1 - share)"};
  }

  FindingTexts operator()(const finding::UpperBounds& upper_bounds) const {
    Lines bounds, evidence;
    for (const auto& [category, time, bound] : upper_bounds.categories) {
      if (bounds.size() < 3) bounds.push_back(FormatText("{} {}", category, Ratio{bound}));
      evidence.push_back(FormatText("{}: {}, {}", category, TimePartText(time), Ratio{bound}));
    }
    return {
        FormatText("Upper bounds per category (Amdahl's law): {}.", JoinTexts(bounds)), std::move(evidence),
        "Amdahl 1967: 1 / (1 - share); share = mean self time of the category / mean Method::execute of the "
        "same traced runs; at stake: the second largest part"};
  }

  FindingTexts operator()(const finding::NotDelegated& not_delegated) const {
    const auto names = [](const finding::TypeTimes& types, std::size_t max_names) {
      std::vector<std::string> listed;
      for (const TypeTime& type : types) listed.push_back(listed.size() < max_names ? type.type : "...");
      listed.resize(std::min(listed.size(), max_names + 1));
      return fmt::format("{}", fmt::join(listed, ", "));
    };
    if (experiment_.delegate_calls == 0) {
      return {
          FormatText(
              "No delegate was called: all of {} ran as ExecuTorch's own kernels ({}): {}. Export the model "
              "with a backend's partitioner, as `etprof export` does with XNNPACK's.",
              CountedText(not_delegated.operators, "operator"), names(not_delegated.types, 3),
              TimePartText(not_delegated.time)),
          EvidenceLines(not_delegated.types),
          "sum of the mean self times of kernels; no DELEGATE_CALL in the trace"};
    }
    Text text = FormatText("{} not delegated ({}): {}.",
                           CountedText(not_delegated.operators, "operator is", "operators are"),
                           names(not_delegated.types, 3), TimePartText(not_delegated.time));
    if (not_delegated.boundaries_ns > 0) {
      text += FormatText(
          " {} {} delegates, which takes another {} for calls and conversions.",
          not_delegated.operators == 1 ? "It divides the model into" : "They divide the model into",
          std::to_string(experiment_.delegate_calls), Time{not_delegated.boundaries_ns});
      // This is not called an upper bound: an attention network gained 1.70x [1.59, 1.81] where these times
      // give 1.55x, since the operators of one delegate run faster than those of many.
      if (not_delegated.bound)
        text += FormatText(" If all of this took no time: {}, and more where delegates join.",
                           Ratio{*not_delegated.bound});
    } else {
      text += UpperBoundText(not_delegated.bound);
    }
    Lines evidence = EvidenceLines(not_delegated.types);
    if (!not_delegated.remedies.empty()) {
      AddRemedies(not_delegated, text, evidence);
      return {text, std::move(evidence), std::string(kNotDelegatedFormula)};
    }
    const auto has_type = [&](std::string_view type) {
      return std::ranges::find(not_delegated.types, type, &TypeTime::type) != not_delegated.types.end();
    };
    // torch.export creates these operators from the softmax in scaled_dot_product_attention.
    if (has_type("any.out") && has_type("full_like.out") && has_type("where.self_out")) {
      text += FormatText(
          " These are of attention: `etprof.wrappers.attention` exports it without them "
          "(docs/guides/models.md#wrappers).");
    }
    TypeTime delegable;
    for (const TypeTime& type : not_delegated.delegable) {
      delegable.operators += type.operators;
      delegable.ns += type.ns;
    }
    if (delegable.operators > 0) {
      const TypeTime& most_expensive = not_delegated.delegable.front();
      text += FormatText(" XNNPACK has kernels for {} ({}, {}) and took none here. {}.",
                         not_delegated.operators == 1 ? "it"
                         : delegable.operators == not_delegated.operators
                             ? "all of them"
                             : std::to_string(delegable.operators) + " of them",
                         names(not_delegated.delegable, 1), Time{delegable.ns},
                         most_expensive.not_delegated.empty()
                             ? fmt::format("Data type, shape, or the partitioner kept {} out",
                                           delegable.operators == 1 ? "it" : "them")
                             : most_expensive.type + ": " + most_expensive.not_delegated.front());
    }
    return {text, std::move(evidence),
            std::string(kNotDelegatedFormula) + "; what XNNPACK can take is its partitioner's list"};
  }

  FindingTexts operator()(const finding::DataMoved& data_moved) const {
    constexpr NamedValue<Movement> kMovementNames[] = {{Movement::kTranspose, "transpose"},
                                                       {Movement::kCopy, "copy"},
                                                       {Movement::kReshape, "reshape"},
                                                       {Movement::kConversion, "conversion"},
                                                       {Movement::kOther, "other move"}};
    std::vector<std::pair<double, Text>> parts;
    for (const auto& [kind, sum] : experiment_.movement) {
      const char* const plural = kind == Movement::kCopy ? "copies" : "";
      parts.emplace_back(
          sum.ns, FormatText("{} ({})", CountedText(sum.operators, FindName(kMovementNames, kind), plural),
                             Time{sum.ns}));
    }
    std::ranges::stable_sort(parts, std::greater(), [](const auto& part) { return part.first; });
    Lines lines = EvidenceLines(data_moved.types), texts;
    for (const auto& [ns, part_text] : parts) {
      texts.push_back(part_text);
      lines.push_back(FormatText("of these {}", part_text));
    }
    const bool is_majority = parts.size() > 1 && parts.front().first >= data_moved.time.ns / 2;
    Text text = FormatText("{}: {}, {}{}.", OperatorGroupName(OperatorGroup::kDataMovement),
                           TimePartText(data_moved.time), is_majority ? "mostly " : "",
                           is_majority ? texts.front() : JoinTexts(texts));
    if (data_moved.boundary_operators > 0) {
      text += FormatText(" {} ({}) {} at a delegate boundary.",
                         CountedText(data_moved.boundary_operators, "operator"), Time{data_moved.boundary_ns},
                         data_moved.boundary_operators == 1 ? "sits" : "sit");
    }
    return {
        text + UpperBoundText(data_moved.bound), std::move(lines),
        "sum of the mean self times of transposes, reshapes, copies and conversions / mean Method::execute "
        "of the same traced runs; upper bound = 1 / (1 - share); at a boundary: those that a delegate call "
        "begins or ends with, and those that run portable between two delegate calls"};
  }

  FindingTexts operator()(const finding::DelegateOverhead& overhead) const {
    const Text tracing = FormatText(" Up to {} of it may be tracing overhead.", Time{overhead.tracing_ns});
    const bool packs = experiment_.steady_runs == 0 && experiment_.first_runs > 0;
    return {
        FormatText("Delegate overhead: {} in {}, excluding operators.{}{}", TimePartText(overhead.time),
                   CountedText(overhead.calls, "call"), overhead.tracing_ns > 0 ? tracing : Text(),
                   packs ? " A first inference packs weights in it; steady ones do not." : ""),
        {FormatText("{} per call", Duration{overhead.time.ns / static_cast<double>(overhead.calls)})},
        "self time of DELEGATE_CALL spans / mean Method::execute of the same traced runs; tracing overhead: "
        "mean traced - median untraced run; at stake: without tracing overhead"};
  }

  FindingTexts operator()(const finding::SlowerOperators& slower) const {
    Lines evidence = FirstLines(slower.operators, "more operator", [&](const auto& slowed) {
      return FormatText("{}: {} before, {} after", experiment_.profile->operators[slowed.op].name,
                        Time{slowed.baseline_ns}, Time{slowed.candidate_ns});
    });
    return {FormatText("{} slower in {}, by {} in total.",
                       CountedText(slower.operators.size(), "operator is", "operators are"),
                       pair_->comparison.candidate_label, Time{slower.lost_time.ns}),
            std::move(evidence),
            "sum of (candidate - baseline) mean self time over operators with the verdict slower"};
  }

  FindingTexts operator()(const finding::FirstRun& first_run) const {
    Text text = FormatText("First inference: {} ({} a steady-state run)", Duration{first_run.first_ns},
                           fmt::format("{:.1f}x", first_run.first_ns / first_run.steady_ns));
    if (first_run.load_ns) text += FormatText(", after {} to load the model", Duration{*first_run.load_ns});
    return {text + ".", {}, "median over launches of the first run / median of the steady runs"};
  }

  FindingTexts operator()(const finding::UnknownOperators& unknown) const {
    const std::size_t types = experiment_.unknown_operators.size();
    return {FormatText("{} not in the category table and {} as Other: {}.",
                       CountedText(types, "operator type is", "operator types are"),
                       types == 1 ? "counts" : "count", TimePartText(unknown.time)),
            EvidenceLines(unknown.types), "sum of the mean self times of these operators"};
  }

  FindingTexts operator()(const finding::PackedKernels& packed_kernels) const {
    const ReportExperiment& with_sme = packed_kernels.with_candidate ? experiment_ : Baseline();
    const ReportExperiment& without_sme = packed_kernels.with_candidate ? Baseline() : experiment_;
    return {fmt::format("KleidiAI's SME kernels ran in {}, not in {}: {}.", with_sme.label, without_sme.label,
                        CountedText(with_sme.kernel_evidence.size(), "operator type")),
            Lines(with_sme.kernel_evidence.begin(), with_sme.kernel_evidence.end()),
            "XNNPACK names an operator PF32, PF16 or PQS8 when it has chosen a packed kernel; where a "
            "watched run (--watch) saw what was called, that counts"};
  }

  FindingTexts operator()(const finding::ObservedCode& observed) const {
    return {fmt::format(
                "Proven: {} {} code in {}, and {} code in {}.",
                CountedText(observed.operators, "matrix multiplication ran", "matrix multiplications ran"),
                fmt::join(observed.candidate, " and "), experiment_.label,
                fmt::join(observed.baseline, " and "), Baseline().label),
            {},
            "the runner saw these functions called (--watch); their machine code needs what is named"};
  }

  FindingTexts operator()(const finding::NamesContradicted& contradiction) const {
    Lines evidence = FirstLines(contradiction.operators, "more operator", [&](std::size_t op) {
      return Text(experiment_.profile->operators[op].name);
    });
    return {fmt::format("{} than {} {}. The observed ones are reported.",
                        CountedText(contradiction.operators.size(), "operator ran other kernels",
                                    "operators ran other kernels"),
                        contradiction.operators.size() == 1 ? "its" : "their",
                        contradiction.operators.size() == 1 ? "name says" : "names say"),
            std::move(evidence),
            "functions that the runner saw called (--watch), compared with XNNPACK's names"};
  }

  FindingTexts operator()(const finding::NotOnKleidiai& not_on_kleidiai) const {
    Lines evidence;
    for (const MatrixKernelRow& row : experiment_.matrix_kernels) {
      if (!row.change.empty()) {
        evidence.push_back(FormatText("{}, {}: {}; {}", CountedText(row.operators.size(), "operator"),
                                      Time{row.mean_ns}, row.reason, row.change));
      }
    }
    return {
        FormatText("{} without KleidiAI's SME2 kernels: {}. Another export can use them; see the details.",
                   CountedText(not_on_kleidiai.operators, "matrix multiplication", "matrix multiplications"),
                   TimePartText(not_on_kleidiai.time)),
        std::move(evidence), "sum of the mean self times of these operators"};
  }

  FindingTexts operator()(const finding::Fp16ComputedAsFp32& fp16) const {
    return {FormatText(
                "{} of fp16 computed as fp32: {}. The CPU features in use have no fp16 arithmetic, so that "
                "fp16 saves memory and no time. Compare with fp32 or int8.",
                CountedText(fp16.operators, "operator"), TimePartText(fp16.time)),
            {},
            "sum of the mean self times of operators with fp16 operands, for which none of the instructions "
            "that the peaks were measured with multiplies fp16"};
  }

  FindingTexts operator()(const finding::BelowRoofline& below_roofline) const {
    Lines evidence = FirstLines(below_roofline.rows, "more operator", [&](std::size_t i) {
      const RooflineRow& row = experiment_.roofline->rows[i];
      return FormatText("{}: {}, {} of its {} roofline; potential saving {}", NameWithLayer(row.op),
                        Time{row.time.ns}, Share{row.share()},
                        row.bound == RooflineRow::Bound::kCompute ? "compute" : "memory", Time{row.gap_ns()});
    });
    return {FormatText("{} less than 50% of {} roofline; {} {}. Largest gap: {}.",
                       CountedText(below_roofline.rows.size(), "operator reaches", "operators reach"),
                       below_roofline.rows.size() == 1 ? "its" : "their",
                       below_roofline.from_traced_runs ? "in traced runs the gap is"
                                                       : "closing the gap would save up to",
                       Time{below_roofline.gap.ns},
                       NameWithLayer(experiment_.roofline->rows[below_roofline.rows.front()].op)),
            std::move(evidence),
            "sum of (time - time at the roofline) over operators below half of theirs (Williams et al., CACM "
            "2009)"};
  }

  static constexpr const char* kOtherWork =
      "A slower machine would slow all operators by similar factors. Likely cause: work that differs between "
      "runs, such as inputs of other sizes.";
  // Causes that the trace contradicts are not named: a slower machine slows all operators by similar factors.
  Text ChangeCauseText(const finding::ConfinedOperators& operators, bool slower,
                       bool may_be_processes) const {
    if (operators.empty() && !experiment_.run_classes.empty()) return kOtherWork;
    if (operators.empty() && may_be_processes)
      return "Processes can differ as much, for example by their memory layout. Measure more launches.";
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
    Lines lines = FirstLines(operators, "more operator", [&](const finding::OperatorShift& shift) {
      return FormatText("{}: {} before, {} after", NameWithLayer(shift.op), Time{shift.before_ns},
                        Time{shift.after_ns});
    });
    std::ranges::move(EvidenceLines(conditions), std::back_inserter(lines));
    return lines;
  }

  FindingTexts operator()(const finding::LatencyStep& step) const {
    const double change = step.after_ns / step.before_ns - 1;
    return {
        FormatText("Latency {} by {} at {} {} of {} ({}, previously {}). {}",
                   change > 0 ? "increased" : "decreased", Share{std::fabs(change)},
                   SampleUnit(step.uses_bursts), Count{step.from}, Count{step.last}, Time{step.after_ns},
                   Time{step.before_ns}, ChangeCauseText(step.operators, change > 0, step.may_be_processes)),
        ChangeEvidence(step.operators, step.conditions),
        "the cut in time that leaves the least variance, reported if Ashman's D is 4 or more and the change "
        "is 3% or more; at stake: (high - low) x share of high"};
  }

  FindingTexts operator()(const finding::LatencyTrend& trend) const {
    return {FormatText("Latency drifted {} by {} during the measurement ({} {}s). {}",
                       trend.change > 0 ? "up" : "down", Share{std::fabs(trend.change)}, Count{trend.count},
                       SampleUnit(trend.uses_bursts),
                       ChangeCauseText(trend.operators, trend.change > 0, trend.may_be_processes)),
            ChangeEvidence(trend.operators, trend.conditions),
            "Theil's slope over 20 stretches in the order of time, reported if Kendall's p < 0.01 and the "
            "change is 3% or more"};
  }

  FindingTexts operator()(const finding::LatencyLevels& levels) const {
    return {FormatText("Latency is bimodal: {} in {} of the {}s, {} in the others. {}", Time{levels.low_ns},
                       Share{1 - levels.share_high}, SampleUnit(levels.uses_bursts), Time{levels.high_ns},
                       !experiment_.run_classes.empty() ? kOtherWork
                       : levels.may_be_processes ? "Each process stays at one level. Likely cause: their "
                                                   "memory layout, or the cores that they ran on."
                                                 : "Likely cause: two clock frequencies or a shared CPU."),
            EvidenceLines(levels.conditions),
            "Otsu's split, reported if Ashman's D is 5 or more; at stake: (high - low) x share of high"};
  }

  FindingTexts operator()(const finding::Contended& contended) const {
    const auto all_runs_text = [](const ReportExperiment& experiment) {
      return FormatText("{}: median of all runs {}, p99 {}", experiment.label,
                        Time{experiment.latency_of_all.p50.value_or(0)},
                        Time{experiment.latency_of_all.p99.value_or(0)});
    };
    const std::string quota = contended.waited_for_quota ? QuotaText(report_.run.device->limits) : "";
    const auto& load = report_.run.other_load_during;
    const std::string cause = !quota.empty() ? quota : load ? LoadingProcessesText(*load) : "";
    // If no launch was clean, more launches are unlikely to help.
    const bool may_need_more_time = pair_->comparison.launches > 0;
    return {
        fmt::format("Contended: {}{}. No speedup is reported. {}{}{}.", CleanRunsText(pair_->comparison),
                    cause.empty() ? "" : "; " + cause,
                    quota.empty() ? "Stop the other processes" : "Raise the quota",
                    experiment_.threads > 1 ? ", use fewer threads" : "",
                    may_need_more_time ? ", or allow more time (--max-seconds)" : ""),
        {all_runs_text(Baseline()), all_runs_text(experiment_)},
        "a run is clean if its threads waited for a processor for at most 1% of its time; an interval takes "
        "clean runs of both variants in at least 6 launches"};
  }

  FindingTexts operator()(const finding::CpuTimeDiscrepancy& discrepancy) const {
    const stats::RatioEstimate& wall = *pair_->comparison.latency.estimate;
    return {
        fmt::format("Wall time and CPU time disagree: {:.2f}x in wall time [{:.2f}, {:.2f}], {:.2f}x in CPU "
                    "time. Likely cause: one variant waits (for memory, I/O, or another processor), or its "
                    "threads spin.",
                    wall.ratio(), wall.low(), wall.high(),
                    discrepancy.baseline_ns / discrepancy.candidate_ns),
        {FormatText("{}: CPU time of a run {}", Baseline().label, Time{discrepancy.baseline_ns}),
         FormatText("{}: CPU time of a run {}", experiment_.label, Time{discrepancy.candidate_ns})},
        "medians over the clean runs of the processor time of all threads; reported where its ratio lies "
        "outside of the interval of the wall time's ratio by more than the interval's half-width, and by 2%"};
  }

  FindingTexts operator()(const finding::CompilersDiffer& compilers) const {
    const auto or_unknown = [](const std::string& text) {
      return text.empty() ? "an unknown compiler" : text;
    };
    Text text = fmt::format(
        "The runners' compilers {}: {} is built with {}, {} with {}.",
        compilers.baseline.empty() || compilers.candidate.empty() ? "may differ" : "differ", Baseline().label,
        or_unknown(compilers.baseline), experiment_.label, or_unknown(compilers.candidate));
    if (compilers.portable) {
      text += FormatText(" Kernels outside of delegates: {}. They can differ by the compiler alone.",
                         TimePartText(*compilers.portable));
    }
    return {text, EvidenceLines(compilers.types),
            "compilers as etprof-build.json or the files' .comment sections name them"};
  }

  FindingTexts operator()(const finding::TracingDiscrepancy& discrepancy) const {
    const TracedGap& gap = discrepancy.gap;
    return {
        FormatText("Traced runs take {} (mean), {} than the untraced median of {}. Operator times are from "
                   "traced runs, so no upper bounds are reported. {}",
                   Time{gap.traced_ns}, GapText(gap), Time{gap.untraced_ns}, LikelyCause(discrepancy)),
        {FormatText("traced: fastest {}, mean {}", Time{experiment_.traced.min.value_or(gap.traced_ns)},
                    Time{gap.traced_ns}),
         FormatText("untraced: fastest {}, median {}",
                    Time{experiment_.latency.min.value_or(gap.untraced_ns)}, Time{gap.untraced_ns})},
        fmt::format("mean Method::execute of the traced runs / median of the untraced ones, reported beyond "
                    "{}; tracing overhead is the likely cause where the fastest runs are apart by at least "
                    "half as much, and by at most 10 µs per event",
                    PercentText(kMaxTracedGap))};
  }

  FindingTexts operator()(const finding::TracedSpeedupDiscrepancy& discrepancy) const {
    const Comparison& comparison = pair_->comparison;
    FindingTexts texts;
    texts.text = FormatText(
        "Operator and group times of {} and {} add up to {} ({} to {}), not to the measured speedup of {}.",
        comparison.baseline_label, comparison.candidate_label, Ratio{discrepancy.ratio},
        Time{discrepancy.baseline_ns}, Time{discrepancy.candidate_ns},
        Ratio{comparison.latency.estimate->ratio()});
    if (comparison.latency_from_trace)
      texts.text += " The measured speedup is of medians, the sums are of means, which slow runs raise.";
    if (discrepancy.baseline && discrepancy.candidate) {
      const auto gap_size = [](const finding::TracingDiscrepancy& variant) {
        return std::fabs(variant.gap.relative());
      };
      texts.text += FormatText(" Traced runs take {} time than untraced ones in {} and {} in {}. {}",
                               GapText(discrepancy.baseline->gap), comparison.baseline_label,
                               GapText(discrepancy.candidate->gap), comparison.candidate_label,
                               LikelyCause(gap_size(*discrepancy.baseline) > gap_size(*discrepancy.candidate)
                                               ? *discrepancy.baseline
                                               : *discrepancy.candidate));
      for (const auto& [variant, traced_gap] :
           {std::pair{&Baseline(), *discrepancy.baseline}, std::pair{&experiment_, *discrepancy.candidate}}) {
        texts.evidence.push_back(FormatText("{}: mean of traced runs {}, median of untraced runs {}. {}",
                                            variant->label, Time{traced_gap.gap.traced_ns},
                                            Time{traced_gap.gap.untraced_ns}, LikelyCause(traced_gap)));
      }
    }
    texts.text += " Use the measured speedup: those of groups and operators are distorted.";
    if (discrepancy.no_bounds)
      texts.text += fmt::format(" No upper bounds are reported for {}.", comparison.candidate_label);
    texts.formula = fmt::format(
        "mean Method::execute of the baseline's traced runs / of the candidate's, reported where it lies "
        "outside of the speedup's interval widened by {}; at stake: the candidate's traced mean - (the "
        "baseline's / speedup)",
        PercentText(kMaxTracedGap));
    return texts;
  }

 private:
  static constexpr std::string_view kNotDelegatedFormula =
      "sum of the mean self times of native_call_ kernels; boundaries: delegate overhead without that of one "
      "call, and data movement at the edges of delegates; without both = 1 / (1 - share of both)";

  // Adds all remedies to the evidence, and the first of them also to the text.
  static void AddRemedies(const finding::NotDelegated& not_delegated, Text& text, Lines& evidence) {
    constexpr std::size_t kMaxRemedies = 2;  // remedies in the text
    for (std::size_t i = 0; i < std::min(kMaxRemedies, not_delegated.remedies.size()); ++i) {
      const finding::NotDelegated::Remedy& remedy = not_delegated.remedies[i];
      text += FormatText(" {}: {} of them, {}.", remedy.text, Count{remedy.operators}, Time{remedy.ns});
    }
    if (not_delegated.remedies.size() > kMaxRemedies)
      text += FormatText(" {} in the report's details.",
                         CountedText(not_delegated.remedies.size() - kMaxRemedies, "more change"));
    for (const finding::NotDelegated::Remedy& remedy : not_delegated.remedies)
      evidence.push_back(
          FormatText("{}: {}, {}", remedy.text, CountedText(remedy.operators, "operator"), Time{remedy.ns}));
    if (!not_delegated.speedup_without_operators) return;
    text += not_delegated.boundaries_ns > 0
                ? FormatText(" Estimate of {}: {} without these operators, {} without the boundaries, too.",
                             not_delegated.remedies.size() > 1 ? "all changes" : "this change",
                             Ratio{*not_delegated.speedup_without_operators},
                             Ratio{*not_delegated.speedup_without_boundaries})
                : FormatText(" Estimate: {} without these operators.",
                             Ratio{*not_delegated.speedup_without_operators});
  }

  const ReportExperiment& Baseline() const { return report_.experiments[pair_->baseline]; }

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

FindingTexts MakeFindingTexts(const Report& report, const Finding& finding) {
  FindingTexts texts = std::visit(FindingFormatter(report, finding), finding.details);
  const std::size_t subjects =
      report.comparisons.empty() ? report.experiments.size() : report.comparisons.size();
  const bool names_both = std::holds_alternative<finding::TracedSpeedupDiscrepancy>(finding.details);
  if (subjects > 1 && !names_both)
    texts.text = report.experiments[finding.experiment].label + ": " + texts.text;
  return texts;
}

}  // namespace etprof::show
