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
#include "format/program/program.h"
#include "measure/store/run_files.h"
#include "profile/analysis/join/join.h"

namespace etprof {
namespace {

struct ElementTypeNames {
  std::string_view xnnpack, safetensors;
  bool is_scaled = false;  // the elements are quantized
};
constexpr ElementTypeNames kElementTypeNames[] = {
    {"fp32", "F32"},       {"fp16", "F16"},        {"bf16", "BF16"},       {"int32", "I32"},
    {"qint8", "I8", true}, {"quint8", "U8", true}, {"qint32", "I32", true}};

// Notes of values without numbers.
constexpr const char* kEmpty = "it is empty";
constexpr const char* kScaleUnknown = "the scale of its elements is not in the program";

// Identifies a delegate call of the run by chain, instruction, and occurrence.
using CallKey = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
CallKey MakeCallKey(const protocol::OperatorPlace& place) {
  return {place.chain, place.instruction, place.occurrence};
}

bool IsBackend(const protocol::OperatorValue& value) { return value.place.kind == "backend"; }

// Makes a profile of the operators in delegates, which JoinProgram joins to the program. `value_indices` gets
// the index in `values` of each operator.
Profile MakeDelegateProfile(const std::vector<protocol::OperatorValue>& values, const std::string& method,
                            std::vector<std::size_t>& value_indices) {
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
    op.call_index =
        calls.try_emplace(MakeCallKey(place), static_cast<std::int32_t>(calls.size())).first->second;
    profile.operators.push_back(std::move(op));
    value_indices.push_back(i);
  }
  return profile;
}

void DescribeElements(const DataType& type, const XnnQuantization* quantization, DescribedValue& described) {
  if (!type.bits || *type.bits % 8 != 0) return;
  described.element_bytes = *type.bits / 8;
  const auto* const element = std::ranges::find(kElementTypeNames, type.name, &ElementTypeNames::xnnpack);
  if (element == std::end(kElementTypeNames)) return;
  described.dtype = element->safetensors;
  described.has_numbers = !element->is_scaled;
  if (!element->is_scaled || quantization == nullptr || !quantization->scale) return;
  described.scale = quantization->scale;
  described.zero_point = quantization->zero_point.value_or(0);
  described.has_numbers = true;
}

// Describes the value of an operator in a delegate, which is the output of the last of its nodes.
void DescribeDelegated(const OperatorSource& source, const Program& program, DescribedValue& described) {
  std::string& problem = described.value.problem;
  if (source.join == OperatorSource::Join::kInserted) {
    problem = "XNNPACK inserted it: its size is not in the program";
  } else if (source.join != OperatorSource::Join::kNodes || source.tensors.outputs.empty()) {
    problem = source.reason.empty() ? "several nodes of the delegate's graph fit it" : source.reason;
  } else if (source.tensors.shapes != ProgramTensor::Shape::kStatic) {
    problem = "its shape changes at run time";
  }
  if (!problem.empty()) return;
  const OperatorTensor& output = source.tensors.outputs.front();
  described.shape = output.shape;
  const XnnQuantization* quantization = nullptr;
  if (!source.nodes.empty()) {
    const XnnGraph& graph = program.xnn_graphs[*source.graph];
    described.node = std::ranges::max(source.nodes);
    const XnnNode& node = graph.nodes[*described.node];
    described.debug_handle = node.debug_handle;
    const XnnValue* const value = node.outputs.empty() ? nullptr : graph.Find(node.outputs.front());
    if (value != nullptr && value->quantization) quantization = &*value->quantization;
  }
  DescribeElements(output.type, quantization, described);
  if (described.element_bytes == 0) problem = fmt::format("its elements are {}", output.type.name);
}

std::vector<double> ReadValueNumbers(const VariantValues& variant, const DescribedValue& described) {
  const auto found = variant.elements.find(described.value.index);
  if (found == variant.elements.end()) return {};
  std::vector<double> numbers = ReadNumbers(described.dtype, found->second);
  if (!described.scale) return numbers;
  for (double& number : numbers) number = (number - described.zero_point) * double(*described.scale);
  return numbers;
}

void CompareElements(const std::vector<double>& baseline, const std::vector<double>& candidate,
                     ValuesRow& row) {
  if (baseline.empty() || baseline.size() != candidate.size()) {
    row.note = "what was kept of it cannot be compared";
    return;
  }
  const TensorDifference difference = CompareNumbers(baseline, candidate);
  row.compared = static_cast<std::int64_t>(baseline.size());
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

ValuesRow CompareOperators(const VariantValues& baseline, const DescribedValue& baseline_value,
                           const VariantValues& candidate, const DescribedValue& candidate_value) {
  ValuesRow row;
  row.key = baseline_value.value.place.KeyText(baseline.method);
  row.name = baseline_value.value.name;
  if (candidate_value.value.name != baseline_value.value.name)
    row.candidate_name = candidate_value.value.name;
  row.state = ValuesRow::kNotRead;
  row.note =
      baseline_value.value.problem.empty() ? candidate_value.value.problem : baseline_value.value.problem;
  if (!row.note.empty()) return row;
  if (baseline_value.value.bytes != candidate_value.value.bytes ||
      baseline_value.element_bytes != candidate_value.element_bytes || baseline_value.value.bytes == 0) {
    row.note = baseline_value.value.bytes == 0 ? kEmpty : "the two have different sizes or types";
    return row;
  }
  row.elements = baseline_value.value.bytes / std::max<std::int64_t>(baseline_value.element_bytes, 1);
  row.compared = row.elements;
  const bool same_scale = baseline_value.scale == candidate_value.scale &&
                          baseline_value.zero_point == candidate_value.zero_point &&
                          baseline_value.dtype == candidate_value.dtype;
  if (same_scale && baseline_value.value.sha256 == candidate_value.value.sha256) {
    row.state = ValuesRow::kIdentical;
    return row;
  }
  row.state = ValuesRow::kDifferent;
  if (!baseline_value.has_numbers || !candidate_value.has_numbers) {
    row.compared = 0;
    row.note = kScaleUnknown;
    return row;
  }
  CompareElements(ReadValueNumbers(baseline, baseline_value), ReadValueNumbers(candidate, candidate_value),
                  row);
  return row;
}

// The values of one delegate call in the order of execution.
using CallValues = std::vector<const DescribedValue*>;
std::map<CallKey, CallValues> DelegateCalls(const VariantValues& variant) {
  std::map<CallKey, CallValues> calls;
  for (const DescribedValue& described : variant.values) {
    if (IsBackend(described.value)) calls[MakeCallKey(described.value.place)].push_back(&described);
  }
  return calls;
}

// Finds the value of the same operator in the candidate's call; null: the candidate does not have the
// operator. `position` is the position of `value` in the baseline's call.
const DescribedValue* FindMatch(const DescribedValue& value, std::size_t position, const CallValues& call,
                                const CallValues& candidate_call) {
  const auto has_same_stem = [](const DescribedValue* a, const DescribedValue* b) {
    return a->stem == b->stem;
  };
  if (std::ranges::equal(call, candidate_call, has_same_stem)) return candidate_call[position];
  if (!value.node) return nullptr;
  // If two operators compute a node, the last of them writes the node's output.
  const DescribedValue* match = nullptr;
  for (const DescribedValue* const later : call) {
    if (later->node == value.node && later->value.index > value.value.index) return nullptr;
  }
  for (const DescribedValue* const candidate : candidate_call) {
    if (candidate->node == value.node && candidate->shape == value.shape) match = candidate;
  }
  return match;
}

}  // namespace

std::vector<DescribedValue> DescribeValues(const protocol::ValuesReply& reply, const Program& program,
                                           const std::string& method) {
  const auto found = std::ranges::find(program.methods, method, &Method::name);
  if (found == program.methods.end()) throw std::invalid_argument("the program has no method " + method);
  std::vector<std::size_t> value_indices;
  const Profile profile = MakeDelegateProfile(reply.values, method, value_indices);
  const ProgramJoin join = JoinProgram(profile, program, *found, nullptr);
  std::vector<DescribedValue> values;
  for (const protocol::OperatorValue& value : reply.values) {
    DescribedValue& described = values.emplace_back();
    described.value = value;
    described.stem = OperatorStem(value.name);
    if (IsBackend(value)) continue;
    described.dtype = value.dtype;
    described.element_bytes = static_cast<std::int64_t>(ElementSize(value.dtype));
    described.has_numbers = described.element_bytes > 0;
  }
  for (std::size_t i = 0; i < value_indices.size(); ++i) {
    DescribedValue& described = values[value_indices[i]];
    if (described.value.problem.empty()) DescribeDelegated(join.operators[i], program, described);
  }
  return values;
}

std::vector<protocol::ValueSize> MakeValueSizes(const std::vector<DescribedValue>& values) {
  std::vector<protocol::ValueSize> sizes;
  for (const DescribedValue& described : values) {
    if (!IsBackend(described.value) || !described.value.problem.empty()) continue;
    if (const auto bytes = CheckedProduct(ElementCount(described.shape), described.element_bytes);
        bytes && *bytes > 0)
      sizes.push_back({described.value.index, *bytes, described.element_bytes});
  }
  return sizes;
}

void UpdateValues(const protocol::ValuesReply& reply, std::vector<DescribedValue>& values) {
  const auto is_same_operator = [](const protocol::OperatorValue& value, const DescribedValue& described) {
    return value.place == described.value.place && value.name == described.value.name &&
           value.index == described.value.index;
  };
  if (!std::ranges::equal(reply.values, values, is_same_operator))
    throw std::invalid_argument("two runs had different operators");
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::string problem = std::move(values[i].value.problem);
    values[i].value = reply.values[i];
    if (!problem.empty()) values[i].value.problem = std::move(problem);
  }
}

