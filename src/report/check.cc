#include "report/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "core/text/text.h"
#include "core/units.h"
#include "core/views.h"
#include "measure/store/run_warnings.h"
#include "profile/analysis/operators.h"
#include "report/generate/generate.h"
#include "report/kernels/watched.h"
#include "report/run/pair.h"
#include "stats/ratio/multiple.h"

namespace etprof {
namespace {

// Relative tolerance, so that 1100 does not exceed 1000 by more than 10%.
constexpr double kQuotientRounding = 1e-12;

constexpr double kConfidence = 0.95;  // confidence of the unadjusted estimates; the gate uses its own level

// A count with its smallest and largest value in any process. Counts have no other noise, so their bounds
// decide, without a statistical test.
struct CountBounds {
  double value = 0, lowest = 0, highest = 0;
};
GateVerdict DecideCounts(const CountBounds& baseline, const CountBounds& candidate, double limit) {
  GateVerdict verdict;
  verdict.growth = candidate.value / baseline.value - 1;
  verdict.low = candidate.lowest / baseline.highest - 1;
  verdict.high = candidate.highest / baseline.lowest - 1;
  verdict.pass_p = *verdict.high <= limit + kQuotientRounding ? 0 : 1;
  verdict.fail_p = *verdict.low > limit + kQuotientRounding ? 0 : 1;
  verdict.decision = verdict.pass_p == 0   ? GateDecision::kPass
                     : verdict.fail_p == 0 ? GateDecision::kFail
                                           : GateDecision::kInconclusive;
  return verdict;
}

std::string PairName(const std::string& label, const CheckPair& pair) {
  return label.empty() ? fmt::format("{} against {}", pair.candidate_label, pair.baseline_label) : label;
}

GateDecision DecidePair(const CheckPair& pair) {
  GateDecision decision = GateDecision::kPass;
  for (const CheckItem& item : pair.items) decision = CombineDecisions(decision, item.verdict.decision);
  return decision;
}

void MakeNamesUnique(std::vector<CheckPair>& pairs) {
  std::set<std::string> seen;
  for (CheckPair& pair : pairs) {
    const std::string name = pair.name;
    for (int i = 2; !seen.insert(pair.name).second; ++i) pair.name = fmt::format("{} ({})", name, i);
  }
}

class CheckAssembler {
 public:
  CheckAssembler(const Report& report, const CheckLimits& limits)
      : report_(report), limits_(limits), generation_report_(MakeGenerationReport(report)) {}

  CheckReport Run() {
    result_.model_id = report_.model_id;
    result_.folder = report_.run.folder.string();
    result_.generated_at = report_.run.generated_at;
    result_.seconds = report_.run.schedule.seconds;
    result_.false_discovery_rate = limits_.false_discovery_rate;
    result_.require_conclusive = limits_.require_conclusive;
    result_.machine = MachineText(report_.run);
    result_.notes = report_.warnings;
    for (const ComparePair& pair : report_.run.pairs) AddPart(pair);
    MakeNamesUnique(result_.pairs);
    for (std::size_t pair = 0; pair < result_.pairs.size(); ++pair) AddItems(pair);
    DecideClaimsOfPairs();
    FindTimeChanges();
    FindCountChanges();
    FindObservedOperators();
    DecidePairs();
    return std::move(result_);
  }

 private:
  // Two experiments that are compared. All steps of a language model in two variants make one pair of the
  // result.
  struct Part {
    ExperimentPair variants;
    const Comparison* comparison;  // null: not compared
    const GenerationPair* tests;   // for language models; else null
    std::string test;              // name of the language model's test; else empty
    std::size_t pair;              // index into the pairs of the result
  };

