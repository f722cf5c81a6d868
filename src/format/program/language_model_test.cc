#include "format/program/language_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace etprof {
namespace {

using ::testing::HasSubstr;

ProgramValue TensorValue(std::vector<std::int64_t> shape, const char* type, int bits,
                         bool is_dynamic = false) {
  ProgramValue value;
  value.kind = ProgramValue::Kind::kTensor;
  value.tensor = ProgramTensor{};
  value.tensor->type = {type, bits};
  value.tensor->shape = std::move(shape);
  if (is_dynamic) value.tensor->dynamism = ProgramTensor::Shape::kBounded;
  return value;
}

// Tokens [1, 64] and a position [1] to logits [1, 100], with a cache of 2 x [1, 128, 4].
Program MakeDecoder() {
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
  const LanguageModel model = FindLanguageModel(MakeDecoder());
  ASSERT_EQ(model.rejection, "");
  ASSERT_EQ(model.steps.size(), 1U);
  EXPECT_EQ(model.steps[0].tokens, 64);
  EXPECT_TRUE(model.steps[0].dynamic);
  EXPECT_FALSE(model.steps[0].per_token_positions);
  EXPECT_FALSE(model.steps[0].per_token_logits);
  EXPECT_EQ(model.steps[0].vocabulary, 100);
  EXPECT_EQ(model.context, 128);  // without metadata, the size that the two tensors have in common
  EXPECT_EQ(model.state, 2 * 128 * 4 * 4);
  EXPECT_EQ(model.state_per_token, 2 * 4 * 4);
}

TEST(LanguageModel, TakesPositionsAndLogitsOfEachToken) {
  Program program = MakeDecoder();
  program.methods[0].values[1].tensor->shape = {64};
  program.methods[0].values[4].tensor->shape = {1, 64, 100};
  const LanguageModel model = FindLanguageModel(program);
  ASSERT_EQ(model.rejection, "");
  EXPECT_TRUE(model.steps[0].per_token_positions);
  EXPECT_TRUE(model.steps[0].per_token_logits);
}

TEST(LanguageModel, SaysWhyAProgramIsNone) {
  const auto find_rejection = [](auto change) {
    Program program = MakeDecoder();
    change(program.methods[0]);
    return FindLanguageModel(program).rejection;
  };
  EXPECT_THAT(find_rejection([](Method& m) { m.inputs = {0}; }), HasSubstr("without a position"));
  EXPECT_THAT(find_rejection([](Method& m) { m.values[0] = TensorValue({1, 64, 8}, "float32", 32, true); }),
              HasSubstr("embeddings"));
  EXPECT_THAT(find_rejection([](Method& m) { m.values[0] = TensorValue({1, 3, 8, 8}, "float32", 32); }),
              HasSubstr("takes float32 [1, 3, 8, 8], int64 [1], not tokens"));
  EXPECT_THAT(find_rejection([](Method& m) { m.inputs = {0, 1, 2, 3}; }), HasSubstr(", ..., not tokens"));
  EXPECT_THAT(find_rejection([](Method& m) { m.values[0].tensor->shape = {2, 64}; }),
              HasSubstr("not tokens"));
  EXPECT_THAT(find_rejection([](Method& m) { m.values[4] = TensorValue({1, 100}, "int64", 64); }),
              HasSubstr("logits"));
  EXPECT_THAT(find_rejection([](Method& m) { m.values[4].tensor->shape = {3, 100}; }), HasSubstr("logits"));
  EXPECT_THAT(find_rejection([](Method& m) { m.values[0].tensor->dynamism = ProgramTensor::Shape::kStatic; }),
              HasSubstr("exactly 64 tokens"));
  EXPECT_THAT(find_rejection([](Method& m) { m.values[3].tensor->shape = {7, 9}; }),
              HasSubstr("for how many tokens"));
  EXPECT_THAT(find_rejection([](Method& m) { m.instructions[0].arguments = {0, 1, 4}; }),
              HasSubstr("keeps nothing"));
  EXPECT_THAT(find_rejection(
                  [](Method& m) { m.instructions.push_back({Instruction::Kind::kJumpFalse, 0, 1, 0, {}}); }),
              HasSubstr("branches"));
  EXPECT_THAT(FindLanguageModel(Program()).rejection, HasSubstr("no methods"));
}

// A method that computes `output` from `inputs`, without a state.
Method MakeStatelessMethod(const char* name, std::vector<ProgramValue> inputs, ProgramValue output) {
  Method method;
  method.name = name;
  method.values = std::move(inputs);
  for (std::size_t i = 0; i < method.values.size(); ++i) method.inputs.push_back(i);
  method.outputs = {method.values.size()};
  method.values.push_back(std::move(output));
  method.operators = {"aten::step.out"};
  method.instructions = {{Instruction::Kind::kKernel, 0, 0, 0, {}}};
  return method;
}

// Optimum's layout: a decoder that takes embeddings [1, 64, 8], a method that returns them, and an encoder of
// 16 positions.
Program MakeMultimodal() {
  Program program = MakeDecoder();
  program.methods[0].name = "text_decoder";
  program.methods[0].values[0] = TensorValue({1, 64, 8}, "float32", 32, true);
  program.methods.push_back(MakeStatelessMethod("vision_encoder",
                                                {TensorValue({1, 3, 32, 32}, "float32", 32)},
                                                TensorValue({1, 16, 8}, "float32", 32)));
  program.methods.push_back(MakeStatelessMethod("token_embedding", {TensorValue({1, 64}, "int64", 64, true)},
                                                TensorValue({1, 64, 8}, "float32", 32, true)));
  return program;
}

TEST(LanguageModel, HasStepsOfAnEmbeddingAndADecoder) {
  const LanguageModel model = FindLanguageModel(MakeMultimodal());
  ASSERT_EQ(model.rejection, "");
  ASSERT_EQ(model.steps.size(), 1U);
  EXPECT_TRUE(model.steps[0].takes_embeddings);
  EXPECT_FALSE(model.steps[0].takes_features);
  EXPECT_EQ(model.steps[0].embedding_method, "token_embedding");
  EXPECT_EQ(model.encoders, std::vector<std::string>{"vision_encoder"});
  EXPECT_EQ(model.encoder_positions, 16);
  EXPECT_EQ(model.context, 128);
  EXPECT_EQ(model.StepFor(64), model.steps.data());
  EXPECT_EQ(model.StepFor(65), nullptr);
}

TEST(LanguageModel, NeedsWhatItsStepsTake) {
  const auto find_rejection = [](auto change) {
    Program program = MakeMultimodal();
    change(program);
    return FindLanguageModel(program).rejection;
  };
  const char* const no_provider =
      "takes embeddings, float32 [1, 64, 8], and no method gives those of as many tokens";
  EXPECT_THAT(find_rejection([](Program& p) { p.methods.pop_back(); }), HasSubstr(no_provider));
  EXPECT_THAT(find_rejection([](Program& p) { p.methods[2].values[1].tensor->shape = {1, 64, 9}; }),
              HasSubstr(no_provider));
  EXPECT_THAT(find_rejection([](Program& p) { p.methods[2].values[1].tensor->type = {"float16", 16}; }),
              HasSubstr(no_provider));
  EXPECT_THAT(find_rejection([](Program& p) { p.methods[2].values[0].tensor->shape = {1, 63}; }),
              HasSubstr(no_provider));
  EXPECT_THAT(find_rejection([](Program& p) { p.methods[2].values[0] = TensorValue({1, 64}, "int64", 64); }),
              HasSubstr(no_provider));
  // The model needs no encoder, and a method with another width is not its encoder.
  EXPECT_EQ(find_rejection([](Program& p) { p.methods[1].values[1].tensor->shape = {1, 16, 9}; }), "");
  EXPECT_EQ(find_rejection([](Program& p) { p.methods.erase(p.methods.begin() + 1); }), "");
}

// Whisper: the decoder takes a token, 24 rows of the encoder, and a position. It keeps 128 positions, and the
// keys and values of the 24 rows.
Program MakeWhisper() {
  Program program = MakeDecoder();
  Method& decoder = program.methods[0];
  decoder.name = "text_decoder";
  decoder.values[0] = TensorValue({1, 1}, "int64", 64);
  decoder.values.push_back(TensorValue({1, 24, 8}, "float32", 32));
  decoder.inputs = {0, 5, 1};
  for (int i = 0; i < 2; ++i) {
    ProgramValue cross = TensorValue({1, 24, 4}, "float32", 32);
    cross.tensor->memory_id = 1;
    cross.tensor->memory_offset = decoder.values.size() * 10000;
    decoder.instructions[0].arguments.insert(decoder.instructions[0].arguments.begin(),
                                             decoder.values.size());
    decoder.values.push_back(cross);
  }
  program.methods.push_back(MakeStatelessMethod("encoder", {TensorValue({1, 80, 48}, "float32", 32)},
                                                TensorValue({1, 24, 8}, "float32", 32)));
  return program;
}

TEST(LanguageModel, TakesWhatAnEncoderGives) {
  const LanguageModel model = FindLanguageModel(MakeWhisper());
  ASSERT_EQ(model.rejection, "");
  EXPECT_TRUE(model.steps[0].takes_features);
  EXPECT_FALSE(model.steps[0].takes_embeddings);
  EXPECT_EQ(model.encoders, std::vector<std::string>{"encoder"});
  EXPECT_EQ(model.encoder_positions, 0);
  EXPECT_EQ(model.context, 128);  // not the 24 of the encoder's rows
  EXPECT_EQ(model.state, 2 * (128 + 24) * 4 * 4);
  EXPECT_EQ(model.state_per_token, 2 * 4 * 4);
  Program program = MakeWhisper();
  program.methods.pop_back();
  EXPECT_THAT(FindLanguageModel(program).rejection,
              HasSubstr("takes float32 [1, 24, 8] besides tokens and a position, and no encoder gives that"));
  program = MakeWhisper();
  program.methods[1].values[0] = TensorValue({1, 24}, "int64", 64, true);  // T5
  EXPECT_THAT(FindLanguageModel(program).rejection, HasSubstr("its encoder 'encoder' takes tokens"));
}

TEST(LanguageModel, PrefillAndDecodeShareTheirState) {
  Program program = MakeDecoder();
  program.methods.push_back(program.methods[0]);
  program.methods[0].name = "prefill";
  program.methods[1].name = "decode";
  program.methods[1].values[0] = TensorValue({1, 1}, "int64", 64);
  EXPECT_THAT(FindLanguageModel(program).rejection, HasSubstr("decoding sees nothing of a prompt"));
  program.methods[0].planned_buffers = program.methods[1].planned_buffers = {0, 4096};
  EXPECT_EQ(FindLanguageModel(program).rejection, "");
  // Two variants of a model, each with one method for prefill and decoding.
  program = MakeDecoder();
  program.methods.push_back(program.methods[0]);
  program.methods[1].name = "lora_forward";
  EXPECT_EQ(FindLanguageModel(program).rejection, "");
}

}  // namespace
}  // namespace etprof
