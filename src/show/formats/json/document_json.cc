#include <nlohmann/json.hpp>

#include "core/json/json_members.h"
#include "core/json/json_schema_of.h"
#include "core/views.h"
#include "show/formats.h"
#include "show/formats/printed_table.h"

namespace etprof {

template <>
inline constexpr const char* kNames<show::Level>[] = {"brief", "usual", "page", "folded"};
template <>
inline constexpr const char* kNames<show::Tone>[] = {"plain", "good", "bad", "unsure", "unknown"};
template <>
inline constexpr const char* kNames<show::Row::Role>[] = {"plain", "part", "sum"};

namespace {

// The value; absent for the default value, which has no key.
template <auto kDefault>
std::optional<decltype(kDefault)> UnlessDefault(decltype(kDefault) value) {
  return value == kDefault ? std::nullopt : std::optional(value);
}

constexpr MemberInfo kOmittedIfEmpty{.omit_if_empty = true};
constexpr MemberInfo kLevelMeaning{
    .meaning =
        "where it is shown: everywhere; on every screen and page (`usual`); on "
        "pages; on a page once it is unfolded"};

struct PrintedCellJson {
  show::Cell of;

  static constexpr const char* kSchemaName = "cell";
  static void Describe(auto& v) {
    using J = const PrintedCellJson&;
    v("kind", &show::Value::kind,
      {.meaning =
           "`time` and `duration` are times; `change` is relative, `share` of 1; `speedup` and "
           "`interval` are of baseline / candidate, an `interval` with a unit is of a value beside it"});
    v("text", &show::Cell::text,
      {.meaning = "as it is printed, with the digits that it has in every format"});
    v("value", &show::Value::value,
      {.meaning = "what `text` was made of; no key: it is not defined, or a text",
       .least = kAnyNumber,
       .omit_if_empty = true});
    v("unit", &show::Value::unit,
      {.meaning = "of `value`, or of the bounds alone: `ns`, `bytes`, ...", .omit_if_empty = true});
    v("low", &show::Value::low,
      {.meaning = "the bounds of `value`", .least = kAnyNumber, .omit_if_empty = true});
    v("high", &show::Value::high,
      {.meaning = "null: no bound", .least = kAnyNumber, .or_null = true, .omit_if_empty = true});
    v("verdict", &show::Value::Verdict, kOmittedIfEmpty.WithMeaning("of the interval, on the candidate"));
    v("efficiency", &show::Value::efficiency,
      {.meaning = "of a `speedup` over fewer threads: over the ratio of the threads", .omit_if_empty = true});
    v("tone", [](J json) { return UnlessDefault<show::Tone::kPlain>(json.of.tone); },
      {.meaning = "how to take it; no key: `plain`", .omit_if_empty = true});
    v("bar", &show::Cell::bar, {.meaning = "the length of its bar", .least = 0, .omit_if_empty = true});
  }
};

// The numbers in a text.
std::vector<PrintedCellJson> TextValues(const show::Text& text, const show::Document& document) {
  std::vector<PrintedCellJson> values;
  for (const show::Value& piece : text.pieces()) {
    if (piece.kind != CellKind::kText) values.push_back({PrintedCell(piece, document.span)});
  }
  return values;
}

// Describes the text of a T, and the numbers in it.
template <typename T>
void DescribeText(auto& v, const MemberInfo& about) {
  v(
      "text",
      [](const T& value, const show::Document& document) { return show::TextOf(value.text, document.span); },
      about);
  v("values", [](const T& value, const show::Document& document) { return TextValues(value.text, document); },
    {.meaning = "the numbers in `text`, in their order", .omit_if_empty = true});
}

struct RowJson {
  const show::Row& of;

  static constexpr const char* kSchemaName = "row";
  static void Describe(auto& v) {
    using J = const RowJson&;
    v("cells", [](J json) { return MakeViews<PrintedCellJson>(json.of.cells); },
      {.meaning = "one for each column"});
    v("role", [](J json) { return UnlessDefault<show::Row::Role::kPlain>(json.of.role); },
      {.meaning = "times of `part` rows add up, as printed, to the next `sum`; no key: `plain`",
       .omit_if_empty = true});
    v("depth", [](J json) { return UnlessDefault<0>(json.of.depth); },
      {.meaning = "in a tree; no key: 0", .omit_if_empty = true});
    v("level", [](J json) { return UnlessDefault<show::Level::kUsual>(json.of.level); },
      {.meaning = "no key: `usual`", .omit_if_empty = true});
  }
};

struct ColumnJson {
  const show::Table::Column& of;

