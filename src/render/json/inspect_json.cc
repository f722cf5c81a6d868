#include <nlohmann/json.hpp>

#include "core/json/json_schema_of.h"
#include "core/views.h"
#include "program/summary.h"
#include "program/work.h"
#include "program/xnn/memory_estimate.h"
#include "render/inspect.h"

namespace etprof {
namespace {

struct TensorJson {
  const ProgramTensor& tensor;

  static void Describe(auto& v) {
    using J = const TensorJson&;
    v("dtype", [](J json) { return json.tensor.type.name; });
    v("shape", [](J json) { return json.tensor.shape; });
    v("dim_order", [](J json) { return json.tensor.dim_order; });
    v("dynamism", [](J json) { return json.tensor.dynamism; });
    v("bytes", [](J json) { return BytesOf(json.tensor.type, json.tensor.shape); });
    v("data", [](J json) { return json.tensor.data; });
    v("name", [](J json) { return json.tensor.name; }, {.or_null = true});
    v("memory_id", [](J json) { return json.tensor.memory_id; });
    v("memory_offset", [](J json) { return json.tensor.memory_offset; });
  }
};

struct ValueJson {
  const Method& method;
  std::size_t index;

  static constexpr const char* kSchemaName = "value";
  static void Describe(auto& v) {
    v("value", &ValueJson::index);
    v("kind", [](const ValueJson& json) { return json.method.values[json.index].kind; });
    v.Flat(
        [](const ValueJson& json) { return MaybeView<TensorJson>(json.method.values[json.index].tensor); });
  }
};

std::vector<ValueJson> ValuesOf(const Method& method, const std::vector<std::size_t>& indices) {
  return ViewsOf<ValueJson>(indices, method);
}

struct NodeJson {
  const XnnGraph& graph;
  const XnnNode& node;

  static constexpr const char* kSchemaName = "node";
  static void Describe(auto& v) {
    using J = const NodeJson&;
    v("node", [](J json) { return json.node.index; });
    v("type", [](J json) { return json.node.type; });
    v("debug_handle", [](J json) { return json.node.debug_handle; },
      {.meaning = "as in the .etrecord; null: the partitioner inserted the node"});
    v("inputs", [](J json) { return json.node.inputs; });
    v("outputs", [](J json) { return json.node.outputs; });
    v("flags", [](J json) { return json.node.flags; });
    v("output_min", [](J json) { return json.node.output_min; });
    v("output_max", [](J json) { return json.node.output_max; });
    v("macs", [](J json) { return json.node.macs; });
    v("with_sme2", [](J json) { return KleidiaiOf(json.node, json.graph); },
      {.meaning = "which microkernels it has on an Arm CPU with SME2; null: it multiplies no matrices"});
    v("convolution", [](J json) { return json.node.convolution; });
  }
};

struct GraphJson {
  const XnnGraph& graph;

  static constexpr const char* kSchemaName = "graph";
  static void Describe(auto& v) {
    using J = const GraphJson&;
    v("version", [](J json) { return json.graph.version; });
    v("header", [](J json) { return json.graph.header; });
    v("flatbuffer_bytes", [](J json) { return json.graph.flatbuffer_bytes; });
    v("constant_bytes", [](J json) { return json.graph.constant_bytes; });
    v("inputs", [](J json) { return json.graph.inputs; }, {.meaning = "ids of values"});
    v("outputs", [](J json) { return json.graph.outputs; }, {.meaning = "ids of values"});
    v("nodes", [](J json) { return ViewsOf<NodeJson>(json.graph.nodes, json.graph); });
    v("values", [](J json) -> const auto& { return json.graph.values; });
    v("constants", [](J json) -> const auto& { return json.graph.constants; });
  }
};

struct DelegateJson {
  const Method& method;
  const MethodSummary& of_method;
  std::size_t index;

  const Delegate& Of() const { return method.delegates[index]; }
  const DelegateSummary& Summary() const { return of_method.delegates[index]; }

