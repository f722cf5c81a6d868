#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/json/json_members.h"
#include "core/text/csv_reader.h"
#include "core/text/escape.h"
#include "core/text/text.h"
#include "core/units.h"

// CSV for described structs (core/json/describe.h): a row is a struct, and its members are the columns. Cells
// are escaped by CsvField. An integer with a scale is written as an exact decimal number, true as 1. A
// floating-point number is the shortest text that reads back as the same value, or has as many significant
// digits as `static constexpr int kDigits` of its struct. A value that is absent or not finite is an empty
// cell. The cells of a flat std::optional are all filled or all empty.
namespace etprof {

// Writes rows of CSV to a stream through a large character buffer: an iostream insertion per cell would take
// longer than the analysis.
class CsvBuffer {
 public:
  explicit CsvBuffer(std::ostream& out) : out_(out), text_(new char[kSize]) {}
  ~CsvBuffer() { Flush(); }
  CsvBuffer(CsvBuffer&&) = delete;

  CsvBuffer& operator<<(std::string_view text) {
    if (text.size() > kSize - used_) Flush();
    if (text.size() > kSize) {
      out_.write(text.data(), static_cast<std::streamsize>(text.size()));
      return *this;
    }
    std::memcpy(text_.get() + used_, text.data(), text.size());
    used_ += text.size();
    return *this;
  }
  CsvBuffer& operator<<(char c) {
    MakeRoom();
    text_[used_++] = c;
    return *this;
  }
  CsvBuffer& Integer(std::int64_t value) {
    MakeRoom();
    return SetEnd(std::to_chars(text_.get() + used_, text_.get() + kSize, value).ptr);
  }
  // Replaces the comma after the last cell by a line end.
  void EndRow() { text_[used_ - 1] = '\n'; }
  // Writes value / 10^kDecimals exactly, without trailing zeros, or with all decimals if kAllDecimals.
  template <int kDecimals, bool kAllDecimals = false>
  CsvBuffer& Decimal(std::int64_t value) {
    MakeRoom();
    char* at = text_.get() + used_;
    if (value < 0) *at++ = '-';
    const std::uint64_t magnitude =
        value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    const std::uint64_t whole = magnitude / Power(kDecimals);
    auto fraction = static_cast<std::uint32_t>(magnitude % Power(kDecimals));
    if (whole < 10) {
      *at++ = static_cast<char>('0' + whole);
    } else {
      at = std::to_chars(at, text_.get() + kSize, whole).ptr;
    }
    if (kAllDecimals || fraction != 0) {
      int decimals = kDecimals;
      while (!kAllDecimals && fraction % 10 == 0) {
        fraction /= 10;
        --decimals;
      }
      *at = '.';
      for (int i = decimals; i > 0; --i) {
        at[i] = static_cast<char>('0' + fraction % 10);
        fraction /= 10;
      }
      at += decimals + 1;
    }
    return SetEnd(at);
  }
  // Writes 100 part / whole with four decimals, rounded to nearest; nothing if whole is 0.
  CsvBuffer& Percent(Nanoseconds part, Nanoseconds whole) {
    if (whole <= 0) return *this;
    const double scaled = 1e6 * static_cast<double>(part) / static_cast<double>(whole);
    if (!(scaled > -1e15 && scaled < 1e15)) {
      MakeRoom();
      return SetEnd(
          std::to_chars(text_.get() + used_, text_.get() + kSize, scaled / 1e4, std::chars_format::fixed, 4)
              .ptr);
    }
    return Decimal<4, true>(static_cast<std::int64_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5));
  }
  void Flush() {
    out_.write(text_.get(), static_cast<std::streamsize>(used_));
    used_ = 0;
  }

 private:
  static constexpr std::size_t kSize = std::size_t{1} << 18;
  static constexpr std::size_t kMaxNumberBytes = 512;  // bytes of the longest double in fixed notation