  static void Describe(auto& v) {
    v("id", &show::Table::Column::id, {.meaning = "the column's name in CSV, too"});
    v("title", &show::Table::Column::title,
      {.meaning = "of the first column with the unit of the `text` of times"});
    v("right", &show::Table::Column::right, {.meaning = "whether it is aligned to the right"});
  }
};

struct TableJson {
  show::Table of;

  explicit TableJson(const show::Table& table) : of(PrintedTable(table)) {}

  static constexpr const char* kSchemaName = "table";
  static void Describe(auto& v) {
    using J = const TableJson&;
    v("id", &show::Table::id, {.meaning = "tables of one id have the same columns"});
    v("title", &show::Table::title, kOmittedIfEmpty.WithMeaning("above it"));
    v("level", &show::Table::level, kLevelMeaning);
    v("columns", [](J json) { return MakeViews<ColumnJson>(json.of.columns); },
      {.meaning = "from left to right"});
    v("rows", [](J json) { return MakeViews<RowJson>(json.of.rows); }, {.meaning = "from top to bottom"});
    v("usual_rows", [](J json) { return UnlessDefault<SIZE_MAX>(json.of.screen_rows); },
      {.meaning = "how many of them are shown where there is little room; no key: all",
       .omit_if_empty = true});
  }
};

struct ParagraphJson {
  const show::Paragraph& of;

  static void Describe(auto& v) {
    DescribeText<show::Paragraph>(v, {.meaning = "without markup"});
    v("level", &show::Paragraph::level, kLevelMeaning);
  }
};

struct ItemJson {
  const show::List::Item& of;

  static void Describe(auto& v) {
    using Item = show::List::Item;
    DescribeText<Item>(v, {.meaning = "without markup"});
    v(
        "details",
        [](const Item& item, const show::Document& document) {
          return MapEach(item.details,
                         [&](const show::Text& detail) { return show::TextOf(detail, document.span); });
        },
        kOmittedIfEmpty.WithMeaning("line by line"));
    v("table", &Item::table, {.meaning = "the id of the table with the numbers", .omit_if_empty = true});
  }
};

struct ListJson {
  const show::List& of;

  static void Describe(auto& v) {
    using J = const ListJson&;
    v("title", &show::List::title, kOmittedIfEmpty.WithMeaning("above it"));
    v("level", &show::List::level, kLevelMeaning);
    v("numbered", &show::List::numbered, {.meaning = "the order counts"});
    v("items", [](J json) { return MakeViews<ItemJson>(json.of.items); }, {.meaning = "from top to bottom"});
    v("usual_items", [](J json) { return UnlessDefault<SIZE_MAX>(json.of.screen_items); },
      {.meaning = "how many of them are shown where there is little room; no key: all",
       .omit_if_empty = true});
  }
};

struct FactsJson {
  const show::Facts& of;

  static void Describe(auto& v) {
    v("id", &show::Facts::id, {.meaning = "of the table that they are in CSV"});
    v("title", &show::Facts::title, kOmittedIfEmpty.WithMeaning("above them"));
    v("level", &show::Facts::level, kLevelMeaning);
    v("facts", &show::Facts::facts, {.meaning = "names with values; a name may repeat"});
  }
};

struct SeriesJson {
  const show::Chart::Series& of;

  static void Describe(auto& v) {
    v("name", &show::Chart::Series::name, {.meaning = "of what the values are"});
    v("values",
      [](const show::Chart::Series& series) {
        return MapEach(series.values, [&](const std::optional<double>& value) {
          return PrintedCellJson{PrintedCell(value ? series.cell(*value) : show::Cell())};
        });
      },
      {.meaning = "in the order of the points"});
  }
};

struct MarkJson {
  const show::Chart::Mark& of;

  static void Describe(auto& v) {
    v("at", &show::Chart::Mark::index, {.meaning = "index of the value that it begins with"});
    v("text", &show::Chart::Mark::text, {.meaning = "what begins: \"+5.0%\""});
  }
};

struct ChartJson {
  const show::Chart& of;

  static void Describe(auto& v) {
    using C = const show::Chart&;
    v("series", [](C chart) { return MakeViews<SeriesJson>(chart.series); },
      {.meaning = "over the same points: with `at` on one scale, else each on its own"});
    v("points", &show::Chart::points, {.meaning = "what each of the values is of", .omit_if_empty = true});
    v("marks", [](C chart) { return MakeViews<MarkJson>(chart.marks); },
      {.meaning = "what begins with which value", .omit_if_empty = true});
    v("at", &show::Chart::positions,
      {.meaning = "where the points are on the axis; without it they follow each other in time",
       .omit_if_empty = true});
    v("axis", &show::Chart::axis, {.meaning = "its title", .omit_if_empty = true, .present_with = "at"});
  }
};

struct PartJson {
  const show::Part& of;

