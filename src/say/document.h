#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "compare/comparison.h"

// What is said of a subject: a value that any format can draw (render/document.h) and that knows none of
// them. Texts are plain; escaping, units, digits, widths and what does not fit are the formats'.
namespace etprof::say {

// Where it is shown: everywhere, also in the short form of a page (for a pull request), which folds away
// tables that are kUsual; on every screen and page; on pages, and on screens where all is asked for; the
// same, and on a page only once it is unfolded.
enum class Level { kBrief, kUsual, kPage, kFolded };

// How the reader is to take it.
enum class Tone { kPlain, kGood, kBad, kUnsure, kUnknown };

struct Nothing {};  // not known, or not defined: "—"
struct Duration {   // in the unit that suits it
  double ns = 0;
};
// In the unit of its table, which the heading of the table's first column names; in words in the unit of the
// document, which stands behind it.
struct Time {
  double ns = 0;
};
// In words: of times that are a whole together the one with that index, rounded as their table prints it,
// whose rows add up. Without a unit: "0.565 of 1.086 ms", the whole has it.
struct PartTime {
  std::vector<double> parts_ns;
  std::size_t index = 0;
  double ns() const { return parts_ns[index]; }
};
struct TimeBounds {  // the same, of two: "[3.98, 4.06]"
  double low_ns = 0, high_ns = 0;
};
template <typename T>
concept Arithmetic = std::is_arithmetic_v<T>;  // what can be counted: integers of any width, too
struct Size {
  double bytes = 0;
  explicit Size(Arithmetic auto of) : bytes(static_cast<double>(of)) {}
};
struct Count {
  std::int64_t count = 0;
  explicit Count(Arithmetic auto of) : count(static_cast<std::int64_t>(of)) {}
};
struct Amount {  // in powers of 1000: "67.1 M"
  double amount = 0;
  explicit Amount(Arithmetic auto of) : amount(static_cast<double>(of)) {}
};
struct Number {  // three significant digits; `unit` stands behind it, and its bounds where there are any
  double value = 0;
  std::string unit;
  std::optional<double> low = {}, high = {};
};
struct Share {  // of a whole: 0 to 1
  double share = 0;
};
struct Ratio {  // "1.84x"
  double ratio = 0;
};
// A relative change, +0.02 for 2 % more, with its bounds where there are any.
struct Change {
  double change = 0;
  std::optional<double> low = {}, high = {};
};
// How many times faster the candidate is than the baseline, with its verdict: "2.46x", "same", or "—" where
// the measurement cannot tell. With an efficiency (over the ratio of the threads) "1.86x, 93%", and
// "≈1.86x, 93%" where there are too few independent runs for an interval.
struct Speedup {
  Quantity quantity;
  std::optional<double> efficiency = {};
};
// The interval of that speedup: "[2.41, 2.50]".
struct Interval {
  Quantity quantity;
};

struct Cell {
  using Value = std::variant<Nothing, std::string, Duration, Time, TimeBounds, PartTime, Size, Count, Amount,
                             Number, Share, Ratio, Change, Speedup, Interval>;
  Value value = Nothing();
  Tone tone = Tone::kPlain;     // of a Speedup its verdict's, unless another is given
  Level level = Level::kUsual;  // kPage: a screen leaves it empty unless all is asked for

  Cell() = default;
  // NOLINTBEGIN(google-explicit-constructor): a row is written as a list of values
  template <typename T>
    requires std::constructible_from<Value, T>
  Cell(T&& of, Tone taken = Tone::kPlain) : value(std::forward<T>(of)), tone(taken) {}
  // NOLINTEND(google-explicit-constructor)
};

// `T` of an optional value; Nothing, or an empty cell, where there is none.
template <typename T>
Cell Maybe(const auto& value) {
  return value ? Cell(T{*value}) : Cell();
}
template <typename T>
Cell OrBlank(const auto& value) {
  return value ? Cell(T{*value}) : Cell("");
}
// A text that is "" where it is not known.
inline Cell Known(const std::string& text) { return text.empty() ? Cell() : Cell(text); }
// Of a whole; Nothing where that is 0.
inline Cell ShareOf(Arithmetic auto part, Arithmetic auto whole) {
  return whole > 0 ? Cell(Share{static_cast<double>(part) / static_cast<double>(whole)}) : Cell();
}

// Words, and values among them, which the formats write.
class Text {
 public:
  Text() = default;
  // NOLINTBEGIN(google-explicit-constructor): most texts are words alone
  template <typename T>
    requires std::constructible_from<Cell::Value, T>
  Text(T&& of) {
    Add(std::forward<T>(of));
  }
  Text(std::string_view words) { Add(std::string(words)); }
  // NOLINTEND(google-explicit-constructor)

