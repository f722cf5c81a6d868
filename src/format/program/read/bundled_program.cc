#include "format/program/read/bundled_program.h"

#include <fmt/format.h>

#include <algorithm>
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
    BundledProgram result;
    result.program = source_.Slice(buffer_.At(file.program()->data()), file.program()->size(), "its program");
    result.inputs.metadata["format"] = "etprof-inputs-1";
    result.expected_outputs.metadata["format"] = "etprof-outputs-1";
    if (file.method_test_suites() == nullptr) return result;
    for (const auto* suite : *file.method_test_suites()) {
      const std::string method = source_.Text(suite->method_name());
      const auto* cases = suite->test_cases();
      if (std::ranges::find(result.test_cases, method, &Program::TestCases::method) !=
          result.test_cases.end())
        throw source_.MakeError(fmt::format("is malformed: two lists of test cases for {}", method),
                                buffer_.At(suite));
      result.test_cases.push_back({method, cases == nullptr ? 0 : cases->size()});
      if (!with_values || result.test_cases.back().count == 0) continue;
      AddValues(method, cases->Get(0)->inputs(), result.inputs);
      AddValues(method, cases->Get(0)->expected_outputs(), result.expected_outputs);
    }
    return result;
  }

 private:
  using Values = flatbuffers::Vector<flatbuffers::Offset<bundled::Value>>;

  void AddValues(const std::string& method, const Values* values, SavedValues& saved) {
    if (values == nullptr) return;
    for (flatbuffers::uoffset_t i = 0; i < values->size(); ++i) {
      const std::string name = fmt::format("{}/{}", method, i);
      const bundled::Value& value = *values->Get(i);
      if (const auto* tensor = value.val_as_Tensor()) {
        saved.tensors.emplace_back(name, ReadTensor(name, *tensor, saved));
        continue;
      }
      nlohmann::json scalar = {{"type", "none"}};  // ExecuTorch bundles nothing for None
      if (const auto* number = value.val_as_Int()) scalar = {{"type", "int"}, {"value", number->int_val()}};
      if (const auto* flag = value.val_as_Bool()) scalar = {{"type", "bool"}, {"value", flag->bool_val()}};
      if (const auto* number = value.val_as_Double())
        scalar = {{"type", "double"}, {"value", number->double_val()}};
      saved.metadata[name] = JsonText(scalar);
    }
  }

  TensorBytes ReadTensor(const std::string& name, const bundled::Tensor& tensor, SavedValues& saved) {
    TensorBytes result;
    result.dtype = SafetensorsName(static_cast<int>(tensor.scalar_type()));
    if (result.dtype.empty())
      throw MalformedError(name, "has a data type without a name in safetensors", &tensor);
    std::uint64_t bytes = ElementSize(result.dtype);
    if (tensor.sizes() != nullptr) {
      for (const std::int32_t size : *tensor.sizes()) {
        if (size < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes))
          throw MalformedError(name, "has a shape that no tensor has", &tensor);
        result.shape.push_back(size);
      }
    }
    if (tensor.data() != nullptr)
      result.bytes = source_.Slice(buffer_.At(tensor.data()->data()), tensor.data()->size(), "its bytes");
    if (result.bytes.size() != bytes) {
      throw MalformedError(
          name, fmt::format("has {} bytes where its shape needs {}", result.bytes.size(), bytes), &tensor);
    }
    std::vector<std::uint8_t> row_major(result.shape.size());
    std::iota(row_major.begin(), row_major.end(), std::uint8_t{0});
    std::vector<std::uint8_t> order = row_major;
    if (tensor.dim_order() != nullptr) order.assign(tensor.dim_order()->begin(), tensor.dim_order()->end());
    if (order.empty() || order == row_major) return result;
    if (!std::ranges::is_permutation(order, row_major))
      throw MalformedError(name, "has an order of dimensions that is none", &tensor);
    source_.SpendCopyBudget(result.bytes.size());
    auto& copy = saved.copies.emplace_back(result.bytes.size());
    CopyToRowMajor(copy.data(), result.bytes.data(), result.shape, order, ElementSize(result.dtype));
    result.bytes = copy;
    return result;
  }

  Error MalformedError(const std::string& name, const std::string& problem, const void* object) const {
    return source_.MakeError(fmt::format("is malformed: value {} of a test case {}", name, problem),
                             buffer_.At(object));
  }

  Source source_;
  Buffer buffer_;
};

}  // namespace

bool IsBundledProgram(ByteView bytes) { return HasTextAt(bytes, 4, bundled::BundledProgramIdentifier()); }

BundledProgram ReadBundledProgram(ByteView bytes, const std::string& file_name) {
  return BundleReader(bytes, file_name).Read(/*with_values=*/true);
}

BundledProgram ExtractProgram(ByteView bytes, const std::string& file_name) {
  if (!IsBundledProgram(bytes)) return {.program = bytes};
  return BundleReader(bytes, file_name).Read(/*with_values=*/false);
}

}  // namespace etprof
