#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "core/views.h"
#include "profile/compare/match_nodes.h"
#include "report/report.h"
#include "show/subjects/run/report.h"

// JSON views of the entries of "comparisons" and "matrices" in analysis_summary.json.
namespace etprof {

// The cost of a variant's process besides its runs: load or first-run time, or memory.
template <bool kIsMemory>
struct CostJson {
  const StartupCost& source;

  static constexpr const char* kSchemaName = kIsMemory ? "cost_bytes" : "cost_ms";
  static void Describe(auto& v) {
    constexpr MemberInfo kCostInfo{
        .meaning = "of a process, combined over launches", .min = 0, .scale = kIsMemory ? 1 : 1e6};
    v(kIsMemory ? "baseline_bytes" : "baseline_ms", &StartupCost::baseline, kCostInfo);
    v(kIsMemory ? "candidate_bytes" : "candidate_ms", &StartupCost::candidate, kCostInfo);
    v("verdict", &StartupCost::verdict, {.meaning = "`faster`: the candidate needs less"});
    v.Flat(&StartupCost::estimate, {.or_null = true});
  }
};
using TimeCostJson = CostJson<false>;
using MemoryCostJson = CostJson<true>;

// Identifies an experiment.
struct NamedExperimentJson {
  const ReportExperiment& source;

  static constexpr const char* kSchemaName = "matrix_side";
  static void Describe(auto& v) {
    v("experiment",
      [](const NamedExperimentJson& json, const Report& report) { return json.source.Data(report).name; },
      {.meaning = "its name in the configuration"});
    v("label", &ReportExperiment::label, {.meaning = "its name in reports"});
    v("threads", &ReportExperiment::threads,
      {.meaning = "of the runner's thread pool; null: not known", .min = 1});
  }
};

struct MatrixJson {
  const Matrix& source;

  static constexpr const char* kSchemaName = "matrix";
  static void Describe(auto& v) {
    using J = const MatrixJson&;
    v("kind", [](J json) { return json.source.is_thread_sweep ? "threads" : "experiments"; },
      {.meaning = "`threads`: one experiment at several numbers of threads, the fewest being the baseline",
       .choices = "threads|experiments"});
    v("interleaved", &Matrix::interleaved, {.meaning = "false: drift cannot be told from an effect"});
    v("baseline",
      [](J json, const Report& report) {
        return NamedExperimentJson{report.experiments[json.source.baseline]};
      },
      {.meaning = "with which the candidates are compared"});
    v("candidates",
      [](J json, const Report& report) {
        return MapEach(json.source.candidates, [&](std::size_t candidate) {
          return NamedExperimentJson{report.experiments[candidate]};
        });
      },
      {.meaning = "of a thread sweep by rising threads"});
    v("latency", &Matrix::latency, {.meaning = "medians"});
    v("groups", &Matrix::groups, {.meaning = "mean self times of groups that take time anywhere"});
    v("operators", &Matrix::operators,
      {.meaning = "mean self times of the baseline's operators, by falling time"});
    v("load",
      [](J json) {
        return MapEach(json.source.costs, [](const StartupCosts& costs) { return TimeCostJson{costs.load}; });
      },
      {.meaning = "time to load, candidate by candidate"});
    v("peak_memory",
      [](J json) {
        return MapEach(json.source.costs,
                       [](const StartupCosts& costs) { return MemoryCostJson{costs.peak_memory}; });
      },
      {.meaning = "of a process, candidate by candidate"});
  }
};

// The operators of the two variants that a row compares.
struct OperatorPairJson {
  const Operator *baseline, *candidate;  // null: the variant has no such operator
  const OperatorMatch& match;

  static void Describe(auto& v) {
    using J = OperatorPairJson;
    // Reads a text of an operator; absent if there is none.
    const auto read = [](const Operator* J::*op, auto get_text) {
      return [=](const J& json) { return json.*op ? std::optional(get_text(*(json.*op))) : std::nullopt; };
    };
    const auto key = [](const Operator& op) { return KeyText(op.key); };
    const auto name = [](const Operator& op) { return op.name; };
    v("baseline_key", read(&J::baseline, key), {.meaning = "null: only the candidate has it"});
    v("candidate_key", read(&J::candidate, key), {.meaning = "null: only the baseline has it"});
    v("baseline_name", read(&J::baseline, name), {.meaning = "of the operator; null as `baseline_key`"});
    v("candidate_name", read(&J::candidate, name), {.meaning = "of the operator; null as `candidate_key`"});
    v("change",
      [](const J& json) { return json.match.change ? std::optional(json.match.change->kind) : std::nullopt; },
      {.meaning = "of the program, null: none, or not known"});
    v("change_text",
      [](const J& json) {
        return json.match.change ? std::optional(json.match.change->Text()) : std::nullopt;
      },
      {.meaning = "in words: \"+ layer1.2 Conv2d 64→64 3x3\""});
    v("match_evidence", [](const J& json) { return EvidenceNames(json.match.evidence); },
      {.meaning = "what the two operators have in common", .choices = kEvidenceChoices});
    v("match_score", [](const J& json) { return json.match.match_score; },
      {.meaning = "of what agrees, less what contradicts; 0 of an operator of one variant", .min = 0});
  }
};

struct OperatorDeltaJson {
  DeltaRow row;
  std::optional<OperatorPairJson> pair;  // absent for the row of truncated time