  void AddPart(const ComparePair& pair) {
    const ReportComparison* const compared = FindComparison(report_, pair.baseline, pair.candidate);
    const GenerationPair* const tests =
        generation_report_ ? FindGenerationPair(*generation_report_, pair.baseline, pair.candidate) : nullptr;
    const ExperimentPair variants{report_.run, report_.experiments[pair.baseline],
                                  report_.experiments[pair.candidate]};
    const ExperimentData &a = variants.BaselineData(), &b = variants.CandidateData();
    const auto existing = tests == nullptr ? parts_.end() : std::ranges::find(parts_, tests, &Part::tests);
    const std::size_t index = existing != parts_.end() ? existing->pair : result_.pairs.size();
    if (existing == parts_.end()) {
      CheckPair& new_pair = result_.pairs.emplace_back();
      const auto label = [](const ExperimentData& data, const std::string& pair_label) {
        return pair_label.empty() ? data.label : pair_label;
      };
      new_pair.baseline_label = tests ? a.place->variant : label(a, pair.baseline_label);
      new_pair.candidate_label = tests ? b.place->variant : label(b, pair.candidate_label);
      new_pair.name = PairName(pair.label, new_pair);
      new_pair.threads = b.threads;
    }
    CheckPair& out = result_.pairs[index];
    for (const ExperimentData* variant : {&a, &b}) {
      if (!variant->error.empty() && out.error.empty()) out.error = variant->label + ": " + variant->error;
    }
    if (compared != nullptr) {
      out.pairing = compared->comparison.pairing;
      out.launches = std::max(out.launches, compared->comparison.launches);
    }
    parts_.push_back({variants, compared == nullptr ? nullptr : &compared->comparison, tests,
                      tests ? a.place->test : "", index});
  }

  // Times of emulated CPUs and of kernel-log runs are not meaningful.
  static std::string RefusalReason(const ExperimentPair& variants) {
    const ExperimentData &a = variants.BaselineData(), &b = variants.CandidateData();
    if (a.emulated || b.emulated) return kEmulatedRemark;
    if (a.trace_enabled || b.trace_enabled) return "the times of a kernel-log run are not latency";
    for (const ReportExperiment* variant : {&variants.baseline, &variants.candidate}) {
      if (!variant->run_classes.empty()) return "the runs of " + variant->label + " do different work";
    }
    return "";
  }

  // Returns the reason why the latencies of two experiments cannot be checked; empty: they can.
  static std::string Refusal(const Part& part) {
    std::string refusal = RefusalReason(part.variants);
    if (refusal.empty() && part.comparison != nullptr &&
        part.comparison->latency.verdict == stats::Verdict::kContended)
      refusal = "contended: " + CleanRunsText(*part.comparison);
    return refusal;
  }

  void AddItems(std::size_t pair) {
    std::vector<const Part*> parts;
    std::vector<const ExperimentData*> baseline, candidate;
    std::string refusal;
    for (const Part& part : parts_) {
      if (part.pair != pair) continue;
      parts.push_back(&part);
      baseline.push_back(&part.variants.BaselineData());
      candidate.push_back(&part.variants.CandidateData());
      if (refusal.empty()) refusal = Refusal(part);
    }
    if (parts.front()->tests != nullptr) {
      AddTests(parts);
    } else if (limits_.slowdown) {
      const Comparison* const compared = parts.front()->comparison;
      AddTimeComparison(pair, {.kind = CheckItem::Kind::kLatency, .limit = *limits_.slowdown},
                        compared != nullptr ? compared->latency : TimeComparison(), refusal);
    }
    const bool paired = result_.pairs[pair].pairing == Pairing::kLaunches;
    const auto add_launches = [&](CheckItem::Kind kind, double limit, const auto& value, double drift,
                                  const std::string& inconclusive_reason) {
      const LaunchValues baseline_values = CollectValues(baseline, value);
      const LaunchValues candidate_values = CollectValues(candidate, value);
      const bool suffices = std::min(baseline_values.size(), candidate_values.size()) >= MinLaunches(kind);
      AddItem(pair,
              {.kind = kind,
               .baseline = stats::Median(MapValues(baseline_values)),
               .candidate = stats::Median(MapValues(candidate_values)),
               .limit = limit},
              suffices ? EstimateLaunches(baseline_values, candidate_values, paired, kConfidence, drift)
                       : std::nullopt,
              inconclusive_reason);
    };
    if (limits_.memory_growth)
      add_launches(CheckItem::Kind::kPeakMemory, *limits_.memory_growth, &Launch::peak_rss, 0, "");
    if (limits_.load_slowdown)
      add_launches(CheckItem::Kind::kLoad, *limits_.load_slowdown, &Launch::CleanLoad,
                   MakeCompareOptions(report_.run).drift, refusal);
    for (const Part* part : parts) {
      if (limits_.operator_slowdown && part->comparison != nullptr) AddOperators(*part);
      if (limits_.instruction_growth) AddInstructions(*part);
    }
  }

