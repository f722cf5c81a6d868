#include "format/program/read/bundled_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "bundled_program_schema_generated.h"
#include "core/json/json.h"
#include "core/tensors/tensor_values.h"
#include "format/program/read/source.h"

namespace etprof {
namespace {

namespace bundled = bundled_program_flatbuffer;

class BundleReader {
 public:
  BundleReader(ByteView bytes, const std::string& file_name)
      : source_(bytes, file_name), buffer_(source_, 0, bytes) {}

  BundledProgram Read(bool with_values) {
    const auto& file = buffer_.VerifyRoot<bundled::BundledProgram>(source_, "the bundled program");
    if (file.program() == nullptr || file.program()->size() == 0)
      throw source_.MakeError("is malformed: it holds no program", buffer_.At(&file));
    BundledProgram read;
    read.program = source_.Slice(buffer_.At(file.program()->data()), file.program()->size(), "its program");
    read.inputs.metadata["format"] = "etprof-inputs-1";
    read.expected_outputs.metadata["format"] = "etprof-outputs-1";
    if (file.method_test_suites() == nullptr) return read;
    for (const auto* suite : *file.method_test_suites()) {
      const std::string method = source_.Text(suite->method_name());
      const auto* cases = suite->test_cases();
      if (std::ranges::find(read.test_cases, method, &Program::TestCases::method) != read.test_cases.end())
        throw source_.MakeError(fmt::format("is malformed: two lists of test cases for {}", method),
                                buffer_.At(suite));
      read.test_cases.push_back({method, cases == nullptr ? 0 : cases->size()});
      if (!with_values || read.test_cases.back().count == 0) continue;
      AddValues(method, cases->Get(0)->inputs(), read.inputs);
      AddValues(method, cases->Get(0)->expected_outputs(), read.expected_outputs);
    }
    return read;
  }

 private:
  using Values = flatbuffers::Vector<flatbuffers::Offset<bundled::Value>>;

  void AddValues(const std::string& method, const Values* values, SavedValues& saved) {
    if (values == nullptr) return;
    for (flatbuffers::uoffset_t i = 0; i < values->size(); ++i) {
      const std::string name = fmt::format("{}/{}", method, i);
      const bundled::Value& value = *values->Get(i);
      nlohmann::json scalar = {{"type", "none"}};  // ExecuTorch bundles nothing for None
      switch (value.val() == nullptr ? bundled::ValueUnion::NONE : value.val_type()) {
        case bundled::ValueUnion::Tensor:
          saved.tensors.emplace_back(name, ReadTensor(name, *value.val_as_Tensor(), saved));
          continue;
        case bundled::ValueUnion::Int:
          scalar = {{"type", "int"}, {"value", value.val_as_Int()->int_val()}};
          break;
        case bundled::ValueUnion::Bool:
          scalar = {{"type", "bool"}, {"value", value.val_as_Bool()->bool_val()}};
          break;
        case bundled::ValueUnion::Double:
          scalar = {{"type", "double"}, {"value", value.val_as_Double()->double_val()}};
          break;
        default:
          break;
      }
      saved.metadata[name] = JsonText(scalar);
    }
  }

  TensorBytes ReadTensor(const std::string& name, const bundled::Tensor& tensor, SavedValues& saved) {
    TensorBytes read;
    read.dtype = SafetensorsName(static_cast<int>(tensor.scalar_type()));
    if (read.dtype.empty()) throw Malformed(name, "has a data type without a name in safetensors", &tensor);
    std::uint64_t bytes = ElementSize(read.dtype);
    if (tensor.sizes() != nullptr) {
      for (const std::int32_t size : *tensor.sizes()) {
        if (size < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes))
          throw Malformed(name, "has a shape that no tensor has", &tensor);
        read.shape.push_back(size);
      }
    }
    if (tensor.data() != nullptr)
      read.bytes = source_.Slice(buffer_.At(tensor.data()->data()), tensor.data()->size(), "its bytes");
    if (read.bytes.size() != bytes) {
      throw Malformed(name, fmt::format("has {} bytes where its shape needs {}", read.bytes.size(), bytes),
                      &tensor);
    }
    std::vector<std::uint8_t> row_major(read.shape.size()), order = row_major;
    std::iota(row_major.begin(), row_major.end(), std::uint8_t{0});
    if (tensor.dim_order() != nullptr) order.assign(tensor.dim_order()->begin(), tensor.dim_order()->end());
    if (tensor.dim_order() == nullptr || order.empty() || order == row_major) return read;
    if (!std::ranges::is_permutation(order, row_major))
      throw Malformed(name, "has an order of dimensions that is none", &tensor);
    source_.SpendCopyBudget(read.bytes.size());
    auto& copy = saved.copies.emplace_back(read.bytes.size());
    CopyToRowMajor(copy.data(), read.bytes.data(), read.shape, order, ElementSize(read.dtype));
    read.bytes = copy;
    return read;
  }

  Error Malformed(const std::string& name, const std::string& problem, const void* where) const {
    return source_.MakeError(fmt::format("is malformed: value {} of a test case {}", name, problem),
                             buffer_.At(where));
  }

  Source source_;
  Buffer buffer_;
};

}  // namespace

bool IsBundledProgram(ByteView bytes) {
  return bytes.size() >= 8 && std::memcmp(bytes.data() + 4, bundled::BundledProgramIdentifier(), 4) == 0;
}

BundledProgram ReadBundledProgram(ByteView bytes, const std::string& file_name) {
  return BundleReader(bytes, file_name).Read(/*with_values=*/true);
}

BundledProgram ExtractProgram(ByteView bytes, const std::string& file_name) {
  if (!IsBundledProgram(bytes)) return {.program = bytes};
  return BundleReader(bytes, file_name).Read(/*with_values=*/false);
}

}  // namespace etprof
