#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "profile/analysis/operators.h"
#include "show/subjects/run/report_parts.h"
#include "show/wording.h"

namespace etprof::show {
namespace {

constexpr std::size_t kTopOperators = 5, kPageOperators = 15, kMaxChangedOperators = 10;
// Shares of the whole. A page always lists operators above kAlwaysListedShare, and never lists inconclusive
// differences below kMinListedShare.
constexpr double kAlwaysListedShare = 0.05, kMinListedShare = 0.001;

std::string RunsOn(const Operator& op) {
  return op.portable ? "portable" : op.backend.empty() ? "delegate" : op.backend;
}

Table MakeOperatorsTable(const ReportExperiment& experiment, const std::string& suffix) {
  const auto page_column = [](const char* id, const char* title, bool right, int drop_priority) {
    return Table::Column{.id = id,
                         .title = title,
                         .align_right = right,
                         .drop_priority = drop_priority,
                         .visibility = Visibility::kPage};
  };
  Table table{"report_operators",
              "Most expensive operators" + suffix,
              {NameColumn("operator", "Operator"), page_column("group", "group", false, 3),
               page_column("place", "runs on", false, 2), page_column("call", "call", true, 1),
               Right("mean", "self time"), Right("share", "% of total"), page_column("p50", "p50", true, 5),
               page_column("p99", "p99", true, 4), Right("cv", "CV")}};
  table.hidden_rows_hint = "in `--csv=operators`";
  const OperatorNames names(*experiment.profile);
  for (std::size_t i = 0; i < experiment.operators.size(); ++i) {
    const OperatorRow& operator_row = experiment.operators[i];
    const Operator& op = experiment.profile->operators[operator_row.op];
    Row& row = table.AddRow(
        op.name + names.Location(operator_row.op), std::string(OperatorGroupName(op.category.group)),
        RunsOn(op), op.call_index >= 0 ? Cell(Count{op.call_index}) : Cell(), Time{operator_row.mean_self_ns},
        Share{operator_row.share}, OptionalCell<Time>(operator_row.self.p50),
        operator_row.self.n >= stats::kMinValuesForP99 ? OptionalCell<Time>(operator_row.self.p99) : Cell(),
        OptionalCell<Share>(operator_row.self.cv));
    if (i >= kTopOperators) row.visibility = Visibility::kPage;
    if (i >= kPageOperators && operator_row.share < kAlwaysListedShare) row.visibility = Visibility::kFolded;
  }
  return table;
}

// The differences between the variants of a pair.
class PairChanges {
 public:
  PairChanges(const Report& report, const ReportComparison& pair)
      : report_(report),
        pair_(pair),
        comparison_(pair.comparison),
        baseline_names_(*report.experiments[pair.baseline].profile),
        candidate_names_(*report.experiments[pair.candidate].profile),
        changes_(SortByDecreasing(
            comparison_.operators, [&](const OperatorMatch& match) { return std::fabs(SavedTime(match)); },
            [](const OperatorMatch& match) { return match.baseline && match.candidate; })) {}

  Section MakeSection() {
    Section section{"", Visibility::kPage};
    const auto has_verdict = [](stats::Verdict verdict) {
      return [verdict](const OperatorMatch& match) { return match.time_comparison.verdict == verdict; };
    };
    section.AddUnlessEmpty(MakeChangedTable("Largest speedups", has_verdict(stats::Verdict::kFaster)));
    section.AddUnlessEmpty(MakeChangedTable("Largest slowdowns", has_verdict(stats::Verdict::kSlower)));
    const double min_saving =
        kMinListedShare * MeanPerRun(comparison_.baseline_total, comparison_.baseline_runs);
    section.AddUnlessEmpty(MakeChangedTable(
        report_.emulated ? "Largest differences (emulated CPU: not meaningful)"
                         : "Largest inconclusive differences",
        [&](const OperatorMatch& match) {
          const stats::Verdict verdict = match.time_comparison.verdict;
          return std::fabs(SavedTime(match)) >= min_saving &&
                 (verdict == stats::Verdict::kInconclusive || verdict == stats::Verdict::kEmulated);
        }));
    if (quotient_differs_) {
      section.AddText(
          fmt::format("Speedups are {} and can differ slightly from the ratio of the two means shown.",
                      comparison_.pairing == Pairing::kLaunches ? "geometric means of per-launch ratios"
                                                                : "ratios of the runs' medians"));
    }
    section.AddUnlessEmpty(MakeUnmatchedTable());
    section.AddUnlessEmpty(MakeAllOperatorsTable());
    return section;
  }

