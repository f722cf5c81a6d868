#include "measure/values/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <tuple>

#include "core/file/file.h"
#include "core/json/json_members.h"
#include "core/tensors/safetensors.h"
#include "core/tensors/tensor_values.h"
#include "core/text/csv_members.h"
#include "measure/store/run_files.h"
#include "profile/analysis/join/join.h"

namespace etprof {
namespace {

struct XnnElement {
  std::string_view xnnpack, safetensors;
  bool is_scaled = false;  // the numbers are quantized ones
};
constexpr XnnElement kXnnElements[] = {{"fp32", "F32"},        {"fp16", "F16"},       {"bf16", "BF16"},
                                       {"int32", "I32"},       {"qint8", "I8", true}, {"quint8", "U8", true},
                                       {"qint32", "I32", true}};

// Each delegate call of the run, in which operators are ordered.
using CallKey = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
CallKey CallOf(const ReadValue& read) {
  const protocol::OperatorPlace& place = read.value.place;
  return {place.chain, place.instruction, place.occurrence};
}

bool IsBackend(const protocol::OperatorValue& value) { return value.place.kind == "backend"; }

// The operators of the run's delegates as a profile, which is what is joined.
Profile ProfileOf(const std::vector<protocol::OperatorValue>& values, const std::string& method,
                  std::vector<std::size_t>& places) {
  Profile profile;
  std::map<CallKey, std::int32_t> calls;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const protocol::OperatorPlace& place = values[i].place;
    if (!IsBackend(values[i])) continue;
    Operator op;
    op.key = {method,
              static_cast<std::int32_t>(place.chain),
              static_cast<std::int32_t>(place.instruction),
              SpanKind::kBackend,
              static_cast<std::int32_t>(place.ordinal),
              static_cast<std::int32_t>(place.occurrence)};
    op.name = op.type = values[i].name;
    const CallKey call(place.chain, place.instruction, place.occurrence);
    op.call_index = calls.try_emplace(call, static_cast<std::int32_t>(calls.size())).first->second;
    profile.operators.push_back(std::move(op));
    places.push_back(i);
  }
  return profile;
}

void DescribeElements(const DataType& type, const XnnQuantization* quantization, ReadValue& read) {
  if (!type.bits || *type.bits % 8 != 0) return;
  read.element_bytes = *type.bits / 8;
  const auto* const known = std::ranges::find(kXnnElements, type.name, &XnnElement::xnnpack);
  if (known == std::end(kXnnElements)) return;
  read.dtype = known->safetensors;
  read.has_numbers = !known->is_scaled;
  if (!known->is_scaled || quantization == nullptr || !quantization->scale) return;
  read.scale = quantization->scale;
  read.zero_point = quantization->zero_point.value_or(0);
  read.has_numbers = true;
}

// What the operator writes is what the last of its nodes does.
void DescribeDelegated(const OperatorSource& source, const Program& program, ReadValue& read) {
  std::string& why = read.value.problem;
  if (source.join == OperatorSource::Join::kInserted) {
    why = "XNNPACK inserted it: its size is not in the program";
  } else if (source.join != OperatorSource::Join::kNodes || source.tensors.outputs.empty()) {
    why = source.why.empty() ? "several nodes of the delegate's graph fit it" : source.why;
  } else if (source.tensors.shapes != ProgramTensor::Shape::kStatic) {
    why = "its shape changes at run time";
  }
  if (!why.empty()) return;
  const OperatorTensor& output = source.tensors.outputs.front();
  read.shape = output.shape;
  const XnnQuantization* quantization = nullptr;
  if (!source.nodes.empty()) {
    const XnnGraph& graph = program.xnn_graphs[*source.graph];
    read.node = std::ranges::max(source.nodes);
    const XnnNode& node = graph.nodes[*read.node];
    read.debug_handle = node.debug_handle;
    const XnnValue* const value = node.outputs.empty() ? nullptr : graph.Find(node.outputs.front());
    if (value != nullptr && value->quantization) quantization = &*value->quantization;
  }
  DescribeElements(output.type, quantization, read);
  if (read.element_bytes == 0) why = fmt::format("its elements are {}", output.type.name);
}

std::vector<double> NumbersOfValue(const VariantValues& variant, const ReadValue& read) {
  const auto found = variant.kept.find(read.value.index);
  if (found == variant.kept.end()) return {};
  std::vector<double> numbers = ReadNumbers(read.dtype, found->second);
  if (!read.scale) return numbers;
  for (double& number : numbers) number = (number - read.zero_point) * double(*read.scale);
  return numbers;
}

void CompareElements(const std::vector<double>& a, const std::vector<double>& b, ValuesRow& row) {
  if (a.empty() || a.size() != b.size()) {
    row.note = "what was kept of it cannot be compared";
    return;
  }
  const TensorDifference difference = CompareNumbers(a, b);
  row.compared = static_cast<std::int64_t>(a.size());
  if (difference.nan_mismatches > 0) {
    row.note = fmt::format("{} elements are NaN or infinite in one variant only", difference.nan_mismatches);
  }
  if (difference.noise == 0) {
    if (row.note.empty()) row.note = "what differs is not among the elements that were kept";
    return;
  }
  row.largest = difference.largest;
  if (difference.signal > 0) row.sqnr_db = 10 * std::log10(difference.signal / difference.noise);
  if (difference.signal == 0 && row.note.empty()) row.note = "the baseline has only zeros";
}

ValuesRow CompareOperators(const VariantValues& a, const ReadValue& x, const VariantValues& b,
                           const ReadValue& y) {
  ValuesRow row;
  row.key = x.value.place.KeyText(a.method);
  row.name = x.value.name;
  if (y.value.name != x.value.name) row.candidate_name = y.value.name;
  row.state = ValuesRow::kNotRead;
  row.note = x.value.problem.empty() ? y.value.problem : x.value.problem;
  if (!row.note.empty()) return row;
  if (x.value.bytes != y.value.bytes || x.element_bytes != y.element_bytes || x.value.bytes == 0) {
    row.note = x.value.bytes == 0 ? "it is empty" : "the two have different sizes or types";
    return row;
  }
  row.elements = x.value.bytes / std::max<std::int64_t>(x.element_bytes, 1);
  row.compared = row.elements;
  const bool same_scale = x.scale == y.scale && x.zero_point == y.zero_point && x.dtype == y.dtype;
  if (same_scale && x.value.sha256 == y.value.sha256) {
    row.state = ValuesRow::kIdentical;
    return row;
  }
  row.state = ValuesRow::kDifferent;
  if (!x.has_numbers || !y.has_numbers) {
    row.compared = 0;
    row.note = "the scale of its elements is not in the program";
    return row;
  }
  CompareElements(NumbersOfValue(a, x), NumbersOfValue(b, y), row);
  return row;
}

struct CallValues {
  std::vector<const ReadValue*> values;
  std::vector<std::string> stems;
};
std::map<CallKey, CallValues> DelegateCalls(const VariantValues& variant) {
  std::map<CallKey, CallValues> calls;
  for (const ReadValue& read : variant.values) {
    if (!IsBackend(read.value)) continue;
    CallValues& call = calls[CallOf(read)];
    call.values.push_back(&read);
    call.stems.push_back(read.stem);
  }
  return calls;
}

// The candidate's of the same operator; null: it has none.
const ReadValue* Match(const ReadValue& read, std::size_t place, const CallValues& own,
                       const CallValues& other) {
  if (own.stems == other.stems) return other.values[place];
  if (!read.node) return nullptr;
  const ReadValue* match = nullptr;  // of two operators of one node the last: that is the node's output
  for (const ReadValue* const one : own.values) {
    if (one->node == read.node && one->value.index > read.value.index) return nullptr;
  }
  for (const ReadValue* const one : other.values) {
    if (one->node == read.node && one->shape == read.shape) match = one;
  }
  return match;
}

}  // namespace

