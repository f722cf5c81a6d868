#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare/match_nodes.h"
#include "core/describe.h"
#include "core/views.h"
#include "report/ladder/matrix.h"
#include "report/report.h"
#include "say/report.h"

// Entries of "comparisons" and "matrices" of analysis_summary.json.
namespace etprof {

// What a process of a side costs beside its runs: time, or memory.
template <bool kOfMemory>
struct CostJson {
  const SideCost& cost;

  static constexpr const char* kSchemaName = kOfMemory ? "cost_bytes" : "cost_ms";
  static void Describe(auto& v) {
    using J = const CostJson&;
    constexpr About kSide{.least = 0, .scale = kOfMemory ? 1 : 1e6};
    v(kOfMemory ? "baseline_bytes" : "baseline_ms", [](J json) { return json.cost.baseline; }, kSide);
    v(kOfMemory ? "candidate_bytes" : "candidate_ms", [](J json) { return json.cost.candidate; }, kSide);
    v("verdict", [](J json) { return json.cost.verdict; });
    v.Flat([](J json) { return json.cost.estimate; }, {.or_null = true});
  }
};
using TimeCostJson = CostJson<false>;
using MemoryCostJson = CostJson<true>;

inline const std::string& NameOfExperiment(const Report& report, const ReportExperiment& experiment) {
  return report.run.experiments[experiment.index].name;
}

// Which experiment something is of.
struct NamedExperimentJson {
  const Report& report;
  const ReportExperiment& experiment;

  static constexpr const char* kSchemaName = "matrix_side";
  static void Describe(auto& v) {
    using J = const NamedExperimentJson&;
    v("experiment", [](J json) { return NameOfExperiment(json.report, json.experiment); });
    v("label", [](J json) { return json.experiment.label; });
    v("threads", [](J json) { return json.experiment.threads; }, {.least = 1});
  }
};

struct MatrixCellJson {
  const Report& report;
  const Matrix& matrix;
  const Quantity& quantity;
  std::size_t candidate;

  static void Describe(auto& v) {
    using J = const MatrixCellJson&;
    v.Flat([](J json) -> const auto& { return json.quantity; });
    v("efficiency",
      [](J json) -> std::optional<double> {
        if (!json.matrix.threads) return std::nullopt;
        return EfficiencyOf(json.quantity, json.report.experiments[json.matrix.baseline].threads,
                            json.report.experiments[json.candidate].threads);
      },
      {.meaning = "of a thread sweep: speed-up over the ratio of the threads", .least = 0});
  }
};

struct MatrixRowJson {
  const Report& report;
  const Matrix& matrix;
  const MatrixRow& row;

  static constexpr const char* kSchemaName = "matrix_row";
  static void Describe(auto& v) {
    using J = const MatrixRowJson&;
    v("name", [](J json) { return json.row.name; });
    v("key",
      [](J json) -> std::optional<std::string> {
        if (!json.row.op) return std::nullopt;
        return KeyText(json.report.experiments[json.matrix.baseline].profile->operators[*json.row.op].key);
      },
      {.meaning = "of an operator of the baseline"});
    v("against", [](J json) {
      std::vector<MatrixCellJson> cells;
      for (std::size_t i = 0; i < json.row.against.size(); ++i)
        cells.push_back({json.report, json.matrix, json.row.against[i], json.matrix.candidates[i]});
      return cells;
    });
  }
};

struct MatrixJson {
  const Report& report;
  const Matrix& matrix;

  std::vector<MatrixRowJson> Rows(const std::vector<MatrixRow>& of) const {
    return ViewsOf<MatrixRowJson>(of, report, matrix);
  }