  // Operators that were inserted, removed, moved, or changed, by decreasing difference in time.
  Table MakeProgramChangesTable() const {
    Table table{"program_changes",
                "Changes of the program" + TitleSuffix(report_, pair_),
                {NameColumn("change", "Change"),
                 VariantColumn("baseline", comparison_.baseline_label).WithDropPriority(1),
                 VariantColumn("candidate", comparison_.candidate_label).WithDropPriority(1),
                 Right("delta", "difference")}};
    table.screen_rows = kTopOperators;
    table.hidden_rows_hint = "in `--csv=comparison`";
    const auto delta = [&](const OperatorMatch& match) { return CandidateTime(match) - BaselineTime(match); };
    const std::vector<const OperatorMatch*> changed = SortByDecreasing(
        comparison_.operators, [&](const OperatorMatch& match) { return std::fabs(delta(match)); },
        [](const OperatorMatch& match) { return match.change.has_value(); });
    for (const OperatorMatch* const match : changed) {
      table.AddRow(match->change->Text(), BaselineTimeCell(*match), CandidateTimeCell(*match),
                   Time{delta(*match)});
      if (table.rows.size() > kPageOperators) table.rows.back().visibility = Visibility::kFolded;
    }
    return table;
  }

 private:
  double BaselineTime(const OperatorMatch& match) const {
    return MeanPerRun(match.baseline_total, comparison_.baseline_runs);
  }
  double CandidateTime(const OperatorMatch& match) const {
    return MeanPerRun(match.candidate_total, comparison_.candidate_runs);
  }

  double SavedTime(const OperatorMatch& match) const { return BaselineTime(match) - CandidateTime(match); }
  // The times of the variants as cells; empty if the variant does not have the operator.
  Cell BaselineTimeCell(const OperatorMatch& match) const {
    return match.baseline ? Cell(Time{BaselineTime(match)}) : Cell("");
  }
  Cell CandidateTimeCell(const OperatorMatch& match) const {
    return match.candidate ? Cell(Time{CandidateTime(match)}) : Cell("");
  }

  Table MakeEmptyTable(const std::string& title) const {
    return {"changed_operators",
            title + TitleSuffix(report_, pair_),
            {NameColumn("operator", "Operator"), VariantColumn("baseline", comparison_.baseline_label),
             VariantColumn("candidate", comparison_.candidate_label), Right("saved").WithDropPriority(1),
             Right("speedup"), Left("interval", "95% CI").WithDropPriority(2)}};
  }

  // A row of a table with the columns of MakeEmptyTable.
  Row MakeRow(std::string name, const OperatorMatch& match) const {
    const bool is_matched = match.baseline && match.candidate;
    return {std::move(name),
            BaselineTimeCell(match),
            CandidateTimeCell(match),
            is_matched ? Cell(Time{SavedTime(match)}) : Cell(""),
            is_matched ? Cell(Speedup{match.time_comparison}) : Cell(""),
            is_matched ? Cell(Interval{match.time_comparison}) : Cell("")};
  }

