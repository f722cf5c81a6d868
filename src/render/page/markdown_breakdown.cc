#include "render/page/markdown_breakdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "analysis/operators.h"
#include "render/page/markdown_text.h"
#include "say/operator_names.h"
#include "say/wording.h"

namespace etprof {
namespace {

using namespace markdown;

constexpr std::size_t kCostliest = 15;
constexpr std::size_t kChanged = 10;
constexpr double kWorthListing =
    0.001;  // of the whole: differences below this are left out where nothing is sure
constexpr double kAlwaysListed = 0.05;  // operators above this share are listed however many there are

// The scale of a table whose rows must add up.
TimeScale ScaleOf(const ReportExperiment& before, const ReportExperiment* after) {
  const double first = before.latency.p50.value_or(0);
  const double second = after != nullptr ? after->latency.p50.value_or(0) : first;
  return ScaleFor(std::min(first, second), std::max(first, second));
}

// The rows of a breakdown, closed with the row that leads to the headline median: what is printed adds up
// to it.
std::vector<double> MeansOf(const Breakdown& breakdown, const ReportExperiment& experiment) {
  std::vector<double> means;
  for (const AdditiveRow& row : breakdown.rows)
    means.push_back(static_cast<double>(row.total) / static_cast<double>(breakdown.runs));
  means.push_back(experiment.tracer.value_or(0));
  return means;
}

std::string ShareText(Nanoseconds part, Nanoseconds whole) {
  return whole > 0 ? PercentText(static_cast<double>(part) / static_cast<double>(whole)) : kUndefined;
}

std::string TableNote(const ReportExperiment& before, const ReportExperiment* after) {
  std::string runs = std::to_string(before.common_runs);
  if (after != nullptr) runs += " and " + std::to_string(after->common_runs);
  const ReportExperiment& subject = after != nullptr ? *after : before;
  return fmt::format(
      "Means over {} traced steady runs within Tukey's fences. \"{}\" leads from their mean to the median "
      "latency; "
      "every column adds up as printed. \"—\": the measurement cannot tell.",
      runs, TracerRowName(subject));
}

void FineCategories(const Comparison& comparison, markdown::Out& out) {
  Table table = MakeTable({{"category", Align::kLeft},
                           {"before", Align::kRight},
                           {"after", Align::kRight},
                           {"gain", Align::kRight},
                           {"interval", Align::kLeft}});
  const auto before = [&](const DeltaRow& row) {
    return MeanOf(row.baseline_total, comparison.baseline_runs);
  };
  const auto after = [&](const DeltaRow& row) {
    return MeanOf(row.candidate_total, comparison.candidate_runs);
  };
  double largest = 0;
  for (const DeltaRow& row : comparison.categories) largest = std::max({largest, before(row), after(row)});
  const Times time(largest);
  for (const DeltaRow& row : comparison.categories) {
    if (row.baseline_total == 0 && row.candidate_total == 0) continue;
    table.AddRow(
        {row.name, time(before(row)), time(after(row)), GainText(row.quantity), IntervalText(row.quantity)});
  }
  out << "<details><summary>Fine categories</summary>\n\n" << table << "\n</details>\n\n";
}

// Whether the gain as printed is not what a reader gets who divides the two means.
bool IsNoQuotient(const Quantity& quantity, double before, double after) {
  const bool ratio =
      quantity.verdict == stats::Verdict::kFaster || quantity.verdict == stats::Verdict::kSlower;
  return ratio && quantity.estimate && RatioText(quantity.estimate->ratio()) != RatioText(before / after);
}

// Gained and lost are verdicts; a difference that the measurement cannot vouch for is listed as such.
void Changed(const Report& report, const ReportComparison& pair, markdown::Out& out) {
  const ReportExperiment& before = report.experiments[pair.baseline];
  const ReportExperiment& after = report.experiments[pair.candidate];
  const Comparison& comparison = pair.comparison;
  struct Change {
    const OperatorMatch* match;
    double before, after;  // mean self times
    double saved() const { return before - after; }
  };
  std::vector<Change> changes;
  for (const OperatorMatch& match : comparison.operators) {
    if (!match.baseline || !match.candidate) continue;
    changes.push_back({&match, MeanOf(match.baseline_total, comparison.baseline_runs),
                       MeanOf(match.candidate_total, comparison.candidate_runs)});
  }
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::fabs(a.saved()) > std::fabs(b.saved());
  });
  const double whole = MeanOf(comparison.baseline_total, comparison.baseline_runs);
  const OperatorNames names_before(*before.profile), names_after(*after.profile);
  bool differs = false;
  const auto list = [&](const char* title, const auto& keep) {
    std::vector<Change> kept;
    double largest = 0;
    for (const Change& change : changes) {
      if (kept.size() == kChanged) break;
      if (!keep(change)) continue;
      kept.push_back(change);
      largest = std::max({largest, change.before, change.after});
    }
    const Times time(largest);
    Table table = MakeTable({{"operator", Align::kLeft},
                             {"before", Align::kRight},
                             {"after", Align::kRight},
                             {"saved", Align::kRight},
                             {"gain", Align::kRight},
                             {"interval", Align::kLeft}});
    for (const Change& change : kept) {
      const Quantity& quantity = change.match->quantity;
      const std::string from = names_before.Plain(*change.match->baseline);
      const std::string to = names_after.Of(*change.match->candidate);
      const bool one_name = from == names_after.Plain(*change.match->candidate);
      differs = differs || IsNoQuotient(quantity, change.before, change.after);
      table.AddRow({one_name ? to : from + " → " + to, time(change.before), time(change.after),
                    time(change.saved()), GainText(quantity), IntervalText(quantity)});
    }
    if (!table.rows.empty()) out << "### " << title << "\n\n" << table << '\n';
  };
  const auto has_verdict = [](stats::Verdict verdict) {
    return [verdict](const Change& change) { return change.match->quantity.verdict == verdict; };
  };
  list("What gained most", has_verdict(stats::Verdict::kFaster));
  list("What lost most", has_verdict(stats::Verdict::kSlower));
  list(report.emulated ? "Largest differences (emulated: they mean nothing)"
                       : "Largest differences that this measurement cannot vouch for",
       [&](const Change& change) {
         const stats::Verdict verdict = change.match->quantity.verdict;
         const bool undecided =
             verdict == stats::Verdict::kInconclusive || verdict == stats::Verdict::kEmulated;
         return undecided && std::fabs(change.saved()) >= kWorthListing * whole;
       });
  if (!differs) return;
  out << (comparison.pairing == Pairing::kLaunches ? "A gain is the geometric mean of the launches' ratios"
                                                   : "A gain is the ratio of the runs' medians")
      << ", so it is not exactly the quotient of the two means beside it.\n\n";
}

