#include "measure/store/outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>

#include "core/file/file.h"

namespace etprof {
namespace {

// IEEE 754 binary16 to double.
double HalfToDouble(std::uint16_t bits) {
  const int exponent = bits >> 10U & 0x1fU;
  const double mantissa = bits & 0x3ffU;
  double value = 0;
  if (exponent == 31) {
    value = mantissa == 0 ? INFINITY : NAN;
  } else {
    value = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25);
  }
  return (bits & 0x8000U) != 0 ? -value : value;
}

template <typename T>
double Load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return static_cast<double>(value);
}

struct Element {
  std::size_t size;
  double (*load)(const std::byte*);
};

const std::map<std::string, Element>& Elements() {
  static const std::map<std::string, Element> elements = {
      {"F64", {8, Load<double>}},
      {"F32", {4, Load<float>}},
      {"F16",
       {2,
        [](const std::byte* b) {
          std::uint16_t v;
          std::memcpy(&v, b, 2);
          return HalfToDouble(v);
        }}},
      {"BF16",
       {2,
        [](const std::byte* b) {
          std::uint16_t v;
          std::memcpy(&v, b, 2);
          return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(v) << 16U));
        }}},
      {"I64", {8, Load<std::int64_t>}},
      {"I32", {4, Load<std::int32_t>}},
      {"I16", {2, Load<std::int16_t>}},
      {"I8", {1, Load<std::int8_t>}},
      {"U8", {1, Load<std::uint8_t>}},
      {"BOOL", {1, Load<std::uint8_t>}}};
  return elements;
}

struct Values {
  std::string dtype;
  ByteView bytes;
  bool operator==(const Values& other) const {
    return dtype == other.dtype && bytes.size() == other.bytes.size();
  }
};

// A safetensors file: u64 length of a JSON header, the header ({name: {dtype, shape, data_offsets}}), the
// bytes.
std::map<std::string, Values> ReadValues(ByteView file) {
  std::uint64_t length = 0;
  if (file.size() < sizeof length) throw std::runtime_error("is cut short");
  std::memcpy(&length, file.data(), sizeof length);
  if (length > file.size() - sizeof length) throw std::runtime_error("is cut short");
  const char* text = reinterpret_cast<const char*>(file.data() + sizeof length);
  const nlohmann::json header = nlohmann::json::parse(text, text + length);
  const ByteView data = file.subspan(sizeof length + static_cast<std::size_t>(length));
  std::map<std::string, Values> values;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    const auto first = entry.at("data_offsets").at(0).get<std::uint64_t>(),
               last = entry.at("data_offsets").at(1).get<std::uint64_t>();
    if (first > last || last > data.size()) throw std::runtime_error("is cut short");
    values[name] = {entry.at("dtype").get<std::string>(), data.subspan(first, last - first)};
  }
  return values;
}

void CompareValues(ByteView a_file, ByteView b_file, ComparePair::OutputDifference& difference) {
  const auto a = ReadValues(a_file), b = ReadValues(b_file);
  if (a != b) return;
  double absolute = 0, relative = 0;
  std::int64_t mismatches = 0;
  for (const auto& [name, values] : a) {
    const auto element = Elements().find(values.dtype);
    if (element == Elements().end()) return;
    const ByteView others = b.at(name).bytes;
    for (std::size_t at = 0; at + element->second.size <= values.bytes.size(); at += element->second.size) {
      const double x = element->second.load(values.bytes.data() + at),
                   y = element->second.load(others.data() + at);
      if (x == y || (std::isnan(x) && std::isnan(y))) continue;
      if (!std::isfinite(x) || !std::isfinite(y)) {
        ++mismatches;
        continue;
      }
      absolute = std::max(absolute, std::fabs(x - y));
      relative = std::max(relative, std::fabs(x - y) / std::max(std::fabs(x), std::fabs(y)));
    }
  }
  if (mismatches > 0) {
    difference.note = fmt::format("{} elements are NaN or infinite in only one variant", mismatches);
    return;
  }
  difference.largest_absolute = absolute;
  difference.largest_relative = relative;
  difference.note = fmt::format("outputs differ by at most {:.2g} (relative {:.2g})", absolute, relative);
}

}  // namespace

ComparePair::OutputDifference CompareOutputs(const ExperimentData& baseline, const ExperimentData& candidate,
                                             const std::filesystem::path& baseline_values,
                                             const std::filesystem::path& candidate_values) {
  ComparePair::OutputDifference difference;
  const auto& a = baseline.output_digests;
  const auto& b = candidate.output_digests;
  if (a.empty() || b.empty()) {
    difference.note = "the outputs of one variant are not known";
    return difference;
  }
  difference.comparable = a.size() == b.size();
  difference.equal = difference.comparable;
  for (std::size_t i = 0; i < a.size() && difference.comparable; ++i) {
    difference.comparable = a[i].info.dtype == b[i].info.dtype && a[i].info.shape == b[i].info.shape;
    difference.equal = difference.equal && a[i].sha256 == b[i].sha256;
  }
  if (!difference.comparable) {
    difference.equal = false;
    difference.note = "outputs differ in number, type, or shape";
    return difference;
  }
  if (difference.equal) {
    difference.note = "outputs are equal, bit for bit";
    return difference;
  }
  difference.note = "outputs differ";
  if (baseline.inputs_from != candidate.inputs_from) {
    difference.note = "outputs differ, and so do the inputs";
    return difference;
  }
  std::error_code error;
  if (!std::filesystem::is_regular_file(baseline_values, error) ||
      !std::filesystem::is_regular_file(candidate_values, error)) {
    return difference;
  }
  try {
    const MappedFile a_file = MappedFile::Open(baseline_values), b_file = MappedFile::Open(candidate_values);
    CompareValues(a_file.bytes(), b_file.bytes(), difference);
  } catch (const std::exception&) {
    difference.note = "outputs differ; their values could not be read";
  }
  return difference;
}

}  // namespace etprof