  Table MakeChangedTable(const char* title, const auto& is_selected) {
    Table table = MakeEmptyTable(title);
    for (const OperatorMatch* const match : changes_) {
      if (table.rows.size() == kMaxChangedOperators || !is_selected(*match)) continue;
      // Note whether a printed speedup differs from the quotient of its two printed means.
      const std::string speedup = SpeedupOrDash(match->time_comparison);
      quotient_differs_ =
          quotient_differs_ ||
          (speedup.ends_with('x') && speedup != RatioText(BaselineTime(*match) / CandidateTime(*match)));
      const std::string baseline_name = baseline_names_.PlainName(*match->baseline),
                        candidate_name = candidate_names_.FullName(*match->candidate);
      const bool same_name = baseline_name == candidate_names_.PlainName(*match->candidate);
      table.rows.push_back(
          MakeRow(same_name ? candidate_name : baseline_name + " → " + candidate_name, *match));
    }
    return table;
  }

  Table MakeUnmatchedTable() const {
    Table table{"in_one_variant",
                "Operators present in only one variant" + TitleSuffix(report_, pair_),
                {NameColumn("operator", "Operator"), Left("variant", "only in"),
                 Left("layer").WithDropPriority(1).WithBeginningTruncated(), Right("mean", "self time")}};
    const std::vector<const OperatorMatch*> matches = SortByDecreasing(
        comparison_.operators, [&](const OperatorMatch& match) { return std::fabs(SavedTime(match)); },
        [](const OperatorMatch& match) { return match.baseline.has_value() != match.candidate.has_value(); });
    for (const OperatorMatch* const match : matches) {
      const bool in_baseline = match->baseline.has_value();
      const std::size_t op = in_baseline ? *match->baseline : *match->candidate;
      const Profile& profile = *report_.experiments[in_baseline ? pair_.baseline : pair_.candidate].profile;
      table.AddRow((in_baseline ? baseline_names_ : candidate_names_).FullName(op),
                   in_baseline ? comparison_.baseline_label : comparison_.candidate_label,
                   LayerName(profile, op).value_or(""), Time{std::fabs(SavedTime(*match))});
    }
    return table;
  }

  // All operators, including those of one variant. Pages show the tables above instead.
  Table MakeAllOperatorsTable() const {
    Table table = MakeEmptyTable("All operators");
    table.id = "compared_operators";
    table.hidden_rows_hint = "in `--csv=comparison`";
    const std::vector<const OperatorMatch*> matches = SortByDecreasing(
        comparison_.operators, [&](const OperatorMatch& match) { return std::fabs(SavedTime(match)); });
    for (const OperatorMatch* const match : matches) {
      Row row = MakeRow(match->candidate ? candidate_names_.FullName(*match->candidate)
                                         : baseline_names_.FullName(*match->baseline),
                        *match);
      row.visibility = Visibility::kFolded;
      table.rows.push_back(std::move(row));
    }
    return table;
  }