void OnlyOnOneSide(const Report& report, const ReportComparison& pair, markdown::Out& out) {
  const ReportExperiment& before = report.experiments[pair.baseline];
  const ReportExperiment& after = report.experiments[pair.candidate];
  const Comparison& comparison = pair.comparison;
  Table table =
      MakeTable({{"operator", Align::kLeft}, {"only in", Align::kLeft}, {"mean self time", Align::kRight}});
  const OperatorNames names_before(*before.profile), names_after(*after.profile);
  const auto mean = [&](const OperatorMatch& match) {
    return match.baseline ? MeanOf(match.baseline_total, comparison.baseline_runs)
                          : MeanOf(match.candidate_total, comparison.candidate_runs);
  };
  const auto one_side = [](const OperatorMatch& match) {
    return match.baseline.has_value() != match.candidate.has_value();
  };
  double largest = 0;
  for (const OperatorMatch& match : comparison.operators) {
    if (one_side(match)) largest = std::max(largest, mean(match));
  }
  const Times time(largest);
  for (const OperatorMatch& match : comparison.operators) {
    if (!one_side(match)) continue;
    table.AddRow({match.baseline ? names_before.Of(*match.baseline) : names_after.Of(*match.candidate),
                  match.baseline ? comparison.baseline_label : comparison.candidate_label,
                  time(mean(match))});
  }
  if (!table.rows.empty()) out << "### Operators of one side only\n\n" << table << '\n';
}

}  // namespace