  static void Describe(auto& v) {
    v.Flat(&OperatorDeltaJson::row);
    v.Flat(&OperatorDeltaJson::pair, {.meaning = "the row \"Clipped\" has none"});
  }
};

struct SpeedupFactorsJson {
  const ReportComparison& pair;
  const SpeedupFactors& source;

  static constexpr const char* kSchemaName = "speedup_factors";
  static void Describe(auto& v) {
    v.Flat([](const SpeedupFactors& factors) -> const auto& { return factors; });
    v("text", [](const SpeedupFactorsJson& json) { return show::FactorsText(json.pair); },
      {.meaning = "the same in words"});
  }
};

struct ComparisonJson {
  const ReportComparison& pair;
  const Comparison& source = pair.comparison;

  std::vector<OperatorDeltaJson> Operators(const Report& report) const {
    std::vector<OperatorDeltaJson> rows;
    const auto find = [&](std::size_t experiment, const std::optional<std::size_t>& op) {
      return op ? &report.experiments[experiment].profile->operators[*op] : nullptr;
    };
    for (const OperatorMatch& match : source.operators) {
      const OperatorPairJson operators{find(pair.baseline, match.baseline),
                                       find(pair.candidate, match.candidate), match};
      const std::string& name =
          (operators.candidate != nullptr ? operators.candidate : operators.baseline)->name;
      rows.push_back({{name, match.baseline_total, match.candidate_total, match.time_comparison}, operators});
    }
    rows.push_back({{kClipped, source.baseline_clipped, source.candidate_clipped, {}}, std::nullopt});
    return rows;
  }

  static constexpr const char* kSchemaName = "comparison";
  static void Describe(auto& v) {
    using J = const ComparisonJson&;
    using P = ReportComparison;
    const auto pair = [](auto member) {
      return [member](J json) -> const auto& { return json.pair.*member; };
    };
    const auto experiment = [](std::size_t P::*member) {
      return [member](J json, const Report& report) {
        return report.experiments[json.pair.*member].Data(report).name;
      };
    };
    v("label", pair(&P::label), {.meaning = "of the pair, as configured", .or_null = true});
    v("baseline", &Comparison::baseline_label,
      {.meaning = "label of the variant that the other is compared with"});
    v("candidate", &Comparison::candidate_label,
      {.meaning = "label of the variant that is compared with the baseline"});
    v("baseline_experiment", experiment(&P::baseline), {.meaning = "its name in the configuration"});
    v("candidate_experiment", experiment(&P::candidate), {.meaning = "its name in the configuration"});
    v("pairing", &Comparison::pairing,
      {.meaning =
           "`launches`: interleaved; `unpaired`: measured apart, with usual drift; `none`: no interval"});
    v("launches", &Comparison::launches, {.meaning = "that the latency's estimate is from; 0: not paired"});
    v("rounds", &Comparison::rounds, {.meaning = "that count, over all launches"});
    v("half_width", pair(&P::half_width), {.meaning = "of the latency's interval, relative"});
    v("same_configuration", pair(&P::same_configuration), {.meaning = "an A/A pair"});
    v(
        "latency_from", [](J json) { return LatencySourceName(json.source.latency_from_trace); },
        kLatencySource);
    v("latency", &Comparison::latency, {.meaning = "of medians, with the headline's verdict"});
    v("baseline_runs", &Comparison::baseline_runs, {.meaning = "traced runs of its common set"});
    v("candidate_runs", &Comparison::candidate_runs, {.meaning = "traced runs of its common set"});
    v("delta_denominator", [](J json) { return json.source.baseline_runs * json.source.candidate_runs; },
      {.meaning = "of every delta_numerator_ns: baseline_runs times candidate_runs"});
    v.Object("whole", [](auto& object) { DescribeTotals<Comparison>(object); },
             {.meaning = "the delta_numerator_ns of the rows of each table add up to its, exactly"});
    v("groups", &Comparison::groups, {.meaning = "self times by kind of computation"});
    v("categories", &Comparison::categories, {.meaning = "self times by finer kind of computation"});
    v("layers", pair(&P::layers), {.meaning = "self times by module, with the modules in it"});
    v("by_source", pair(&P::by_source), {.meaning = "self times by line of the model"});
    v("by_delegate", pair(&P::by_delegate), {.meaning = "self times by delegate call"});
    v("operators", &ComparisonJson::Operators,
      {.meaning = "all of both variants, each once, and what was clipped"});
    v("outputs", pair(&P::outputs), {.meaning = "how the outputs of the two differ; null: not known"});
    v("release_effects", pair(&P::effects),
      {.meaning = "of two ExecuTorch releases whose exports differ: what the exporter and what the runtime "
                  "changes; null: it is none"});
    v("load", [](J json) { return TimeCostJson{json.pair.costs.load}; },
      {.meaning = "medians over launches; with an estimate (from five interleaved launches on), geometric "
                  "means over the launches in which both variants have a value"});
    v("first_run", [](J json) { return TimeCostJson{json.pair.costs.first_run}; },
      {.meaning = "of a process; as `load`"});
    v("peak_memory", [](J json) { return MemoryCostJson{json.pair.costs.peak_memory}; },
      {.meaning = "as `load`; without an estimate, the largest of any launch"});
    v("speedup_factors",
      [](J json) { return MakeOptionalView<SpeedupFactorsJson>(json.pair.factors, json.pair); },
      {.meaning = "ratio = peak_ratio x use_ratio, of the operators that the compute peak limits in both "
                  "variants"});
    v("warnings", &Comparison::warnings, {.meaning = "what makes the comparison less certain"});
  }
};

}  // namespace etprof
