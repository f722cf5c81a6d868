#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "show/cell.h"

// A document about any subject: content that every format can draw (show/formats.h), independent of the
// formats. Texts are plain. The formats decide about escaping, units, digits, widths, and truncation.
namespace etprof::show {

// A text with embedded values, which each format prints in its own way.
class Text {
 public:
  Text() = default;
  // NOLINTBEGIN(google-explicit-constructor): most texts contain no values
  Text(Value value) { Add(std::move(value)); }
  template <typename T>
    requires std::constructible_from<std::string, T>
  Text(T&& text) {
    Add(Cell(std::forward<T>(text)));
  }
  // NOLINTEND(google-explicit-constructor)

  Text& operator+=(const Text& more);
  friend Text operator+(Text text, const Text& more) { return text += more; }
  bool empty() const { return pieces_.empty(); }
  // Adjacent text pieces are merged, and no text piece is empty.
  const std::vector<Value>& pieces() const { return pieces_; }

 private:
  void Add(Value piece);
  std::vector<Value> pieces_;
};

struct Document;
// Format the text, and the numbers in it, in the document's unit of time.
std::string PrintedText(const Text& text, const Document& document);
std::vector<Cell> PrintedValues(const Text& text, const Document& document);
// Describes T::text and the numbers in it.
template <typename T>
void DescribeText(auto& v, const MemberInfo& info) {
  v("text", [](const T& t, const Document& document) { return PrintedText(t.text, document); }, info);
  v("values", [](const T& t, const Document& document) { return PrintedValues(t.text, document); },
    {.meaning = "the numbers in `text`, in their order", .omit_if_empty = true});
}

// A sentence with a "{}" for each of N texts.
template <std::size_t N>
struct Pattern {
  std::string_view text;
  // NOLINTNEXTLINE(google-explicit-constructor): a literal
  consteval Pattern(const char* literal) : text(literal) {
    std::size_t placeholders = 0;
    for (std::size_t position = text.find("{}"); position != text.npos;
         position = text.find("{}", position + 2))
      ++placeholders;
    if (placeholders != N) throw "the pattern has another number of {}";
  }
};
Text FillPattern(std::string_view pattern, const std::vector<Text>& texts);
// Replaces each "{}" of a pattern, such as "{} in the first {}", by a text.
template <typename... T>
Text FormatText(Pattern<sizeof...(T)> pattern, T&&... texts) {
  return FillPattern(pattern.text, {Text(std::forward<T>(texts))...});
}
// "a, b, c"
Text JoinTexts(const std::vector<Text>& texts, const char* separator = ", ");

// The range of times that determines the unit and digits of a table or a document.
struct TimeRange {
  double smallest_ns = 0, largest_ns = 0;
};

struct Row {
  // Times of kPart rows are rounded so that, as printed, they add up to the next kSum row, whose value is the
  // sum of all kPart rows before it. Only screens show kScreenOnly rows. After kPart rows, such a row
  // replaces those that the screen leaves out, and is their sum.
  enum class Role { kPlain, kPart, kSum, kScreenOnly };
  std::vector<Cell> cells;
  Role role = Role::kPlain;
  int depth = 0;  // indentation of the first cell in a tree
  // kPage: screens show it only with --all. kFolded: like kPage, and a page leaves it out if the table
  // has a `hidden_rows_hint`.
  Visibility visibility = Visibility::kDefault;

  Row() = default;
  // NOLINTBEGIN(google-explicit-constructor)
  Row(std::initializer_list<Cell> row_cells) : cells(row_cells) {}
  Row(std::vector<Cell> row_cells, Role row_role = Role::kPlain, int tree_depth = 0)
      : cells(std::move(row_cells)), role(row_role), depth(tree_depth) {}
  // NOLINTEND(google-explicit-constructor)

  // Adds cells on the right.
  void Add(auto&&... more) { (cells.emplace_back(std::forward<decltype(more)>(more)), ...); }

