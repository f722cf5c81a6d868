#include <nlohmann/json.hpp>

#include "core/json/json_schema_of.h"
#include "core/views.h"
#include "format/program/language_model.h"
#include "format/program/read/data_file.h"
#include "format/program/summary.h"
#include "format/program/work.h"
#include "format/program/xnn/memory_estimate.h"
#include "show/formats/json/json.h"

namespace etprof {
namespace {

struct TensorJson {
  const ProgramTensor& source;

  static void Describe(auto& v) {
    using J = const TensorJson&;
    v("dtype", [](J json) { return json.source.type.name; }, {.meaning = "of its elements"});
    v("shape", &ProgramTensor::shape,
      {.meaning = "elements of each dimension; upper bounds where `dynamism` is not static"});
    v("dim_order", &ProgramTensor::dim_order, {.meaning = "from the outermost dimension to the innermost"});
    v("dynamism", &ProgramTensor::dynamism,
      {.meaning = "whether the shape may change at run time, and within bounds"});
    v("bytes", [](J json) { return SizeInBytes(json.source.type, json.source.shape); },
      {.meaning = "of all elements"});
    v("data", &ProgramTensor::data,
      {.meaning = "in the file, external (in a .ptd), or neither: planned, or given at run time"});
    v("name", &ProgramTensor::name, {.meaning = "of the weight, where the file tells it", .or_null = true});
    v("memory_id", &ProgramTensor::memory_id, {.meaning = "of the planned buffer that holds it, from 1"});
    v("memory_offset", &ProgramTensor::memory_offset, {.meaning = "bytes from the start of that buffer"});
  }
};

struct ValueJson {
  std::size_t index;

  static constexpr const char* kSchemaName = "value";
  static void Describe(auto& v) {
    v("value", &ValueJson::index, {.meaning = "its index, by which instructions refer to it"});
    using J = const ValueJson&;
    v("kind", [](J json, const Method& method) { return method.values[json.index].kind; },
      {.meaning = "of what the program stores"});
    v("constant", [](J json, const Method& method) { return ConstantText(method.values[json.index]); },
      {.meaning = "the number, truth value, or text that the program stores"});
    v.Flat([](J json, const Method& method) {
      return MakeOptionalView<TensorJson>(method.values[json.index].tensor);
    });
  }
};

struct NodeJson {
  const XnnNode& source;

  static constexpr const char* kSchemaName = "node";
  static void Describe(auto& v) {
    v("node", &XnnNode::index, {.meaning = "index in `nodes`: its identity"});
    v("type", &XnnNode::type, {.meaning = "as in XNNPACK's schema: `XNNConv2d`"});
    v("debug_handle", &XnnNode::debug_handle,
      {.meaning = "as in the .etrecord; null: the partitioner inserted the node"});
    v("inputs", &XnnNode::inputs, {.meaning = "ids of values; weights and biases are inputs"});
    v("outputs", &XnnNode::outputs, {.meaning = "ids of values"});
    v("flags", &XnnNode::flags, {.meaning = "XNN_FLAG_... of xnnpack.h, added up"});
    v("output_min", &XnnNode::output_min, {.meaning = "of a fused activation; null: not bounded"});
    v("output_max", &XnnNode::output_max, {.meaning = "of a fused activation; null: not bounded"});
    v("macs", &XnnNode::macs, {.meaning = "multiply-accumulates of one call; null: not known"});
    v("with_sme2", [](const XnnNode& node, const XnnGraph& graph) { return FindKleidiaiUsage(node, graph); },
      {.meaning = "which microkernels it has on an Arm CPU with SME2; null: it multiplies no matrices"});
    v("convolution", &XnnNode::convolution, {.meaning = "of a convolution of any kind; null: it is none"});
  }
};

struct GraphJson {
  const XnnGraph& source;