  static constexpr const char* kSchemaName = "matrix";
  static void Describe(auto& v) {
    using J = const MatrixJson&;
    v("kind", [](J json) { return json.matrix.threads ? "threads" : "experiments"; },
      {.choices = "threads|experiments"});
    v("interleaved", [](J json) { return json.matrix.interleaved; },
      {.meaning = "false: drift cannot be told from an effect"});
    v("baseline",
      [](J json) { return NamedExperimentJson{json.report, json.report.experiments[json.matrix.baseline]}; });
    v("candidates", [](J json) {
      std::vector<NamedExperimentJson> sides;
      for (const std::size_t candidate : json.matrix.candidates)
        sides.push_back({json.report, json.report.experiments[candidate]});
      return sides;
    });
    v("latency", [](J json) { return MatrixRowJson{json.report, json.matrix, json.matrix.latency}; });
    v("groups", [](J json) { return json.Rows(json.matrix.groups); });
    v("operators", [](J json) { return json.Rows(json.matrix.operators); });
    v("load", [](J json) {
      std::vector<TimeCostJson> costs;
      for (const SideCosts& each : json.matrix.costs) costs.push_back({each.load});
      return costs;
    });
    v("peak_memory", [](J json) {
      std::vector<MemoryCostJson> costs;
      for (const SideCosts& each : json.matrix.costs) costs.push_back({each.peak_memory});
      return costs;
    });
  }
};

// Totals over each side's runs, and how they differ: candidate_total / candidate_runs - baseline_total /
// baseline_runs as one fraction, exactly.
struct TotalsJson {
  const Comparison& comparison;
  Nanoseconds baseline, candidate;

  static void Describe(auto& v) {
    using J = const TotalsJson&;
    constexpr About kAny{.least = kAnyNumber};
    v("baseline_total_ns", &TotalsJson::baseline, kAny);
    v("candidate_total_ns", &TotalsJson::candidate, kAny);
    v(
        "delta_numerator_ns",
        [](J json) {
          return json.candidate * json.comparison.baseline_runs -
                 json.baseline * json.comparison.candidate_runs;
        },
        kAny);
  }
};

struct DeltaJson {
  const std::string& name;
  TotalsJson totals;
  const Quantity& quantity;

  DeltaJson(const Comparison& comparison, const DeltaRow& row)
      : name(row.name), totals{comparison, row.baseline_total, row.candidate_total}, quantity(row.quantity) {}

  static constexpr const char* kSchemaName = "delta";
  static void Describe(auto& v) {
    using J = const DeltaJson&;
    v("name", [](J json) -> const auto& { return json.name; });
    v.Flat([](J json) -> const auto& { return json.totals; });
    v.Flat([](J json) -> const auto& { return json.quantity; });
  }
};

struct LayerDeltaJson {
  const Comparison& comparison;
  const LayerDelta& layer;

  static void Describe(auto& v) {
    using J = const LayerDeltaJson&;
    v.Flat([](J json) { return DeltaJson(json.comparison, json.layer.row); });
    v("depth", [](J json) { return json.layer.depth; });
    v("type", [](J json) { return json.layer.type; }, {.or_null = true});
  }
};

// Which operators of the two sides a row is of.
struct OperatorPairJson {
  const Operator *baseline, *candidate;  // null: the side has none
  const OperatorMatch& match;

  static void Describe(auto& v) {
    using J = const OperatorPairJson&;
    const auto key = [](const Operator* op) {
      return op != nullptr ? std::optional(KeyText(op->key)) : std::nullopt;
    };
    const auto name = [](const Operator* op) {
      return op != nullptr ? std::optional(op->name) : std::nullopt;
    };
    v("baseline_key", [key](J json) { return key(json.baseline); });
    v("candidate_key", [key](J json) { return key(json.candidate); });
    v("baseline_name", [name](J json) { return name(json.baseline); });
    v("candidate_name", [name](J json) { return name(json.candidate); });
    v("change",
      [](J json) { return json.match.change ? std::optional(json.match.change->kind) : std::nullopt; },
      {.meaning = "of the program, null: none, or not known"});
    v("change_text",
      [](J json) { return json.match.change ? std::optional(json.match.change->Text()) : std::nullopt; },
      {.meaning = "in words: \"+ layer1.2 Conv2d 64→64 3x3\""});
    v("match_evidence", [](J json) { return EvidenceNames(json.match.evidence); },
      {.meaning = "what the two operators have in common", .choices = kEvidenceChoices});
    v("match_score", [](J json) { return json.match.match_score; },
      {.meaning = "of what agrees, less what contradicts; 0 of an operator of one variant", .least = 0});
  }
};

struct OperatorDeltaJson {
  const Comparison& comparison;
  DeltaRow row;
  std::optional<OperatorPairJson> pair;  // absent of "Clipped"

