#include "measure/values/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "core/file/file.h"
#include "core/golden_testing.h"
#include "core/tensors/safetensors.h"
#include "measure/store/run_files.h"

namespace etprof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The values that one variant's operators wrote in a delegate call, in order.
class Variant {
 public:
  Variant() { variant_.method = "forward"; }
  DescribedValue& Add(const std::string& name, const std::vector<float>& numbers, std::size_t node) {
    return Add(name, "F32", std::as_bytes(std::span(numbers)), node, 4);
  }
  DescribedValue& AddQuantized(const std::string& name, const std::vector<std::int8_t>& numbers,
                               std::size_t node, float scale, int zero_point) {
    DescribedValue& described = Add(name, "I8", std::as_bytes(std::span(numbers)), node, 1);
    described.scale = scale;
    described.zero_point = zero_point;
    return described;
  }
  operator const VariantValues&() const { return variant_; }  // NOLINT(google-explicit-constructor)

 private:
  DescribedValue& Add(const std::string& name, const std::string& dtype, std::span<const std::byte> bytes,
                      std::size_t node, std::int64_t element_bytes) {
    DescribedValue& described = variant_.values.emplace_back();
    const auto index = static_cast<std::int64_t>(variant_.values.size()) - 1;
    described.value.place = {0, 2, "backend", index, 0};
    described.value.name = described.stem = name;
    described.value.index = index;
    described.value.bytes = static_cast<std::int64_t>(bytes.size());
    const std::vector<std::byte> copy(bytes.begin(), bytes.end());
    described.value.sha256 = std::string(reinterpret_cast<const char*>(copy.data()), copy.size());
    described.node = node;
    described.dtype = dtype;
    described.has_numbers = true;
    described.element_bytes = element_bytes;
    described.shape = {static_cast<std::int64_t>(bytes.size()) / element_bytes};
    variant_.elements[index] = copy;
    return described;
  }
  VariantValues variant_;
};

std::vector<std::string> States(const std::vector<ValuesRow>& rows) {
  std::vector<std::string> states;
  for (const ValuesRow& row : rows) states.push_back(row.state);
  return states;
}

TEST(CompareValues, FindsASingleDifferentBit) {
  Variant a, b;
  a.Add("Add", {1, 2}, 0);
  a.Add("Multiply", {3, 4}, 1);
  a.Add("Clamp", {5, 6}, 2);
  b.Add("Add", {1, 2}, 0);
  b.Add("Multiply", {3, std::nextafter(4.0F, 5.0F)}, 1);
  b.Add("Clamp", {5, 6}, 2);
  EXPECT_THAT(States(CompareValues(a, a)), ElementsAre("identical", "identical", "identical"));
  const std::vector<ValuesRow> rows = CompareValues(a, b);
  EXPECT_THAT(States(rows), ElementsAre("identical", "different", "identical"));
  EXPECT_EQ(rows[1].key, "forward/2/backend/1");
  EXPECT_EQ(rows[1].largest, double(std::nextafter(4.0F, 5.0F)) - 4);
  // The SQNR is the ratio of 25 and the square of 2^-21.
  EXPECT_NEAR(rows[1].sqnr_db.value(), 10 * std::log10(25) + 20 * 21 * std::log10(2), 1e-9);
  EXPECT_FALSE(rows[0].sqnr_db || rows[0].largest);
}

TEST(CompareValues, InsertedOperatorsDoNotShiftTheOthers) {
  Variant a, b;
  a.Add("Fully Connected", {1, 2}, 0);
  a.Add("Softmax", {3, 4}, 1);
  DescribedValue& packed = b.Add("Pack LH", {9}, 7);
  packed.node.reset();
  packed.value.problem = "XNNPACK inserted it";
  b.Add("Fully Connected", {1, 2}, 0).value.name = "Fully Connected (NC, PF32) GEMM #1";
  b.Add("Softmax", {3, 5}, 1);
  const std::vector<ValuesRow> rows = CompareValues(a, b);
  EXPECT_THAT(States(rows), ElementsAre("identical", "different"));
  EXPECT_EQ(rows[0].candidate_name, "Fully Connected (NC, PF32) GEMM #1");
}

