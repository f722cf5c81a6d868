#include "inference/outputs.h"

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdio>
#include <deque>
#include <nlohmann/json.hpp>
#include <set>

#include "core/file/sha256.h"
#include "core/json/json.h"
#include "core/tensors/safetensors.h"
#include "core/tensors/tensor_values.h"
#include "core/views.h"
#include "inference/dtypes.h"

namespace etprof::runner {
namespace {

using executorch::aten::Tensor;
using nlohmann::json;

ByteView GetBytes(const Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()};
}

std::vector<std::int64_t> GetShape(const Tensor& tensor) {
  return {tensor.sizes().begin(), tensor.sizes().end()};
}

protocol::OutputDigest MakeDigest(const Tensor& tensor) {
  protocol::OutputDigest digest;
  digest.info = {Name(tensor.scalar_type()), GetShape(tensor)};
  digest.sha256 = Sha256Hex(GetBytes(tensor));
  if (!HasSafetensorsName(tensor.scalar_type())) return digest;
  double mean = 0;
  std::int64_t finite_count = 0;
  for (const double number : ReadNumbers(SafetensorsName(tensor.scalar_type()), GetBytes(tensor))) {
    if (std::isnan(number)) {
      ++digest.nan_count;
    } else if (std::isinf(number)) {
      ++digest.inf_count;
    } else {
      ++finite_count;
      mean += (number - mean) / static_cast<double>(finite_count);
      if (!digest.min || number < *digest.min) digest.min = number;
      if (!digest.max || number > *digest.max) digest.max = number;
    }
  }
  if (finite_count > 0) digest.mean = mean;
  return digest;
}

}  // namespace

std::vector<protocol::OutputDigest> DigestOutputs(const et::Method& method) {
  std::vector<protocol::OutputDigest> digests;
  for (std::size_t i = 0; i < method.outputs_size(); ++i) {
    const et::EValue& output = method.get_output(i);
    if (output.isTensor()) {
      digests.push_back(MakeDigest(output.toTensor()));
      continue;
    }
    const json scalar = ScalarJson(output);
    const std::string text = JsonText(scalar);
    protocol::OutputDigest digest;
    digest.info.dtype = scalar["type"].get<std::string>();
    digest.sha256 = Sha256Hex(std::as_bytes(std::span(text)));
    if (output.isInt()) digest.min = digest.max = digest.mean = static_cast<double>(output.toInt());
    if (output.isDouble()) {
      const double number = output.toDouble();
      digest.nan_count = std::isnan(number) ? 1 : 0;
      digest.inf_count = std::isinf(number) ? 1 : 0;
      if (std::isfinite(number)) digest.min = digest.max = digest.mean = number;
    }
    digests.push_back(std::move(digest));
  }
  return digests;
}

std::vector<std::string> HashOutputs(const et::Method& method) {
  return MapEach(DigestOutputs(method), &protocol::OutputDigest::sha256);
}

std::vector<std::string> RunAndHashOutputs(Model& model) {
  model.SetInputs();
  model.Run();
  return HashOutputs(model.method());
}

void SaveOutputs(const et::Method& method, const std::filesystem::path& path) {
  std::vector<std::pair<std::string, TensorBytes>> tensors;
  std::map<std::string, std::string> metadata = {{"format", "etprof-outputs-1"}};
  std::deque<std::vector<std::byte>> copies;
  const std::string method_name = method.method_meta().name();
  for (std::size_t i = 0; i < method.outputs_size(); ++i) {
    const std::string name = fmt::format("{}/{}", method_name, i);
    const et::EValue& output = method.get_output(i);
    if (!output.isTensor()) {
      metadata[name] = JsonText(ScalarJson(output));
      continue;
    }
    const Tensor& tensor = output.toTensor();
    const ByteView bytes = GetBytes(tensor);
    if (!HasSafetensorsName(tensor.scalar_type())) {
      tensors.emplace_back(name, TensorBytes{"U8", {static_cast<std::int64_t>(bytes.size())}, bytes});
      continue;
    }
    auto& copy = copies.emplace_back(bytes.size());
    CopyToRowMajor(copy.data(), bytes.data(), GetShape(tensor),
                   {tensor.dim_order().begin(), tensor.dim_order().end()},
                   et::elementSize(tensor.scalar_type()));
    tensors.emplace_back(name, TensorBytes{SafetensorsName(tensor.scalar_type()), GetShape(tensor), copy});
  }
  WriteSafetensors(path, tensors, metadata);
}