  // The checks of a language model: its tests, the time to the first token, and its cache.
  void AddTests(const std::vector<const Part*>& parts) {
    const GenerationPair& tests = *parts.front()->tests;
    const std::size_t pair = parts.front()->pair;
    const GenerationVariant &a = generation_report_->variants[tests.baseline],
                            &b = generation_report_->variants[tests.candidate];
    for (const GenerationPair::Row& row : tests.rows) {
      if (!limits_.slowdown) break;
      std::string refusal;
      for (const Part* part : parts)
        if (part->test == row.test && refusal.empty()) refusal = Refusal(*part);
      if (refusal.empty() && row.time_comparison.verdict == stats::Verdict::kContended)
        refusal = "contended: too few processes ran all of its steps undisturbed";
      const bool is_prompt = !row.test.starts_with("tg");  // encoders count as prompts
      AddTimeComparison(pair,
                        {.kind = is_prompt ? CheckItem::Kind::kPrefill : CheckItem::Kind::kDecode,
                         .name = row.test,
                         .limit = *limits_.slowdown},
                        row.time_comparison, refusal);
    }
    if (const auto limit = limits_.FirstTokenSlowdown()) {
      const TimeComparison time_comparison =
          tests.first_token ? tests.first_token->time_comparison : TimeComparison();
      std::string refusal = RefusalReason(parts.front()->variants);
      if (refusal.empty() && a.text && b.text && !time_comparison.estimate) {
        if (a.text->prompt != b.text->prompt) {
          refusal = fmt::format("the prompts have {} and {} tokens", a.text->prompt, b.text->prompt);
        } else if (!tests.first_token || time_comparison.verdict == stats::Verdict::kContended) {
          refusal = "contended: too few processes ran the prompt undisturbed";
        }
      }
      AddTimeComparison(pair, {.kind = CheckItem::Kind::kFirstToken, .limit = *limit}, time_comparison,
                        refusal);
    }
    if (!limits_.cache_growth) return;
    CheckItem item{.kind = CheckItem::Kind::kCache,
                   .name = GetName(CheckItem::Kind::kCache),
                   .limit = *limits_.cache_growth};
    if (a.cache && b.cache) {
      const auto baseline = static_cast<double>(*a.cache), candidate = static_cast<double>(*b.cache);
      item.baseline = baseline;
      item.candidate = candidate;
      item.verdict =
          DecideCounts({baseline, baseline, baseline}, {candidate, candidate, candidate}, item.limit);
    } else {
      item.inconclusive_reason = "its size is not known";
    }
    result_.pairs[pair].items.push_back(std::move(item));
  }

  // Counts are exact except for differences between processes. These are measured, so bounds decide, not a
  // test.
  void AddInstructions(const Part& part) {
    const ExperimentData &a = part.variants.BaselineData(), &b = part.variants.CandidateData();
    CheckItem item{.kind = CheckItem::Kind::kInstructions,
                   .name = GetName(CheckItem::Kind::kInstructions),
                   .origin = {.test = part.test},
                   .limit = *limits_.instruction_growth};
    const InstructionsRow* const baseline = MethodInstructions(a.instructions);
    const InstructionsRow* const candidate = MethodInstructions(b.instructions);
    if (baseline == nullptr || candidate == nullptr || baseline->instructions <= 0) {
      item.inconclusive_reason = "they were not counted";
    } else if (baseline->source != candidate->source) {
      item.inconclusive_reason = fmt::format("the baseline's were counted by {}, the candidate's by {}",
                                             baseline->SourceText(), candidate->SourceText());
    } else {
      item.baseline = baseline->instructions;
      item.candidate = candidate->instructions;
      item.verdict =
          DecideCounts({baseline->instructions, baseline->lowest, baseline->highest},
                       {candidate->instructions, candidate->lowest, candidate->highest}, item.limit);
      if (item.verdict.decision == GateDecision::kInconclusive)
        item.inconclusive_reason =
            "processes that ran the same differ by more than what is left to the limit";
      AppendUnique(
          fmt::format("instructions were counted by {}, in one run of one thread: they are no latency",
                      baseline->SourceText()),
          result_.notes);
    }
    result_.pairs[part.pair].items.push_back(std::move(item));
  }