bool RenderPairGroups(const Report& report, const ReportComparison& pair, markdown::Out& out) {
  const ReportExperiment& before = report.experiments[pair.baseline];
  const ReportExperiment& after = report.experiments[pair.candidate];
  if (before.common_runs == 0 || after.common_runs == 0) return false;
  const Comparison& comparison = pair.comparison;
  const TimeScale scale = ScaleOf(before, &after);
  const std::vector<std::string> first = AddingUp(MeansOf(before.groups, before), scale);
  const std::vector<std::string> second = AddingUp(MeansOf(after.groups, after), scale);
  Table table = MakeTable({{"mean self time", Align::kLeft},
                           {"before", Align::kRight},
                           {"share", Align::kRight},
                           {"after", Align::kRight},
                           {"share", Align::kRight},
                           {"gain", Align::kRight},
                           {"interval", Align::kLeft},
                           {"saved", Align::kRight}});
  const auto unit = [&](const std::string& number) { return number + ' ' + scale.unit; };
  for (std::size_t i = 0; i < before.groups.rows.size(); ++i) {
    const AdditiveRow& a = before.groups.rows[i];
    const AdditiveRow& b = after.groups.rows[i];
    if (a.total == 0 && b.total == 0) continue;
    const Quantity quantity = i < comparison.groups.size() ? comparison.groups[i].quantity : Quantity{};
    const double saved = static_cast<double>(a.total) / static_cast<double>(before.groups.runs) -
                         static_cast<double>(b.total) / static_cast<double>(after.groups.runs);
    table.AddRow({a.name, unit(first[i]), ShareText(a.total, before.groups.total), unit(second[i]),
                  ShareText(b.total, after.groups.total), GainText(quantity), IntervalText(quantity),
                  unit(scale.Number(saved))});
  }
  if (before.tracer && after.tracer) {
    table.AddRow({TracerRowName(after), unit(first.back()), "", unit(second.back()), "", "", "", ""});
  }
  table.AddRow({"Median latency", scale.Text(before.latency.p50), "", scale.Text(after.latency.p50), "",
                GainText(comparison.latency), IntervalText(comparison.latency), ""});
  out << table << '\n' << TableNote(before, &after) << "\n\n";
  return true;
}

void RenderPairTables(const Report& report, const ReportComparison& pair, markdown::Out& out) {
  const Comparison& comparison = pair.comparison;
  std::ostringstream written;
  markdown::Out groups(written);
  if (!RenderPairGroups(report, pair, groups)) return;
  out << "## Where the time goes: " << comparison.baseline_label << " and " << comparison.candidate_label
      << "\n\n";
  out.Written(written.str());
  FineCategories(comparison, out);
  Changed(report, pair, out);
  OnlyOnOneSide(report, pair, out);
}

void RenderExperimentTables(const Report& report, const ReportExperiment& experiment, markdown::Out& out) {
  if (experiment.common_runs == 0) return;
  out << "## Where the time goes" << (report.experiments.size() > 1 ? ": " + experiment.label : "") << "\n\n";
  const TimeScale scale = ScaleOf(experiment, nullptr);
  for (const Breakdown* breakdown : {&experiment.groups, &experiment.categories}) {
    const std::vector<std::string> texts = AddingUp(MeansOf(*breakdown, experiment), scale);
    Table table = MakeTable({{breakdown == &experiment.groups ? "mean self time" : "category", Align::kLeft},
                             {"operators", Align::kRight},
                             {"time", Align::kRight},
                             {"share", Align::kRight}});
    for (std::size_t i = 0; i < breakdown->rows.size(); ++i) {
      const AdditiveRow& row = breakdown->rows[i];
      if (row.total == 0) continue;
      table.AddRow({row.name, row.operators > 0 ? std::to_string(row.operators) : "",
                    texts[i] + ' ' + scale.unit, ShareText(row.total, breakdown->total)});
    }
    if (experiment.tracer) table.AddRow({TracerRowName(experiment), "", texts.back() + ' ' + scale.unit, ""});
    table.AddRow({"Median latency", "", scale.Text(experiment.latency.p50), ""});
    if (breakdown == &experiment.categories) {
      out << "<details><summary>Fine categories</summary>\n\n" << table << "\n</details>\n\n";
    } else {
      out << table << '\n' << TableNote(experiment, nullptr) << "\n\n";
    }
  }
}