  static constexpr const char* kSchemaName = "graph";
  static void Describe(auto& v) {
    using J = const GraphJson&;
    v("version", &XnnGraph::version, {.meaning = "of the payload's format"});
    v("header", &XnnGraph::has_header, {.meaning = "constants lie behind the FlatBuffer, not in it"});
    v("flatbuffer_bytes", &XnnGraph::flatbuffer_bytes,
      {.meaning = "of the payload's description of the graph"});
    v("constant_bytes", &XnnGraph::constant_bytes, {.meaning = "in the payload itself"});
    v("inputs", &XnnGraph::inputs, {.meaning = "ids of values"});
    v("outputs", &XnnGraph::outputs, {.meaning = "ids of values"});
    v("nodes", [](J json) { return MakeViews<NodeJson>(json.source.nodes); },
      {.meaning = "in the order in which they run"});
    v("values", &XnnGraph::values, {.meaning = "tensors that nodes read and write"});
    v("constants", &XnnGraph::constants, {.meaning = "weights, biases, and scales"});
  }
};

struct DelegateJson {
  const MethodSummary& method_summary;
  std::size_t index;
  const DelegateSummary& source = method_summary.delegates[index];

  static constexpr const char* kSchemaName = "delegate";
  static void Describe(auto& v) {
    using J = const DelegateJson&;
    const auto stored = [](auto member) {
      return [member](J json, const Method& method) -> const auto& {
        return method.delegates[json.index].*member;
      };
    };
    v("delegate", &DelegateJson::index, {.meaning = "its index in the method"});
    v("backend", stored(&Delegate::backend), {.meaning = "that runs it: `XnnpackBackend`"});
    v("payload_bytes", stored(&Delegate::payload), {.meaning = "what the backend's compiler made"});
    v("payload_offset", stored(&Delegate::offset), {.meaning = "bytes from the start of the file"});
    v("in_segment", stored(&Delegate::in_segment),
      {.meaning = "the payload is behind the FlatBuffer, else in it"});
    v("compile_specs", stored(&Delegate::compile_specs),
      {.meaning = "options that the backend's compiler had"});
    v("calls", &DelegateSummary::calls, {.meaning = "instructions that call it"});
    v("nodes", &DelegateSummary::nodes,
      {.meaning = "of its graph; null: payloads of this backend are not read"});
    v("node_types", &DelegateSummary::node_types,
      {.meaning = "how many nodes there are of each type", .min = 1});
    v("macs", &DelegateSummary::macs, {.meaning = "of one call"});
    v("share_of_macs",
      [](J json) {
        const auto calls = static_cast<std::int64_t>(json.source.calls);
        return Share(CheckedProduct(json.source.macs, calls), json.method_summary.facts.macs.Total());
      },
      {.meaning = "of all calls in the method's", .min = 0, .max = 1});
    v("constant_bytes", &DelegateSummary::constants,
      {.meaning = "weights, biases, and scales; what delegates share counts in each"});
    v("tensor_types", &DelegateSummary::tensor_types,
      {.meaning = "data types that it computes in, each once"});
    v("weight_types", &DelegateSummary::weight_types, {.meaning = "data types of its constants, each once"});
    v("xnnpack_graph", stored(&Delegate::graph), {.meaning = "in xnnpack_graphs"});
  }
};

struct InstructionJson {
  const Instruction& source;

  bool IsKernel() const { return source.kind == Instruction::Kind::kKernel; }

  static constexpr const char* kSchemaName = "instruction";
  static void Describe(auto& v) {
    using J = const InstructionJson&;
    v("chain", &Instruction::chain, {.meaning = "list of instructions that it is in"});
    v("instruction", &Instruction::index, {.meaning = "with `chain` its identity, in an ETDump, too"});
    v("kind", &Instruction::kind, {.meaning = "what it does"});
    v("operator",
      [](J json, const Method& method) {
        return json.IsKernel() ? &method.operators[json.source.target] : nullptr;
      },
      {.meaning = "name and overload of a kernel: `aten::add.out`"});
    v("delegate",
      [](J json) {
        return json.source.kind == Instruction::Kind::kDelegate ? std::optional(json.source.target)
                                                                : std::nullopt;
      },
      {.meaning = "index of the delegate that it calls"});
    v("arguments", &Instruction::arguments, {.meaning = "indices of values; of a move from and to"});
    v("macs",
      [](J json, const Method& method) {
        return json.IsKernel() ? CountMacs(json.source, method) : std::nullopt;
      },
      {.meaning = "of a kernel"});
    v("with_sme2", [](J json, const Method& method) { return FindKleidiaiUsage(json.source, method); },
      {.meaning =
           "which microkernels it would have on an Arm CPU with SME2; null: it multiplies no matrices"});
  }
};

struct MethodJson {
  const Program& program;
  const Method& source;
  MethodSummary summary = Summarize(source, program);
  std::vector<PlannedTensor> planned = PlannedTensors(source, program);