  template <typename View, typename PartType>
  static std::optional<View> As(const PartJson& json) {
    return MakeOptionalView<View>(std::get_if<PartType>(&json.of));
  }

  static constexpr const char* kSchemaName = "part";
  static void Describe(auto& v) {
    v("paragraph", &As<ParagraphJson, show::Paragraph>, {.meaning = "plain text", .omit_if_empty = true});
    v("table", &As<TableJson, show::Table>, {.meaning = "of cells", .omit_if_empty = true});
    v("list", &As<ListJson, show::List>, {.meaning = "of sentences", .omit_if_empty = true});
    v("facts", &As<FactsJson, show::Facts>,
      {.meaning = "what is the same in all of the subject", .omit_if_empty = true});
    v("chart", &As<ChartJson, show::Chart>, {.meaning = "series of values", .omit_if_empty = true});
  }
};

struct SectionJson {
  const show::Section& of;
  bool appendix;

  // All parts except pictures, which only screens show: a table contains their values.
  std::vector<PartJson> Parts() const {
    std::vector<PartJson> parts;
    for (const show::Part& part : of.parts) {
      if (!show::IsPicture(part)) parts.push_back({part});
    }
    return parts;
  }

  static void Describe(auto& v) {
    using J = const SectionJson&;
    v("title", &show::Section::title, kOmittedIfEmpty.WithMeaning("above it"));
    v("level", &show::Section::level, kLevelMeaning);
    v("appendix", [](J json) { return UnlessDefault<false>(json.appendix); },
      {.meaning = "whether a page has it behind the notes; no key: before them", .omit_if_empty = true});
    v("parts", &SectionJson::Parts, {.meaning = "each has one key, which says what it is"});
  }
};

struct AnswerJson {
  const show::Answer& of;

  static void Describe(auto& v) {
    using A = const show::Answer&;
    DescribeText<show::Answer>(v, {.meaning = "in one sentence"});
    v("rest",
      [](A answer, const show::Document& document) { return show::TextOf(answer.precision, document.span); },
      {.meaning = "how sure that is", .omit_if_empty = true});
    v("tone", [](A answer) { return UnlessDefault<show::Tone::kPlain>(answer.tone); },
      {.meaning = "how to take it; no key: `plain`", .omit_if_empty = true});
  }
};

struct DocumentJson {
  const show::Document& of;

  static void Describe(auto& v) {
    using J = const DocumentJson&;
    DescribeSchemaVersion(v);
    v("title", &show::Document::title, {.meaning = "of the command and its subject"});
    v("facts", &show::Document::facts, {.meaning = "beside the title"});
    v("answers", [](J json) { return MakeViews<AnswerJson>(json.of.answers); },
      {.meaning = "what a reader wants to know first"});
    v("measured", &show::Document::measured,
      {.meaning = "what they are of: launches, rounds, seconds", .omit_if_empty = true});
    v("sections_are", &show::Document::section_kind,
      {.meaning = "what the titles of sections name", .omit_if_empty = true});
    v("sections",
      [](J json) {
        std::vector<SectionJson> sections;
        for (const show::Section& section : json.of.sections) sections.push_back({section, false});
        for (const show::Section& section : json.of.appendix) sections.push_back({section, true});
        return sections;
      },
      {.meaning = "from top to bottom"});
    v("notes_title", &show::Document::notes_title, kOmittedIfEmpty.WithMeaning("of a page"));
    v("notes",
      [](J json) {
        return MapEach(json.of.notes,
                       [&](const show::Note& note) { return show::TextOf(note, json.of.span); });
      },
      {.meaning = "what one has to know to trust it"});
    v("method", &show::Document::method, {.meaning = "how it was found out", .omit_if_empty = true});
  }
};

}  // namespace

void RenderDocumentJson(const show::Document& document, std::ostream& out) {
  WriteJson(DocumentJson{document}, 1, out);
}

nlohmann::ordered_json DocumentSchema() {
  return MakeSchema<DocumentJson>(
      "A document of etprof: what is said of any subject",
      "What a screen, report.md, or the page shows, as data. Texts are plain. Not there: what only a screen "
      "needs, as widths.");
}

}  // namespace etprof