std::vector<ValuesRow> CompareValues(const VariantValues& baseline, const VariantValues& candidate) {
  std::map<CallKey, CallValues> calls = DelegateCalls(baseline), other_calls = DelegateCalls(candidate);
  std::map<std::pair<protocol::OperatorPlace, std::int64_t>, const DescribedValue*> kernel_values;
  std::map<protocol::OperatorPlace, std::int64_t> output_counts;  // outputs of each kernel so far
  for (const DescribedValue& described : candidate.values) {
    if (!IsBackend(described.value))
      kernel_values[{described.value.place, output_counts[described.value.place]++}] = &described;
  }
  output_counts.clear();
  std::map<CallKey, std::size_t> next_positions;  // keyed by call of the baseline
  std::vector<ValuesRow> rows;
  for (const DescribedValue& described : baseline.values) {
    const DescribedValue* match = nullptr;
    if (IsBackend(described.value)) {
      const CallKey call = MakeCallKey(described.value.place);
      match = FindMatch(described, next_positions[call]++, calls[call], other_calls[call]);
    } else {
      const auto found = kernel_values.find({described.value.place, output_counts[described.value.place]++});
      if (found != kernel_values.end() && found->second->value.name == described.value.name)
        match = found->second;
    }
    if (match != nullptr) rows.push_back(CompareOperators(baseline, described, candidate, *match));
  }
  return rows;
}

