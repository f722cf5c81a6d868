#include "measure/values/values.h"

#include <algorithm>
#include <map>

#include "profile/analysis/join/program_join.h"
#include "show/subjects/run/report_parts.h"

namespace etprof::show {
namespace {

constexpr std::size_t kUsualValues = 20;

bool ValueDiffers(const ValuesRow& row) { return row.state == ValuesRow::kDifferent; }
bool ValueIsRead(const ValuesRow& row) { return row.state != ValuesRow::kNotRead; }

Cell NumberOrNothing(const std::optional<double>& of) { return of ? Cell(Number{*of, ""}) : Cell(); }

struct PlacedRow {
  const ValuesRow* row = nullptr;
  std::string layer;  // "": not known, or the model itself
};

// Of one pair, in the order of execution.
struct PairValues {
  std::string baseline, candidate;
  std::vector<PlacedRow> rows;
};

std::vector<PairValues> ValuePairs(const Report& report) {
  std::vector<PairValues> pairs;
  std::map<std::string, std::map<std::string, std::string>> layers;  // by experiment and key
  for (const ReportExperiment& experiment : report.experiments) {
    if (!experiment.profile || !experiment.profile->program) continue;
    for (std::size_t op = 0; op < experiment.profile->operators.size(); ++op) {
      if (const auto path = ModulePath(*experiment.profile->program, op))
        layers[experiment.label][KeyText(experiment.profile->operators[op].key)] = *path;
    }
  }
  for (const ValuesRow& row : report.run.values) {
    auto pair = std::ranges::find_if(pairs, [&](const PairValues& one) {
      return one.baseline == row.baseline && one.candidate == row.candidate;
    });
    if (pair == pairs.end()) pair = pairs.insert(pairs.end(), {row.baseline, row.candidate, {}});
    pair->rows.push_back({&row, layers[row.baseline][row.key]});
  }
  return pairs;
}

std::string PlaceOfValue(const PlacedRow& placed) {
  return placed.layer.empty() ? placed.row->name : placed.row->name + " (" + placed.layer + ")";
}

Text ValuesSummary(const PairValues& pair) {
  std::int64_t read = 0, differing = 0;
  const PlacedRow *first = nullptr, *worst = nullptr;
  for (const PlacedRow& placed : pair.rows) {
    if (!ValueIsRead(*placed.row)) continue;
    ++read;
    if (!ValueDiffers(*placed.row)) continue;
    ++differing;
    if (first == nullptr) first = &placed;
    if (placed.row->sqnr_db && (worst == nullptr || *placed.row->sqnr_db < *worst->row->sqnr_db))
      worst = &placed;
  }
  const auto left = static_cast<std::int64_t>(pair.rows.size()) - read;
  Text text = differing == 0 ? FormatText("The values of all {} operators are bit-identical.", Count(read))
                             : FormatText("The values of {} of {} operators differ. The first is {}",
                                          Count(differing), Count(read), PlaceOfValue(*first));
  if (differing > 0 && first->row->sqnr_db)
    text += FormatText(", {} apart", Number{*first->row->sqnr_db, "dB"});
  if (differing > 0) text += Text(".");
  if (worst != nullptr && worst != first)
    text += FormatText(" The largest difference is {} in {}.", Number{*worst->row->sqnr_db, "dB"},
                       PlaceOfValue(*worst));
  if (left > 0) text += FormatText(" {} could not be read.", Count(left));
  return text;
}

Table ValuesTable(const PairValues& pair) {
  Table table{.id = "values"};
  const bool has_layers =
      std::ranges::any_of(pair.rows, [](const PlacedRow& placed) { return !placed.layer.empty(); });
  using Of = PlacedRow;
  table.Fill<Of>(
      {{Names("operator"), [](const Of& of) { return of.row->name; }},
       {Left("layer").WithDropPriority(3), [](const Of& of) { return KnownTextCell(of.layer); }, has_layers},
       {Left("values"), [](const Of& of) { return of.row->state; }},
       {Right("sqnr_db", "apart, dB"), [](const Of& of) { return NumberOrNothing(of.row->sqnr_db); }},
       {Right("largest_difference", "largest difference").WithDropPriority(2),
        [](const Of& of) { return NumberOrNothing(of.row->largest); }},
       {Right("elements").WithDropPriority(1), [](const Of& of) { return Count(of.row->elements); }},
       {Left("note").WithWrapping(), [](const Of& of) { return of.row->note; }}},
      pair.rows);
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    if (!ValueDiffers(*pair.rows[i].row)) table.rows[i].level = Level::kPage;
  }
  table.screen_rows = kUsualValues;
  table.hidden_rows_hint = "in `values.csv`";
  return table;
}

// What differs in each layer, in the order in which they first run.
Table ValuesByLayer(const PairValues& pair) {
  struct Layer {
    std::string path;
    std::int64_t read = 0, differing = 0;
    std::optional<double> lowest_db = {};
  };
  std::vector<Layer> layers;
  for (const PlacedRow& placed : pair.rows) {
    if (!ValueIsRead(*placed.row) || placed.layer.empty()) continue;
    auto layer = std::ranges::find(layers, placed.layer, &Layer::path);
    if (layer == layers.end()) layer = layers.insert(layers.end(), Layer{placed.layer});
    ++layer->read;
    layer->differing += ValueDiffers(*placed.row) ? 1 : 0;
    if (const auto db = placed.row->sqnr_db; db && (!layer->lowest_db || *db < *layer->lowest_db))
      layer->lowest_db = db;
  }
  Table table{.id = "values_by_layer"};
  table.Fill<Layer>({{Left("layer"), &Layer::path},
                     {Right("differing"), [](const Layer& layer) { return Count(layer.differing); }},
                     {Right("operators"), [](const Layer& layer) { return Count(layer.read); }},
                     {Right("lowest_sqnr_db", "apart at most, dB"),
                      [](const Layer& layer) { return NumberOrNothing(layer.lowest_db); }}},
                    layers);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].differing == 0) table.rows[i].level = Level::kPage;
  }
  table.screen_rows = kUsualValues;
  return table;
}

}  // namespace

std::vector<Note> MakeValueNotes(const Report& report) {
  std::vector<Note> notes;
  const std::vector<PairValues> pairs = ValuePairs(report);
  for (const PairValues& pair : pairs) {
    const Text where = pairs.size() > 1 ? Text(pair.candidate + ": ") : Text();
    notes.push_back({where + ValuesSummary(pair), "values"});
  }
  return notes;
}

Document MakeValuesDocument(const Report& report) {
  Document document;
  document.title = "Values";
  document.section_kind = "pair";
  for (const PairValues& pair : ValuePairs(report)) {
    Section section{pair.candidate + " compared with " + pair.baseline, Level::kUsual, {}};
    section.parts.emplace_back(Paragraph{ValuesSummary(pair)});
    section.AddUnlessEmpty(ValuesTable(pair));
    section.AddUnlessEmpty(ValuesByLayer(pair));
    document.sections.push_back(std::move(section));
  }
  document.method =
      "What each operator wrote, read in place in one run of each variant (docs/guides/values.md). Decibels "
      "are the baseline's power over that of the difference. The first difference is where they part: later "
      "operators inherit it.";
  return document;
}

}  // namespace etprof::show
