#include "format/program/read/program_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>

#include "core/error.h"
#include "core/golden_testing.h"
#include "format/program/summary.h"
#include "program_generated.h"
#include "schema_generated.h"

namespace etprof {
namespace {

namespace pte = executorch_flatbuffer;
namespace xnn = fb_xnnpack;
using flatbuffers::FlatBufferBuilder;
using testing::ElementsAre;

std::vector<std::byte> CopyBytes(const FlatBufferBuilder& builder) {
  const auto bytes = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  return {bytes.begin(), bytes.end()};
}

// A program with one method "forward": input 0 and output 1 are float32 [2, 3], and there are two operators,
// the first of which is called.
std::unique_ptr<pte::ProgramT> MakeSmallProgram() {
  auto program = std::make_unique<pte::ProgramT>();
  auto plan = std::make_unique<pte::ExecutionPlanT>();
  plan->name = "forward";
  for (int i = 0; i < 2; ++i) {
    pte::TensorT tensor;
    tensor.scalar_type = pte::ScalarType::FLOAT;
    tensor.sizes = {2, 3};
    auto value = std::make_unique<pte::EValueT>();
    value->val.Set(std::move(tensor));
    plan->values.push_back(std::move(value));
  }
  plan->inputs = {0};
  plan->outputs = {1};
  for (const char* name : {"aten::relu", "aten::add"}) {
    auto entry = std::make_unique<pte::OperatorT>();
    entry->name = name;
    entry->overload = "out";
    plan->operators.push_back(std::move(entry));
  }
  pte::KernelCallT call;
  call.args = {0, 1};
  auto instruction = std::make_unique<pte::InstructionT>();
  instruction->instr_args.Set(std::move(call));
  plan->chains.push_back(std::make_unique<pte::ChainT>());
  plan->chains[0]->instructions.push_back(std::move(instruction));
  plan->non_const_buffer_sizes = {0, 48};
  program->execution_plan.push_back(std::move(plan));
  return program;
}

std::vector<std::byte> PackProgram(const pte::ProgramT& program) {
  FlatBufferBuilder builder;
  pte::FinishProgramBuffer(builder, pte::Program::Pack(builder, &program));
  return CopyBytes(builder);
}

Program Read(const pte::ProgramT& program) { return ReadProgram(PackProgram(program), "x.pte"); }

// The error message for a program. The version of FlatBuffers decides the offset, so N replaces it.
std::string ReadProblem(ByteView bytes) {
  try {
    ReadProgram(bytes, "x.pte");
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kBadInput);
    EXPECT_TRUE(error.offset().has_value());
    return ReplaceAll(error.Message(), fmt::format("byte {}", error.offset().value_or(0)), "byte N");
  }
  return "accepted";
}

// The error message for a small program that `damage` changed.
std::string ProgramProblem(const std::function<void(pte::ProgramT&)>& damage) {
  const auto program = MakeSmallProgram();
  damage(*program);
  return ReadProblem(PackProgram(*program));
}

pte::TensorT& FirstTensor(pte::ProgramT& program) {
  return *program.execution_plan[0]->values[0]->val.AsTensor();
}

void AddDelegate(pte::ProgramT& program, std::vector<std::uint8_t> payload,
                 const std::string& backend = "XnnpackBackend") {
  auto delegate = std::make_unique<pte::BackendDelegateT>();
  delegate->id = backend;
  delegate->processed = std::make_unique<pte::BackendDelegateDataReferenceT>();
  delegate->processed->index = static_cast<std::uint32_t>(program.backend_delegate_data.size());
  program.execution_plan[0]->delegates.push_back(std::move(delegate));
  auto data = std::make_unique<pte::BackendDelegateInlineDataT>();
  data->data = std::move(payload);
  program.backend_delegate_data.push_back(std::move(data));
}

TEST(ProgramReader, ReadsARealProgram) {
  const Program program = ReadProgramFile(std::string(ETPROF_TEST_DATA) + "/toy_cnn.pte");
  EXPECT_EQ(program.file_bytes, 521256);
  EXPECT_TRUE(program.extended_header);
  ASSERT_EQ(program.methods.size(), 1U);
  const Method& method = program.methods[0];
  EXPECT_EQ(method.name, "forward");
  EXPECT_THAT(method.values[method.inputs[0]].tensor->shape, ElementsAre(1, 3, 224, 224));
  ASSERT_EQ(program.xnn_graphs.size(), 1U);
  EXPECT_EQ(method.delegates[0].graph, 0U);
  EXPECT_EQ(program.xnn_graphs[0].nodes.size(), 11U);
  EXPECT_EQ(program.xnn_graphs[0].nodes[1].type, "XNNConv2d");
  EXPECT_FALSE(program.xnn_graphs[0].nodes[0].debug_handle);  // a transpose that the partitioner inserted
  EXPECT_TRUE(program.xnn_graphs[0].nodes[1].debug_handle);
}

TEST(ProgramReader, ReadsAProgramWithoutExtendedHeader) {
  const Program program = Read(*MakeSmallProgram());
  EXPECT_FALSE(program.extended_header);
  const Method& method = program.methods.at(0);
  EXPECT_THAT(method.operators, ElementsAre("aten::relu.out", "aten::add.out"));
  EXPECT_EQ(method.instructions.at(0).kind, Instruction::Kind::kKernel);
  EXPECT_THAT(method.instructions[0].arguments, ElementsAre(0U, 1U));
  EXPECT_THAT(method.planned_buffers, ElementsAre(48));
  EXPECT_EQ(method.values[0].tensor->type.name, "float32");
}

TEST(ProgramReader, ReadsBytesAtAnyAddress) {
  const std::vector<std::byte> whole = PackProgram(*MakeSmallProgram());
  std::vector<std::byte> shifted(whole.size() + 1);
  std::memcpy(shifted.data() + 1, whole.data(), whole.size());
  EXPECT_EQ(ReadProgram(ByteView(shifted).subspan(1), "x.pte").methods.at(0).name, "forward");
}

TEST(ProgramReader, ReadsTheRuntimesOwnInstructions) {
  const auto program = MakeSmallProgram();
  auto& instructions = program->execution_plan[0]->chains[0]->instructions;
  const auto add = [&](auto arguments) {
    instructions.push_back(std::make_unique<pte::InstructionT>());
    instructions.back()->instr_args.Set(std::move(arguments));
  };
  pte::MoveCallT move;
  move.move_from = 1;
  add(move);
  add(pte::JumpFalseCallT());
  add(pte::FreeCallT());
  const Program parsed = Read(*program);
  EXPECT_THAT(parsed.methods[0].instructions[1].arguments, ElementsAre(1, 0));
  const MethodSummary summary = Summarize(parsed.methods[0], parsed);
  ASSERT_EQ(summary.steps.size(), 1U);  // no instruction is delegated
  EXPECT_EQ(summary.steps[0].instruction_counts.size(), 4U);
  ASSERT_EQ(summary.operators.size(), 1U);
  EXPECT_EQ(summary.operators[0].name, "aten::relu.out");
  EXPECT_EQ(summary.operators[0].calls, 1U);
  EXPECT_TRUE(summary.has_branches);
  EXPECT_FALSE(summary.dynamic);
}

// Adds a list of tensors, or of optional tensors.
template <typename List>
void AddList(pte::ProgramT& program, std::vector<std::int32_t> items) {
  List list;
  list.items = std::move(items);
  auto value = std::make_unique<pte::EValueT>();
  value->val.Set(std::move(list));
  program.execution_plan[0]->values.push_back(std::move(value));
}

TEST(ProgramReader, ReadsListsOfTensors) {
  const auto program = MakeSmallProgram();
  AddList<pte::TensorListT>(*program, {1, 0, 1});
  AddList<pte::OptionalTensorListT>(*program, {-1, 1});  // the first item is absent
  const Program parsed = Read(*program);
  EXPECT_THAT(parsed.methods[0].values[2].items, ElementsAre(1, 0, 1));
  EXPECT_THAT(parsed.methods[0].values[3].items, ElementsAre(1));
}

TEST(ProgramReader, ReadsDynamicShapesAndInitialStates) {
  const auto program = MakeSmallProgram();
  pte::TensorT& tensor = FirstTensor(*program);
  tensor.shape_dynamism = pte::TensorShapeDynamism::DYNAMIC_BOUND;
  tensor.allocation_info = std::make_unique<pte::AllocationDetailsT>();
  tensor.allocation_info->memory_id = 1;
  tensor.allocation_info->memory_offset_low = 5;
  tensor.allocation_info->memory_offset_high = 1;
  tensor.data_buffer_idx = 1;
  const Program parsed = Read(*program);
  const ProgramTensor& parsed_tensor = *parsed.methods[0].values[0].tensor;
  EXPECT_EQ(parsed_tensor.dynamism, ProgramTensor::Shape::kBounded);
  EXPECT_EQ(parsed_tensor.memory_offset, (std::uint64_t{1} << 32) + 5);
  EXPECT_EQ(parsed_tensor.data, ProgramTensor::Data::kFile);
  EXPECT_TRUE(Summarize(parsed.methods[0], parsed).dynamic);
}

TEST(ProgramReader, DoesNotReadPayloadsOfOtherBackends) {
  const auto program = MakeSmallProgram();
  AddDelegate(*program, {1, 2, 3}, "CoreMLBackend");
  const Program parsed = Read(*program);
  EXPECT_EQ(parsed.methods[0].delegates.at(0).payload, 3);
  EXPECT_FALSE(parsed.methods[0].delegates[0].graph);
  EXPECT_FALSE(Summarize(parsed.methods[0], parsed).delegates[0].macs);
}

// A file of 250 kB with 100 million arguments: 5000 instructions share a list of 20000.
std::vector<std::byte> MakeProgramWithSharedArguments() {
  FlatBufferBuilder builder;
  const auto arguments = builder.CreateVector(std::vector<std::int32_t>(20000, 0));
  std::vector<flatbuffers::Offset<pte::Instruction>> instructions;
  for (int i = 0; i < 5000; ++i) {
    const auto call = pte::CreateKernelCall(builder, 0, arguments);
    instructions.push_back(
        pte::CreateInstruction(builder, pte::InstructionArguments::KernelCall, call.Union()));
  }
  const auto chain = pte::CreateChain(builder, 0, 0, builder.CreateVector(instructions));
  const auto name = builder.CreateString("x");
  const auto entry = pte::CreateOperator(builder, name, name);
  const auto value = pte::CreateEValue(builder);
  const auto plan = pte::CreateExecutionPlan(builder, name, 0, builder.CreateVector(std::vector{value}), 0, 0,
                                             builder.CreateVector(std::vector{chain}),
                                             builder.CreateVector(std::vector{entry}));
  pte::FinishProgramBuffer(builder, pte::CreateProgram(builder, 0, builder.CreateVector(std::vector{plan})));
  return CopyBytes(builder);
}

TEST(ProgramReader, RefusesInvalidPrograms) {
  const auto call = [](pte::ProgramT& p) -> pte::KernelCallT& {
    return *p.execution_plan[0]->chains[0]->instructions[0]->instr_args.AsKernelCall();
  };
  CaseMessages problems;
  const auto add = [&](const char* name, const std::function<void(pte::ProgramT&)>& damage) {
    problems.emplace_back(name, ProgramProblem(damage));
  };
  add("operator 2", [&](auto& p) { call(p).op_index = 2; });
  add("operator -1", [&](auto& p) { call(p).op_index = -1; });
  add("argument 2", [&](auto& p) { call(p).args = {0, 2}; });
  add("input 2", [](auto& p) { p.execution_plan[0]->inputs = {2}; });
  add("output -5", [](auto& p) { p.execution_plan[0]->outputs = {-5}; });
  add("constant 7", [](auto& p) { FirstTensor(p).data_buffer_idx = 7; });
  add("moved value 2", [](auto& p) {
    auto instruction = std::make_unique<pte::InstructionT>();
    pte::MoveCallT move;
    move.move_to = 2;
    instruction->instr_args.Set(move);
    p.execution_plan[0]->chains[0]->instructions.push_back(std::move(instruction));
  });
  add("item 3 of a list", [](auto& p) { AddList<pte::TensorListT>(p, {3}); });
  add("item -2 of a list", [](auto& p) { AddList<pte::OptionalTensorListT>(p, {-2}); });
  add("data 1 of a delegate", [](auto& p) {
    AddDelegate(p, {1});
    p.execution_plan[0]->delegates[0]->processed->index = 1;
  });
  add("segment 0 of a delegate", [](auto& p) {
    AddDelegate(p, {1});
    p.execution_plan[0]->delegates[0]->processed->location = pte::DataLocation::SEGMENT;
  });
  add("delegate without a payload", [](auto& p) {
    AddDelegate(p, {1});
    p.execution_plan[0]->delegates[0]->processed = nullptr;
  });
  add("segment 0 of named data",
      [](auto& p) { p.named_data.push_back(std::make_unique<pte::NamedDataT>()); });
  add("segment 0 of constants", [](auto& p) {
    p.constant_segment = std::make_unique<pte::SubsegmentOffsetsT>();
    p.constant_segment->offsets = {0};
  });
  add("segment without a place", [](auto& p) {
    p.segments.push_back(std::make_unique<pte::DataSegmentT>());
    p.segments[0]->size = 1;
  });
  add("shape [-1, 3]", [](auto& p) { FirstTensor(p).sizes = {-1, 3}; });
  add("shape whose product overflows", [](auto& p) { FirstTensor(p).sizes.assign(4, 0x7fffffff); });
  add("17 dimensions", [](auto& p) { FirstTensor(p).sizes.assign(17, 1); });
  add("planned buffer of -1 bytes", [](auto& p) { p.execution_plan[0]->non_const_buffer_sizes = {0, -1}; });
  problems.emplace_back("100 million arguments", ReadProblem(MakeProgramWithSharedArguments()));
  ExpectGoldenMessages("format/program_problems", problems);
  EXPECT_EQ(ProgramProblem([](auto& p) { FirstTensor(p).sizes = {0, 0x7fffffff}; }), "accepted");
}

// A graph with one value, 0, and a node of each type, all of whose fields are 0.
std::vector<std::byte> MakeGraphOfEveryNode(const char* identifier = xnn::XNNGraphIdentifier()) {
  FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<xnn::XNode>> nodes;
  for (const xnn::XNodeUnion type : xnn::EnumValuesXNodeUnion()) {
    if (type == xnn::XNodeUnion::NONE) continue;
    const flatbuffers::Offset<void> fields(builder.EndTable(builder.StartTable()));
    nodes.push_back(xnn::CreateXNode(builder, type, fields, 7));
  }
  const auto tensor = xnn::CreateXNNTensorValue(builder, xnn::XNNDatatype::xnn_datatype_fp32);
  const auto value = xnn::CreateXValue(builder, xnn::XValueUnion::XNNTensorValue, tensor.Union());
  const auto node_list = builder.CreateVector(nodes);
  builder.Finish(xnn::CreateXNNGraph(builder, 0, node_list, builder.CreateVector(std::vector{value})),
                 identifier);
  return CopyBytes(builder);
}

// A payload with a header before `graph` and `constants` bytes after it.
std::vector<std::uint8_t> MakePayload(const std::vector<std::byte>& graph, std::size_t constants = 0) {
  std::vector<std::uint8_t> payload(32);
  std::memcpy(payload.data() + 4, "XH00", 4);
  const auto store = [&](std::size_t at, auto number) {
    std::memcpy(payload.data() + at, &number, sizeof number);
  };
  store(8, std::uint16_t{30});
  store(10, std::uint32_t{32});
  store(14, static_cast<std::uint32_t>(graph.size()));
  store(18, static_cast<std::uint32_t>(32 + graph.size()));
  store(22, std::uint64_t{constants});
  for (const std::byte byte : graph) payload.push_back(static_cast<std::uint8_t>(byte));
  payload.resize(payload.size() + constants);
  return payload;
}

TEST(XnnGraphReader, ReadsEveryTypeOfNode) {
  const auto program = MakeSmallProgram();
  AddDelegate(*program, MakePayload(MakeGraphOfEveryNode(), 16));
  const Program parsed = Read(*program);
  const XnnGraph& graph = parsed.xnn_graphs.at(0);
  ASSERT_EQ(graph.nodes.size(), std::size(xnn::EnumValuesXNodeUnion()) - 1);
  EXPECT_TRUE(graph.has_header);
  EXPECT_EQ(graph.constant_bytes, 16);
  for (const XnnNode& node : graph.nodes) {
    EXPECT_TRUE(node.type.starts_with("XNN")) << node.type;
    EXPECT_FALSE(node.inputs.empty()) << node.type;
    EXPECT_FALSE(node.outputs.empty()) << node.type;
    EXPECT_EQ(node.debug_handle, 7U);
  }
}

TEST(XnnGraphReader, ReadsAGraphWithoutHeader) {
  const auto program = MakeSmallProgram();
  const auto graph = MakeGraphOfEveryNode("XN00");
  AddDelegate(*program, {reinterpret_cast<const std::uint8_t*>(graph.data()),
                         reinterpret_cast<const std::uint8_t*>(graph.data()) + graph.size()});
  EXPECT_FALSE(Read(*program).xnn_graphs.at(0).has_header);
}

std::string PayloadProblem(std::vector<std::uint8_t> payload) {
  return ProgramProblem([&](auto& p) { AddDelegate(p, std::move(payload)); });
}

TEST(XnnGraphReader, RefusesTruncatedPayloadsAndInvalidOffsets) {
  const std::vector<std::uint8_t> whole = MakePayload(MakeGraphOfEveryNode(), 4);
  EXPECT_EQ(PayloadProblem(whole), "accepted");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    SCOPED_TRACE(length);
    EXPECT_NE(PayloadProblem({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)}),
              "accepted");
  }
  CaseMessages problems = {{"version XN02", PayloadProblem(MakePayload(MakeGraphOfEveryNode("XN02")))}};
  for (const std::size_t at : {10U, 14U, 18U, 22U}) {
    std::vector<std::uint8_t> damaged = MakePayload(std::vector<std::byte>(100), 4);
    damaged[at + 3] = 0xff;
    problems.emplace_back(fmt::format("byte {} of the header is 255", at + 3), PayloadProblem(damaged));
  }
  ExpectGoldenMessages("format/xnn_payload_problems", problems);
}

