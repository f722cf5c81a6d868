#include "format/program/language_model.h"

#include <gtest/gtest.h>

#include "core/golden_testing.h"

namespace etprof {
namespace {

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
  EXPECT_EQ(model.FindStep(64), model.steps.data());
  EXPECT_EQ(model.FindStep(65), nullptr);
}

TEST(LanguageModel, NeedsNoEncoder) {
  Program program = MakeMultimodal();
  program.methods[1].values[1].tensor->shape = {1, 16, 9};  // another width than the decoder's
  EXPECT_EQ(FindLanguageModel(program).rejection, "");
  program.methods.erase(program.methods.begin() + 1);
  EXPECT_EQ(FindLanguageModel(program).rejection, "");
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

TEST(LanguageModel, TakesTheOutputOfAnEncoder) {
  const LanguageModel model = FindLanguageModel(MakeWhisper());
  ASSERT_EQ(model.rejection, "");
  EXPECT_TRUE(model.steps[0].takes_features);
  EXPECT_FALSE(model.steps[0].takes_embeddings);
  EXPECT_EQ(model.encoders, std::vector<std::string>{"encoder"});
  EXPECT_EQ(model.encoder_positions, 0);
  EXPECT_EQ(model.context, 128);  // not 24, the number of the encoder's rows
  EXPECT_EQ(model.state, 2 * (128 + 24) * 4 * 4);
  EXPECT_EQ(model.state_per_token, 2 * 4 * 4);
}

// A model with one method for prefill and one for decoding. Each has its own state.
Program MakeSeparateSteps() {
  Program program = MakeDecoder();
  program.methods.push_back(program.methods[0]);
  program.methods[0].name = "prefill";
  program.methods[1].name = "decode";
  program.methods[1].values[0] = TensorValue({1, 1}, "int64", 64);
  return program;
}

TEST(LanguageModel, PrefillAndDecodeShareTheirState) {
  Program program = MakeSeparateSteps();
  program.methods[0].planned_buffers = program.methods[1].planned_buffers = {0, 4096};
  EXPECT_EQ(FindLanguageModel(program).rejection, "");
  // Two variants of a model, each with one method for prefill and decoding.
  program = MakeDecoder();
  program.methods.push_back(program.methods[0]);
  program.methods[1].name = "lora_forward";
  EXPECT_EQ(FindLanguageModel(program).rejection, "");
}

TEST(LanguageModel, ExplainsRejections) {
  CaseMessages rejections;
  const auto add = [&](const char* name, Program program, auto change) {
    change(program.methods);
    rejections.emplace_back(name, FindLanguageModel(program).rejection);
  };
  using Methods = std::vector<Method>;
  add("no methods", MakeDecoder(), [](Methods& m) { m.clear(); });
  add("no position", MakeDecoder(), [](Methods& m) { m[0].inputs = {0}; });
  add("embeddings", MakeDecoder(),
      [](Methods& m) { m[0].values[0] = TensorValue({1, 64, 8}, "float32", 32, true); });
  add("image", MakeDecoder(), [](Methods& m) { m[0].values[0] = TensorValue({1, 3, 8, 8}, "float32", 32); });
  add("four inputs", MakeDecoder(), [](Methods& m) { m[0].inputs = {0, 1, 2, 3}; });
  add("batch of 2", MakeDecoder(), [](Methods& m) { m[0].values[0].tensor->shape = {2, 64}; });
  add("integer output", MakeDecoder(),
      [](Methods& m) { m[0].values[4] = TensorValue({1, 100}, "int64", 64); });
  add("3 rows of logits", MakeDecoder(), [](Methods& m) { m[0].values[4].tensor->shape = {3, 100}; });
  add("static shape", MakeDecoder(),
      [](Methods& m) { m[0].values[0].tensor->dynamism = ProgramTensor::Shape::kStatic; });
  add("states without a common size", MakeDecoder(),
      [](Methods& m) { m[0].values[3].tensor->shape = {7, 9}; });
  add("no state", MakeDecoder(), [](Methods& m) { m[0].instructions[0].arguments = {0, 1, 4}; });
  add("branch", MakeDecoder(),
      [](Methods& m) { m[0].instructions.push_back({Instruction::Kind::kJumpFalse, 0, 1, 0, {}}); });
  add("no embedding method", MakeMultimodal(), [](Methods& m) { m.pop_back(); });
  add("embeddings of another width", MakeMultimodal(),
      [](Methods& m) { m[2].values[1].tensor->shape = {1, 64, 9}; });
  add("embeddings of another type", MakeMultimodal(),
      [](Methods& m) { m[2].values[1].tensor->type = {"float16", 16}; });
  add("embeddings of fewer tokens", MakeMultimodal(),
      [](Methods& m) { m[2].values[0].tensor->shape = {1, 63}; });
  add("embeddings of a fixed number of tokens", MakeMultimodal(),
      [](Methods& m) { m[2].values[0] = TensorValue({1, 64}, "int64", 64); });
  add("no encoder", MakeWhisper(), [](Methods& m) { m.pop_back(); });
  add("encoder of tokens, as in T5", MakeWhisper(),
      [](Methods& m) { m[1].values[0] = TensorValue({1, 24}, "int64", 64, true); });
  add("prefill and decoding without a common state", MakeSeparateSteps(), [](Methods&) {});
  ExpectGoldenMessages("format/language_model_rejections", rejections);
}

}  // namespace
}  // namespace etprof