void WriteValues(const std::vector<ValuesRow>& rows, std::ostream& out) {
  CsvWriter<ValuesRow> table(out);
  for (const ValuesRow& row : rows) table.Row(row);
}

void SaveValues(const VariantValues& variant, const std::filesystem::path& path) {
  std::vector<std::pair<std::string, TensorBytes>> tensors;
  std::vector<SavedValue> saved_values;
  for (const DescribedValue& described : variant.values) {
    SavedValue& saved = saved_values.emplace_back();
    saved.key = described.value.place.KeyText(variant.method);
    saved.name = described.value.name;
    saved.note = described.value.problem;
    saved.shape = described.shape;
    saved.scale = described.scale;
    saved.zero_point = described.zero_point;
    saved.debug_handle = described.debug_handle;
    const auto elements = variant.elements.find(described.value.index);
    if (elements == variant.elements.end() || !described.has_numbers) {
      if (saved.note.empty()) saved.note = described.has_numbers ? kEmpty : kScaleUnknown;
      continue;
    }
    const auto count = static_cast<std::int64_t>(elements->second.size()) / described.element_bytes;
    saved.tensor = std::to_string(described.value.index);
    tensors.emplace_back(saved.tensor, TensorBytes{described.dtype, {count}, elements->second});
  }
  const nlohmann::json json = saved_values;
  WriteSafetensors(path, tensors, {{"format", "etprof-values-2"}, {"values", json.dump()}});
}

void ReadElements(const std::filesystem::path& path, VariantValues& variant) {
  const Safetensors file = ReadSafetensors(path);
  for (const DescribedValue& described : variant.values) {
    const auto found = file.tensors.find(std::to_string(described.value.index));
    if (found == file.tensors.end()) continue;
    const ByteView bytes = found->second.bytes;
    variant.elements[described.value.index] = {bytes.begin(), bytes.end()};
  }
}

std::vector<ValuesRow> LoadValues(const std::filesystem::path& run_directory) {
  const std::filesystem::path file = run_directory / kValuesFile;
  if (!Exists(file)) return {};
  return ReadCsvFile<ValuesRow>(ReadTextFile(file), file.string(), "compared values");
}

}  // namespace etprof