std::string GraphProblem(const xnn::XNNGraphT& graph) {
  FlatBufferBuilder builder;
  xnn::FinishXNNGraphBuffer(builder, xnn::XNNGraph::Pack(builder, &graph));
  return PayloadProblem(MakePayload(CopyBytes(builder)));
}

void AddValue(xnn::XNNGraphT& graph, std::uint32_t id, std::vector<std::uint32_t> dims,
              std::uint32_t constant = 0) {
  xnn::XNNTensorValueT tensor;
  tensor.id_out = id;
  tensor.dims = std::move(dims);
  tensor.constant_buffer_idx = constant;
  graph.xvalues.push_back(std::make_unique<xnn::XValueT>());
  graph.xvalues.back()->xvalue_union.Set(std::move(tensor));
}

TEST(XnnGraphReader, RefusesInvalidReferences) {
  xnn::XNNGraphT graph;
  CaseMessages problems;
  const auto add = [&](const char* name) { problems.emplace_back(name, GraphProblem(graph)); };
  AddValue(graph, 0, {1, 2});
  EXPECT_EQ(GraphProblem(graph), "accepted");
  graph.input_ids = {1};
  add("input 1");
  graph.input_ids = {0};
  AddValue(graph, 0, {});
  add("value 0 twice");
  graph.xvalues.back()->xvalue_union.AsXNNTensorValue()->id_out = 1;
  graph.xvalues.back()->xvalue_union.AsXNNTensorValue()->dims.assign(3, 0xffffffffU);
  add("shape whose product overflows");
  graph.xvalues.back()->xvalue_union.AsXNNTensorValue()->dims.assign(17, 1);
  add("17 dimensions");
  graph.xvalues.pop_back();
  for (int i = 0; i < 2; ++i) graph.constant_data.push_back(std::make_unique<xnn::ConstantDataOffsetT>());
  AddValue(graph, 1, {1}, 2);
  add("constant 2");
  graph.xvalues.pop_back();
  graph.constant_data[1]->size = 1;
  add("constant outside the payload");
  graph.constant_data[1]->named_key = "elsewhere";
  EXPECT_EQ(GraphProblem(graph), "accepted");
  graph.xnodes.push_back(std::make_unique<xnn::XNodeT>());
  add("empty node");
  ExpectGoldenMessages("format/xnn_graph_problems", problems);
}

}  // namespace
}  // namespace etprof