  Text& operator+=(const Text& more);
  friend Text operator+(Text text, const Text& more) { return text += more; }
  bool empty() const { return pieces_.empty(); }
  // Words are strings; no two of them follow each other, and none is empty.
  const std::vector<Cell::Value>& pieces() const { return pieces_; }

 private:
  void Add(Cell::Value piece);
  std::vector<Cell::Value> pieces_;
};

// The words of a sentence with a "{}" for each of N texts.
template <std::size_t N>
struct Pattern {
  std::string_view words;
  // NOLINTNEXTLINE(google-explicit-constructor): a literal
  consteval Pattern(const char* of) : words(of) {
    std::size_t places = 0;
    for (std::size_t at = words.find("{}"); at != words.npos; at = words.find("{}", at + 2)) ++places;
    if (places != N) throw "the words have another number of places";
  }
};
Text Said(std::string_view words, const std::vector<Text>& texts);
// "{} in the first {}" with what stands there.
template <typename... T>
Text Say(Pattern<sizeof...(T)> pattern, T&&... texts) {
  return Said(pattern.words, {Text(std::forward<T>(texts))...});
}
// "a, b, c"
Text Joined(const std::vector<Text>& texts, const char* between = ", ");

// The times whose unit and digits a table or a document takes over.
struct Span {
  double smallest_ns = 0, largest_ns = 0;
};

// One row of a table.
struct Row {
  // Times of parts are rounded so that, as printed, they add up to the next sum: the value of a kSum row is
  // that of all kPart rows before it. A kRest row is shown by screens alone, in the place of the kPart rows
  // before it that they leave out, whose sum it is.
  enum class Role { kPlain, kPart, kSum, kRest };
  std::vector<Cell> cells;
  Role role = Role::kPlain;
  int depth = 0;  // in a tree: the first cell is indented by it
  // kPage: a screen leaves it out unless all is asked for; kFolded: and so does a page whose table says where
  // it is.
  Level level = Level::kUsual;

  Row() = default;
  // NOLINTBEGIN(google-explicit-constructor)
  Row(std::initializer_list<Cell> of) : cells(of) {}
  Row(std::vector<Cell> of, Role is = Role::kPlain, int at = 0) : cells(std::move(of)), role(is), depth(at) {}
  // NOLINTEND(google-explicit-constructor)
};

struct Table {
  // What stays of words that are too long: the beginning, the end ("….py:86"), of an operator's name both
  // ("Convolution (NHWC… IGEMM #2"), or of the names of variants what tells them apart ("…fp16", "…int8").
  enum class Keep { kBeginning, kEnd, kName, kDifference };
  struct Column {
    std::string id;     // stable: the column's name in CSV, in snake_case
    std::string title;  // what people read; "": it belongs to the column before it
    bool right = false;
    // On a screen that is too narrow: 1 is left out first, then 2, ... 0: never; what does not fit is a table
    // of its own below, where all is asked for.
    int goes = 0;
    bool bars = false;             // of shares and times: a screen with room draws them as bars, too
    Keep keep = Keep::kBeginning;  // kDifference, but in the first column: of its title, a variant's name
    int most = 0;                  // columns of a screen that its words take at most; 0: as many as there are
    bool sums = false;             // of times: what rows that are not shown have together is said below
    Level level = Level::kUsual;   // kPage: only screens that show all have it, and whole pages
    bool wraps = false;            // of the last one: what a screen has no room for goes into further lines