  static constexpr std::uint64_t Power(int exponent) {
    std::uint64_t power = 1;
    for (int i = 0; i < exponent; ++i) power *= 10;
    return power;
  }
  CsvBuffer& SetEnd(const char* end) {
    used_ = static_cast<std::size_t>(end - text_.get());
    return *this;
  }
  void MakeRoom() {
    if (kSize - used_ < kMaxNumberBytes) Flush();
  }
  std::ostream& out_;
  std::unique_ptr<char[]> text_;
  std::size_t used_ = 0;
};

// A share that is written as the percentage part / whole with four decimals; an empty cell if whole is 0.
struct PercentShare {
  using Form = double;
  std::int64_t part = 0, whole = 0;
};

namespace describe {

template <int kDigits, typename T>
void PutCell(const T& value, const MemberInfo& info, CsvBuffer& out) {
  if constexpr (IsOptional<T>::value) {
    if (value) PutCell<kDigits>(*value, info, out);
  } else if constexpr (std::is_same_v<T, PercentShare>) {
    out.Percent(value.part, value.whole);
  } else if constexpr (NamedEnum<T>) {
    out << GetName(value);
  } else if constexpr (kIsText<T>) {
    out << CsvField(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) return;
    if constexpr (kDigits > 0) {
      out << fmt::format("{:.{}g}", value / info.scale, kDigits);
    } else {
      out << fmt::format("{}", value / info.scale);
    }
  } else {
    const auto integer = static_cast<std::int64_t>(value);
    if (info.scale == 1e6) {
      out.Decimal<6>(integer);
    } else if (info.scale == 1e3) {
      out.Decimal<3>(integer);
    } else {
      out.Integer(integer);
    }
  }
}

// Significant digits of a struct's numbers; 0: as many as necessary.
template <typename T>
constexpr int SignificantDigits() {
  if constexpr (requires { T::kDigits; }) {
    return T::kDigits;
  } else {
    return 0;
  }
}

template <typename T>
struct ColumnNames {
  std::vector<std::string>& names;

  void operator()(const char* key, const auto&, const MemberInfo& = {}) { names.emplace_back(key); }
  void Converted(const char* key, const auto&, const auto&, const MemberInfo& = {}) {
    names.emplace_back(key);
  }
  void Flat(const auto& member, const MemberInfo& = {}) {
    using U = std::decay_t<decltype(MemberValue(member, std::declval<const T&>()))>;
    using Value = typename IsOptional<U>::Value;
    ColumnNames<Value> nested{names};
    Value::Describe(nested);
  }
};

}  // namespace describe

template <Described T>
std::vector<std::string> CsvColumns() {
  std::vector<std::string> names;
  describe::ColumnNames<T> columns{names};
  T::Describe(columns);
  return names;
}

namespace describe {

template <typename T>
struct CellWriter {
  CsvBuffer& out;
  const T* value;  // null: all cells are empty

  void operator()(const char*, const auto& member, const MemberInfo& info = {}) {
    if (value != nullptr) PutCell<SignificantDigits<T>()>(MemberValue(member, *value), info, out);
    out << ',';
  }
  void Converted(const char* key, const auto& get, const auto&, const MemberInfo& info = {}) {
    (*this)(key, get, info);
  }
  void Flat(const auto& member, const MemberInfo& = {}) {
    decltype(auto) flat = MemberValue(member, *value);
    using Value = typename IsOptional<std::decay_t<decltype(flat)>>::Value;
    CellWriter<Value> nested{out, flat ? &*flat : nullptr};
    Value::Describe(nested);
  }
};

template <typename U>
void ReadCell(std::string_view cell, U& value, const char* key, const MemberInfo& info) {
  if constexpr (IsOptional<U>::value) {
    value.reset();
    if (!cell.empty()) ReadCell(cell, value.emplace(), key, info);
  } else if constexpr (NamedEnum<U>) {
    const std::optional<U> named = ParseEnum<U>(cell);
    if (!named) throw std::invalid_argument(fmt::format("{} is \"{}\"", key, cell));
    value = *named;
  } else if constexpr (std::is_same_v<U, bool>) {
    value = cell == "1";
    if (!value && cell != "0") throw std::invalid_argument(fmt::format("{} is neither 0 nor 1", key));
  } else if constexpr (kIsText<U>) {
    value = cell;
    if (!info.or_null || !cell.empty()) RequireText(std::string(cell), key, info);
  } else {
    const auto number = AsNumber<U>(cell);
    if (!number) throw std::invalid_argument(fmt::format("{} is no number", key));
    MemberInfo bounds = info;
    if (std::is_integral_v<U>) bounds.min = info.min.value_or(0);
    RequireNumber(static_cast<double>(*number), key, bounds);
    value = *number;
  }
}

template <typename T>
struct CellReader {
  const std::vector<std::string_view>& cells;
  T& value;
  std::size_t index = 0;