void RenderCostliest(const ReportExperiment& experiment, bool titled, markdown::Out& out) {
  if (experiment.operators.empty() || experiment.common_runs == 0) return;
  out << "## What costs most" << (titled ? ": " + experiment.label : "") << "\n\n";
  Table table = MakeTable({{"operator", Align::kLeft},
                           {"group", Align::kLeft},
                           {"runs on", Align::kLeft},
                           {"call", Align::kRight},
                           {"mean self time", Align::kRight},
                           {"share", Align::kRight},
                           {"p50", Align::kRight},
                           {"p99", Align::kRight},
                           {"CV", Align::kRight}});
  const OperatorNames names(*experiment.profile);
  const Times time(experiment.operators.front().mean_self);  // they stand by falling time
  for (const OperatorRow& row : experiment.operators) {
    if (table.rows.size() >= kCostliest && row.share < kAlwaysListed) break;
    const Operator& op = experiment.profile->operators[row.op];
    table.AddRow({op.name + names.Where(row.op), std::string(GroupName(op.category.group)),
                  op.portable          ? "portable"
                  : op.backend.empty() ? "delegate"
                                       : op.backend,
                  op.call_index >= 0 ? std::to_string(op.call_index) : kUndefined, time(row.mean_self),
                  PercentText(row.share), time(row.self.p50),
                  row.self.n >= 100 ? time(row.self.p99) : kUndefined,
                  row.self.cv ? PercentText(*row.self.cv) : kUndefined});
  }
  out << table << '\n';
  if (table.rows.size() < experiment.operators.size()) {
    out.Format("The first {} of {} operators; the statistics' CSV file has them all. ", table.rows.size(),
               experiment.operators.size());
  }
  out << "\"call\" numbers the delegate and operator calls of an inference from 0.\n\n";
  if (!experiment.unknown_operators.empty()) {
    out << "Not in the category table, counted as Other:";
    for (const std::string& type : experiment.unknown_operators)
      out << (type == experiment.unknown_operators.front() ? " " : ", ") << type;
    out << ".\n\n";
  }
}

void RenderPlaces(const ReportExperiment& experiment, bool titled, markdown::Out& out) {
  if (experiment.common_runs == 0) return;
  out << "## Delegated and portable" << (titled ? ": " + experiment.label : "") << "\n\n";
  Table table = MakeTable({{"place", Align::kLeft},
                           {"spans", Align::kRight},
                           {"mean self time", Align::kRight},
                           {"share", Align::kRight}});
  const auto mean = [&](const AdditiveRow& row) { return MeanOf(row.total, experiment.places.runs); };
  double largest = 0;
  for (const AdditiveRow& row : experiment.places.rows) largest = std::max(largest, mean(row));
  const Times time(largest);
  for (const AdditiveRow& row : experiment.places.rows) {
    if (row.total == 0 && row.operators == 0) continue;
    table.AddRow({row.name, std::to_string(row.operators), time(mean(row)),
                  ShareText(row.total, experiment.places.total)});
  }
  out << table << '\n';
  Table portable = MakeTable({{"portable operator", Align::kLeft},
                              {"category", Align::kLeft},
                              {"mean self time", Align::kRight},
                              {"share", Align::kRight}});
  std::optional<OperatorNames> names;
  if (!experiment.operators.empty()) names.emplace(*experiment.profile);
  std::optional<Times> portable_time;  // by falling time: the first has the largest
  for (const OperatorRow& row : experiment.operators) {
    const Operator& op = experiment.profile->operators[row.op];
    if (!op.portable || portable.rows.size() == kCostliest) continue;
    if (!portable_time) portable_time.emplace(row.mean_self);
    portable.AddRow({op.type + names->Where(row.op), std::string(op.category.name),
                     (*portable_time)(row.mean_self), PercentText(row.share)});
  }
  if (!portable.rows.empty()) {
    out << portable << '\n';
    if (experiment.portable_kernels > static_cast<std::int64_t>(portable.rows.size())) {
      out.Format("The costliest {} of {}.\n\n", portable.rows.size(), experiment.portable_kernels);
    }
  } else {
    out << "No operator runs outside a delegate.\n\n";
  }
}

}  // namespace etprof