    Column& Goes(int order) { return goes = order, *this; }
    Column& Keeps(Keep what) { return keep = what, *this; }
    Column& Bars() { return bars = true, *this; }
    Column& Wraps() { return wraps = true, *this; }
    Column& Most(int width) { return most = width, *this; }
    Column& At(Level from) { return level = from, *this; }
  };
  std::string id;          // stable. Tables of one id have the same columns, and are one table as CSV
  std::string title = {};  // "": none
  std::vector<Column> columns = {};
  std::vector<Row> rows = {};  // columns.size() cells each. Only CSV shows a table without rows
  Level level = Level::kUsual;
  std::size_t usual_rows = SIZE_MAX;  // what a screen shows of them
  std::string elsewhere = {};  // where the others are for who reads a page, which then shows no more either
  std::optional<Span> span = {};  // absent: its own
  int name_columns = 16;          // of a narrow screen, which the first column keeps before others go
  bool units_by_row = false;      // the name of a row has the unit of its values, where they have one

  // A column with what it shows of each `Of`; of a table that has it.
  template <typename Of>
  struct Shown {
    Column column;
    std::function<Cell(const Of&)> cell;
    bool there = true;
  };
  // Adds the columns that are there, and a row for each of `all`.
  template <typename Of>
  void Fill(const std::vector<Shown<Of>>& shown, const std::vector<Of>& all) {
    rows.resize(all.size());
    for (const auto& [column, cell, there] : shown) {
      if (!there) continue;
      columns.push_back(column);
      for (std::size_t i = 0; i < all.size(); ++i) rows[i].cells.push_back(cell(all[i]));
    }
  }
};

// A column of texts, and one of numbers, which stand to the right. With no title of its own the id is it.
inline Table::Column Left(std::string id, std::string title) { return {std::move(id), std::move(title)}; }
inline Table::Column Left(const std::string& id) { return Left(id, id); }
inline Table::Column Right(std::string id, std::string title) {
  return {std::move(id), std::move(title), true};
}
inline Table::Column Right(const std::string& id) { return Right(id, id); }
// Of operators' names.
inline Table::Column Names(std::string id, std::string title) {
  return Left(std::move(id), std::move(title)).Keeps(Table::Keep::kName);
}
inline Table::Column Names(const std::string& id) { return Names(id, id); }
// Of numbers of one of two variants, by its name.
inline Table::Column VariantColumn(std::string id, std::string variant) {
  return Right(std::move(id), std::move(variant)).Keeps(Table::Keep::kDifference);
}

struct Paragraph {
  Text text;
  Level level = Level::kUsual;
};

struct List {
  struct Item {
    Text text;
    std::vector<Text> details;    // on pages, and on screens where all is asked for
    Level level = Level::kUsual;  // kPage: only there
    std::string table = {};       // the id of the one with the numbers; a page leads there

    // NOLINTBEGIN(google-explicit-constructor)
    Item(const char* of) : text(of) {}
    Item(const std::string& of) : text(of) {}
    Item(Text of, std::vector<Text> more = {}, Level at = Level::kUsual, std::string in = "")
        : text(std::move(of)), details(std::move(more)), level(at), table(std::move(in)) {}
    // NOLINTEND(google-explicit-constructor)
  };
  std::string title;  // of the lines; "": none
  std::vector<Item> items = {};
  std::size_t usual_items = SIZE_MAX;  // what a screen shows of them
  bool numbered = false;
  Level level = Level::kUsual;
};

// Something that is the same in a whole run, or in all of an experiment, in the words in which it is shown.
struct Fact {
  std::string name, value;

  static void Describe(auto& v) {
    v("name", &Fact::name, {.meaning = "of the fact"});
    v("value", &Fact::value, {.meaning = "in words"});
  }
};

// Names with what is to be said of each: "precision  ±4 %". A name that repeats is shown once.
struct Facts {
  std::string id;     // stable, of the table that CSV makes of it
  std::string title;  // "": none
  std::vector<Fact> facts = {};
  Level level = Level::kUsual;

