#include "measure/values/values.h"

#include <algorithm>
#include <map>

#include "profile/analysis/join/program_join.h"
#include "show/subjects/run/report_parts.h"

namespace etprof::show {
namespace {

constexpr std::size_t kScreenValueRows = 20;

bool ValueDiffers(const ValuesRow& row) { return row.state == ValuesRow::kDifferent; }
bool ValueIsRead(const ValuesRow& row) { return row.state != ValuesRow::kNotRead; }

struct ValueWithLayer {
  const ValuesRow* row = nullptr;
  std::string layer;  // "": not known, or the model itself
};

// The compared values of a pair, in the order of execution.
struct PairValues {
  std::string baseline, candidate;
  std::vector<ValueWithLayer> rows;
};

std::vector<PairValues> GroupValuesByPair(const Report& report) {
  std::vector<PairValues> pairs;
  std::map<std::string, std::map<std::string, std::string>>
      layers;  // layer, keyed by experiment and operator key
  for (const ReportExperiment& experiment : report.experiments) {
    if (!experiment.profile || !experiment.profile->program) continue;
    for (std::size_t op = 0; op < experiment.profile->operators.size(); ++op) {
      if (const auto path = ModulePath(*experiment.profile->program, op))
        layers[experiment.label][KeyText(experiment.profile->operators[op].key)] = *path;
    }
  }
  for (const ValuesRow& row : report.run.values) {
    auto pair = std::ranges::find_if(pairs, [&](const PairValues& values) {
      return values.baseline == row.baseline && values.candidate == row.candidate;
    });
    if (pair == pairs.end()) pair = pairs.insert(pairs.end(), {row.baseline, row.candidate, {}});
    pair->rows.push_back({&row, layers[row.baseline][row.key]});
  }
  return pairs;
}

std::string ValueLocation(const ValueWithLayer& value) {
  return value.layer.empty() ? value.row->name : value.row->name + " (" + value.layer + ")";
}

Text ValuesSummary(const PairValues& pair) {
  std::int64_t num_read = 0, num_differing = 0;
  const ValueWithLayer *first = nullptr, *worst = nullptr;
  for (const ValueWithLayer& value : pair.rows) {
    if (!ValueIsRead(*value.row)) continue;
    ++num_read;
    if (!ValueDiffers(*value.row)) continue;
    ++num_differing;
    if (first == nullptr) first = &value;
    if (value.row->sqnr_db && (worst == nullptr || *value.row->sqnr_db < *worst->row->sqnr_db))
      worst = &value;
  }
  const auto num_unread = static_cast<std::int64_t>(pair.rows.size()) - num_read;
  Text text = num_differing == 0
                  ? FormatText("The values of all {} operators are bit-identical.", Count(num_read))
                  : FormatText("The values of {} of {} operators differ. The first is {}",
                               Count(num_differing), Count(num_read), ValueLocation(*first));
  if (num_differing > 0 && first->row->sqnr_db)
    text += FormatText(", {} apart", Number{*first->row->sqnr_db, "dB"});
  if (num_differing > 0) text += Text(".");
  if (worst != nullptr && worst != first)
    text += FormatText(" The largest difference is {} in {}.", Number{*worst->row->sqnr_db, "dB"},
                       ValueLocation(*worst));
  if (num_unread > 0) text += FormatText(" {} could not be read.", Count(num_unread));
  return text;
}

Table MakeValuesTable(const PairValues& pair) {
  Table table{.id = "values"};
  const bool has_layers =
      std::ranges::any_of(pair.rows, [](const ValueWithLayer& value) { return !value.layer.empty(); });
  table.Fill<ValueWithLayer>(
      {{NameColumn("operator"), [](const ValueWithLayer& value) { return value.row->name; }},
       {Left("layer").WithDropPriority(3),
        [](const ValueWithLayer& value) { return KnownTextCell(value.layer); }, has_layers},
       {Left("values"), [](const ValueWithLayer& value) { return value.row->state; }},
       {Right("sqnr_db", "apart, dB"),
        [](const ValueWithLayer& value) { return OptionalNumberCell(value.row->sqnr_db); }},
       {Right("largest_difference", "largest difference").WithDropPriority(2),
        [](const ValueWithLayer& value) { return OptionalNumberCell(value.row->largest); }},
       {Right("elements").WithDropPriority(1),
        [](const ValueWithLayer& value) { return Count(value.row->elements); }},
       {Left("note").WithWrapping(), [](const ValueWithLayer& value) { return value.row->note; }}},
      pair.rows);
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    if (!ValueDiffers(*pair.rows[i].row)) table.rows[i].visibility = Visibility::kPage;
  }
  table.screen_rows = kScreenValueRows;
  table.hidden_rows_hint = "in `values.csv`";
  return table;
}

// Counts the differing values of each layer, in the order in which layers first run.
Table MakeValuesByLayerTable(const PairValues& pair) {
  struct Layer {
    std::string path;
    std::int64_t read = 0, differing = 0;
    std::optional<double> lowest_db = {};
  };
  std::vector<Layer> layers;
  for (const ValueWithLayer& value : pair.rows) {
    if (!ValueIsRead(*value.row) || value.layer.empty()) continue;
    auto layer = std::ranges::find(layers, value.layer, &Layer::path);
    if (layer == layers.end()) layer = layers.insert(layers.end(), Layer{value.layer});
    ++layer->read;
    layer->differing += ValueDiffers(*value.row) ? 1 : 0;
    if (const auto db = value.row->sqnr_db; db && (!layer->lowest_db || *db < *layer->lowest_db))
      layer->lowest_db = db;
  }
  Table table{.id = "values_by_layer"};
  table.Fill<Layer>({{Left("layer"), &Layer::path},
                     {Right("differing"), [](const Layer& layer) { return Count(layer.differing); }},
                     {Right("operators"), [](const Layer& layer) { return Count(layer.read); }},
                     {Right("lowest_sqnr_db", "apart at most, dB"),
                      [](const Layer& layer) { return OptionalNumberCell(layer.lowest_db); }}},
                    layers);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].differing == 0) table.rows[i].visibility = Visibility::kPage;
  }
  table.screen_rows = kScreenValueRows;
  return table;
}

}  // namespace

std::vector<Note> MakeValueNotes(const Report& report) {
  std::vector<Note> notes;
  const std::vector<PairValues> pairs = GroupValuesByPair(report);
  for (const PairValues& pair : pairs) {
    const Text prefix = pairs.size() > 1 ? Text(pair.candidate + ": ") : Text();
    notes.push_back({prefix + ValuesSummary(pair), "values"});
  }
  return notes;
}

Document MakeValuesDocument(const Report& report) {
  Document document{.title = "Values", .section_kind = "pair"};
  for (const PairValues& pair : GroupValuesByPair(report)) {
    Section section{pair.candidate + " compared with " + pair.baseline, {Paragraph{ValuesSummary(pair)}}};
    section.AddUnlessEmpty(MakeValuesTable(pair));
    section.AddUnlessEmpty(MakeValuesByLayerTable(pair));
    document.sections.push_back(std::move(section));
  }
  document.method =
      "What each operator wrote, read in place in one run of each variant (docs/guides/values.md). Decibels "
      "are the baseline's power over that of the difference. The first difference is where they part: later "
      "operators inherit it.";
  return document;
}

}  // namespace etprof::show