TEST(CompareValues, AppliesTheScalesOfQuantizedElements) {
  Variant a, b, unknown;
  a.AddQuantized("Add", {10, 20}, 0, 0.5F, 10);  // 0, 5
  b.AddQuantized("Add", {0, 21}, 0, 0.25F, 0);   // 0, 5.25
  const std::vector<ValuesRow> rows = CompareValues(a, b);
  EXPECT_NEAR(rows.at(0).sqnr_db.value(), 10 * std::log10(25 / 0.0625), 1e-9);
  // The same bytes with other scales are other numbers.
  b = Variant();
  b.AddQuantized("Add", {10, 20}, 0, 0.25F, 10);
  EXPECT_THAT(States(CompareValues(a, b)), ElementsAre("different"));
  DescribedValue& dynamic = unknown.AddQuantized("Add", {10, 21}, 0, 0.5F, 10);
  dynamic.has_numbers = false;
  const ValuesRow row = CompareValues(a, unknown).at(0);
  EXPECT_EQ(row.state, "different");
  EXPECT_FALSE(row.sqnr_db);
  EXPECT_EQ(row.note, "the scale of its elements is not in the program");
}

TEST(CompareValues, OmitsDecibelsOfNanZerosAndUnreadValues) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  Variant a, b;
  a.Add("one", {1, kNan}, 0);
  b.Add("one", {1, 2}, 0);
  a.Add("both", {1, kNan}, 1);
  b.Add("both", {2, kNan}, 1);
  a.Add("zeros", {0, 0}, 2);
  b.Add("zeros", {0, 1}, 2);
  a.Add("sizes", {0, 0}, 3);
  b.Add("sizes", {0}, 3);
  a.Add("unread", {0, 0}, 4).value.problem = "nothing takes its address";
  b.Add("unread", {0, 0}, 4);
  const std::vector<ValuesRow> rows = CompareValues(a, b);
  EXPECT_THAT(States(rows), ElementsAre("different", "different", "different", "not read", "not read"));
  EXPECT_FALSE(rows[0].sqnr_db);
  EXPECT_NEAR(rows[1].sqnr_db.value(), 0, 1e-9);
  ExpectGoldenMessages("measure/values/value_notes", {{"NaN in one variant", rows[0].note},
                                                      {"NaN in both variants", rows[1].note},
                                                      {"zeros in the baseline", rows[2].note},
                                                      {"different sizes", rows[3].note},
                                                      {"not read", rows[4].note}});
}

TEST(CompareValues, OmitsOperatorsOfOnlyOneVariant) {
  Variant a, b;
  a.Add("Add", {1}, 0);
  b.Add("Subtract", {1}, 3);
  EXPECT_THAT(CompareValues(a, b), IsEmpty());
}

TEST(SaveValues, SaysWhyAValueHasNoTensor) {
  Variant variant;
  variant.Add("Relu", {1, 2}, 0);
  variant.Add("Slice", {}, 1);
  variant.AddQuantized("Add", {1}, 2, 1, 0).has_numbers = false;
  VariantValues values = variant;
  values.elements.erase(1);  // the runner stores no elements of an empty value
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "etprof_saved.safetensors";
  SaveValues(values, file);
  std::vector<std::string> notes;
  for (const nlohmann::json& saved : nlohmann::json::parse(ReadSafetensors(file).metadata.at("values")))
    notes.push_back(saved.at("note").get<std::string>());
  EXPECT_THAT(notes, ElementsAre("", "it is empty", "the scale of its elements is not in the program"));
  std::filesystem::remove(file);
}

TEST(Values, RoundTripThroughCsv) {
  Variant a, b;
  a.Add("Add, \"quoted\"", {1, 2}, 0);
  b.Add("Add, \"quoted\"", {1, 3}, 0);
  std::vector<ValuesRow> rows = CompareValues(a, b);
  rows[0].baseline = "off";
  rows[0].candidate = "on";
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "etprof_values";
  std::filesystem::create_directories(folder);
  EXPECT_THAT(LoadValues(folder / "none"), IsEmpty());
  WriteFileAtomically(folder / kValuesFile, [&](std::ostream& out) { WriteValues(rows, out); });
  const std::vector<ValuesRow> read = LoadValues(folder);
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].name, rows[0].name);
  EXPECT_EQ(read[0].state, "different");
  EXPECT_NEAR(read[0].sqnr_db.value(), rows[0].sqnr_db.value(), 1e-6);
  EXPECT_EQ(read[0].elements, 2);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace etprof
