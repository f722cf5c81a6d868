#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "say/run/operator_names.h"
#include "say/run/report_parts.h"
#include "say/wording.h"

namespace etprof::say {
namespace {

constexpr std::size_t kTopOperators = 5, kPageOperators = 15, kMostChanged = 10;
// Of the whole. Operators above kAlwaysListed are on a page however many there are; inconclusive differences
// below kWorthListing are not.
constexpr double kAlwaysListed = 0.05, kWorthListing = 0.001;

std::string PlaceOf(const Operator& op) {
  return op.portable ? "portable" : op.backend.empty() ? "delegate" : op.backend;
}

Table OperatorsOf(const ReportExperiment& experiment, const std::string& suffix) {
  const auto page = [](const char* id, const char* title, bool right, int goes) {
    return Table::Column{.id = id, .title = title, .right = right, .goes = goes, .level = Level::kPage};
  };
  Table table{
      "report_operators",
      "Most expensive operators" + suffix,
      {Names("operator", "Operator"), page("group", "group", false, 3), page("place", "runs on", false, 2),
       page("call", "call", true, 1), Right("mean", "self time"), Right("share", "% of total"),
       page("p50", "p50", true, 5), page("p99", "p99", true, 4), Right("cv", "CV")}};
  table.elsewhere = "in `--csv=operators`";
  const OperatorNames names(*experiment.profile);
  for (std::size_t i = 0; i < experiment.operators.size(); ++i) {
    const OperatorRow& of = experiment.operators[i];
    const Operator& op = experiment.profile->operators[of.op];
    Row row{op.name + names.Where(of.op),
            std::string(GroupName(op.category.group)),
            PlaceOf(op),
            op.call_index >= 0 ? Cell(Count{op.call_index}) : Cell(),
            Time{of.mean_self},
            Share{of.share},
            Maybe<Time>(of.self.p50),
            of.self.n >= stats::kLeastForP99 ? Maybe<Time>(of.self.p99) : Cell(),
            Maybe<Share>(of.self.cv)};
    if (i >= kTopOperators) row.level = Level::kPage;
    if (i >= kPageOperators && of.share < kAlwaysListed) row.level = Level::kFolded;
    table.rows.push_back(std::move(row));
  }
  return table;
}

// What differs between the variants of a pair.
class ChangesOfPair {
 public:
  ChangesOfPair(const Report& report, const ReportComparison& pair)
      : report_(report),
        pair_(pair),
        comparison_(pair.comparison),
        before_(*report.experiments[pair.baseline].profile),
        after_(*report.experiments[pair.candidate].profile),
        changes_(Falling(
            comparison_.operators, [&](const OperatorMatch& match) { return std::fabs(Saved(match)); },
            [](const OperatorMatch& match) { return match.baseline && match.candidate; })) {}

  Section Say() {
    Section section{"", Level::kPage};
    const auto has = [](stats::Verdict verdict) {
      return [verdict](const OperatorMatch& of) { return of.quantity.verdict == verdict; };
    };
    section.AddUnlessEmpty(Changed("Largest speedups", has(stats::Verdict::kFaster)));
    section.AddUnlessEmpty(Changed("Largest slowdowns", has(stats::Verdict::kSlower)));
    const double least = kWorthListing * MeanOf(comparison_.baseline_total, comparison_.baseline_runs);
    section.AddUnlessEmpty(Changed(report_.emulated ? "Largest differences (emulated CPU: not meaningful)"
                                                    : "Largest inconclusive differences",
                                   [&](const OperatorMatch& of) {
                                     const stats::Verdict verdict = of.quantity.verdict;
                                     return std::fabs(Saved(of)) >= least &&
                                            (verdict == stats::Verdict::kInconclusive ||
                                             verdict == stats::Verdict::kEmulated);
                                   }));
    if (differs_) {
      section.parts.emplace_back(Paragraph{
          fmt::format("Speedups are {} and can differ slightly from the ratio of the two means shown.",
                      comparison_.pairing == Pairing::kLaunches ? "geometric means of per-launch ratios"
                                                                : "ratios of the runs' medians")});
    }
    section.AddUnlessEmpty(InOneVariant());
    section.AddUnlessEmpty(All());
    return section;
  }

 private:
  double Before(const OperatorMatch& match) const {
    return MeanOf(match.baseline_total, comparison_.baseline_runs);
  }
  double After(const OperatorMatch& match) const {
    return MeanOf(match.candidate_total, comparison_.candidate_runs);
  }

