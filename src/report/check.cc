#include "report/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "analysis/operators.h"
#include "core/text/text.h"
#include "core/units.h"
#include "measure/store/run_warnings.h"
#include "report/kernels/watched.h"
#include "report/run/pair.h"
#include "stats/ratio/multiple.h"
#include "stats/ratio/unpaired.h"

namespace etprof {
namespace {

constexpr double kQuotientRounding =
    1e-12;  // rounding error of a quotient of counts, so that 1100 of 1000 is not more than 10% above
constexpr double kConfidence = 0.95;  // of the unadjusted estimates; the gate uses its own level

using LaunchValues = std::map<int, double>;  // by launch index

LaunchValues CollectValues(const ExperimentData& data, const auto& value) {
  LaunchValues values;
  for (const Launch& launch : data.launches) {
    if (launch.status != Launch::Status::kComplete) continue;
    if (const auto of_launch = std::invoke(value, launch); of_launch && *of_launch > 0)
      values[launch.index] = static_cast<double>(*of_launch);
  }
  return values;
}

std::vector<double> ListValues(const LaunchValues& values) {
  std::vector<double> all;
  for (const auto& [index, value] : values) all.push_back(value);
  return all;
}

std::optional<stats::RatioEstimate> EstimateLaunches(const LaunchValues& baseline,
                                                     const LaunchValues& candidate, bool paired,
                                                     double drift) {
  if (!paired)
    return stats::EstimateLaunchesWithDrift(ListValues(baseline), ListValues(candidate), kConfidence, drift);
  std::vector<stats::LaunchBursts> launches;
  for (const auto& [index, value] : baseline) {
    if (const auto other = candidate.find(index); other != candidate.end())
      launches.push_back({{value}, {other->second}});
  }
  return stats::EstimateRatio(launches, kConfidence);
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
  CheckAssembler(const Report& report, const CheckLimits& limits) : report_(report), limits_(limits) {}

  CheckReport Run() {
    result_.model_id = report_.model_id;
    result_.folder = report_.run.folder.string();
    result_.generated_at = report_.run.generated_at;
    result_.seconds = report_.run.schedule.seconds;
    result_.false_discovery = limits_.false_discovery;
    result_.require_conclusive = limits_.require_conclusive;
    result_.where = report_.run.platform;
    if (report_.run.device && report_.run.device->cores > 0)
      result_.where += ", " + CountedText(report_.run.device->cores, "core");
    result_.notes = report_.warnings;
    for (const ComparePair& pair : report_.run.pairs) AddPair(pair);
    MakeNamesUnique(result_.pairs);
    DecideClaimsOfPairs();
    FindMoved();
    FindCounted();
    FindProven();
    DecidePairs();
    return std::move(result_);
  }

 private:
  void AddPair(const ComparePair& pair) {
    const ExperimentPair& sides = sides_.emplace_back(
        ExperimentPair{report_.run, report_.experiments[pair.baseline], report_.experiments[pair.candidate]});
    const ExperimentData &a = sides.BaselineData(), &b = sides.CandidateData();
    const ReportComparison* const comparison_data = FindComparison(report_, pair.baseline, pair.candidate);
    comparisons_.push_back(comparison_data == nullptr ? nullptr : &comparison_data->comparison);
    CheckPair& out = result_.pairs.emplace_back();
    out.baseline_label = pair.baseline_label.empty() ? a.label : pair.baseline_label;
    out.candidate_label = pair.candidate_label.empty() ? b.label : pair.candidate_label;
    out.name = PairName(pair.label, out);
    out.threads = b.threads;
    for (const ExperimentData* side : {&a, &b}) {
      if (!side->error.empty() && out.error.empty()) out.error = side->label + ": " + side->error;
    }
    if (comparison_data != nullptr) {
      out.pairing = comparison_data->comparison.pairing;
      out.launches = comparison_data->comparison.launches;
    }
    AddItems(sides);
  }

  // Times of emulated CPUs and of kernel-log runs are not meaningful.
  static std::string RefusalReason(const ExperimentPair& sides) {
    const ExperimentData &a = sides.BaselineData(), &b = sides.CandidateData();
    if (a.emulated || b.emulated) return kEmulatedRemark;
    if (a.trace_enabled || b.trace_enabled) return "the times of a kernel-log run are not latency";
    for (const ReportExperiment* side : {&sides.baseline, &sides.candidate}) {
      if (!side->run_classes.empty()) return "the runs of " + side->label + " do different work";
    }
    return "";
  }

  void AddItems(const ExperimentPair& sides) {
    const ExperimentData &a = sides.BaselineData(), &b = sides.CandidateData();
    const Comparison* comparison_data = comparisons_.back();
    const bool paired = comparison_data != nullptr && comparison_data->pairing == Pairing::kLaunches;
    std::string refusal = RefusalReason(sides);
    if (refusal.empty() && comparison_data != nullptr &&
        comparison_data->latency.verdict == stats::Verdict::kContended)
      refusal = "contended: " + CleanRunsText(*comparison_data);
    if (limits_.slowdown) {
      const Quantity latency = comparison_data != nullptr ? comparison_data->latency : Quantity();
      AddItem({.kind = CheckItem::Kind::kLatency,
               .baseline = latency.baseline_ns,
               .candidate = latency.candidate_ns,
               .limit = *limits_.slowdown},
              latency.estimate, refusal);
    }
    const auto add_launches = [&](CheckItem::Kind kind, double limit, const auto& value, double drift,
                                  const std::string& inconclusive_reason) {
      const LaunchValues baseline_values = CollectValues(a, value),
                         candidate_values = CollectValues(b, value);
      AddItem({.kind = kind,
               .baseline = stats::Median(ListValues(baseline_values)),
               .candidate = stats::Median(ListValues(candidate_values)),
               .limit = limit},
              EstimateLaunches(baseline_values, candidate_values, paired, drift), inconclusive_reason);
    };
    if (limits_.memory_growth)
      add_launches(CheckItem::Kind::kPeakMemory, *limits_.memory_growth, &Launch::peak_rss, 0, "");
    if (limits_.load_slowdown)
      add_launches(CheckItem::Kind::kLoad, *limits_.load_slowdown, &Launch::CleanLoad,
                   MakeCompareOptions(report_.run).drift, refusal);
    if (limits_.operator_slowdown && comparison_data != nullptr) AddOperators(*comparison_data, refusal);
    if (limits_.instruction_growth) AddInstructions(a, b);
  }

  // Counts are exact except for differences between processes, which are measured. So the decision is by
  // bounds, not by a test.
  void AddInstructions(const ExperimentData& a, const ExperimentData& b) {
    CheckItem item{.kind = CheckItem::Kind::kInstructions,
                   .name = std::string(GetName(CheckItem::Kind::kInstructions)),
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
      GateVerdict& verdict = item.verdict;
      verdict.growth = candidate->instructions / baseline->instructions - 1;
      verdict.low = candidate->lowest / baseline->highest - 1;
      verdict.high = candidate->highest / baseline->lowest - 1;
      const double limit = item.limit + kQuotientRounding;
      verdict.pass_p = *verdict.high <= limit ? 0 : 1;
      verdict.fail_p = *verdict.low > limit ? 0 : 1;
      verdict.decision = verdict.pass_p == 0   ? GateDecision::kPass
                         : verdict.fail_p == 0 ? GateDecision::kFail
                                               : GateDecision::kInconclusive;
      if (verdict.decision == GateDecision::kInconclusive)
        item.inconclusive_reason =
            "processes that ran the same differ by more than what is left to the limit";
      AppendUnique(
          fmt::format("instructions were counted by {}, in one run of one thread: they are no latency",
                      baseline->SourceText()),
          result_.notes);
    }
    result_.pairs.back().items.push_back(std::move(item));
  }

  // Calls `each` with the pair, the match, the baseline's operator, and its rows in both variants, for each
  // operator for which both variants have a row. `rows`: pointers to rows of an experiment, which have a
  // `key`.
  void ForEachMatchedRows(const auto& rows, const auto& each) const {
    for (std::size_t p = 0; p < result_.pairs.size(); ++p) {
      const auto& baseline_profile = sides_[p].baseline.profile;
      const auto& candidate_profile = sides_[p].candidate.profile;
      if (comparisons_[p] == nullptr || !baseline_profile || !candidate_profile) continue;
      const auto by_key = [&](const ExperimentData& data) {
        std::map<std::string, std::decay_t<decltype(rows(data).front())>> found;
        for (const auto* const row : rows(data)) found.emplace(row->key, row);
        return found;
      };
      const auto before = by_key(sides_[p].BaselineData()), after = by_key(sides_[p].CandidateData());
      for (const OperatorMatch& match : comparisons_[p]->operators) {
        if (!match.baseline || !match.candidate) continue;
        const Operator& op = baseline_profile->operators[*match.baseline];
        const auto a = before.find(KeyText(op.key));
        const auto b = after.find(KeyText(candidate_profile->operators[*match.candidate].key));
        if (a != before.end() && b != after.end()) each(p, match, op, *a->second, *b->second);
      }
    }
  }

  void FindCounted() {
    const auto rows = [](const ExperimentData& data) {
      std::vector<const InstructionsRow*> all;
      for (const InstructionsRow& row : data.instructions) all.push_back(&row);
      return all;
    };
    ForEachMatchedRows(rows, [&](std::size_t p, const OperatorMatch& match, const Operator& op,
                                 const InstructionsRow& a, const InstructionsRow& b) {
      if (!IsOperator(op) || (a.lowest <= b.highest && b.lowest <= a.highest)) return;
      result_.pairs[p].counted.push_back(
          {op.name, a.key, FindOrigin(match, p), a.instructions, b.instructions});
    });
    for (CheckPair& pair : result_.pairs) {
      std::ranges::stable_sort(pair.counted, std::greater(), [](const CountedOperator& op) {
        return std::abs(op.candidate - op.baseline);
      });
    }
  }

  void AddOperators(const Comparison& comparison_data, const std::string& refusal) {
    bool known = false;
    for (const OperatorMatch& match : comparison_data.operators) {
      const Operator* op = FindOperator(match, result_.pairs.size() - 1);
      if (op == nullptr || !match.baseline || !match.candidate || !IsOperator(*op)) continue;
      known = true;
      const double share = std::max(Share(match.baseline_total, comparison_data.baseline_total),
                                    Share(match.candidate_total, comparison_data.candidate_total));
      if (share < limits_.min_operator_share) continue;
      const bool too_short = refusal.empty() && match.quantity.too_short;
      AddItem({.kind = CheckItem::Kind::kOperator,
               .name = op->name,
               .key = KeyText(op->key),
               .origin = FindOrigin(match, result_.pairs.size() - 1),
               .baseline = match.quantity.baseline_ns,
               .candidate = match.quantity.candidate_ns,
               .limit = *limits_.operator_slowdown},
              match.quantity.estimate,
              too_short ? "it is too short for a clock of whole microseconds" : refusal);
    }
    if (!known) {
      AddItem({.kind = CheckItem::Kind::kOperator, .name = "operators", .limit = *limits_.operator_slowdown},
              std::nullopt, "no operator of both variants was traced");
    }
  }

  static double Share(Nanoseconds part, Nanoseconds whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
  }

  void AddItem(CheckItem item, std::optional<stats::RatioEstimate> estimate, const std::string& refusal) {
    if (item.name.empty()) item.name = GetName(item.kind);
    if (!refusal.empty()) {
      estimate.reset();
      item.inconclusive_reason = refusal;
    } else if (!estimate) {
      const bool measured = item.baseline && item.candidate;
      item.inconclusive_reason =
          measured ? "there are too few independent runs for an interval" : "it was not measured";
    } else if (estimate->log_middle) {
      item.baseline = estimate->baseline();
      item.candidate = estimate->candidate();
    }
    item.estimate = estimate;
    result_.pairs.back().items.push_back(std::move(item));
  }

  // The baseline's operator if both variants have it.
  const Operator* FindOperator(const OperatorMatch& match, std::size_t pair) const {
    const auto& profile = (match.baseline ? sides_[pair].baseline : sides_[pair].candidate).profile;
    const std::size_t op = match.baseline ? *match.baseline : match.candidate.value_or(0);
    return profile && op < profile->operators.size() ? &profile->operators[op] : nullptr;
  }

  // The candidate's origin if both variants have the operator, since the candidate is the model under
  // development.
  OperatorOrigin FindOrigin(const OperatorMatch& match, std::size_t pair) const {
    const auto& profile = (match.candidate ? sides_[pair].candidate : sides_[pair].baseline).profile;
    const std::optional<std::size_t> op = match.candidate ? match.candidate : match.baseline;
    if (!profile || !profile->program || !op || *op >= profile->program->operators.size()) return {};
    OperatorOrigin origin{ModulePath(*profile->program, *op).value_or("")};
    const std::optional<std::size_t> place = profile->program->operators[*op].place;
    if (place) origin.frame = profile->program->places[*place].frame;
    return origin;
  }

  void DecideClaimsOfPairs() {
    const ScheduleData& schedule = report_.run.schedule;
    GateOptions options;
    options.false_discovery = limits_.false_discovery;
    if (schedule.interim_confidence > 0 && schedule.confidence > 0 && schedule.confidence < 1)
      options.interim_share = (1 - schedule.interim_confidence) / (1 - schedule.confidence);
    std::vector<GateClaim> claims;
    for (const CheckPair& pair : result_.pairs) {
      for (const CheckItem& item : pair.items) {
        if (item.kind != CheckItem::Kind::kInstructions) claims.push_back({item.estimate, item.limit});
      }
    }
    const std::vector<GateVerdict> verdicts = DecideClaims(claims, options);
    std::size_t next = 0;
    for (CheckPair& pair : result_.pairs) {
      for (CheckItem& item : pair.items) {
        if (item.kind == CheckItem::Kind::kInstructions) continue;
        item.verdict = verdicts[next++];
        const bool is_open = item.verdict.decision == GateDecision::kInconclusive && item.estimate;
        if (is_open && pair.pairing == Pairing::kUnpaired && item.kind != CheckItem::Kind::kPeakMemory) {
          item.inconclusive_reason = fmt::format(
              "the two were measured apart, between which a machine drifts by {:.2g}% (standard deviation): "
              "measure both now, or give what is known of this machine with `--drift`",
              100 * MakeCompareOptions(report_.run).drift);
        }
        if (is_open && !item.MayBeDecidedWith(std::numeric_limits<double>::infinity())) {
          item.inconclusive_reason = fmt::format(
              "the threads had to wait for a processor, which makes the change uncertain by ±{:.2g}% however "
              "long "
              "it is measured: use a quieter machine, or another limit",
              100 * std::expm1(item.estimate->systematic_error));
        }
      }
    }
  }

  void FindMoved() {
    std::vector<stats::RatioEstimate> estimates;
    std::vector<std::pair<std::size_t, const OperatorMatch*>> tested_operators;
    for (std::size_t p = 0; p < result_.pairs.size(); ++p) {
      if (comparisons_[p] == nullptr || !RefusalReason(sides_[p]).empty()) continue;
      const std::size_t before = tested_operators.size();
      bool both = false;
      for (const OperatorMatch& match : comparisons_[p]->operators) {
        const Operator* op = FindOperator(match, p);
        if (op == nullptr || !IsOperator(*op)) continue;
        both = both || (match.baseline && match.candidate);
        if (match.baseline && match.candidate && match.quantity.estimate) {
          estimates.push_back(*match.quantity.estimate);
          tested_operators.emplace_back(p, &match);
        } else if (!match.candidate) {
          AddUnmatchedOperator(result_.pairs[p].only_baseline, *op, match, match.quantity.baseline_ns);
        } else if (!match.baseline) {
          AddUnmatchedOperator(result_.pairs[p].only_candidate, *op, match, match.quantity.candidate_ns);
        }
      }
      if (both && tested_operators.size() == before && result_.pairs[p].launches > 1) {
        result_.notes.push_back(fmt::format(
            "{}: it is not known which operators changed, since too few of their runs were clean or traced",
            result_.pairs[p].name));
      }
    }
    const std::vector<stats::OperatorVerdict> verdicts =
        stats::DecideVerdicts(estimates, limits_.false_discovery, 0);
    for (std::size_t i = 0; i < tested_operators.size(); ++i) {
      if (!verdicts[i].significant) continue;
      const auto& [p, match] = tested_operators[i];
      const Operator& op = *FindOperator(*match, p);
      const stats::RatioEstimate& estimate = verdicts[i].estimate;
      result_.pairs[p].moved.push_back(
          {op.name, KeyText(op.key), FindOrigin(*match, p),
           estimate.baseline().value_or(match->quantity.baseline_ns.value_or(0)),
           estimate.candidate().value_or(match->quantity.candidate_ns.value_or(0)),
           std::expm1(-estimate.log_ratio), std::expm1(-estimate.log_high), std::expm1(-estimate.log_low)});
    }
    for (CheckPair& pair : result_.pairs) {
      std::ranges::stable_sort(pair.moved, std::greater(), [](const MovedOperator& op) {
        return std::abs(op.candidate_ns - op.baseline_ns);
      });
    }
  }

  void FindProven() {
    const auto rows = [&](const ExperimentData& data) {
      std::vector<const WatchedRow*> all;
      for (const WatchedRow& row : FindWatchedRows(report_.watched, data))
        if (!row.code.empty()) all.push_back(&row);
      return all;
    };
    ForEachMatchedRows(rows, [&](std::size_t p, const OperatorMatch&, const Operator& op, const WatchedRow& a,
                                 const WatchedRow& b) {
      result_.pairs[p].proven.push_back({op.name, a.key, MakeProvenSide(a), MakeProvenSide(b)});
    });
  }

  static ProvenOperator::Side MakeProvenSide(const WatchedRow& row) {
    const auto kernels = row.Kernels();
    return {row.code, row.kleidiai && !kernels.empty() ? kernels.front()->name : ""};
  }

  // Names the operator by its module if the program is known: "layer1.2 Conv2d 64→64 3x3 (0.970 ms)".
  static void AddUnmatchedOperator(std::vector<std::string>& list, const Operator& op,
                                   const OperatorMatch& match, const std::optional<double>& ns) {
    const std::string& name = match.change ? match.change->name : op.name;
    list.push_back(ns ? fmt::format("{} ({})", name, FormatMilliseconds(*ns)) : name);
  }

  void DecidePairs() {
    if (!result_.pairs.empty()) result_.decision = GateDecision::kPass;
    for (CheckPair& pair : result_.pairs) {
      if (!pair.items.empty() && pair.error.empty()) pair.decision = DecidePair(pair);
      result_.error = result_.error || !pair.error.empty();
      result_.decision = CombineDecisions(result_.decision, pair.decision);
    }
  }

  const Report& report_;
  const CheckLimits& limits_;
  CheckReport result_;
  // By pair:
  std::vector<ExperimentPair> sides_;
  std::vector<const Comparison*> comparisons_;  // null: no comparison
};

}  // namespace

bool CheckItem::MayBeDecidedWith(double launches) const {
  return MoreLaunchesMayDecideClaim({estimate, limit}, verdict, launches);
}

CheckReport AssembleCheck(const Report& report, const CheckLimits& limits) {
  return CheckAssembler(report, limits).Run();
}

CheckPair MakeEqualPair(const UnitPair& pair, int threads, const CheckLimits& limits) {
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
    item.verdict = DecideClaims({&claim, 1}).front();
  };
  add(CheckItem::Kind::kLatency, limits.slowdown);
  add(CheckItem::Kind::kPeakMemory, limits.memory_growth);
  add(CheckItem::Kind::kLoad, limits.load_slowdown);
  add(CheckItem::Kind::kOperator, limits.operator_slowdown);
  add(CheckItem::Kind::kInstructions, limits.instruction_growth);
  equal.decision = DecidePair(equal);
  return equal;
}

void AddEqualPairs(std::vector<CheckPair> pairs, CheckReport& check) {
  if (check.pairs.empty()) check.decision = GateDecision::kPass;
  for (CheckPair& pair : pairs) {
    check.decision = CombineDecisions(check.decision, pair.decision);
    check.notes.push_back(fmt::format(
        "{}: model, runner, and settings of both sides are the same, so nothing was measured", pair.name));
    check.pairs.push_back(std::move(pair));
  }
  MakeNamesUnique(check.pairs);
}

}  // namespace etprof
