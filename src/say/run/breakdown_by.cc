#include <fmt/format.h>

#include <algorithm>

#include "say/run/report_parts.h"
#include "say/wording.h"

namespace etprof::say {
namespace {

constexpr double kWorthARow = 0.005;  // of the whole
constexpr std::size_t kMostRows = 60;
constexpr int kTypeColumns = 20;

// An experiment, or the pair whose candidate it is.
struct Told {
  const ReportExperiment* candidate = nullptr;
  const ReportExperiment* baseline = nullptr;
  const ReportComparison* pair = nullptr;
  std::string label;
};

// Totals over the runs of each side; of one experiment the candidate's alone.
struct PartOfModel {
  std::string name, type = {};
  int depth = 0;
  Nanoseconds baseline = 0, candidate = 0;
  Nanoseconds baseline_own = 0, own = 0;  // of a module: without those in it
  std::size_t operators = 0;
  Quantity quantity = {};
};
using PartsOfModel = std::vector<PartOfModel>;

struct ByWords {
  const char *name, *title, *column, *table;  // `table`: of --csv
  // What it is flat of, and of a pair; null: of layers, and of what every comparison has.
  Breakdown ReportExperiment::*breakdown;
  std::vector<DeltaRow> ReportComparison::*deltas;
};
constexpr ByWords kByWords[] = {
    {"layer", "By layer", "module", "layers", nullptr, nullptr},
    {"source", "By line of the model", "line", "sources", &ReportExperiment::by_source,
     &ReportComparison::by_source},
    {"delegate", "By delegate", "runs in", "delegates", &ReportExperiment::by_delegate,
     &ReportComparison::by_delegate},
    {"kernel", "By kernel", "kernel", "operators", &ReportExperiment::by_kernel,
     &ReportComparison::by_kernel},
    {"category", "By category", "category", "categories", &ReportExperiment::categories, nullptr}};
const ByWords& WordsOf(By by) { return kByWords[static_cast<std::size_t>(by)]; }

std::string ShortType(const std::string& type) { return type.substr(type.find_last_of('.') + 1); }

// The name of a module below its parent: "0.block" of "features.0.block" in "features".
std::string NameBelow(const std::string& path, const std::string& parent) {
  if (path.empty()) return "(model)";
  if (!parent.empty() && path.starts_with(parent + ".")) return path.substr(parent.size() + 1);
  return path;
}

// What belongs to no module: overheads, what could not be attributed, truncated time.
void AddRest(const Told& told, PartsOfModel& parts) {
  const auto modules = static_cast<std::ptrdiff_t>(parts.size());
  for (const ReportExperiment* const side : {told.baseline, told.candidate}) {
    if (side == nullptr) continue;
    for (const AdditiveRow& row : side->by_layer.rows) {
      const bool rest = row.name == kNotAttributed || row.name == GroupName(Group::kFrameworkOverhead) ||
                        row.name == GroupName(Group::kDelegateOverhead) || row.name == "Clipped";
      if (!rest || row.total == 0) continue;
      auto found = std::ranges::find(parts.begin() + modules, parts.end(), row.name, &PartOfModel::name);
      if (found == parts.end()) {
        parts.push_back({.name = row.name, .operators = static_cast<std::size_t>(row.operators)});
        found = parts.end() - 1;
      }
      (side == told.candidate ? found->candidate : found->baseline) += row.total;
    }
  }
}

PartsOfModel LayersOf(const Told& told) {
  PartsOfModel parts;
  if (told.pair == nullptr) {
    for (const LayerRow& layer : told.candidate->layers) {
      const std::string& parent = told.candidate->layers[layer.parent].path;
      parts.push_back({.name = NameBelow(layer.path, layer.depth == 0 ? "" : parent),
                       .type = ShortType(layer.type),
                       .depth = layer.depth,
                       .candidate = layer.total,
                       .own = layer.self,
                       .operators = layer.operators.size()});
    }
  } else {
    std::vector<std::string> parents;  // by depth
    for (const LayerDelta& layer : told.pair->layers) {
      parents.resize(static_cast<std::size_t>(layer.depth) + 1);
      parents.back() = layer.row.name;
      const auto own = [&](const ReportExperiment& side) {
        const auto found = std::ranges::find(side.layers, layer.row.name, &LayerRow::path);
        return found == side.layers.end() ? 0 : found->self;
      };
      parts.push_back({.name = NameBelow(layer.row.name, layer.depth == 0 ? "" : parents[parents.size() - 2]),
                       .type = ShortType(layer.type),
                       .depth = layer.depth,
                       .baseline = layer.row.baseline_total,
                       .candidate = layer.row.candidate_total,
                       .baseline_own = own(*told.baseline),
                       .own = own(*told.candidate),
                       .quantity = layer.row.quantity});
    }
  }
  AddRest(told, parts);
  return parts;
}

PartsOfModel FlatPartsOf(const Told& told, By by) {
  PartsOfModel parts;
  if (told.pair == nullptr) {
    for (const AdditiveRow& row : (told.candidate->*WordsOf(by).breakdown).rows) {
      parts.push_back({.name = row.name.empty() ? "(model)" : row.name,
                       .candidate = row.total,
                       .operators = static_cast<std::size_t>(row.operators)});
    }
  } else {
    const auto deltas = WordsOf(by).deltas;
    for (const DeltaRow& row : deltas != nullptr ? told.pair->*deltas : told.pair->comparison.categories) {
      parts.push_back({.name = row.name,
                       .baseline = row.baseline_total,
                       .candidate = row.candidate_total,
                       .quantity = row.quantity});
    }
  }
  std::erase_if(parts, [](const PartOfModel& part) { return part.baseline == 0 && part.candidate == 0; });
  std::ranges::stable_sort(parts, std::ranges::greater(), &PartOfModel::candidate);
  return parts;
}

std::vector<Told> ToldOf(const Report& report) {
  std::vector<Told> told;
  const auto add = [&](Told one) {
    if (one.candidate->common_runs > 0 && (one.baseline == nullptr || one.baseline->common_runs > 0))
      told.push_back(std::move(one));
  };
  const auto alone = [&](const ReportExperiment& one) { add({&one, nullptr, nullptr, one.label}); };
  if (report.ladder) {
    for (const std::size_t subject : Subjects(report)) alone(report.experiments[subject]);
    return told;
  }
  for (const ReportComparison& pair : report.comparisons) {
    add({&report.experiments[pair.candidate], &report.experiments[pair.baseline], &pair,
         fmt::format("{} and {}", pair.comparison.baseline_label, pair.comparison.candidate_label)});
  }
  for (std::size_t i = 0; i < report.experiments.size(); ++i) {
    if (!InPair(report, i)) alone(report.experiments[i]);
  }
  return told;
}

// What is not worth a row, so that a page stays readable.
void FoldSmallRows(const Told& told, const PartsOfModel& parts, std::vector<Row>& rows) {
  const auto share = [](Nanoseconds part, const ReportExperiment* side) {
    return side == nullptr || side->groups.total == 0
               ? 0
               : static_cast<double>(part) / static_cast<double>(side->groups.total);
  };
  std::size_t left = SIZE_MAX;
  for (double least = kWorthARow; left > kMostRows && least < 2; least *= 2) {
    left = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const bool small = share(parts[i].candidate, told.candidate) < least &&
                         share(parts[i].baseline, told.baseline) < least;
      rows[i].level = small ? Level::kFolded : Level::kUsual;
      left += small ? 0 : 1;
    }
  }
}

Table TableOf(const Told& told, By by) {
  const ReportExperiment& candidate = *told.candidate;
  const bool tree = by == By::kLayer, pair = told.pair != nullptr;
  const double latency = candidate.latency.p50.value_or(candidate.MeanExecute().value_or(0));
  const double other = pair ? told.baseline->latency.p50.value_or(latency) : latency;
  Table table{.id = fmt::format("{}by_{}", pair ? "compared_" : "", WordsOf(by).name),
              .elsewhere = fmt::format("in `etprof analyze --csv={}`", WordsOf(by).table),
              .span = Span{std::min(latency, other), std::max(latency, other)}};
  using Of = PartOfModel;
  // What one variant lacks takes no time there, and not 0.
  const auto time = [](Nanoseconds Of::*of, const ReportExperiment* side, bool blank) {
    return [=](const Of& part) {
      return blank && part.*of == 0 ? Cell("") : Cell(Time{MeanOf(part.*of, side->common_runs)});
    };
  };
  const PartsOfModel parts = tree ? LayersOf(told) : FlatPartsOf(told, by);
  table.Fill<Of>(
      {{Left(WordsOf(by).name, WordsOf(by).column)
            .Keeps(by == By::kSource || by == By::kDelegate ? Table::Keep::kEnd : Table::Keep::kName),
        &Of::name},
       {Left("type").Goes(3).Most(kTypeColumns), &Of::type, tree},
       {Right("baseline"), time(&Of::baseline, told.baseline, true), pair},
       {Right(pair ? "candidate" : "time"), time(&Of::candidate, told.candidate, pair)},
       {Right("share", "% of total").Goes(pair ? 4 : 0),
        [&](const Of& part) { return ShareOf(part.candidate, candidate.groups.total); }},
       {Right("speedup"), [](const Of& part) { return Speedup{part.quantity}; }, pair},
       {Left("speedup_interval", "95% CI").Goes(2), [](const Of& part) { return Interval{part.quantity}; },
        pair},
       {Right("baseline_own", "own, baseline").Goes(1), time(&Of::baseline_own, told.baseline, true),
        pair && tree},
       {Right("candidate_own", "own, candidate").Goes(1), time(&Of::own, told.candidate, true), pair && tree},
       {Right("own_time", "own").Goes(2), time(&Of::own, told.candidate, true), !pair && tree},
       {Right("operators").Goes(1),
        [](const Of& part) { return part.operators == 0 ? Cell("") : Cell(Count{part.operators}); }, !pair}},
      parts);
  for (std::size_t i = 0; i < parts.size(); ++i) table.rows[i].depth = parts[i].depth;
  FoldSmallRows(told, parts, table.rows);
  return table;
}

// "99.8% of the operators' time belongs to a module", or why none is known; "" where nothing can be said.
std::string AttributionText(const ReportExperiment& experiment) {
  if (!experiment.profile || !experiment.profile->program) return "";
  const ProgramJoin& program = *experiment.profile->program;
  const std::string& why = program.problem.empty() ? program.no_sources : program.problem;
  if (!why.empty()) return "Layers are not known: " + why + ".";
  if (!experiment.attributed) return "";
  return fmt::format(
      "{:.1f}% of the operators' time belongs to a module of the model. Overheads are separate.",
      *experiment.attributed * 100);
}

}  // namespace

std::vector<Section> SayBreakdownBy(const Report& report, By by) {
  const std::vector<Told> all = ToldOf(report);
  std::vector<Section> sections;
  for (const Told& told : all) {
    const bool of_modules = by == By::kLayer || by == By::kSource;
    Section section{WordsOf(by).title + (all.size() > 1 ? ": " + told.label : ""),
                    by == By::kLayer ? Level::kPage : Level::kFolded};
    section.AddUnlessEmpty(Paragraph{of_modules ? AttributionText(*told.candidate) : ""});
    if (!of_modules || !told.candidate->layers.empty()) section.parts.emplace_back(TableOf(told, by));
    if (!section.parts.empty()) sections.push_back(std::move(section));
  }
  return sections;
}

}  // namespace etprof::say