std::vector<ReadValue> DescribeValues(const protocol::ValuesReply& reply, const Program& program,
                                      const std::string& method) {
  const auto found = std::ranges::find(program.methods, method, &Method::name);
  if (found == program.methods.end()) throw std::invalid_argument("the program has no method " + method);
  std::vector<std::size_t> places;
  const Profile profile = ProfileOf(reply.values, method, places);
  const ProgramJoin join = JoinProgram(profile, program, *found, nullptr);
  std::vector<ReadValue> values;
  for (const protocol::OperatorValue& value : reply.values) {
    ReadValue& read = values.emplace_back();
    read.value = value;
    read.stem = OperatorStem(value.name);
    if (IsBackend(value)) continue;
    read.dtype = value.dtype;
    read.element_bytes = static_cast<std::int64_t>(ElementSize(value.dtype));
    read.has_numbers = read.element_bytes > 0;
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    ReadValue& read = values[places[i]];
    if (read.value.problem.empty()) DescribeDelegated(join.operators[i], program, read);
  }
  return values;
}

std::vector<protocol::ValueSize> SizesOf(const std::vector<ReadValue>& values) {
  std::vector<protocol::ValueSize> sizes;
  for (const ReadValue& read : values) {
    if (!IsBackend(read.value) || !read.value.problem.empty()) continue;
    if (const auto bytes = CheckedProduct(ElementCount(read.shape), read.element_bytes); bytes && *bytes > 0)
      sizes.push_back({read.value.index, *bytes, read.element_bytes});
  }
  return sizes;
}