  // Of what is not known, "", nothing is said.
  void Add(std::string name, std::string value) {
    if (!value.empty()) facts.push_back({std::move(name), std::move(value)});
  }
};

// What can be reached, and what was, on two logarithmic axes, as a picture of a screen: pages leave it out.
// Of the table behind it the first rows have the letters of their points.
struct Roofs {
  struct Line {  // level at `y`, or rising: of that many y for each x
    bool level = false;
    double y = 0;
    std::string name;
  };
  struct Point {
    double x = 0, y = 0;
  };
  std::string x_unit, y_unit;
  std::vector<Line> lines;
  std::vector<std::optional<Point>> points;  // row by row of the table; absent: it has no place
  std::size_t lettered = 10;                 // of the rows, the first
  std::string note = {};                     // below it; "": none
};

// Series over the same stretch of time, each drawn on its own scale.
struct Chart {
  struct Series {
    std::string name;
    std::vector<std::optional<double>> values;
    Cell (*cell)(double) = nullptr;  // of one value, for what the scale is
  };
  // Something that begins with a value: "+5.0%". Only a page has it.
  struct Mark {
    std::size_t at = 0;  // index into the values
    std::string text;
  };
  std::vector<Series> series;
  // What each of the values is of ("c7, 2026-01-31"; up to the comma it stands at the axis); empty: nothing
  // is
  std::vector<std::string> points = {};
  std::vector<Mark> marks = {};
};

// How often which times were measured, on one axis. Only a screen has it.
struct Distributions {
  struct Series {
    std::string name;
    std::vector<std::int64_t> counts;  // bin by bin, all as long
    std::int64_t beyond = 0;           // above the axis
    std::optional<double> median_ns, largest_ns;
  };
  double from_ns = 0, bin_ns = 0;  // bin_ns: 0 where all times are equal
  std::vector<Series> series;
};

using Part = std::variant<Paragraph, Table, List, Facts, Chart, Roofs, Distributions>;

// A picture of a screen alone: what it shows is in tables, too.
inline bool IsPicture(const Part& part) {
  return std::holds_alternative<Roofs>(part) || std::holds_alternative<Distributions>(part);
}

struct Section {
  std::string title;  // "": none
  Level level = Level::kUsual;
  std::vector<Part> parts = {};

  // Adds it unless it is a paragraph, a list, facts, or a table without anything in it.
  void AddUnlessEmpty(Part part);
};

struct Answer {
  Text text;  // in one sentence
  Text rest;  // how sure that is: "95% CI [1.69, 1.83]"
  Tone tone = Tone::kPlain;
};

// What one has to know to trust it.
struct Note {
  Text text;
  std::string label = "note";  // "precision", "warning"
  Level level = Level::kUsual;
};

struct Document {
  std::string title;
  std::string sections_are;        // what the titles of sections name, as a column of CSV: "pair"
  std::vector<std::string> facts;  // beside the title: model, device, seconds
  std::vector<Answer> answers;
  std::string measured;    // below the answers: "10 interleaved launches x 4 rounds in 31 s"
  bool concludes = false;  // a screen has the answers last, below what they are made of
  std::vector<Section> sections;
  std::vector<Section> appendix;  // behind the notes of a page
  std::string notes_title;        // of a page; ""
  std::vector<Note> notes;
  std::size_t usual_notes = SIZE_MAX;  // of one label, that a screen shows
  std::string hint;                    // for a screen that does not show all
  std::string method;                  // how it was found out, for a page; ""
  std::optional<Span> span = {};       // of the times in its texts; absent: each has its own unit
};

inline bool IsNothing(const Cell& cell) { return std::holds_alternative<Nothing>(cell.value); }

// Those of the appendix, too.
std::vector<const Section*> SectionsOf(const Document& document);

// Of two columns, "name" and "value".
Table TableOf(const Facts& facts);

// The value in words, as sentences, screens, and pages have it; a Time as a Duration.
std::string TextOf(const Cell& cell);
// Its times in the unit and with the digits for `span`, that of the document.
std::string TextOf(const Text& text, const std::optional<Span>& span);
// Of a Speedup its verdict's, unless the cell has another.
Tone ToneOf(const Cell& cell);

// "etprof check · toy_cnn · linux-x86_64, 2 cores": title and facts.
std::string HeadingOf(const Document& document);

// "warning: ..."; a plain note is its text.
std::string TextOf(const Note& note, const std::optional<Span>& span);

// Notes that differ in their texts alone.
std::vector<Note> NotesOf(const std::vector<std::string>& texts, const std::string& label = "note");

}  // namespace etprof::say