  void operator()(const char* key, const auto& member, const MemberInfo& info = {}) {
    using Member = decltype(MemberValue(member, value));
    if constexpr (std::is_lvalue_reference_v<Member> && !std::is_const_v<std::remove_reference_t<Member>>) {
      if (index < cells.size()) ReadCell(cells[index], MemberValue(member, value), key, info);
    }
    ++index;
  }
  void Converted(const char* key, const auto& get, const auto& set, const MemberInfo& info = {}) {
    std::decay_t<decltype(MemberValue(get, value))> read{};
    ReadCell(cells[index++], read, key, info);
    set(value, std::move(read));
  }
  void Flat(const auto& member, const MemberInfo& = {}) {
    auto& flat = MemberValue(member, value);
    using Value = typename IsOptional<std::decay_t<decltype(flat)>>::Value;
    static const std::vector<std::string> names = CsvColumns<Value>();
    const auto begin = cells.begin() + static_cast<std::ptrdiff_t>(index);
    const auto end = begin + static_cast<std::ptrdiff_t>(names.size());
    CellReader<Value> nested{cells, flat.emplace(), index};
    index += names.size();
    try {
      if (std::all_of(begin, end, [](std::string_view cell) { return cell.empty(); })) {
        flat.reset();
      } else {
        Value::Describe(nested);
      }
    } catch (const std::invalid_argument&) {
      throw std::invalid_argument(fmt::format("{} is no number", fmt::join(names, " or ")));
    }
  }
};

}  // namespace describe

template <Described T>
class CsvWriter {
 public:
  // `columns` is the header; empty if the header is already written.
  explicit CsvWriter(std::ostream& out, const std::vector<std::string>& columns = CsvColumns<T>())
      : out_(out) {
    for (const std::string& name : columns) out_ << CsvField(name) << ',';
    if (!columns.empty()) out_.EndRow();
  }
  void Row(const T& value) {
    describe::CellWriter<T> cells{out_, &value};
    T::Describe(cells);
    out_.EndRow();
  }
  void Flush() { out_.Flush(); }

 private:
  CsvBuffer out_;
};

// Parses the cells of a row. The last columns may be missing. Throws std::invalid_argument with the problem:
// "launch is no number".
template <Described T>
T ReadCsvRow(const std::vector<std::string_view>& cells) {
  T value;
  describe::CellReader<T> reader{cells, value};
  T::Describe(reader);
  if constexpr (requires { T::Check(value); }) T::Check(value);
  return value;
}

// Reads a table that has exactly T's columns. `table` is its name in messages. Throws Error (kBadInput)
// with file and line.
template <Described T>
std::vector<T> ReadCsvFile(std::string_view text, const std::string& file_name, std::string_view table) {
  CsvReader reader(text, file_name);
  std::vector<std::string_view> fields;
  const auto make_error = [&](const std::string& problem) {
    Error error(ExitCode::kBadInput, problem);
    error.InFile(file_name).AtLine(reader.line());
    return error;
  };
  if (!reader.Next(fields) || !std::ranges::equal(fields, CsvColumns<T>()))
    throw make_error(fmt::format("does not have the columns of {}", table));
  std::vector<T> rows;
  while (reader.Next(fields)) {
    try {
      rows.push_back(ReadCsvRow<T>(fields));
    } catch (const std::invalid_argument& problem) {
      throw make_error(problem.what());
    }
  }
  return rows;
}

}  // namespace etprof
