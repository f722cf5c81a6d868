#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/text/escape.h"
#include "core/units.h"
#include "core/views.h"
#include "report/report.h"

// A table of a few rows as RFC 4180. (The tables with a row an event have a faster way of their own, csv.cc.)
namespace etprof {

class CsvTable {
 public:
  CsvTable(std::ostream& out, const std::vector<std::string>& columns) : out_(out), columns_(columns.size()) {
    Row(columns);
  }
  // As many cells as columns; escaped here (CsvField).
  void Row(const std::vector<std::string>& cells) {
    if (cells.size() != columns_)
      throw std::logic_error("a CSV row has another number of cells than columns");
    for (std::size_t i = 0; i < cells.size(); ++i) out_ << (i > 0 ? "," : "") << CsvField(cells[i]);
    out_ << '\n';
  }

 private:
  std::ostream& out_;
  std::size_t columns_;
};

// A table's columns, each with its name and what stands in it of what a row is of.
template <typename Of>
struct CsvColumn {
  std::string name;
  std::function<std::string(const Of&)> cell;
};
template <typename Of>
using CsvColumns = std::vector<CsvColumn<Of>>;

// A table of such columns.
template <typename Of>
class CsvRows {
 public:
  CsvRows(std::ostream& out, CsvColumns<Of> columns)
      : columns_(std::move(columns)), table_(out, Each(columns_, &CsvColumn<Of>::name)) {}
  void Row(const Of& of) {
    table_.Row(Each(columns_, [&](const CsvColumn<Of>& column) { return column.cell(of); }));
  }

 private:
  CsvColumns<Of> columns_;
  CsvTable table_;
};

// Every operator, the framework's spans too, by falling self time: indices into Profile::operators.
std::vector<std::size_t> ByFallingTime(const Profile& profile);

// Absent for no runs.
std::optional<double> MaybeMean(Nanoseconds total, std::int64_t runs);

// Numbers as cells: the shortest text that reads back as the same double; empty for what is not defined.
std::string NumberCell(const std::optional<double>& value);
std::string IntegerCell(const std::optional<std::int64_t>& value);
// A member of its estimate; empty where there is none.
std::string EstimateCell(const Quantity& quantity, auto member) {
  return quantity.estimate ? NumberCell(std::invoke(member, *quantity.estimate)) : "";
}
// ns as milliseconds.
std::string MsCell(const std::optional<double>& ns);
// total / count as milliseconds; empty for a count of 0.
std::string MeanMsCell(Nanoseconds total, std::int64_t count);
// 100 part / whole; empty for a whole of 0.
std::string PercentCell(Nanoseconds part, Nanoseconds whole);

}  // namespace etprof