  static constexpr const char* kSchemaName = "method";
  static void Describe(auto& v) {
    using J = const MethodJson&;
    v("name", &Method::name, {.meaning = "`forward`"});
    v("inputs", [](J json) { return MakeViews<ValueJson>(json.source.inputs); },
      {.meaning = "in the order of the arguments"});
    v("outputs", [](J json) { return MakeViews<ValueJson>(json.source.outputs); },
      {.meaning = "in the order of the results"});
    v("planned_bytes", [](J json) { return json.summary.facts.planned_bytes; },
      {.meaning = "of all planned buffers"});
    v("planned_buffers", &Method::planned_buffers, {.meaning = "bytes of each; memory_id 1 is the first"});
    v("dynamic_shapes", [](J json) { return json.summary.dynamic; },
      {.meaning = "a tensor's shape is an upper bound, and so are MACs"});
    v("branches", [](J json) { return json.summary.has_branches; },
      {.meaning = "it has a branch, so that not every instruction runs once"});
    v("macs", [](J json) { return json.summary.facts.macs.Total(); },
      {.meaning = "multiply-accumulates of all instructions, each once; null: not known"});
    v("delegated_macs", [](J json) { return json.summary.facts.macs.with_property.Exact(); },
      {.meaning = "of `macs`, in delegates"});
    v("delegated_share_of_bytes", [](J json) { return json.summary.traffic.ExactShare(); },
      {.meaning = "of what operators read and write at least; null: not known", .min = 0, .max = 1});
    v("delegated_share_of_macs", [](J json) { return json.summary.facts.macs.ExactShare(); },
      {.meaning = "delegated_macs over `macs`", .min = 0, .max = 1});
    v("delegates",
      [](J json) { return MakeIndexViews<DelegateJson>(json.source.delegates.size(), json.summary); },
      {.meaning = "parts that a backend's compiler made"});
    v("operators", [](J json) -> const auto& { return json.summary.operators; },
      {.meaning = "that are not delegated"});
    v("packed_bytes_at_least", [](J json) { return PackedBytes(json.source, json.program); },
      {.meaning = "of weights, by XNNPACK when the program is loaded"});
    v("repacked_bytes_at_least", [](J json) { return RepackedBytes(json.source, json.program); },
      {.meaning = "of `packed_bytes_at_least`, for weights that an earlier operator packs, too", .min = 0});
    v("planned_peak", [](J json) { return FindPlannedPeak(json.planned); },
      {.meaning = "the planned tensors that are in use when most is; null: not known"});
    v("state", [](J json) { return FindMethodState(json.planned, json.source, json.program); },
      {.meaning = "what it keeps from one inference to the next, such as a cache; null: not known, as where "
                  "it branches"});
    v("token_step", [](J json) { return FindTokenStep(json.source); },
      {.meaning = "of a language model, which takes tokens and a position; null: it is no such step"});
    v("instructions", [](J json) { return MakeViews<InstructionJson>(json.source.instructions); },
      {.meaning = "in order"});
    v("values", [](J json) { return MakeIndexViews<ValueJson>(json.source.values.size()); },
      {.meaning = "every value that instructions refer to by its index"});
  }
};

// A named piece of data in a .pte or a .ptd.
template <typename Entry>
struct NamedDataJson {
  const std::vector<DataSegment>& segments;
  const Entry& source;

  static void Describe(auto& v) {
    using J = const NamedDataJson&;
    v("key", &Entry::key, {.meaning = "under which it is looked up"});
    v("segment", &Entry::segment, {.meaning = "index in `segments`"});
    v("bytes", [](J json) { return json.segments[json.source.segment].bytes; },
      {.meaning = "of that segment"});
    if constexpr (requires { Entry::layout; }) v.Flat(&Entry::layout, {.or_null = true});
  }
};

struct ProgramJson {
  const Program& source;
  const std::string& file;
  const DataFile* data;

