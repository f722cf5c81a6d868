#include <fmt/format.h>

#include <algorithm>

#include "show/subjects/run/report_parts.h"
#include "show/wording.h"

namespace etprof::show {
namespace {

constexpr double kMinRowShare = 0.005;  // share of the whole below which rows are folded
constexpr std::size_t kMaxRows = 60;
constexpr int kTypeColumns = 20;

// The subject of a breakdown: an experiment, or the candidate of a pair.
struct BreakdownSubject {
  const ReportExperiment* candidate = nullptr;
  const ReportExperiment* baseline = nullptr;
  const ReportComparison* pair = nullptr;
  std::string label;
};

// A row of a breakdown: totals over the runs of each variant. For a single experiment, only the candidate's
// totals are set.
struct ModelPart {
  std::string name, type = {};
  int depth = 0;
  Nanoseconds baseline = 0, candidate = 0;
  Nanoseconds baseline_self = 0, self = 0;  // for a module: time outside of its submodules
  std::size_t operators = 0;
  TimeComparison time_comparison = {};
};
using ModelParts = std::vector<ModelPart>;

// The texts and the data of a kind of breakdown.
struct BreakdownInfo {
  const char *name, *title, *column, *table;  // `table`: name for --csv
  // Members with the breakdown of an experiment and of a pair; null: derived from layers, or from the tables
  // that every comparison has.
  Breakdown ReportExperiment::*breakdown;
  std::vector<DeltaRow> ReportComparison::*deltas;
};
constexpr BreakdownInfo kBreakdownInfos[] = {
    {"layer", "By layer", "module", "layers", nullptr, nullptr},
    {"source", "By line of the model", "line", "sources", &ReportExperiment::by_source,
     &ReportComparison::by_source},
    {"delegate", "By delegate", "runs in", "delegates", &ReportExperiment::by_delegate,
     &ReportComparison::by_delegate},
    {"kernel", "By kernel", "kernel", "operators", &ReportExperiment::by_kernel,
     &ReportComparison::by_kernel},
    {"category", "By category", "category", "categories", &ReportExperiment::categories, nullptr}};
const BreakdownInfo& GetBreakdownInfo(BreakdownBy by) {
  return kBreakdownInfos[static_cast<std::size_t>(by)];
}

std::string ShortType(const std::string& type) { return type.substr(type.find_last_of('.') + 1); }

// The name of a module relative to its parent: "0.block" for "features.0.block" in "features".
std::string RelativeModuleName(const std::string& path, const std::string& parent) {
  if (path.empty()) return "(model)";
  if (!parent.empty() && path.starts_with(parent + ".")) return path.substr(parent.size() + 1);
  return path;
}

// Adds rows for the time outside of the named parts: overheads, unattributed time, and truncated time.
void AddTimeOutside(const BreakdownSubject& subject, Breakdown ReportExperiment::*breakdown,
                    ModelParts& parts) {
  const auto named = static_cast<std::ptrdiff_t>(parts.size());
  for (const ReportExperiment* const variant : {subject.baseline, subject.candidate}) {
    if (variant == nullptr) continue;
    for (const AdditiveRow& row : (variant->*breakdown).rows) {
      if ((row.name != kNotAttributed && !row.IsOutsideOperators()) || row.total == 0) continue;
      auto found = std::ranges::find(parts.begin() + named, parts.end(), row.name, &ModelPart::name);
      if (found == parts.end()) {
        parts.push_back({.name = row.name, .operators = static_cast<std::size_t>(row.operators)});
        found = parts.end() - 1;
      }
      (variant == subject.candidate ? found->candidate : found->baseline) += row.total;
    }
  }
}

ModelParts MakeLayerParts(const BreakdownSubject& subject) {
  ModelParts parts;
  if (subject.pair == nullptr) {
    for (const LayerRow& layer : subject.candidate->layers) {
      const std::string& parent = subject.candidate->layers[layer.parent].path;
      parts.push_back({.name = RelativeModuleName(layer.path, layer.depth == 0 ? "" : parent),
                       .type = ShortType(layer.type),
                       .depth = layer.depth,
                       .candidate = layer.total,
                       .self = layer.self,
                       .operators = layer.operators.size()});
    }
  } else {
    std::vector<std::string> parents;  // indexed by depth
    for (const LayerDelta& layer : subject.pair->layers) {
      parents.resize(static_cast<std::size_t>(layer.depth) + 1);
      parents.back() = layer.row.name;
      const auto self_time = [&](const ReportExperiment& variant) {
        const auto found = std::ranges::find(variant.layers, layer.row.name, &LayerRow::path);
        return found == variant.layers.end() ? 0 : found->self;
      };
      parts.push_back(
          {.name = RelativeModuleName(layer.row.name, layer.depth == 0 ? "" : parents[parents.size() - 2]),
           .type = ShortType(layer.type),
           .depth = layer.depth,
           .baseline = layer.row.baseline_total,
           .candidate = layer.row.candidate_total,
           .baseline_self = self_time(*subject.baseline),
           .self = self_time(*subject.candidate),
           .time_comparison = layer.row.time_comparison});
    }
  }
  AddTimeOutside(subject, &ReportExperiment::by_layer, parts);
  return parts;
}

ModelParts MakeFlatParts(const BreakdownSubject& subject, BreakdownBy by) {
  ModelParts parts;
  if (subject.pair == nullptr) {
    for (const AdditiveRow& row : (subject.candidate->*GetBreakdownInfo(by).breakdown).rows) {
      parts.push_back({.name = row.name.empty() ? "(model)" : row.name,
                       .candidate = row.total,
                       .operators = static_cast<std::size_t>(row.operators)});
    }
  } else {
    const auto deltas = GetBreakdownInfo(by).deltas;
    for (const DeltaRow& row :
         deltas != nullptr ? subject.pair->*deltas : subject.pair->comparison.categories) {
      parts.push_back({.name = row.name,
                       .baseline = row.baseline_total,
                       .candidate = row.candidate_total,
                       .time_comparison = row.time_comparison});
    }
    if (deltas != nullptr) AddTimeOutside(subject, GetBreakdownInfo(by).breakdown, parts);
  }
  std::erase_if(parts, [](const ModelPart& part) { return part.baseline == 0 && part.candidate == 0; });
  std::ranges::stable_sort(parts, std::ranges::greater(), &ModelPart::candidate);
  return parts;
}

std::vector<BreakdownSubject> FindBreakdownSubjects(const Report& report) {
  std::vector<BreakdownSubject> subjects;
  const auto add = [&](BreakdownSubject subject) {
    if (subject.candidate->common_runs > 0 &&
        (subject.baseline == nullptr || subject.baseline->common_runs > 0))
      subjects.push_back(std::move(subject));
  };
  const auto add_experiment = [&](const ReportExperiment& experiment) {
    add({&experiment, nullptr, nullptr, experiment.label});
  };
  if (report.ladder) {
    for (const std::size_t i : FindSubjects(report)) add_experiment(report.experiments[i]);
    return subjects;
  }
  for (const ReportComparison& pair : report.comparisons) {
    add({&report.experiments[pair.candidate], &report.experiments[pair.baseline], &pair,
         fmt::format("{} and {}", pair.comparison.baseline_label, pair.comparison.candidate_label)});
  }
  for (std::size_t i = 0; i < report.experiments.size(); ++i) {
    if (!IsInPair(report, i)) add_experiment(report.experiments[i]);
  }
  return subjects;
}

// Folds small rows so that a page stays readable: at most kMaxRows rows remain.
void FoldSmallRows(const BreakdownSubject& subject, const ModelParts& parts, std::vector<Row>& rows) {
  const auto share = [](Nanoseconds part, const ReportExperiment* variant) {
    return variant == nullptr || variant->groups.total == 0
               ? 0
               : static_cast<double>(part) / static_cast<double>(variant->groups.total);
  };
  std::size_t shown_rows = SIZE_MAX;
  for (double min_share = kMinRowShare; shown_rows > kMaxRows && min_share < 2; min_share *= 2) {
    shown_rows = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const bool small = share(parts[i].candidate, subject.candidate) < min_share &&
                         share(parts[i].baseline, subject.baseline) < min_share;
      rows[i].visibility = small ? Visibility::kFolded : Visibility::kDefault;
      shown_rows += small ? 0 : 1;
    }
  }
}

Table MakeBreakdownTable(const BreakdownSubject& subject, BreakdownBy by) {
  const ReportExperiment& candidate = *subject.candidate;
  const bool tree = by == BreakdownBy::kLayer, pair = subject.pair != nullptr;
  const double latency = candidate.latency.p50.value_or(candidate.MeanExecute().value_or(0));
  const double baseline_latency = pair ? subject.baseline->latency.p50.value_or(latency) : latency;
  Table table{
      .id = fmt::format("{}by_{}", pair ? "compared_" : "", GetBreakdownInfo(by).name),
      .hidden_rows_hint = fmt::format("in `etprof analyze --csv={}`", GetBreakdownInfo(by).table),
      .time_range = TimeRange{std::min(latency, baseline_latency), std::max(latency, baseline_latency)}};
  // An operator that a variant lacks has an empty cell, not 0.
  const auto time = [](Nanoseconds ModelPart::*total, const ReportExperiment* variant, bool blank_if_zero) {
    return [=](const ModelPart& part) {
      return blank_if_zero && part.*total == 0 ? Cell("")
                                               : Cell(Time{MeanPerRun(part.*total, variant->common_runs)});
    };
  };
  const ModelParts parts = tree ? MakeLayerParts(subject) : MakeFlatParts(subject, by);
  table.Fill<ModelPart>(
      {{Left(GetBreakdownInfo(by).name, GetBreakdownInfo(by).column)
            .WithTruncation(by == BreakdownBy::kSource || by == BreakdownBy::kDelegate
                                ? Table::Truncation::kKeepEnd
                                : Table::Truncation::kKeepNameEnds),
        &ModelPart::name},
       {Left("type").WithDropPriority(3).WithMaxWidth(kTypeColumns), &ModelPart::type, tree},
       {Right("baseline"), time(&ModelPart::baseline, subject.baseline, true), pair},
       {Right(pair ? "candidate" : "time"), time(&ModelPart::candidate, subject.candidate, pair)},
       {Right("share", "% of total").WithDropPriority(pair ? 4 : 0),
        [&](const ModelPart& part) { return ShareCell(part.candidate, candidate.groups.total); }},
       {Right("speedup"), [](const ModelPart& part) { return Speedup{part.time_comparison}; }, pair},
       {Left("speedup_interval", "95% CI").WithDropPriority(2),
        [](const ModelPart& part) { return Interval{part.time_comparison}; }, pair},
       {Right("baseline_own", "own, baseline").WithDropPriority(1),
        time(&ModelPart::baseline_self, subject.baseline, true), pair && tree},
       {Right("candidate_own", "own, candidate").WithDropPriority(1),
        time(&ModelPart::self, subject.candidate, true), pair && tree},
       {Right("own_time", "own").WithDropPriority(2), time(&ModelPart::self, subject.candidate, true),
        !pair && tree},
       {Right("operators").WithDropPriority(1),
        [](const ModelPart& part) { return part.operators == 0 ? Cell("") : Cell(Count{part.operators}); },
        !pair}},
      parts);
  for (std::size_t i = 0; i < parts.size(); ++i) table.rows[i].depth = parts[i].depth;
  FoldSmallRows(subject, parts, table.rows);
  return table;
}

// "99.8% of the operators' time belongs to a module", or why layers are unknown; "" if nothing is known.
std::string AttributionText(const ReportExperiment& experiment) {
  if (!experiment.profile || !experiment.profile->program) return "";
  const ProgramJoin& program = *experiment.profile->program;
  const std::string& reason = program.problem.empty() ? program.no_sources_reason : program.problem;
  if (!reason.empty()) return "Layers are not known: " + reason + ".";
  if (!experiment.attributed_share) return "";
  return fmt::format(
      "{:.1f}% of the operators' time belongs to a module of the model. Overheads are separate.",
      *experiment.attributed_share * 100);
}

}  // namespace

std::vector<Section> MakeBreakdownSections(const Report& report, BreakdownBy by) {
  const std::vector<BreakdownSubject> subjects = FindBreakdownSubjects(report);
  std::vector<Section> sections;
  for (const BreakdownSubject& subject : subjects) {
    const bool by_module = by == BreakdownBy::kLayer || by == BreakdownBy::kSource;
    Section section{GetBreakdownInfo(by).title + (subjects.size() > 1 ? ": " + subject.label : ""),
                    by == BreakdownBy::kLayer ? Visibility::kPage : Visibility::kFolded};
    section.AddText(by_module ? AttributionText(*subject.candidate) : "");
    if (!by_module || !subject.candidate->layers.empty())
      section.parts.emplace_back(MakeBreakdownTable(subject, by));
    if (!section.parts.empty()) sections.push_back(std::move(section));
  }
  return sections;
}

}  // namespace etprof::show