  double Saved(const OperatorMatch& match) const { return Before(match) - After(match); }
  // Of the variant that has the operator.
  Cell BeforeCell(const OperatorMatch& match) const {
    return match.baseline ? Cell(Time{Before(match)}) : Cell("");
  }
  Cell AfterCell(const OperatorMatch& match) const {
    return match.candidate ? Cell(Time{After(match)}) : Cell("");
  }

  Table Empty(const std::string& title) const {
    return {"changed_operators",
            title + TitleSuffix(report_, pair_),
            {Names("operator", "Operator"), VariantColumn("baseline", comparison_.baseline_label),
             VariantColumn("candidate", comparison_.candidate_label), Right("saved").Goes(1),
             Right("speedup"), Left("interval", "95% CI").Goes(2)}};
  }

  // Of a table with those columns.
  Row RowOf(std::string name, const OperatorMatch& match) const {
    const bool both = match.baseline && match.candidate;
    return {std::move(name),
            BeforeCell(match),
            AfterCell(match),
            both ? Cell(Time{Saved(match)}) : Cell(""),
            both ? Cell(Speedup{match.quantity}) : Cell(""),
            both ? Cell(Interval{match.quantity}) : Cell("")};
  }

  Table Changed(const char* title, const auto& keep) {
    Table table = Empty(title);
    for (const OperatorMatch* const match : changes_) {
      if (table.rows.size() == kMostChanged || !keep(*match)) continue;
      // The speedup as printed is not what a reader gets who divides the two means.
      const std::string speedup = GainText(match->quantity);
      differs_ = differs_ || (speedup.ends_with('x') && speedup != RatioText(Before(*match) / After(*match)));
      const std::string from = before_.Plain(*match->baseline), to = after_.Of(*match->candidate);
      const bool one_name = from == after_.Plain(*match->candidate);
      table.rows.push_back(RowOf(one_name ? to : from + " → " + to, *match));
    }
    return table;
  }

 public:
  // What was inserted, removed, moved, or changed, by the time that it makes.
  Table InProgram() const {
    Table table{
        "program_changes",
        "Changes of the program" + TitleSuffix(report_, pair_),
        {Names("change", "Change"), VariantColumn("baseline", comparison_.baseline_label).Goes(1),
         VariantColumn("candidate", comparison_.candidate_label).Goes(1), Right("delta", "difference")}};
    table.usual_rows = kTopOperators;
    table.elsewhere = "in `--csv=comparison`";
    const auto delta = [&](const OperatorMatch& match) { return After(match) - Before(match); };
    const std::vector<const OperatorMatch*> changed = Falling(
        comparison_.operators, [&](const OperatorMatch& match) { return std::fabs(delta(match)); },
        [](const OperatorMatch& match) { return match.change.has_value(); });
    for (const OperatorMatch* const match : changed) {
      table.rows.push_back(
          {match->change->Text(), BeforeCell(*match), AfterCell(*match), Time{delta(*match)}});
      if (table.rows.size() > kPageOperators) table.rows.back().level = Level::kFolded;
    }
    return table;
  }

 private:
  Table InOneVariant() const {
    Table table{"in_one_variant",
                "Operators present in only one variant" + TitleSuffix(report_, pair_),
                {Names("operator", "Operator"), Left("variant", "only in"),
                 Left("layer").Goes(1).Keeps(Table::Keep::kEnd), Right("mean", "self time")}};
    const std::vector<const OperatorMatch*> matches = Falling(
        comparison_.operators, [&](const OperatorMatch& match) { return std::fabs(Saved(match)); },
        [](const OperatorMatch& match) { return match.baseline.has_value() != match.candidate.has_value(); });
    for (const OperatorMatch* const match : matches) {
      const bool before = match->baseline.has_value();
      const std::size_t op = before ? *match->baseline : *match->candidate;
      const Profile& profile = *report_.experiments[before ? pair_.baseline : pair_.candidate].profile;
      table.rows.push_back({(before ? before_ : after_).Of(op),
                            before ? comparison_.baseline_label : comparison_.candidate_label,
                            LayerOf(profile, op).value_or(""), Time{std::fabs(Saved(*match))}});
    }
    return table;
  }