  std::optional<std::vector<std::string>> MissingNames() const {
    return data != nullptr ? std::optional(FindMissing(*data, ExternalTensorKeys(source))) : std::nullopt;
  }

  static void Describe(auto& v) {
    using J = const ProgramJson&;
    DescribeSchemaVersion(v);
    v("file", [](J json) -> const auto& { return json.file; }, {.meaning = "as given"});
    v("version", &Program::version, {.meaning = "of the file's format"});
    v("file_bytes", &Program::file_bytes,
      {.meaning = "with segments; of a bundled program, without what it has around the program"});
    v("test_cases", &Program::test_cases, {.meaning = "of a bundled program, by method"});
    v("extended_header", &Program::extended_header,
      {.meaning = "whether the file has one: segments need it"});
    v("flatbuffer_bytes", &Program::flatbuffer_bytes,
      {.meaning = "from the start of the file, the extended header in it"});
    v("segment_base", &Program::segment_base, {.meaning = "0: there are no segments"});
    v("constants", &Program::constants, {.meaning = "that portable kernels have"});
    v("constant_bytes", &Program::constant_bytes, {.meaning = "with padding"});
    v("mutable_bytes", &Program::mutable_bytes, {.meaning = "of initial states"});
    v("segments", &Program::segments, {.meaning = "the data behind the FlatBuffer"});
    v("named_data",
      [](J json) {
        return MakeViews<NamedDataJson<NamedData>>(json.source.named_data, json.source.segments);
      },
      {.meaning = "which of it has a name"});
    v.Object("external_data",
             [](auto& object) {
               object("names", [](J json) { return ExternalTensorKeys(json.source); },
                      {.meaning = "that the program expects in a .ptd"});
               object("missing", &ProgramJson::MissingNames,
                      {.meaning = "those that are not in the .ptd that was given; null: none was"});
             },
             {.meaning = "weights that are not in the file"});
    v("methods", [](J json) { return MakeViews<MethodJson>(json.source.methods, json.source); },
      {.meaning = "that can be run"});
    v("xnnpack_graphs", [](J json) { return MakeViews<GraphJson>(json.source.xnn_graphs); },
      {.meaning = "payloads of XNNPACK's delegates"});
  }
};

struct DataFileJson {
  const DataFile& source;
  const std::string& file;

  static void Describe(auto& v) {
    using J = const DataFileJson&;
    DescribeSchemaVersion(v);
    v("file", [](J json) { return json.file; }, {.meaning = "as given"});
    v("version", &DataFile::version, {.meaning = "of the file's format"});
    v("file_bytes", &DataFile::file_bytes, {.meaning = "with segments"});
    v("flatbuffer_bytes", &DataFile::flatbuffer_bytes,
      {.meaning = "from the start of the file, the header in it"});
    v("segments", &DataFile::segments, {.meaning = "the data behind the FlatBuffer"});
    v("data",
      [](J json) {
        return MakeViews<NamedDataJson<DataFileEntry>>(json.source.entries, json.source.segments);
      },
      {.meaning = "which of it has a name"});
  }
};

}  // namespace

void RenderInspectJson(const Program& program, const std::string& file, const DataFile* data,
                       std::ostream& out) {
  WriteJson(ProgramJson{program, file, data}, 2, out);
}

void RenderDataFileJson(const DataFile& data, const std::string& file, std::ostream& out) {
  WriteJson(DataFileJson{data, file}, 2, out);
}

nlohmann::ordered_json InspectSchema() {
  return MakeSchema<ProgramJson>(
      "etprof inspect --json: what is in a .pte",
      "docs/guides/inspect.md. What is not known or not there is null. Sizes are bytes.");
}

nlohmann::ordered_json InspectDataSchema() {
  return MakeSchema<DataFileJson>(
      "etprof inspect --json: what is in a .ptd",
      "docs/guides/inspect.md. What is not known or not there is null. Sizes are bytes.");
}

}  // namespace etprof
