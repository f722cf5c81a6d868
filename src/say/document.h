#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// What is said of a subject: a value that any format can draw (render/document.h) and that knows none of
// them. Texts are plain; escaping, units, digits, widths and what does not fit are the formats'.
namespace etprof::say {

// Where it is shown: on every screen and page; on pages, and on screens where all is asked for; the same, and
// on a page only once it is unfolded.
enum class Level { kUsual, kPage, kFolded };

// How the reader is to take it.
enum class Tone { kPlain, kGood, kBad, kUnsure };

struct Nothing {};  // not known, or not defined: "—"
struct Duration {   // in the unit that suits it
  double ns = 0;
};
struct Time {  // in the unit that suits the times of its table
  double ns = 0;
};
struct Size {
  double bytes = 0;
};
struct Count {
  std::int64_t count = 0;
};
struct Number {  // three significant digits; `unit` stands behind it
  double value = 0;
  std::string unit;
};
// A relative change, +0.02 for 2 % more, with its bounds where there are any.
struct Change {
  double change = 0;
  std::optional<double> low, high;
};

struct Cell {
  using Value = std::variant<Nothing, std::string, Duration, Time, Size, Count, Number, Change>;
  Value value = Nothing();
  Tone tone = Tone::kPlain;

  Cell() = default;
  // NOLINTBEGIN(google-explicit-constructor): a row is written as a list of values
  template <typename T>
    requires std::constructible_from<Value, T>
  Cell(T&& of, Tone taken = Tone::kPlain) : value(std::forward<T>(of)), tone(taken) {}
  // NOLINTEND(google-explicit-constructor)
};

// `T` of the value, Nothing where there is none.
template <typename T>
Cell Maybe(const std::optional<double>& value) {
  return value ? Cell(T{*value}) : Cell();
}

struct Table {
  struct Column {
    std::string id;     // stable: the column's name in CSV, in snake_case
    std::string title;  // what people read
    bool right = false;
    int goes = 0;  // on a screen that is too narrow: 1 is left out first, then 2, ...; 0: never
  };
  std::string id;     // stable. Tables of one id have the same columns, and are one table as CSV
  std::string title;  // "": none
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  // columns.size() cells each. Only CSV shows a table without rows
  Level level = Level::kUsual;
  std::size_t usual_rows = SIZE_MAX;  // what a screen shows of them
  std::string elsewhere = {};  // where the others are for who reads a page, which then shows no more either
};

struct Paragraph {
  std::string text;
  Level level = Level::kUsual;
};

struct List {
  std::string title;  // of the lines; "": none
  std::vector<std::string> lines;
  std::size_t usual_lines = SIZE_MAX;  // what a screen shows of them
};

// Series over the same stretch of time, each drawn on its own scale.
struct Chart {
  struct Series {
    std::string name;
    std::vector<std::optional<double>> values;
    Cell (*cell)(double) = nullptr;  // of one value, for what the scale is
  };
  std::vector<Series> series;
};

struct Section {
  std::string title;  // "": none
  Level level = Level::kUsual;
  std::vector<std::variant<Paragraph, Table, List, Chart>> parts;
};

struct Document {
  std::string title;
  std::string sections_are;        // what the titles of sections name, as a column of CSV: "pair"
  std::vector<std::string> facts;  // beside the title: model, device, seconds
  std::string answer;              // in one sentence; "": there is none. First on a page, last on a screen
  Tone answered = Tone::kPlain;
  std::vector<Section> sections;
  std::vector<std::string> notes;  // what one has to know to trust it
  std::string method;              // how it was found out, for a page; ""
};

inline bool IsNothing(const Cell& cell) { return std::holds_alternative<Nothing>(cell.value); }

// The value in words, as sentences, screens, and pages have it; a Time as a Duration.
std::string TextOf(const Cell& cell);

// "etprof check · toy_cnn · linux-x86_64, 2 cores": title and facts.
std::string HeadingOf(const Document& document);

}  // namespace etprof::say