  // Calls `visit` with the part, the match, the baseline's operator, and its rows in both variants, for each
  // operator for which both variants have a row. `rows`: the rows of an experiment, which have a `key`.
  void ForEachMatchedRows(const auto& rows, const auto& visit) const {
    for (const Part& part : parts_) {
      if (part.comparison == nullptr) continue;
      const auto by_key = [&](const ExperimentData& data) {
        std::map<std::string, decltype(&std::invoke(rows, data).front())> found;
        for (const auto& row : std::invoke(rows, data)) found.emplace(row.key, &row);
        return found;
      };
      const auto baseline_rows = by_key(part.variants.BaselineData());
      const auto candidate_rows = by_key(part.variants.CandidateData());
      for (const OperatorMatch& match : part.comparison->operators) {
        if (!match.baseline || !match.candidate) continue;
        const Operator& op = FindOperator(match, part);
        const Profile& candidate = *part.variants.candidate.profile;
        const auto a = baseline_rows.find(KeyText(op.key));
        const auto b = candidate_rows.find(KeyText(candidate.operators[*match.candidate].key));
        if (a != baseline_rows.end() && b != candidate_rows.end())
          visit(part, match, op, *a->second, *b->second);
      }
    }
  }

  void FindCountChanges() {
    ForEachMatchedRows(&ExperimentData::instructions,
                       [&](const Part& part, const OperatorMatch& match, const Operator& op,
                           const InstructionsRow& a, const InstructionsRow& b) {
                         if (!IsOperator(op) || (a.lowest <= b.highest && b.lowest <= a.highest)) return;
                         result_.pairs[part.pair].count_changes.push_back(
                             {op.name, a.key, FindOrigin(match, part), a.instructions, b.instructions});
                       });
    for (CheckPair& pair : result_.pairs) {
      std::ranges::stable_sort(pair.count_changes, std::greater(), [](const OperatorCountChange& op) {
        return std::abs(op.candidate - op.baseline);
      });
    }
  }

  void AddOperators(const Part& part) {
    const std::string refusal = Refusal(part);
    const Comparison& compared = *part.comparison;
    bool has_common_operator = false;
    for (const OperatorMatch& match : compared.operators) {
      const Operator& op = FindOperator(match, part);
      if (!match.baseline || !match.candidate || !IsOperator(op)) continue;
      has_common_operator = true;
      const double share =
          std::max(QuotientIfDefined(match.baseline_total, compared.baseline_total).value_or(0),
                   QuotientIfDefined(match.candidate_total, compared.candidate_total).value_or(0));
      if (share < limits_.min_operator_share) continue;
      const bool too_short = refusal.empty() && match.time_comparison.too_short;
      AddTimeComparison(part.pair,
                        {.kind = CheckItem::Kind::kOperator,
                         .name = op.name,
                         .key = KeyText(op.key),
                         .origin = FindOrigin(match, part),
                         .limit = *limits_.operator_slowdown},
                        match.time_comparison,
                        too_short ? "it is too short for a clock of whole microseconds" : refusal);
    }
    if (!has_common_operator) {
      AddItem(part.pair,
              {.kind = CheckItem::Kind::kOperator,
               .name = "operators",
               .origin = {.test = part.test},
               .limit = *limits_.operator_slowdown},
              std::nullopt, "no operator of both variants was traced");
    }
  }

  void AddTimeComparison(std::size_t pair, CheckItem item, const TimeComparison& time_comparison,
                         const std::string& refusal) {
    item.baseline = time_comparison.baseline_ns;
    item.candidate = time_comparison.candidate_ns;
    AddItem(pair, std::move(item), time_comparison.estimate, refusal);
  }