void TakeReply(const protocol::ValuesReply& reply, std::vector<ReadValue>& values) {
  const auto same = [](const protocol::OperatorValue& value, const ReadValue& read) {
    return value.place == read.value.place && value.name == read.value.name &&
           value.index == read.value.index;
  };
  if (!std::ranges::equal(reply.values, values, same))
    throw std::invalid_argument("two runs had different operators");
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::string why = std::move(values[i].value.problem);
    values[i].value = reply.values[i];
    if (!why.empty()) values[i].value.problem = std::move(why);
  }
}

std::vector<ValuesRow> CompareValues(const VariantValues& baseline, const VariantValues& candidate) {
  std::map<CallKey, CallValues> calls = DelegateCalls(baseline), other_calls = DelegateCalls(candidate);
  std::map<std::pair<protocol::OperatorPlace, std::int64_t>, const ReadValue*> kernels;
  std::map<protocol::OperatorPlace, std::int64_t> outputs;  // of a kernel so far
  for (const ReadValue& read : candidate.values) {
    if (!IsBackend(read.value)) kernels[{read.value.place, outputs[read.value.place]++}] = &read;
  }
  outputs.clear();
  std::map<CallKey, std::size_t> next;  // in the baseline's call
  std::vector<ValuesRow> rows;
  for (const ReadValue& read : baseline.values) {
    const ReadValue* match = nullptr;
    if (IsBackend(read.value)) {
      const CallKey call = CallOf(read);
      match = Match(read, next[call]++, calls[call], other_calls[call]);
    } else {
      const auto found = kernels.find({read.value.place, outputs[read.value.place]++});
      if (found != kernels.end() && found->second->value.name == read.value.name) match = found->second;
    }
    if (match != nullptr) rows.push_back(CompareOperators(baseline, read, candidate, *match));
  }
  return rows;
}

std::filesystem::path ValuesFile(const std::filesystem::path& run_directory) {
  return run_directory / kValuesFile;
}

void WriteValues(const std::vector<ValuesRow>& rows, std::ostream& out) {
  CsvWriter<ValuesRow> table(out);
  for (const ValuesRow& row : rows) table.Row(row);
}

void SaveValues(const VariantValues& variant, const std::filesystem::path& path) {
  std::vector<std::pair<std::string, TensorBytes>> tensors;
  std::vector<SavedValue> described;
  for (const ReadValue& read : variant.values) {
    SavedValue& saved = described.emplace_back();
    saved.key = read.value.place.KeyText(variant.method);
    saved.name = read.value.name;
    saved.note = read.value.problem;
    saved.shape = read.shape;
    saved.scale = read.scale;
    saved.zero_point = read.zero_point;
    saved.debug_handle = read.debug_handle;
    const auto kept = variant.kept.find(read.value.index);
    if (kept == variant.kept.end() || !read.has_numbers) {
      if (saved.note.empty()) saved.note = "the scale of its elements is not in the program";
      continue;
    }
    const auto elements = static_cast<std::int64_t>(kept->second.size()) / read.element_bytes;
    saved.tensor = std::to_string(read.value.index);
    tensors.emplace_back(saved.tensor, TensorBytes{read.dtype, {elements}, kept->second});
  }
  const nlohmann::json json = described;
  WriteSafetensors(path, tensors, {{"format", "etprof-values-2"}, {"values", json.dump()}});
}

void TakeKept(const std::filesystem::path& path, VariantValues& variant) {
  const Safetensors file = ReadSafetensors(path);
  for (const ReadValue& read : variant.values) {
    const auto found = file.tensors.find(std::to_string(read.value.index));
    if (found == file.tensors.end()) continue;
    const ByteView bytes = found->second.bytes;
    variant.kept[read.value.index] = {bytes.begin(), bytes.end()};
  }
}

std::vector<ValuesRow> LoadValues(const std::filesystem::path& run_directory) {
  const std::filesystem::path file = ValuesFile(run_directory);
  if (!Exists(file)) return {};
  return ReadCsvFile<ValuesRow>(ReadTextFile(file), file.string(), "compared values");
}

}  // namespace etprof