  const Report& report_;
  const ReportComparison& pair_;
  const Comparison& comparison_;
  OperatorNames baseline_names_, candidate_names_;
  std::vector<const OperatorMatch*> changes_;  // operators of both variants, by decreasing difference
  bool quotient_differs_ = false;
};

Table MakePlacesTable(const ReportExperiment& experiment, const std::string& suffix) {
  Table table{
      "places",
      "Delegated and portable" + suffix,
      {Left("place", "Place"), Right("spans"), Right("mean", "self time"), Right("share", "% of total")}};
  const Breakdown& places = experiment.places;
  for (const AdditiveRow& row : places.rows) {
    if (row.total == 0 && row.operators == 0) continue;
    table.AddRow(row.name, Count{row.operators}, Time{MeanPerRun(row.total, places.runs)},
                 ShareCell(row.total, places.total));
  }
  return table;
}

Table MakePortableTable(const ReportExperiment& experiment) {
  Table table{.id = "portable",
              .columns = {Left("operator", "Portable operator"), Left("category").WithDropPriority(1),
                          Left("module").WithDropPriority(3), Left("source", "line").WithDropPriority(4),
                          Right("mean", "self time"), Right("share", "% of total"),
                          Left("why", "why not delegated").WithDropPriority(2)}};
  table.hidden_rows_hint = "in `--csv=operators`";
  for (const OperatorRow& operator_row : experiment.operators) {
    const Profile& profile = *experiment.profile;
    const Operator& op = profile.operators[operator_row.op];
    if (!op.portable) continue;
    Row& row =
        table.AddRow(op.type, std::string(op.category.name), LayerName(profile, operator_row.op).value_or(""),
                     SourceLineName(profile, operator_row.op).value_or(""), Time{operator_row.mean_self_ns},
                     Share{operator_row.share},
                     profile.program ? profile.program->operators[operator_row.op].not_delegated_reason : "");
    if (table.rows.size() > kPageOperators) row.visibility = Visibility::kFolded;
  }
  return table;
}

}  // namespace

OperatorNames::OperatorNames(const Profile& profile) : profile_(profile) {
  for (std::size_t op = 0; op < profile.operators.size(); ++op) {
    ++count_by_name_[PlainName(op)];
    ++count_by_name_and_layer_[{PlainName(op), LayerName(profile, op).value_or("")}];
  }
}

std::string OperatorNames::PlainName(std::size_t op) const {
  const Operator& profiled = profile_.operators[op];
  return IsOperator(profiled) ? profiled.name : profiled.name + " (overhead)";
}

std::string OperatorNames::Location(std::size_t op) const {
  const std::string name = PlainName(op);
  if (count_by_name_.at(name) < 2) return "";
  const std::string layer = LayerName(profile_, op).value_or("");
  const int call = profile_.operators[op].call_index;
  std::string location = layer;
  if ((layer.empty() || count_by_name_and_layer_.at({name, layer}) > 1) && call >= 0)
    location += fmt::format("{}call {}", layer.empty() ? "" : ", ", call);
  return location.empty() ? "" : " (" + location + ")";
}

std::vector<Section> MakeOperatorSections(const Report& report) {
  std::vector<Section> sections;
  if (!report.ladder) {
    for (const ReportComparison& pair : report.comparisons) {
      if (HasTimes(report.experiments[pair.baseline]) && HasTimes(report.experiments[pair.candidate])) {
        PairChanges changes(report, pair);
        if (Table program_changes = changes.MakeProgramChangesTable(); !program_changes.rows.empty())
          sections.push_back({"", {std::move(program_changes)}});
        sections.push_back(changes.MakeSection());
      }
    }
  }
  for (const std::size_t i : FindSubjects(report)) {
    const ReportExperiment& experiment = report.experiments[i];
    if (experiment.operators.empty() || !HasTimes(experiment)) continue;
    // A screen shows operators by class of runs instead, if there are classes.
    const bool on_screen = IsOnlyShownExperiment(report, i) && experiment.run_classes.empty();
    Section section{"", on_screen ? Visibility::kDefault : Visibility::kPage};
    section.parts.emplace_back(MakeOperatorsTable(experiment, TitleSuffix(report, experiment)));
    section.AddText("\"call\" numbers the delegate and operator calls of an inference from 0.",
                    Visibility::kPage);
    if (!experiment.unknown_operators.empty()) {
      section.AddText(fmt::format("Not in the category table, counted as Other: {}.",
                                  fmt::join(experiment.unknown_operators, ", ")),
                      Visibility::kPage);
    }
    sections.push_back(std::move(section));
  }
  return sections;
}

std::vector<Section> MakePlaceSections(const Report& report) {
  std::vector<Section> sections;
  for (const std::size_t i : FindSubjects(report)) {
    const ReportExperiment& experiment = report.experiments[i];
    if (!HasTimes(experiment)) continue;
    Section section{"", Visibility::kPage, {MakePlacesTable(experiment, TitleSuffix(report, experiment))}};
    Table portable = MakePortableTable(experiment);
    if (portable.rows.empty()) {
      section.AddText("No operator runs outside a delegate.");
    } else {
      section.parts.emplace_back(std::move(portable));
      section.AddText("What XNNPACK takes instead of some of them: docs/guides/models.md#wrappers");
    }
    sections.push_back(std::move(section));
  }
  return sections;
}

}  // namespace etprof::show
