#include "program/language_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace etprof {
namespace {

using ::testing::HasSubstr;

ProgramValue TensorValue(std::vector<std::int64_t> shape, const char* type, int bits, bool varies = false) {
  ProgramValue value;
  value.kind = ProgramValue::Kind::kTensor;
  value.tensor = ProgramTensor{};
  value.tensor->type = {type, bits};
  value.tensor->shape = std::move(shape);
  if (varies) value.tensor->dynamism = ProgramTensor::Shape::kBounded;
  return value;
}

// Tokens [1, 64] and a position [1] to logits [1, 100], with a cache of 2 x [1, 128, 4].
Program Decoder() {
  Method method;
  method.name = "forward";
  method.values = {TensorValue({1, 64}, "int64", 64, true), TensorValue({1}, "int64", 64),
                   TensorValue({1, 128, 4}, "float32", 32), TensorValue({1, 128, 4}, "float32", 32),
                   TensorValue({1, 100}, "float32", 32)};
  for (std::size_t i = 0; i < method.values.size(); ++i) {
    method.values[i].tensor->memory_id = 1;
    method.values[i].tensor->memory_offset = i * 10000;
  }
  method.inputs = {0, 1};
  method.outputs = {4};
  method.operators = {"llama::step.out"};
  method.instructions = {{Instruction::Kind::kKernel, 0, 0, 0, {0, 1, 2, 3, 4}}};
  method.planned_buffers = {100000};
  Program program;
  program.methods = {method};
  return program;
}

TEST(LanguageModel, IsFoundInTheProgramAlone) {
  const LanguageModel model = LanguageModelOf(Decoder());
  ASSERT_EQ(model.why_not, "");
  ASSERT_EQ(model.steps.size(), 1U);
  EXPECT_EQ(model.steps[0].tokens, 64);
  EXPECT_TRUE(model.steps[0].dynamic);
  EXPECT_FALSE(model.steps[0].position_of_each);
  EXPECT_FALSE(model.steps[0].logits_of_each);
  EXPECT_EQ(model.steps[0].vocabulary, 100);
  EXPECT_EQ(model.context, 128);  // no metadata: what the two tensors have in common
  EXPECT_EQ(model.state, 2 * 128 * 4 * 4);
  EXPECT_EQ(model.state_per_token, 2 * 4 * 4);
}

TEST(LanguageModel, TakesPositionsAndLogitsOfEachToken) {
  Program program = Decoder();
  program.methods[0].values[1].tensor->shape = {64};
  program.methods[0].values[4].tensor->shape = {1, 64, 100};
  const LanguageModel model = LanguageModelOf(program);
  ASSERT_EQ(model.why_not, "");
  EXPECT_TRUE(model.steps[0].position_of_each);
  EXPECT_TRUE(model.steps[0].logits_of_each);
}

TEST(LanguageModel, SaysWhyAProgramIsNone) {
  const auto why = [](auto change) {
    Program program = Decoder();
    change(program.methods[0]);
    return LanguageModelOf(program).why_not;
  };
  EXPECT_THAT(why([](Method& m) { m.inputs = {0}; }), HasSubstr("without a position"));
  EXPECT_THAT(why([](Method& m) { m.values[0] = TensorValue({1, 64, 8}, "float32", 32, true); }),
              HasSubstr("embeddings"));
  EXPECT_THAT(why([](Method& m) { m.values[0] = TensorValue({1, 3, 8, 8}, "float32", 32); }),
              HasSubstr("takes float32 [1, 3, 8, 8], int64 [1], not tokens"));
  EXPECT_THAT(why([](Method& m) { m.inputs = {0, 1, 2, 3}; }), HasSubstr(", ..., not tokens"));
  EXPECT_THAT(why([](Method& m) { m.values[0].tensor->shape = {2, 64}; }), HasSubstr("not tokens"));
  EXPECT_THAT(why([](Method& m) { m.values[4] = TensorValue({1, 100}, "int64", 64); }), HasSubstr("logits"));
  EXPECT_THAT(why([](Method& m) { m.values[4].tensor->shape = {3, 100}; }), HasSubstr("logits"));
  EXPECT_THAT(why([](Method& m) { m.values[0].tensor->dynamism = ProgramTensor::Shape::kStatic; }),
              HasSubstr("exactly 64 tokens"));
  EXPECT_THAT(why([](Method& m) { m.values[3].tensor->shape = {7, 9}; }), HasSubstr("for how many tokens"));
  EXPECT_THAT(why([](Method& m) { m.instructions[0].arguments = {0, 1, 4}; }), HasSubstr("keeps nothing"));
  EXPECT_THAT(why([](Method& m) { m.instructions.push_back({Instruction::Kind::kJumpFalse, 0, 1, 0, {}}); }),
              HasSubstr("branches"));
  EXPECT_THAT(LanguageModelOf(Program()).why_not, HasSubstr("no methods"));
}

}  // namespace
}  // namespace etprof