  static constexpr const char* kSchemaName = "row";
  static void Describe(auto& v) {
    v("cells", &Row::cells, {.meaning = "one for each column"});
    v("role", UnlessDefault(&Row::role, Role::kPlain),
      {.meaning = "times of `part` rows add up, as printed, to the next `sum`; no key: `plain`",
       .omit_if_empty = true});
    v("depth", UnlessDefault(&Row::depth, 0), {.meaning = "in a tree; no key: 0", .omit_if_empty = true});
    v("level", UnlessDefault(&Row::visibility, Visibility::kDefault),
      {.meaning = "no key: `usual`", .omit_if_empty = true});
  }
};

struct Table {
  // The part of a long text that stays if the text is truncated: the beginning, the end ("….py:86"), both
  // ends of an operator's name ("Convolution (NHWC… IGEMM #2"), or the differing part of the names of
  // variants ("…fp16", "…int8").
  enum class Truncation { kKeepBeginning, kKeepEnd, kKeepNameEnds, kKeepDifference };
  struct Column {
    std::string id;     // stable: the column's name in CSV, in snake_case
    std::string title;  // heading; "": the heading of the column before it is above both
    bool align_right = false;
    // Drop priority on a narrow screen: 1 is dropped first, then 2, ...; 0: never. With --all, columns that
    // do not fit go into further tables below.
    int drop_priority = 0;
    // For shares and times: a screen with room also draws bars.
    bool has_bars = false;
    // For texts that are too long. kKeepDifference also shortens the titles of all columns but the first.
    Truncation truncation = Truncation::kKeepBeginning;
    int max_width = 0;                             // maximum width on a screen, in columns; 0: unlimited
    bool has_hidden_sum = false;                   // for times: the sum over the hidden rows is printed below
    Visibility visibility = Visibility::kDefault;  // kPage: shown only on pages, and on screens with --all
    bool wraps = false;          // for the last column: long text continues on further lines
    bool never_dropped = false;  // a verdict, or a value that supports it: never dropped

    Column& WithDropPriority(int priority) { return drop_priority = priority, *this; }
    Column& NeverDropped() { return never_dropped = true, *this; }
    Column& WithTruncation(Truncation mode) { return truncation = mode, *this; }
    Column& WithBeginningTruncated() { return WithTruncation(Truncation::kKeepEnd); }
    Column& WithDifferenceKept() { return WithTruncation(Truncation::kKeepDifference); }
    Column& WithBars() { return has_bars = true, *this; }
    Column& WithWrapping() { return wraps = true, *this; }
    Column& WithMaxWidth(int width) { return max_width = width, *this; }
    Column& WithVisibility(Visibility column_visibility) { return visibility = column_visibility, *this; }

    static void Describe(auto& v) {
      v("id", &Column::id, {.meaning = "the column's name in CSV, too"});
      v("title", &Column::title, {.meaning = "of the first column with the unit of the `text` of times"});
      v("right", &Column::align_right, {.meaning = "whether it is aligned to the right"});
    }
  };
  std::string id;          // stable; tables of one id have the same columns, and are one table in CSV
  std::string title = {};  // "": none
  std::vector<Column> columns = {};
  std::vector<Row> rows = {};  // columns.size() cells each; only CSV shows a table without rows
  Visibility visibility = Visibility::kDefault;
  std::size_t screen_rows = SIZE_MAX;  // how many rows a screen shows
  std::string hidden_rows_hint = {};   // where the hidden rows are; "": nowhere, so pages show all rows

  std::optional<TimeRange> time_range = {};  // absent: the range of the table's own times
  int min_name_width = 16;    // width of the first column on a narrow screen before others are dropped
  bool units_by_row = false;  // if all values of a row have the same unit, the row's name shows it
  // In a printed table (show/formats/printed_table.h), a text about the rows that are not shown: "and 12 more
  // (potential saving 0.34 ms)"; "": all rows are shown.
  std::string omitted_rows = {};

  // Adds columns on the right.
  void AddColumns(auto&&... more) { (columns.push_back(std::forward<decltype(more)>(more)), ...); }
  // Adds a row of these cells below.
  Row& AddRow(auto&&... row_cells) {
    Row& row = rows.emplace_back();
    row.Add(std::forward<decltype(row_cells)>(row_cells)...);
    return row;
  }