  static void Describe(auto& v) {
    using J = const OperatorDeltaJson&;
    v.Flat([](J json) { return DeltaJson(json.comparison, json.row); });
    v.Flat(&OperatorDeltaJson::pair, {.meaning = "the row \"Clipped\" has none"});
  }
};

struct ComparisonJson {
  const Report& report;
  const ReportComparison& pair;

  const Comparison& Of() const { return pair.comparison; }
  const ReportExperiment& Baseline() const { return report.experiments[pair.baseline]; }
  const ReportExperiment& Candidate() const { return report.experiments[pair.candidate]; }
  std::vector<DeltaJson> Rows(const std::vector<DeltaRow>& of) const;
  std::vector<OperatorDeltaJson> Operators() const;

  static constexpr const char* kSchemaName = "comparison";
  static void Describe(auto& v) {
    using J = const ComparisonJson&;
    v("label", [](J json) { return json.pair.label; }, {.or_null = true});
    v("baseline", [](J json) { return json.Of().baseline_label; });
    v("candidate", [](J json) { return json.Of().candidate_label; });
    v("baseline_experiment", [](J json) { return NameOfExperiment(json.report, json.Baseline()); });
    v("candidate_experiment", [](J json) { return NameOfExperiment(json.report, json.Candidate()); });
    v("pairing", [](J json) { return json.Of().pairing; });
    v("launches", [](J json) { return json.Of().launches; });
    v("rounds", [](J json) { return json.Of().rounds; });
    v("half_width", [](J json) { return json.pair.half_width; });
    v("same_configuration", [](J json) { return json.pair.same_configuration; });
    v("latency_from", [](J json) { return LatencyFrom(json.Of().latency_from_trace); }, kLatencyFrom);
    v("latency", [](J json) -> const auto& { return json.Of().latency; });
    v("baseline_runs", [](J json) { return json.Of().baseline_runs; });
    v("candidate_runs", [](J json) { return json.Of().candidate_runs; });
    v("delta_denominator", [](J json) { return json.Of().baseline_runs * json.Of().candidate_runs; });
    v("whole",
      [](J json) { return TotalsJson{json.Of(), json.Of().baseline_total, json.Of().candidate_total}; },
      {.meaning = "the delta_numerator_ns of the rows of each table add up to its, exactly"});
    v("groups", [](J json) { return json.Rows(json.Of().groups); });
    v("categories", [](J json) { return json.Rows(json.Of().categories); });
    v("layers", [](J json) { return ViewsOf<LayerDeltaJson>(json.pair.layers, json.Of()); });
    v("by_source", [](J json) { return json.Rows(json.pair.by_source); });
    v("by_delegate", [](J json) { return json.Rows(json.pair.by_delegate); });
    v("operators", &ComparisonJson::Operators);
    v("outputs", [](J json) { return json.pair.outputs; });
    v("load", [](J json) { return TimeCostJson{json.pair.costs.load}; });
    v("first_run", [](J json) { return TimeCostJson{json.pair.costs.first_run}; });
    v("peak_memory", [](J json) { return MemoryCostJson{json.pair.costs.peak_memory}; });
    v("speedup_factors",
      [](J json) -> std::optional<FactorsJson> {
        if (!json.pair.factors) return std::nullopt;
        return FactorsJson{json.pair};
      },
      {.meaning = "ratio = peak_ratio x use_ratio, of the operators that the compute peak limits in both "
                  "variants"});
    v("warnings", [](J json) { return json.Of().warnings; });
  }

 private:
  struct FactorsJson {
    const ReportComparison& pair;

    static constexpr const char* kSchemaName = "speedup_factors";
    static void Describe(auto& v) {
      v.Flat([](const FactorsJson& json) -> const auto& { return *json.pair.factors; });
      v("text", [](const FactorsJson& json) { return say::FactorsText(json.pair); });
    }
  };
};

}  // namespace etprof