  static constexpr const char* kSchemaName = "delegate";
  static void Describe(auto& v) {
    using J = const DelegateJson&;
    v("delegate", &DelegateJson::index);
    v("backend", [](J json) { return json.Of().backend; });
    v("payload_bytes", [](J json) { return json.Of().payload; });
    v("payload_offset", [](J json) { return json.Of().offset; });
    v("in_segment", [](J json) { return json.Of().in_segment; });
    v("compile_specs", [](J json) -> const auto& { return json.Of().compile_specs; });
    v("calls", [](J json) { return json.Summary().calls; });
    v("nodes", [](J json) { return json.Summary().nodes; });
    v("node_types", [](J json) { return json.Summary().node_types; }, {.least = 1});
    v("macs", [](J json) { return json.Summary().macs; }, {.meaning = "of one call"});
    v("share_of_macs",
      [](J json) {
        const auto calls = static_cast<std::int64_t>(json.Summary().calls);
        return Share(Product(json.Summary().macs, calls), json.of_method.facts.macs.Whole());
      },
      {.meaning = "of all calls in the method's", .least = 0, .most = 1});
    v("constant_bytes", [](J json) { return json.Summary().constants; });
    v("tensor_types", [](J json) { return json.Summary().tensor_types; });
    v("weight_types", [](J json) { return json.Summary().weight_types; });
    v("xnnpack_graph", [](J json) { return json.Of().graph; }, {.meaning = "in xnnpack_graphs"});
  }
};

struct InstructionJson {
  const Method& method;
  const Instruction& instruction;

  bool IsKernel() const { return instruction.kind == Instruction::Kind::kKernel; }

  static constexpr const char* kSchemaName = "instruction";
  static void Describe(auto& v) {
    using J = const InstructionJson&;
    v("chain", [](J json) { return json.instruction.chain; });
    v("instruction", [](J json) { return json.instruction.index; },
      {.meaning = "with `chain` its identity, in an ETDump, too"});
    v("kind", [](J json) { return json.instruction.kind; });
    v("operator",
      [](J json) { return json.IsKernel() ? &json.method.operators[json.instruction.target] : nullptr; });
    v("delegate", [](J json) {
      return json.instruction.kind == Instruction::Kind::kDelegate ? std::optional(json.instruction.target)
                                                                   : std::nullopt;
    });
    v("arguments", [](J json) { return json.instruction.arguments; },
      {.meaning = "indices of values; of a move from and to"});
    v("macs",
      [](J json) { return json.IsKernel() ? MultiplyAdds(json.instruction, json.method) : std::nullopt; },
      {.meaning = "of a kernel"});
    v("with_sme2", [](J json) { return KleidiaiOf(json.instruction, json.method); });
  }
};

struct MethodJson {
  const Program& program;
  const Method& method;
  MethodSummary summary = Summarize(method, program);

  static constexpr const char* kSchemaName = "method";
  static void Describe(auto& v) {
    using J = const MethodJson&;
    v("name", [](J json) { return json.method.name; });
    v("inputs", [](J json) { return ValuesOf(json.method, json.method.inputs); });
    v("outputs", [](J json) { return ValuesOf(json.method, json.method.outputs); });
    v("planned_bytes", [](J json) { return json.summary.facts.planned; });
    v("planned_buffers", [](J json) { return json.method.planned_buffers; });
    v("dynamic_shapes", [](J json) { return json.summary.dynamic; });
    v("branches", [](J json) { return json.summary.jumps; });
    v("macs", [](J json) { return json.summary.facts.macs.Whole(); });
    v("delegated_macs", [](J json) { return json.summary.facts.macs.with.Exact(); });
    v("delegated_share_of_macs", [](J json) { return json.summary.facts.macs.ExactShare(); },
      {.least = 0, .most = 1});
    v("delegates", [](J json) {
      return ViewsUpTo<DelegateJson>(json.method.delegates.size(), json.method, json.summary);
    });
    v("operators", [](J json) -> const auto& { return json.summary.operators; },
      {.meaning = "that are not delegated"});
    v("packed_bytes_at_least", [](J json) { return PackedBytes(json.method, json.program); },
      {.meaning = "of weights, by XNNPACK when the program is loaded"});
    v("planned_peak", [](J json) { return PeakOf(json.method, json.program); },
      {.meaning = "the planned tensors that are in use when most is; null: not known"});
    v("instructions", [](J json) { return ViewsOf<InstructionJson>(json.method.instructions, json.method); },
      {.meaning = "in order"});
    v("values", [](J json) { return ViewsUpTo<ValueJson>(json.method.values.size(), json.method); },
      {.meaning = "every value that instructions refer to by its index"});
  }
};

// A piece of data of a .pte or a .ptd.
template <typename Entry>
struct PieceJson {
  const std::vector<DataSegment>& segments;
  const Entry& entry;