  // The least number of launches of each variant for an interval of one value per launch.
  static std::size_t MinLaunches(CheckItem::Kind kind) {
    return kind == CheckItem::Kind::kLoad ? kMinStartupLaunches : std::size_t{stats::kMinLaunches};
  }

  void AddItem(std::size_t pair, CheckItem item, std::optional<stats::RatioEstimate> estimate,
               const std::string& refusal) {
    if (item.name.empty()) item.name = GetName(item.kind);
    if (!refusal.empty()) {
      estimate.reset();
      item.inconclusive_reason = refusal;
    } else if (!estimate) {
      const bool measured = item.baseline && item.candidate;
      const bool has_value_per_launch =
          item.kind == CheckItem::Kind::kPeakMemory || item.kind == CheckItem::Kind::kLoad;
      item.inconclusive_reason =
          !measured ? "it was not measured"
          : has_value_per_launch
              ? fmt::format("an interval needs {} launches of each variant", MinLaunches(item.kind))
              : "there are too few independent runs for an interval";
    } else if (estimate->log_middle) {
      item.baseline = estimate->baseline();
      item.candidate = estimate->candidate();
    }
    item.estimate = estimate;
    result_.pairs[pair].items.push_back(std::move(item));
  }

  // Finds the baseline's operator, or the candidate's if the baseline lacks it.
  static const Operator& FindOperator(const OperatorMatch& match, const Part& part) {
    return match.baseline ? part.variants.baseline.profile->operators[*match.baseline]
                          : part.variants.candidate.profile->operators[*match.candidate];
  }

  // Finds the candidate's origin if both variants have the operator, since the candidate is the model under
  // development.
  static OperatorOrigin FindOrigin(const OperatorMatch& match, const Part& part) {
    OperatorOrigin origin{.test = part.test};
    const auto& profile = (match.candidate ? part.variants.candidate : part.variants.baseline).profile;
    if (!profile->program) return origin;
    const std::size_t op = match.candidate ? *match.candidate : *match.baseline;
    const OperatorSource& source = profile->program->operators[op];
    if (const SourceModule* const module = source.Module(*profile)) origin.layer = module->path;
    if (const SourceFrame* const frame = source.Frame(*profile)) origin.frame = *frame;
    return origin;
  }

  void DecideClaimsOfPairs() {
    const ScheduleData& schedule = report_.run.schedule;
    GateOptions options;
    options.false_discovery_rate = limits_.false_discovery_rate;
    if (schedule.interim_confidence > 0 && schedule.confidence > 0 && schedule.confidence < 1)
      options.interim_share = (1 - schedule.interim_confidence) / (1 - schedule.confidence);
    std::vector<GateClaim> claims;
    for (const CheckPair& pair : result_.pairs) {
      for (const CheckItem& item : pair.items) {
        if (!item.IsCounted()) claims.push_back({item.estimate, item.limit});
      }
    }
    const std::vector<GateVerdict> verdicts = DecideClaims(claims, options);
    std::size_t next = 0;
    for (CheckPair& pair : result_.pairs) {
      for (CheckItem& item : pair.items) {
        if (item.IsCounted()) continue;
        item.verdict = verdicts[next++];
        const bool is_open = item.verdict.decision == GateDecision::kInconclusive && item.estimate;
        if (is_open && pair.pairing == Pairing::kUnpaired && item.kind != CheckItem::Kind::kPeakMemory) {
          const double drift = MakeCompareOptions(report_.run).drift;  // of each variant
          const bool is_drift = 2 * 2 * drift * drift >= std::pow(item.estimate->standard_error, 2);
          if (!HaveSeveralLaunches(report_.run)) {
            item.inconclusive_reason =
                "a single launch cannot show how processes differ: measure both now, or with more launches";
          } else if (is_drift) {
            item.inconclusive_reason = fmt::format(
                "the two were measured apart, between which a machine drifts by {:.2g}% "
                "(standard deviation): measure both now, or give what is known of this machine with "
                "`--drift`",
                100 * drift);
          } else {
            item.inconclusive_reason =
                "the launches differ by too much: measure both now, or with more launches";
          }
        }
        if (is_open && !item.MayBeDecidedByLaunches(std::numeric_limits<double>::infinity())) {
          item.inconclusive_reason = SystematicErrorReason(pair, item);
        }
      }
    }
  }

