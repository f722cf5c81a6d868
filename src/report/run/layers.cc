#include "report/run/layers.h"

#include <algorithm>
#include <map>

#include "core/text/text.h"
#include "core/views.h"
#include "profile/analysis/operators.h"
#include "profile/compare/module_paths.h"
#include "report/run/pair.h"

namespace etprof {
namespace {

// The number at the end of a path: "features.12" -> 12.
std::optional<long> TrailingNumber(const std::string& path) {
  return AsNumber<long>(std::string_view(path).substr(path.find_last_of('.') + 1));
}

// A tree of layers. Children are in the order of addition, parents before children.
class LayerTree {
 public:
  // Returns the row of the innermost of these modules, which is added if new.
  std::size_t Find(const std::vector<SourceModule>& modules) {
    if (rows_.empty()) Add("", "", 0, 0);
    std::size_t row = 0;
    for (const SourceModule& module : modules) {
      if (module.path.empty()) {
        rows_[0].type = module.type;
        continue;
      }
      const auto found = index_.find(module.path);
      row = found != index_.end() ? found->second : Add(module.path, module.type, row, rows_[row].depth + 1);
    }
    return row;
  }

  std::vector<LayerRow>& rows() { return rows_; }

  // Returns the rows in depth-first order.
  std::vector<LayerRow> Take() {
    std::vector<std::vector<std::size_t>> children(rows_.size());
    for (std::size_t i = 1; i < rows_.size(); ++i) children[rows_[i].parent].push_back(i);
    for (std::vector<std::size_t>& siblings : children) {
      // Numbered children, as of a Sequential, are in numeric order, even if parts of a later one run
      // earlier.
      const auto number = [&](std::size_t row) { return TrailingNumber(rows_[row].path); };
      if (std::ranges::all_of(siblings, [&](std::size_t row) { return number(row).has_value(); }))
        std::ranges::stable_sort(siblings,
                                 [&](std::size_t a, std::size_t b) { return *number(a) < *number(b); });
    }
    std::vector<LayerRow> ordered;
    std::vector<std::pair<std::size_t, std::size_t>> pending;  // row, and index of its parent in `ordered`
    if (!rows_.empty()) pending.emplace_back(0, 0);
    while (!pending.empty()) {
      const auto [row, parent] = pending.back();
      pending.pop_back();
      const std::size_t place = ordered.size();
      ordered.push_back(std::move(rows_[row]));
      ordered.back().parent = parent;
      for (auto child = children[row].rbegin(); child != children[row].rend(); ++child)
        pending.emplace_back(*child, place);
    }
    return ordered;
  }

 private:
  std::size_t Add(const std::string& path, const std::string& type, std::size_t parent, int depth) {
    index_[path] = rows_.size();
    rows_.push_back({path, type, parent, depth, 0, 0, {}});
    return rows_.size() - 1;
  }

  std::vector<LayerRow> rows_;
  std::map<std::string, std::size_t> index_;
};

const SourcePlace* FindPlace(const Profile& profile, std::size_t op) {
  if (!profile.program || !profile.program->operators[op].place) return nullptr;
  const SourcePlace& place = profile.program->places[*profile.program->operators[op].place];
  return place.modules.empty() ? nullptr : &place;
}

}  // namespace

std::vector<LayerRow> FindLayers(const Profile& profile) {
  LayerTree tree;
  for (std::size_t op = 0; op < profile.operators.size(); ++op) {
    const SourcePlace* place = FindPlace(profile, op);
    if (place == nullptr) continue;
    const Nanoseconds time = profile.statistics[op].total_self;
    std::size_t row = tree.Find(place->modules);
    tree.rows()[row].self += time;
    for (;; row = tree.rows()[row].parent) {
      tree.rows()[row].total += time;
      tree.rows()[row].operators.push_back(op);
      if (row == 0) break;
    }
  }
  return tree.Take();
}

std::optional<double> AttributedShare(const Profile& profile) {
  Nanoseconds all = 0, attributed = 0;
  for (std::size_t op = 0; op < profile.operators.size(); ++op) {
    if (!IsOperator(profile.operators[op])) continue;
    all += profile.statistics[op].total_self;
    if (FindPlace(profile, op) != nullptr) attributed += profile.statistics[op].total_self;
  }
  return QuotientIfDefined(attributed, all);
}

std::vector<LayerDelta> CompareLayers(const ExperimentPair& variants) {
  // The candidate's tree, then the modules that only the baseline has. The outer rows of a wrapper contain
  // the whole model, so they are compared with the whole model of the variant without the wrapper.
  const ModulePrefixes prefixes = FindWrapperPrefixes(MapEach(variants.baseline.layers, &LayerRow::path),
                                                      MapEach(variants.candidate.layers, &LayerRow::path));
  const auto remove_prefix = [](const std::string& path, const std::string& prefix) {
    return prefix.starts_with(path + '.') ? "" : WithoutPrefix(path, prefix);
  };
  std::vector<LayerDelta> layers;
  std::vector<OperatorSet> sets;
  std::map<std::string, std::vector<std::size_t>> index;  // rows by the path without the prefix
  for (const LayerRow& row : variants.candidate.layers) {
    index[remove_prefix(row.path, prefixes.candidate)].push_back(sets.size());
    sets.push_back({row.path, {}, row.operators});
    layers.push_back({row.depth, row.type, {}});
  }
  for (const LayerRow& row : variants.baseline.layers) {
    const auto found = index.find(remove_prefix(row.path, prefixes.baseline));
    if (found == index.end()) {
      sets.push_back({row.path, row.operators, {}});
      layers.push_back({row.depth, row.type, {}});
      continue;
    }
    for (const std::size_t place : found->second) {
      // Use the outermost row, which contains the others.
      if (sets[place].baseline.empty()) sets[place].baseline = row.operators;
    }
  }
  std::vector<DeltaRow> rows = CompareExperimentSets(variants, sets);
  if (rows.empty()) return {};
  for (std::size_t i = 0; i < rows.size(); ++i) layers[i].row = std::move(rows[i]);
  return layers;
}

std::vector<DeltaRow> CompareByName(const ExperimentPair& variants, OperatorNameFunction get_name) {
  if (!variants.baseline.profile || !variants.candidate.profile) return {};
  std::vector<OperatorSet> sets;
  std::map<std::string, std::size_t> index;
  for (const bool is_candidate : {true, false}) {
    const Profile& profile = is_candidate ? *variants.candidate.profile : *variants.baseline.profile;
    for (std::size_t op = 0; op < profile.operators.size(); ++op) {
      const auto name = get_name(profile, op);
      if (!name) continue;
      const auto [place, is_new] = index.try_emplace(*name, sets.size());
      if (is_new) sets.push_back({*name, {}, {}});
      OperatorSet& set = sets[place->second];
      (is_candidate ? set.candidate : set.baseline).push_back(op);
    }
  }
  return CompareExperimentSets(variants, sets);
}

}  // namespace etprof