  // Those of one variant, too. A page has the tables above.
  Table All() const {
    Table table = Empty("All operators");
    table.id = "compared_operators";
    table.elsewhere = "in `--csv=comparison`";
    const std::vector<const OperatorMatch*> matches =
        Falling(comparison_.operators, [&](const OperatorMatch& match) { return std::fabs(Saved(match)); });
    for (const OperatorMatch* const match : matches) {
      Row row = RowOf(match->candidate ? after_.Of(*match->candidate) : before_.Of(*match->baseline), *match);
      row.level = Level::kFolded;
      table.rows.push_back(std::move(row));
    }
    return table;
  }

  const Report& report_;
  const ReportComparison& pair_;
  const Comparison& comparison_;
  OperatorNames before_, after_;
  std::vector<const OperatorMatch*> changes_;  // of both variants, by what they save or cost
  bool differs_ = false;
};

Table PlacesOf(const ReportExperiment& experiment, const std::string& suffix) {
  Table table{
      "places",
      "Delegated and portable" + suffix,
      {Left("place", "Place"), Right("spans"), Right("mean", "self time"), Right("share", "% of total")}};
  const Breakdown& places = experiment.places;
  for (const AdditiveRow& row : places.rows) {
    if (row.total == 0 && row.operators == 0) continue;
    const double share =
        places.total > 0 ? static_cast<double>(row.total) / static_cast<double>(places.total) : 0;
    table.rows.push_back(
        {row.name, Count{row.operators}, Time{MeanOf(row.total, places.runs)}, Share{share}});
  }
  return table;
}

Table PortableOf(const ReportExperiment& experiment) {
  Table table{.id = "portable",
              .columns = {Left("operator", "Portable operator"), Left("category").Goes(1),
                          Left("module").Goes(3), Left("source", "line").Goes(4), Right("mean", "self time"),
                          Right("share", "% of total"), Left("why", "why not delegated").Goes(2)}};
  table.elsewhere = "in `--csv=operators`";
  for (const OperatorRow& of : experiment.operators) {
    const Profile& profile = *experiment.profile;
    const Operator& op = profile.operators[of.op];
    if (!op.portable) continue;
    Row row{op.type,
            std::string(op.category.name),
            LayerOf(profile, of.op).value_or(""),
            SourceLineOf(profile, of.op).value_or(""),
            Time{of.mean_self},
            Share{of.share},
            profile.program ? profile.program->operators[of.op].why_not_delegated : ""};
    if (table.rows.size() >= kPageOperators) row.level = Level::kFolded;
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

std::vector<Section> SayOperators(const Report& report) {
  std::vector<Section> sections;
  if (!report.ladder) {
    for (const ReportComparison& pair : report.comparisons) {
      if (HasTimes(report.experiments[pair.baseline]) && HasTimes(report.experiments[pair.candidate])) {
        ChangesOfPair changes(report, pair);
        if (Table of_program = changes.InProgram(); !of_program.rows.empty())
          sections.push_back({"", Level::kUsual, {std::move(of_program)}});
        sections.push_back(changes.Say());
      }
    }
  }
  for (const std::size_t i : Subjects(report)) {
    const ReportExperiment& experiment = report.experiments[i];
    if (experiment.operators.empty() || !HasTimes(experiment)) continue;
    Section section{"", IsAlone(report, i) ? Level::kUsual : Level::kPage};
    section.parts.emplace_back(OperatorsOf(experiment, TitleSuffix(report, experiment)));
    section.parts.emplace_back(
        Paragraph{"\"call\" numbers the delegate and operator calls of an inference from 0.", Level::kPage});
    if (!experiment.unknown_operators.empty()) {
      section.parts.emplace_back(Paragraph{fmt::format("Not in the category table, counted as Other: {}.",
                                                       fmt::join(experiment.unknown_operators, ", ")),
                                           Level::kPage});
    }
    sections.push_back(std::move(section));
  }
  return sections;
}

std::vector<Section> SayPlaces(const Report& report) {
  std::vector<Section> sections;
  for (const std::size_t i : Subjects(report)) {
    const ReportExperiment& experiment = report.experiments[i];
    if (!HasTimes(experiment)) continue;
    Section section{"", Level::kPage, {PlacesOf(experiment, TitleSuffix(report, experiment))}};
    Table portable = PortableOf(experiment);
    if (portable.rows.empty()) {
      section.parts.emplace_back(Paragraph{"No operator runs outside a delegate."});
    } else {
      section.parts.emplace_back(std::move(portable));
      section.parts.emplace_back(
          Paragraph{"What XNNPACK takes instead of some of them: docs/guides/models.md#wrappers"});
    }
    sections.push_back(std::move(section));
  }
  return sections;
}

}  // namespace etprof::say