  // The reason why more launches cannot decide the item: the larger part of the error that all launches
  // share.
  std::string SystematicErrorReason(const CheckPair& pair, const CheckItem& item) const {
    double waited_share = 0;
    for (const Part& part : parts_) {
      if (&result_.pairs[part.pair] != &pair) continue;
      for (const ExperimentData* data : {&part.variants.BaselineData(), &part.variants.CandidateData()})
        waited_share = std::max(waited_share, data->WaitedShare());
    }
    const double error = item.estimate->systematic_error;
    const bool is_waiting = kWaitingErrorFactor * waited_share >= error / 2;
    return fmt::format(
        "{}, which makes the change uncertain by ±{:.2g}% however long it is measured: use {}another limit",
        is_waiting                                ? "the threads had to wait for a processor"
        : item.kind == CheckItem::Kind::kOperator ? "XNNPACK's clock counts whole microseconds"
                                                  : "only one of the two releases has an event tracer",
        100 * std::expm1(error), is_waiting ? "a quieter machine, or " : "");
  }

  void FindTimeChanges() {
    std::vector<stats::RatioEstimate> estimates;
    std::vector<std::pair<const Part*, const OperatorMatch*>> tested_operators;
    for (const Part& part : parts_) {
      if (part.comparison == nullptr || !RefusalReason(part.variants).empty()) continue;
      CheckPair& pair = result_.pairs[part.pair];
      const std::size_t tested_before = tested_operators.size();
      bool has_common_operator = false;
      for (const OperatorMatch& match : part.comparison->operators) {
        const Operator& op = FindOperator(match, part);
        if (!IsOperator(op)) continue;
        has_common_operator = has_common_operator || (match.baseline && match.candidate);
        if (match.baseline && match.candidate && match.time_comparison.estimate) {
          estimates.push_back(*match.time_comparison.estimate);
          tested_operators.emplace_back(&part, &match);
        } else if (!match.candidate) {
          AddUnmatchedOperator(pair.only_baseline, op, match, part.test, match.time_comparison.baseline_ns);
        } else if (!match.baseline) {
          AddUnmatchedOperator(pair.only_candidate, op, match, part.test, match.time_comparison.candidate_ns);
        }
      }
      if (has_common_operator && tested_operators.size() == tested_before && pair.launches > 1) {
        AppendUnique(fmt::format("{}: it is not known which operators changed, since too few of their runs "
                                 "were clean or traced",
                                 pair.name + (part.test.empty() ? "" : ", " + part.test)),
                     result_.notes);
      }
    }
    const std::vector<stats::OperatorVerdict> verdicts =
        stats::DecideVerdicts(estimates, limits_.false_discovery_rate, 0);
    for (std::size_t i = 0; i < tested_operators.size(); ++i) {
      if (!verdicts[i].significant) continue;
      const auto& [part, match] = tested_operators[i];
      const Operator& op = FindOperator(*match, *part);
      const stats::RatioEstimate& estimate = verdicts[i].estimate;
      result_.pairs[part->pair].time_changes.push_back(
          {op.name, KeyText(op.key), FindOrigin(*match, *part),
           estimate.baseline().value_or(match->time_comparison.baseline_ns.value_or(0)),
           estimate.candidate().value_or(match->time_comparison.candidate_ns.value_or(0)),
           std::expm1(-estimate.log_ratio), std::expm1(-estimate.log_high), std::expm1(-estimate.log_low)});
    }
    for (CheckPair& pair : result_.pairs) {
      std::ranges::stable_sort(pair.time_changes, std::greater(), [](const OperatorTimeChange& op) {
        return std::abs(op.candidate_ns - op.baseline_ns);
      });
    }
  }

