#include "format/program/read/bundled_program.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bundled_program_schema_generated.h"
#include "core/error.h"
#include "core/golden_testing.h"
#include "core/tensors/tensor_values.h"
#include "format/program/read/program_reader.h"

namespace etprof {
namespace {

namespace bundled = bundled_program_flatbuffer;
using executorch_flatbuffer::ScalarType;
using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

std::unique_ptr<bundled::ValueT> MakeTensorValue(ScalarType type, std::vector<std::int32_t> sizes,
                                                 std::vector<std::uint8_t> data,
                                                 std::vector<std::uint8_t> dim_order) {
  auto value = std::make_unique<bundled::ValueT>();
  bundled::TensorT tensor;
  tensor.scalar_type = type;
  tensor.sizes = std::move(sizes);
  tensor.data = std::move(data);
  tensor.dim_order = std::move(dim_order);
  value->val.Set(std::move(tensor));
  return value;
}

template <typename Scalar>
std::unique_ptr<bundled::ValueT> MakeScalarValue(Scalar scalar) {
  auto value = std::make_unique<bundled::ValueT>();
  value->val.Set(std::move(scalar));
  return value;
}

std::string Serialize(const bundled::BundledProgramT& program) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(bundled::BundledProgram::Pack(builder, &program), bundled::BundledProgramIdentifier());
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

ByteView BytesIn(const std::string& text) { return std::as_bytes(std::span(text)); }

class BundledProgramTest : public testing::Test {
 protected:
  // A test case with a channels-last tensor, each kind of scalar, and a value that is None.
  BundledProgramTest() {
    const MappedFile pte = MappedFile::Open(ETPROF_TEST_DATA "/toy_cnn.pte");
    for (const std::byte byte : pte.bytes()) file_.program.push_back(static_cast<std::uint8_t>(byte));
    auto suite = std::make_unique<bundled::BundledMethodTestSuiteT>();
    suite->method_name = "forward";
    auto test = std::make_unique<bundled::BundledMethodTestCaseT>();
    test->inputs.push_back(MakeTensorValue(ScalarType::CHAR, {1, 2, 1, 3}, {0, 3, 1, 4, 2, 5}, {0, 2, 3, 1}));
    bundled::IntT integer;
    integer.int_val = -3;
    test->inputs.push_back(MakeScalarValue(integer));
    bundled::BoolT boolean;
    boolean.bool_val = true;
    test->inputs.push_back(MakeScalarValue(boolean));
    bundled::DoubleT floating;
    floating.double_val = 0.5;
    test->inputs.push_back(MakeScalarValue(floating));
    test->inputs.push_back(std::make_unique<bundled::ValueT>());
    test->expected_outputs.push_back(MakeTensorValue(ScalarType::FLOAT, {1}, {0, 0, 128, 63}, {0}));
    suite->test_cases.push_back(std::move(test));
    suite->test_cases.push_back(std::make_unique<bundled::BundledMethodTestCaseT>());
    file_.method_test_suites.push_back(std::move(suite));
  }

  bundled::BundledMethodTestCaseT& FirstTest() { return *file_.method_test_suites[0]->test_cases[0]; }

  // The error message for the file. The version of FlatBuffers decides the offset, so N replaces it.
  std::string ReadProblem() const {
    const std::string text = Serialize(file_);
    try {
      ReadBundledProgram(BytesIn(text), "a.bpte");
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kBadInput);
      return ReplaceAll(error.Message(), fmt::format("byte {}", error.offset().value_or(0)), "byte N");
    }
    return "no error";
  }

  bundled::BundledProgramT file_;
};

TEST_F(BundledProgramTest, HasTheProgramAndTheFirstTestCase) {
  const std::string text = Serialize(file_);
  ASSERT_TRUE(IsBundledProgram(BytesIn(text)));
  const BundledProgram result = ReadBundledProgram(BytesIn(text), "a.bpte");
  EXPECT_TRUE(std::ranges::equal(result.program, std::as_bytes(std::span(file_.program))));
  ASSERT_EQ(result.test_cases.size(), 1U);
  EXPECT_EQ(result.test_cases[0].method, "forward");
  EXPECT_EQ(result.test_cases[0].count, 2U);
  ASSERT_EQ(result.inputs.tensors.size(), 1U);
  const auto& [name, tensor] = result.inputs.tensors[0];
  EXPECT_EQ(name, "forward/0");
  EXPECT_EQ(tensor.dtype, "I8");
  EXPECT_THAT(tensor.shape, ElementsAre(1, 2, 1, 3));
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(tensor.bytes[i], static_cast<std::byte>(i)) << "row-major";
  EXPECT_THAT(result.inputs.metadata,
              UnorderedElementsAre(Pair("format", "etprof-inputs-1"),
                                   Pair("forward/1", R"({"type":"int","value":-3})"),
                                   Pair("forward/2", R"({"type":"bool","value":true})"),
                                   Pair("forward/3", R"({"type":"double","value":0.5})"),
                                   Pair("forward/4", R"({"type":"none"})")));
  ASSERT_EQ(result.expected_outputs.tensors.size(), 1U);
  EXPECT_THAT(ReadNumbers("F32", result.expected_outputs.tensors[0].second.bytes), ElementsAre(1));
}

TEST_F(BundledProgramTest, IsReadLikeTheProgramInIt) {
  const std::string text = Serialize(file_);
  const Program from_bundle = ReadProgram(BytesIn(text), "a.bpte");
  const Program from_pte = ReadProgram(std::as_bytes(std::span(file_.program)), "a.pte");
  EXPECT_EQ(from_bundle.file_bytes, from_pte.file_bytes);
  EXPECT_EQ(from_bundle.methods.size(), from_pte.methods.size());
  EXPECT_EQ(from_bundle.xnn_graphs.size(), from_pte.xnn_graphs.size());
  EXPECT_EQ(from_bundle.test_cases.size(), 1U);
  EXPECT_TRUE(from_pte.test_cases.empty());
  CheckIsProgram(BytesIn(text), "a.bpte");
}

TEST_F(BundledProgramTest, RefusesInvalidFiles) {
  EXPECT_EQ(ReadProblem(), "no error");
  CaseMessages problems;
  const auto add = [&](const char* name) { problems.emplace_back(name, ReadProblem()); };
  auto& tensor = *FirstTest().inputs[0]->val.AsTensor();
  tensor.dim_order = {0, 2, 2, 1};
  add("a dimension twice in the order");
  tensor.dim_order = {0, 1, 2};
  add("an order of 3 dimensions");
  tensor.dim_order = {};
  EXPECT_EQ(ReadProblem(), "no error");
  tensor.sizes = {1, 2, -1, 3};
  add("shape [1, 2, -1, 3]");
  tensor.sizes = {1, 2, 1, 4};
  add("shape [1, 2, 1, 4]");
  tensor.sizes = std::vector<std::int32_t>(9, 2'000'000'000);
  add("a shape whose product overflows");
  tensor.scalar_type = ScalarType::QINT8;
  add("data type qint8");
  file_.program.clear();
  add("no program");
  ExpectGoldenMessages("format/bundled_program_problems", problems);
}

TEST_F(BundledProgramTest, RefusesTruncatedFiles) {
  const std::string text = Serialize(file_);
  for (std::size_t length = 8; length < text.size(); length += 97) {
    const std::string cut = text.substr(0, length);
    EXPECT_THROW(ReadBundledProgram(BytesIn(cut), "a.bpte"), Error) << length;
  }
}

}  // namespace
}  // namespace etprof
