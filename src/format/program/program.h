#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/describe.h"
#include "core/units.h"
#include "format/program/data_type.h"
#include "format/program/xnn/xnn_graph.h"

// The contents of a .pte as values: nothing here refers to the file's bytes. The format is ExecuTorch's
// schema/program.fbs, whose names are used here.
namespace etprof {

// A tensor of a method. A dynamic shape contains the upper bound of each size.
struct ProgramTensor {
  DataType type;
  std::vector<std::int64_t> shape;      // elements
  std::vector<std::uint8_t> dim_order;  // from the outermost dimension to the innermost
  enum class Shape { kStatic, kBounded, kUnbounded } dynamism = Shape::kStatic;
  // The location of the data: the file, a separate .ptd, or neither (planned memory, or passed at run time).
  enum class Data { kNone, kFile, kExternal } data = Data::kNone;
  std::string name;                            // name of a weight, if the file has it: "mod.linear.weight"
  std::optional<std::uint32_t> memory_id;      // id of the planned buffer that contains the tensor
  std::optional<std::uint64_t> memory_offset;  // bytes, within that buffer

  bool HasDynamicShape() const { return dynamism != Shape::kStatic; }
};
template <>
inline constexpr const char* kNames<ProgramTensor::Shape>[] = {"static", "bounded", "unbounded"};

template <>
inline constexpr const char* kNames<ProgramTensor::Data>[] = {"none", "file", "external"};

// An entry of ExecutionPlan.values. Instructions refer to it by its index.
struct ProgramValue {
  enum class Kind {
    kNone,
    kInt,
    kBool,
    kDouble,
    kString,
    kIntList,
    kDoubleList,
    kBoolList,
    kTensor,
    kTensorList,
    kOptionalTensorList,
    kUnknown
  };
  Kind kind = Kind::kNone;
  std::optional<ProgramTensor> tensor;  // kTensor
  std::optional<std::int64_t> integer;  // kInt; for kBool 0 or 1
  std::optional<double> number;         // kDouble
  std::optional<std::string> text;      // kString
  // kTensorList, kOptionalTensorList: indices into values, without absent items.
  std::vector<std::size_t> items;
  std::vector<std::size_t> integers;  // kIntList: indices into values, which may be computed at run time
};
template <>
inline constexpr const char* kNames<ProgramValue::Kind>[] = {"none",
                                                             "int",
                                                             "bool",
                                                             "double",
                                                             "string",
                                                             "int list",
                                                             "double list",
                                                             "bool list",
                                                             "tensor",
                                                             "tensor list",
                                                             "optional tensor list",
                                                             "unknown"};

// An instruction of a method. Its identity, which runtime events also contain, is (chain, index).
struct Instruction {
  enum class Kind { kKernel, kDelegate, kMove, kJumpFalse, kFree, kUnknown };
  Kind kind = Kind::kUnknown;
  int chain = 0;
  int index = 0;  // index within the chain
  // kKernel: index into Method::operators; kDelegate: index into Method::delegates; kJumpFalse: index (in the
  // same chain) of the next instruction if a value is false.
  std::size_t target = 0;
  // kKernel, kDelegate: indices into Method::values, inputs and outputs; kMove: source, destination.
  std::vector<std::size_t> arguments;
};
template <>
inline constexpr const char* kNames<Instruction::Kind>[] = {"kernel", "delegate", "move",
                                                            "jump",   "free",     "unknown"};

// A part of the method that a backend compiled.
struct Delegate {
  std::string backend;       // "XnnpackBackend"
  bool in_segment = false;   // false: in the FlatBuffer
  std::uint64_t offset = 0;  // from the start of the file
  Bytes payload = 0;
  struct CompileSpec {
    std::string key;
    Bytes bytes = 0;

    static void Describe(auto& v) {
      v("key", &CompileSpec::key, {.meaning = "of the option"});
      v("bytes", &CompileSpec::bytes, {.meaning = "of its value"});
    }
  };
  std::vector<CompileSpec> compile_specs;
  std::optional<std::size_t> graph;  // XNNPACK only: index into Program::xnn_graphs

  bool IsXnnpack() const { return backend == "XnnpackBackend"; }
};

struct Method {
  std::string name;  // "forward"
  std::vector<ProgramValue> values;
  std::vector<std::size_t> inputs, outputs;  // indices into values
  std::vector<std::string> operators;        // "aten::add.out": name and overload
  std::vector<Delegate> delegates;
  std::vector<Instruction> instructions;  // instructions of all chains, in order
  // Sizes of the buffers that the runtime allocates for tensors other than constants. memory_id 1 is the
  // first entry. (non_const_buffer_sizes without its reserved first entry.)
  std::vector<Bytes> planned_buffers;

  // Returns whether the method only returns constants that describe the model, such as "get_max_seq_len".
  bool IsMetadata() const { return instructions.empty() && inputs.empty() && !outputs.empty(); }

  // Returns whether a jump makes the executed instructions depend on values.
  bool HasBranches() const {
    return std::ranges::find(instructions, Instruction::Kind::kJumpFalse, &Instruction::kind) !=
           instructions.end();
  }
};

struct DataSegment {
  std::uint64_t offset = 0;
  Bytes bytes = 0;

  static void Describe(auto& v) {
    v("offset", &DataSegment::offset, {.meaning = "bytes, from the start of the file"});
    v("bytes", &DataSegment::bytes, {.meaning = "its size"});
  }
};

// A named piece of data, which delegates look up.
struct NamedData {
  std::string key;
  std::size_t segment = 0;  // index into Program::segments
};

struct Program {
  // The number of test cases of a bundled program for a method.
  struct TestCases {
    std::string method;
    std::size_t count = 0;

    static constexpr const char* kSchemaName = "test_cases";
    static void Describe(auto& v) {
      v("method", &TestCases::method, {.meaning = "that they are for"});
      v("count", &TestCases::count, {.meaning = "each has inputs and expected outputs"});
    }
  };

  std::uint32_t version = 0;
  Bytes file_bytes = 0;               // without the parts that a bundled program adds
  std::vector<TestCases> test_cases;  // only in a bundled program
  Bytes flatbuffer_bytes = 0;         // from the start of the file, including the extended header
  bool extended_header = false;
  std::uint64_t segment_base = 0;  // bytes from the start of the file; 0: there are no segments
  std::vector<Method> methods;
  std::vector<DataSegment> segments;
  std::vector<NamedData> named_data;
  std::size_t constants = 0;  // number of tensors whose data is in the file, except constants of delegates
  Bytes constant_bytes = 0;   // including padding
  Bytes inline_constant_bytes = 0;  // the part of constant_bytes in the FlatBuffer
  Bytes mutable_bytes = 0;          // initial states of mutable tensors
  std::vector<XnnGraph> xnn_graphs;
};

// The first method with this name, which the runtime uses; null if there is none.
inline const Method* FindMethod(const Program& program, std::string_view name) {
  const auto method = std::ranges::find(program.methods, name, &Method::name);
  return method == program.methods.end() ? nullptr : &*method;
}

}  // namespace etprof