  // A column, the function that makes its cell for an element, and whether the table has the column.
  template <typename Element>
  struct ColumnWithCells {
    Column column;
    std::function<Cell(const Element&)> cell;
    bool is_present = true;
  };
  // Adds the present columns, and a row for each of the elements.
  template <typename Element>
  void Fill(const std::vector<ColumnWithCells<Element>>& possible_columns,
            const std::vector<Element>& elements) {
    rows.resize(elements.size());
    for (const auto& [column, cell, is_present] : possible_columns) {
      if (!is_present) continue;
      columns.push_back(column);
      for (std::size_t i = 0; i < elements.size(); ++i) rows[i].cells.push_back(cell(elements[i]));
    }
  }

  // Describes a printed table (show/formats/printed_table.h).
  static constexpr const char* kSchemaName = "table";
  static void Describe(auto& v) {
    v("id", &Table::id, {.meaning = "tables of one id have the same columns"});
    v("title", &Table::title, kOmittedIfEmpty.WithMeaning("above it"));
    v("level", &Table::visibility, kVisibilityInfo);
    v("columns", &Table::columns, {.meaning = "from left to right"});
    v("rows", &Table::rows, {.meaning = "from top to bottom"});
    v("usual_rows", UnlessDefault(&Table::screen_rows, SIZE_MAX),
      {.meaning = "how many of them are shown where there is little room; no key: all",
       .omit_if_empty = true});
  }
};

// A left-aligned column of texts, and a right-aligned column of numbers. Without a title, the id is the
// title.
inline Table::Column Left(const std::string& id, const std::optional<std::string>& title = {}) {
  return {id, title.value_or(id)};
}
inline Table::Column Right(const std::string& id, const std::optional<std::string>& title = {}) {
  return {id, title.value_or(id), true};
}
// A column of operators' names.
inline Table::Column NameColumn(const std::string& id, const std::optional<std::string>& title = {}) {
  return Left(id, title).WithTruncation(Table::Truncation::kKeepNameEnds);
}
// A column of numbers of one variant, titled by the variant's name.
inline Table::Column VariantColumn(const std::string& id, const std::string& variant) {
  return Right(id, variant).WithDifferenceKept();
}

struct Paragraph {
  Text text;
  Visibility visibility = Visibility::kDefault;

  static void Describe(auto& v) {
    DescribeText<Paragraph>(v, {.meaning = "without markup"});
    v("level", &Paragraph::visibility, kVisibilityInfo);
  }
};

struct List {
  struct Item {
    Text text;
    std::vector<Text> details;                     // shown on pages, and on screens with --all
    Visibility visibility = Visibility::kDefault;  // kPage: shown only on pages, and on screens with --all
    std::string table = {};                        // id of the table with the numbers, to which a page links

    // NOLINTBEGIN(google-explicit-constructor)
    Item(const char* item_text) : text(item_text) {}
    Item(const std::string& item_text) : text(item_text) {}
    Item(Text item_text, std::vector<Text> item_details = {},
         Visibility item_visibility = Visibility::kDefault, std::string table_id = "")
        : text(std::move(item_text)),
          details(std::move(item_details)),
          visibility(item_visibility),
          table(std::move(table_id)) {}
    // NOLINTEND(google-explicit-constructor)

    std::vector<std::string> PrintedDetails(const Document& document) const;

    static void Describe(auto& v) {
      DescribeText<Item>(v, {.meaning = "without markup"});
      v("details", &Item::PrintedDetails, kOmittedIfEmpty.WithMeaning("line by line"));
      v("table", &Item::table, {.meaning = "the id of the table with the numbers", .omit_if_empty = true});
    }
  };
  std::string title;  // heading of the list; "": none
  std::vector<Item> items = {};
  std::size_t screen_items = SIZE_MAX;  // how many items a screen shows
  bool numbered = false;
  Visibility visibility = Visibility::kDefault;

  static void Describe(auto& v) {
    v("title", &List::title, kOmittedIfEmpty.WithMeaning("above it"));
    v("level", &List::visibility, kVisibilityInfo);
    v("numbered", &List::numbered, {.meaning = "the order counts"});
    v("items", &List::items, {.meaning = "from top to bottom"});
    v("usual_items", UnlessDefault(&List::screen_items, SIZE_MAX),
      {.meaning = "how many of them are shown where there is little room; no key: all",
       .omit_if_empty = true});
  }
};

// A property of a whole run or experiment, as text.
struct Fact {
  std::string name, value;