  static void Describe(auto& v) {
    using J = const PieceJson&;
    v("key", [](J json) -> const auto& { return json.entry.key; });
    v("segment", [](J json) { return json.entry.segment; });
    v("bytes", [](J json) { return json.segments[json.entry.segment].bytes; });
    if constexpr (requires { Entry::layout; })
      v.Flat([](J json) -> const auto& { return json.entry.layout; }, {.or_null = true});
  }
};

struct ProgramJson {
  const Program& program;
  const std::string& file;
  const DataFile* data;

  std::optional<std::vector<std::string>> Missing() const {
    return data != nullptr ? std::optional(MissingFrom(*data, ExternalNames(program))) : std::nullopt;
  }

  static void Describe(auto& v) {
    using J = const ProgramJson&;
    v.Constant("schema_version", 1);
    v("file", [](J json) -> const auto& { return json.file; });
    v("version", [](J json) { return json.program.version; });
    v("file_bytes", [](J json) { return json.program.file_bytes; });
    v("extended_header", [](J json) { return json.program.extended_header; });
    v("flatbuffer_bytes", [](J json) { return json.program.flatbuffer_bytes; });
    v("segment_base", [](J json) { return json.program.segment_base; },
      {.meaning = "0: there are no segments"});
    v("constants", [](J json) { return json.program.constants; }, {.meaning = "that portable kernels have"});
    v("constant_bytes", [](J json) { return json.program.constant_bytes; }, {.meaning = "with padding"});
    v("mutable_bytes", [](J json) { return json.program.mutable_bytes; }, {.meaning = "of initial states"});
    v("segments", [](J json) -> const auto& { return json.program.segments; },
      {.meaning = "the data behind the FlatBuffer"});
    v("named_data",
      [](J json) { return ViewsOf<PieceJson<NamedData>>(json.program.named_data, json.program.segments); },
      {.meaning = "which of it has a name"});
    v.Object("external_data", [](auto& in) {
      in("names", [](J json) { return ExternalNames(json.program); },
         {.meaning = "that the program expects in a .ptd"});
      in("missing", &ProgramJson::Missing,
         {.meaning = "those that are not in the .ptd that was given; null: none was"});
    });
    v("methods", [](J json) { return ViewsOf<MethodJson>(json.program.methods, json.program); });
    v("xnnpack_graphs", [](J json) { return ViewsOf<GraphJson>(json.program.xnn_graphs); });
  }
};

struct DataFileJson {
  const DataFile& data;
  const std::string& file;

  static void Describe(auto& v) {
    using J = const DataFileJson&;
    v.Constant("schema_version", 1);
    v("file", [](J json) { return json.file; });
    v("version", [](J json) { return json.data.version; });
    v("file_bytes", [](J json) { return json.data.file_bytes; });
    v("flatbuffer_bytes", [](J json) { return json.data.flatbuffer_bytes; });
    v("segments", [](J json) -> const auto& { return json.data.segments; });
    v("data",
      [](J json) { return ViewsOf<PieceJson<DataFileEntry>>(json.data.entries, json.data.segments); });
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
  return SchemaOf<ProgramJson>(
      "etprof inspect --json: what is in a .pte",
      "docs/guides/inspect.md. What is not known or not there is null. Sizes are bytes.");
}

nlohmann::ordered_json InspectDataSchema() {
  return SchemaOf<DataFileJson>(
      "etprof inspect --json: what is in a .ptd",
      "docs/guides/inspect.md. What is not known or not there is null. Sizes are bytes.");
}

}  // namespace etprof