  void FindObservedOperators() {
    const auto rows = [&](const ExperimentData& data) { return FindWatchedRows(report_.watched, data); };
    ForEachMatchedRows(rows, [&](const Part& part, const OperatorMatch&, const Operator& op,
                                 const WatchedRow& a, const WatchedRow& b) {
      if (a.code.empty() || b.code.empty()) return;
      result_.pairs[part.pair].observed.push_back(
          {op.name, a.key, part.test, MakeExecutedCode(a), MakeExecutedCode(b)});
    });
  }

  static ObservedOperator::ExecutedCode MakeExecutedCode(const WatchedRow& row) {
    return {row.code, row.runs_kleidiai && row.Kernel() != nullptr ? row.Kernel()->name : ""};
  }

  // Names the operator by its module if the program is known: "layer1.2 Conv2d 64→64 3x3 (0.970 ms)".
  static void AddUnmatchedOperator(std::vector<std::string>& list, const Operator& op,
                                   const OperatorMatch& match, const std::string& test,
                                   const std::optional<double>& ns) {
    const std::string name =
        (match.change ? match.change->name : op.name) + (test.empty() ? "" : " at " + test);
    list.push_back(ns ? fmt::format("{} ({})", name, FormatMilliseconds(*ns)) : name);
  }

  void DecidePairs() {
    if (!result_.pairs.empty()) result_.decision = GateDecision::kPass;
    for (CheckPair& pair : result_.pairs) {
      if (!pair.items.empty() && pair.error.empty()) pair.decision = DecidePair(pair);
      result_.has_error = result_.has_error || !pair.error.empty();
      result_.decision = CombineDecisions(result_.decision, pair.decision);
    }
  }

  const Report& report_;
  const CheckLimits& limits_;
  std::optional<GenerationReport> generation_report_;
  CheckReport result_;
  std::vector<Part> parts_;
};

}  // namespace

bool CheckItem::MayBeDecidedByLaunches(double launches) const {
  return MoreLaunchesMayDecideClaim({estimate, limit}, verdict, launches);
}

CheckReport AssembleCheck(const Report& report, const CheckLimits& limits) {
  return CheckAssembler(report, limits).Run();
}

CheckPair MakeEqualPair(const ComparePair& pair, int threads, const CheckLimits& limits, bool generate) {
  CheckPair equal;
  equal.baseline_label = pair.baseline_label;
  equal.candidate_label = pair.candidate_label;
  equal.name = PairName(pair.label, equal);
  equal.threads = threads;
  const auto add = [&](CheckItem::Kind kind, const std::optional<double>& limit) {
    if (!limit) return;
    CheckItem& item = equal.items.emplace_back();
    item.kind = kind;
    item.name = kind == CheckItem::Kind::kOperator ? "operators" : GetName(kind);
    item.limit = *limit;
    const GateClaim claim{stats::RatioEstimate(), *limit};
    item.verdict =
        item.IsCounted() ? DecideCounts({1, 1, 1}, {1, 1, 1}, *limit) : DecideClaims({&claim, 1}).front();
  };
  if (generate) {
    add(CheckItem::Kind::kPrefill, limits.slowdown);
    add(CheckItem::Kind::kDecode, limits.slowdown);
    add(CheckItem::Kind::kFirstToken, limits.FirstTokenSlowdown());
    add(CheckItem::Kind::kCache, limits.cache_growth);
  } else {
    add(CheckItem::Kind::kLatency, limits.slowdown);
  }
  add(CheckItem::Kind::kPeakMemory, limits.memory_growth);
  add(CheckItem::Kind::kLoad, limits.load_slowdown);
  add(CheckItem::Kind::kOperator, limits.operator_slowdown);
  add(CheckItem::Kind::kInstructions, limits.instruction_growth);
  equal.decision = DecidePair(equal);
  return equal;
}

void AddEqualPairs(std::vector<CheckPair> pairs, CheckReport& check) {
  if (check.pairs.empty() && !pairs.empty()) check.decision = GateDecision::kPass;
  for (CheckPair& pair : pairs) {
    check.decision = CombineDecisions(check.decision, pair.decision);
    check.notes.push_back(fmt::format(
        "{}: model, runner, and settings of both variants are the same, so nothing was measured", pair.name));
    check.pairs.push_back(std::move(pair));
  }
  MakeNamesUnique(check.pairs);
}

}  // namespace etprof