  static void Describe(auto& v) {
    v("name", &Fact::name, {.meaning = "of the fact"});
    v("value", &Fact::value, {.meaning = "in words"});
  }
};

// Names and their values: "precision  ±4%". Consecutive equal names are printed once.
struct Facts {
  std::string id;     // stable id of the table in CSV
  std::string title;  // "": none
  std::vector<Fact> facts = {};
  Visibility visibility = Visibility::kDefault;

  // Leaves out unknown values ("").
  void Add(std::string name, std::string value) {
    if (!value.empty()) facts.push_back({std::move(name), std::move(value)});
  }

  static void Describe(auto& v) {
    v("id", &Facts::id, {.meaning = "of the table that they are in CSV"});
    v("title", &Facts::title, kOmittedIfEmpty.WithMeaning("above them"));
    v("level", &Facts::visibility, kVisibilityInfo);
    v("facts", &Facts::facts, {.meaning = "names with values; a name may repeat"});
  }
};

// A roofline chart on two logarithmic axes, which only screens draw. The first rows of the table after it
// begin with the letters of their points.
struct RooflineChart {
  struct Line {  // horizontal at `y`, or rising with slope `y` (y per x)
    bool is_horizontal = false;
    double y = 0;
    std::string name;
  };
  struct Point {
    double x = 0, y = 0;
  };
  std::string x_unit, y_unit;
  std::vector<Line> lines;
  std::vector<std::optional<Point>> points;  // in the order of the table's rows; absent: the row has no point
  std::size_t lettered_rows = 10;            // number of rows whose points have letters
  std::string note = {};                     // text below the chart; "": none
};

// Several series over the same points. If the points have positions on an axis, the series share one scale;
// else each series has its own.
struct Chart {
  struct Series {
    std::string name;
    std::vector<std::optional<double>> values;
    Cell (*cell)(double) = nullptr;  // formats a value, for the labels of the scale

    std::vector<Cell> PrintedValues() const;

    static void Describe(auto& v) {
      v("name", &Series::name, {.meaning = "of what the values are"});
      v("values", &Series::PrintedValues, {.meaning = "in the order of the points"});
    }
  };
  // A label at the value at which a change begins: "+5.0%". Only pages show it.
  struct Mark {
    std::size_t index = 0;  // index into the values
    std::string text;

    static void Describe(auto& v) {
      v("at", &Mark::index, {.meaning = "index of the value that it begins with"});
      v("text", &Mark::text, {.meaning = "what begins: \"+5.0%\""});
    }
  };
  std::vector<Series> series;
  // Labels of the points ("c7, 2026-01-31"; the axis shows the part before the comma); empty: none
  std::vector<std::string> points = {};
  std::vector<Mark> marks = {};
  // The position of each point on an axis with the title `axis`; empty: points are equally spaced. Only pages
  // draw a chart with positions, next to a table of the same values.
  std::vector<std::int64_t> positions = {};
  std::string axis = {};

  static void Describe(auto& v) {
    v("series", &Chart::series,
      {.meaning = "over the same points: with `at` on one scale, else each on its own"});
    v("points", &Chart::points, {.meaning = "what each of the values is of", .omit_if_empty = true});
    v("marks", &Chart::marks, {.meaning = "what begins with which value", .omit_if_empty = true});
    v("at", &Chart::positions,
      {.meaning = "where the points are on the axis; without it they follow each other in time",
       .omit_if_empty = true});
    v("axis", &Chart::axis, {.meaning = "its title", .omit_if_empty = true, .present_with = "at"});
  }
};

// Histograms of measured times on one axis, which only screens draw.
struct Distributions {
  struct Series {
    std::string name;
    std::vector<std::int64_t> counts;  // per bin; all series have the same number of bins
    std::int64_t above_axis = 0;       // runs beyond the axis
    std::optional<double> median_ns, largest_ns;
  };
  double from_ns = 0, bin_ns = 0;  // bin_ns: 0 if all times are equal
  std::vector<Series> series;
};

using Part = std::variant<Paragraph, Table, List, Facts, Chart, RooflineChart, Distributions>;

// True if the part is a picture, which only screens draw; tables show the same values.
inline bool IsPicture(const Part& part) {
  return std::holds_alternative<RooflineChart>(part) || std::holds_alternative<Distributions>(part);
}

struct Section {
  std::string title;  // "": none
  Visibility visibility = Visibility::kDefault;
  std::vector<Part> parts;