void WriteRawOutputs(const et::Method& method, const std::string& path_prefix) {
  for (std::size_t i = 0; i < method.outputs_size(); ++i) {
    const et::EValue& output = method.get_output(i);
    if (!output.isTensor()) continue;
    WriteFileAtomically(fmt::format("{}-{}.bin", path_prefix, i), AsText(GetBytes(output.toTensor())));
  }
}

void PrintOutputs(const et::Method& method, std::size_t edge) {
  for (std::size_t i = 0; i < method.outputs_size(); ++i) {
    const et::EValue& output = method.get_output(i);
    if (!output.isTensor()) {
      std::fputs(
          fmt::format("OutputX {}: {}\n", i, JsonText(ScalarJson(output).value("value", json(nullptr))))
              .c_str(),
          stdout);
      continue;
    }
    const Tensor& tensor = output.toTensor();
    const std::vector<double> numbers = ReadNumbers(SafetensorsName(tensor.scalar_type()), GetBytes(tensor));
    std::string text = fmt::format("OutputX {}: tensor(sizes=[{}], [", i, fmt::join(GetShape(tensor), ", "));
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      if (numbers.size() > 2 * edge && k == edge) {
        text += ", ...";
        k = numbers.size() - edge;
      }
      // The sign of a NaN has no meaning, and scripts search for "nan".
      text += fmt::format("{}{:.6g}", k == 0 ? "" : ", ",
                          std::isnan(numbers[k]) ? std::abs(numbers[k]) : numbers[k]);
    }
    std::fputs((text + "])\n").c_str(), stdout);
  }
}

json CompareOutputs(const std::filesystem::path& a, const std::filesystem::path& b) {
  const Safetensors first = ReadSafetensors(a);
  const Safetensors second = ReadSafetensors(b);
  json outputs = json::array();
  bool all_identical = true;
  std::set<std::string> names;
  for (const auto& file : {&first, &second}) {
    for (const auto& [name, tensor] : file->tensors) names.insert(name);
    for (const auto& [name, text] : file->metadata) names.insert(name);
  }
  names.erase("format");
  for (const std::string& name : names) {
    json& entry = outputs.emplace_back(json{{"name", name}});
    const auto tensor_a = first.tensors.find(name), tensor_b = second.tensors.find(name);
    const auto text_a = first.metadata.find(name), text_b = second.metadata.find(name);
    if (tensor_a != first.tensors.end() && tensor_b != second.tensors.end()) {
      const TensorDifference difference = CompareTensors(tensor_a->second, tensor_b->second);
      if (!difference.problem.empty()) {
        entry["problem"] = difference.problem;
      } else {
        entry.update({{"identical", difference.identical},
                      {"dtype", tensor_a->second.dtype},
                      {"shape", tensor_a->second.shape},
                      {"max_abs_diff", difference.largest},
                      {"max_rel_diff", difference.largest_relative},
                      {"mean_abs_diff", difference.mean ? json(*difference.mean) : json()},
                      {"nan_mismatches", difference.nan_mismatches}});
      }
    } else if (text_a != first.metadata.end() && text_b != second.metadata.end()) {
      entry["identical"] = text_a->second == text_b->second;
    } else {
      const bool in_first = first.tensors.contains(name) || first.metadata.contains(name);
      entry["problem"] = fmt::format("only in {}", in_first ? a.string() : b.string());
    }
    all_identical = all_identical && entry.value("identical", false);
  }
  return {{"identical", all_identical}, {"outputs", std::move(outputs)}};
}

}  // namespace etprof::runner