  Section() = default;
  Section(std::string section_title, Visibility section_visibility, std::vector<Part> section_parts = {})
      : title(std::move(section_title)), visibility(section_visibility), parts(std::move(section_parts)) {}
  Section(std::string section_title, std::vector<Part> section_parts)
      : Section(std::move(section_title), Visibility::kDefault, std::move(section_parts)) {}

  // Adds the part, unless it is an empty paragraph, list, table, or list of facts.
  void AddUnlessEmpty(Part part);
  // Adds a paragraph, unless the text is empty.
  void AddText(Text text, Visibility text_visibility = Visibility::kDefault) {
    AddUnlessEmpty(Paragraph{std::move(text), text_visibility});
  }
};

struct Answer {
  Text text;       // one sentence
  Text precision;  // precision of the answer: "95% CI [1.69, 1.83]"
  Tone tone = Tone::kPlain;

  std::string PrintedPrecision(const Document& document) const { return PrintedText(precision, document); }

  static void Describe(auto& v) {
    DescribeText<Answer>(v, {.meaning = "in one sentence"});
    v("rest", &Answer::PrintedPrecision, {.meaning = "how sure that is", .omit_if_empty = true});
    v("tone", UnlessDefault(&Answer::tone, Tone::kPlain),
      {.meaning = "how to take it; no key: `plain`", .omit_if_empty = true});
  }
};

// A fact that readers must know to trust the document.
struct Note {
  Text text;
  std::string label = "note";  // "precision", "warning"
  Visibility visibility = Visibility::kDefault;
};

struct Document {
  std::string title = {};
  std::string section_kind = {};        // what the titles of sections name, as a CSV column: "pair"
  std::vector<std::string> facts = {};  // next to the title: model, device, seconds
  std::vector<Answer> answers = {};
  std::string measured = {};  // below the answers: "10 interleaved launches x 4 rounds in 31 s"
  bool answers_last = false;  // a screen shows the answers last
  std::vector<Section> sections = {};
  std::vector<Section> appendix = {};  // after the notes of a page
  std::string notes_title = {};        // heading of the notes on a page; "": none
  std::vector<Note> notes = {};
  std::size_t screen_notes = SIZE_MAX;  // how many notes per label a screen shows
  std::string hint = {};                // shown on a screen without --all
  std::string method = {};              // how the results were obtained, shown on a page; "": none
  std::optional<TimeRange> time_range =
      {};  // determines the unit of times in texts; absent: each time has its own unit
};

// All sections, including the appendix.
std::vector<const Section*> AllSections(const Document& document);

// The facts as a table with the columns "name" and "value".
Table MakeFactsTable(const Facts& facts);

// The value as text for sentences, screens, and pages; a Time as a Duration.
std::string ToText(const Value& value);
// The text. `time_range` is the document's, and determines the unit and digits of its times.
std::string ToText(const Text& text, const std::optional<TimeRange>& time_range);
// The cell's tone; for a plain Speedup, the tone of its verdict.
Tone GetTone(const Cell& cell);
// A value with its text and its tone; `time_range`, the document's, determines the unit and digits of its
// times.
Cell PrintedCell(const Value& value, const std::optional<TimeRange>& time_range = {});

// Title and facts: "etprof check · toy_cnn · linux-x86_64, 2 cores".
std::string DocumentHeading(const Document& document);

// "warning: ..."; a note with the default label is only its text.
std::string ToText(const Note& note, const std::optional<TimeRange>& time_range);

// Notes with these texts and one label.
std::vector<Note> MakeNoteList(const std::vector<std::string>& texts, const std::string& label = "note");

}  // namespace etprof::show
