#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "program/summary.h"
#include "program/work.h"
#include "render/inspect.h"

namespace etprof {
namespace {

using Json = nlohmann::ordered_json;

template <typename Value>
Json OrNull(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}
Json OrNull(const std::optional<float>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}
Json OrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json CountsJson(const Counts& counts) {
  Json object = Json::object();
  for (const auto& [name, count] : counts) object[name] = count;
  return object;
}

const char* Name(Instruction::Kind kind) {
  using Kind = Instruction::Kind;
  switch (kind) {
    case Kind::kKernel:
      return "kernel";
    case Kind::kDelegate:
      return "delegate";
    case Kind::kMove:
      return "move";
    case Kind::kJumpFalse:
      return "jump";
    case Kind::kFree:
      return "free";
    case Kind::kUnknown:
      break;
  }
  return "unknown";
}

const char* Name(ProgramTensor::Shape dynamism) {
  switch (dynamism) {
    case ProgramTensor::Shape::kStatic:
      return "static";
    case ProgramTensor::Shape::kBounded:
      return "bounded";
    case ProgramTensor::Shape::kUnbounded:
      break;
  }
  return "unbounded";
}

const char* Name(XnnQuantization::Scheme scheme) {
  using Scheme = XnnQuantization::Scheme;
  switch (scheme) {
    case Scheme::kPerTensor:
      return "per tensor";
    case Scheme::kPerChannel:
      return "per channel";
    case Scheme::kPerChannelGroup:
      return "per channel group";
    case Scheme::kPerTokenDynamic:
      return "per token, dynamic";
    case Scheme::kUnknown:
      break;
  }
  return "unknown";
}

const char* Name(ProgramTensor::Data data) {
  switch (data) {
    case ProgramTensor::Data::kFile:
      return "file";
    case ProgramTensor::Data::kExternal:
      return "external";
    case ProgramTensor::Data::kNone:
      break;
  }
  return "none";
}

const char* Name(XnnConstant::Place place) {
  switch (place) {
    case XnnConstant::Place::kPayload:
      return "payload";
    case XnnConstant::Place::kNamed:
      return "named";
    case XnnConstant::Place::kExternal:
      break;
  }
  return "external";
}

Json ValueJson(std::size_t index, const ProgramValue& value) {
  Json object;
  object["value"] = index;
  object["kind"] = KindName(value.kind);
  if (!value.tensor) return object;
  const ProgramTensor& tensor = *value.tensor;
  object["dtype"] = tensor.type.name;
  object["shape"] = tensor.shape;
  object["dim_order"] = tensor.dim_order;
  object["dynamism"] = Name(tensor.dynamism);
  object["bytes"] = OrNull(BytesOf(tensor.type, tensor.shape));
  object["data"] = Name(tensor.data);
  object["name"] = OrNull(tensor.name);
  object["memory_id"] = OrNull(tensor.memory_id);
  object["memory_offset"] = OrNull(tensor.memory_offset);
  return object;
}

Json ValuesJson(const Method& method, const std::vector<std::size_t>& indices) {
  Json list = Json::array();
  for (const std::size_t index : indices) list.push_back(ValueJson(index, method.values[index]));
  return list;
}

Json QuantizationJson(const XnnQuantization& quantization) {
  Json object;
  object["scheme"] = Name(quantization.scheme);
  object["scale"] = OrNull(quantization.scale);
  object["zero_point"] = OrNull(quantization.zero_point);
  object["channel_dimension"] = OrNull(quantization.channel_dimension);
  object["group_size"] = OrNull(quantization.group_size);
  object["scales"] = OrNull(quantization.scales);
  object["scale_constant"] = OrNull(quantization.scale_constant);
  object["nonbatch_dimensions"] = OrNull(quantization.nonbatch_dimensions);
  return object;
}

Json KleidiaiJson(const std::optional<KleidiaiUse>& use) {
  if (!use) return nullptr;
  return {{"kernels", KernelsName(use->kernels)}, {"why", OrNull(use->why)}, {"change", OrNull(use->change)}};
}

Json XnnNodeJson(const XnnNode& node, const XnnGraph& graph) {
  Json object;
  object["node"] = node.index;
  object["type"] = node.type;
  object["debug_handle"] = OrNull(node.debug_handle);
  object["inputs"] = node.inputs;
  object["outputs"] = node.outputs;
  object["flags"] = node.flags;
  object["output_min"] = OrNull(node.output_min);
  object["output_max"] = OrNull(node.output_max);
  object["macs"] = OrNull(node.macs);
  object["with_sme2"] = KleidiaiJson(KleidiaiOf(node, graph));
  object["convolution"] = nullptr;
  if (node.convolution) {
    const auto& c = *node.convolution;
    object["convolution"] = {{"kernel", {c.kernel_height, c.kernel_width}},
                             {"stride", {c.stride_height, c.stride_width}},
                             {"padding", {c.padding_top, c.padding_right, c.padding_bottom, c.padding_left}},
                             {"dilation", {c.dilation_height, c.dilation_width}},
                             {"groups", c.groups},
                             {"group_input_channels", c.group_input_channels},
                             {"group_output_channels", c.group_output_channels}};
  }
  return object;
}

Json XnnGraphJson(const XnnGraph& graph) {
  Json object;
  object["version"] = graph.version;
  object["header"] = graph.header;
  object["flatbuffer_bytes"] = graph.flatbuffer_bytes;
  object["constant_bytes"] = graph.constant_bytes;
  object["inputs"] = graph.inputs;
  object["outputs"] = graph.outputs;
  object["nodes"] = Json::array();
  for (const XnnNode& node : graph.nodes) object["nodes"].push_back(XnnNodeJson(node, graph));
  object["values"] = Json::array();
  for (const XnnValue& value : graph.values) {
    Json entry;
    entry["value"] = value.id;
    entry["dtype"] = value.type.name;
    entry["shape"] = value.shape;
    entry["external_id"] = OrNull(value.external_id);
    entry["constant"] = OrNull(value.constant);
    entry["quantization"] = value.quantization ? QuantizationJson(*value.quantization) : Json(nullptr);
    object["values"].push_back(std::move(entry));
  }
  object["constants"] = Json::array();
  for (const XnnConstant& constant : graph.constants) {
    object["constants"].push_back(
        {{"bytes", constant.bytes}, {"place", Name(constant.place)}, {"key", OrNull(constant.key)}});
  }
  return object;
}

Json DelegateJson(std::size_t index, const Delegate& delegate, const DelegateSummary& summary,
                  const MethodSummary& method) {
  Json object;
  object["delegate"] = index;
  object["backend"] = delegate.backend;
  object["payload_bytes"] = delegate.payload;
  object["payload_offset"] = delegate.offset;
  object["in_segment"] = delegate.in_segment;
  object["compile_specs"] = Json::array();
  for (const auto& spec : delegate.compile_specs)
    object["compile_specs"].push_back({{"key", spec.key}, {"bytes", spec.bytes}});
  object["calls"] = summary.calls;
  object["nodes"] = OrNull(summary.nodes);
  object["node_types"] = CountsJson(summary.node_types);
  object["macs"] = OrNull(summary.macs);
  object["share_of_macs"] =
      OrNull(Share(Product(summary.macs, static_cast<std::int64_t>(summary.calls)), method.macs));
  object["constant_bytes"] = OrNull(summary.constants);
  object["tensor_types"] = summary.tensor_types;
  object["weight_types"] = summary.weight_types;
  object["xnnpack_graph"] = OrNull(delegate.graph);
  return object;
}

Json InstructionJson(const Instruction& instruction, const Method& method) {
  Json object;
  object["chain"] = instruction.chain;
  object["instruction"] = instruction.index;
  object["kind"] = Name(instruction.kind);
  const bool kernel = instruction.kind == Instruction::Kind::kKernel;
  const bool delegate = instruction.kind == Instruction::Kind::kDelegate;
  object["operator"] = kernel ? Json(method.operators[instruction.target]) : Json(nullptr);
  object["delegate"] = delegate ? Json(instruction.target) : Json(nullptr);
  object["arguments"] = instruction.arguments;
  object["macs"] = kernel ? OrNull(MultiplyAdds(instruction, method)) : Json(nullptr);
  object["with_sme2"] = KleidiaiJson(KleidiaiOf(instruction, method));
  return object;
}

Json SegmentsJson(const std::vector<DataSegment>& segments) {
  Json list = Json::array();
  for (const DataSegment& segment : segments)
    list.push_back({{"offset", segment.offset}, {"bytes", segment.bytes}});
  return list;
}

// A name in a file need not be UTF-8.
void Write(const Json& object, std::ostream& out) { out << JsonText(object, 2) << '\n'; }

Json MethodJson(const Method& method, const Program& program) {
  const MethodSummary summary = Summarize(method, program);
  Json object;
  object["name"] = method.name;
  object["inputs"] = ValuesJson(method, method.inputs);
  object["outputs"] = ValuesJson(method, method.outputs);
  object["planned_bytes"] = summary.planned;
  object["planned_buffers"] = method.planned_buffers;
  object["dynamic_shapes"] = summary.dynamic;
  object["branches"] = summary.jumps;
  object["macs"] = OrNull(summary.macs);
  object["delegated_macs"] = OrNull(summary.delegated_macs);
  object["delegated_share_of_macs"] = OrNull(Share(summary.delegated_macs, summary.macs));
  object["delegates"] = Json::array();
  for (std::size_t i = 0; i < method.delegates.size(); ++i)
    object["delegates"].push_back(DelegateJson(i, method.delegates[i], summary.delegates[i], summary));
  object["operators"] = Json::array();
  for (const PortableOperator& one : summary.operators)
    object["operators"].push_back({{"name", one.name},
                                   {"calls", one.calls},
                                   {"macs", OrNull(one.macs)},
                                   {"why_not_delegated", OrNull(one.why)},
                                   {"between_delegates", one.between}});
  object["instructions"] = Json::array();
  for (const Instruction& instruction : method.instructions)
    object["instructions"].push_back(InstructionJson(instruction, method));
  object["values"] = Json::array();
  for (std::size_t i = 0; i < method.values.size(); ++i)
    object["values"].push_back(ValueJson(i, method.values[i]));
  return object;
}

}  // namespace

void RenderInspectJson(const Program& program, const std::string& file, const DataFile* data,
                       std::ostream& out) {
  Json object;
  object["schema_version"] = kInspectSchemaVersion;
  object["file"] = file;
  object["version"] = program.version;
  object["file_bytes"] = program.file_bytes;
  object["extended_header"] = program.extended_header;
  object["flatbuffer_bytes"] = program.flatbuffer_bytes;
  object["segment_base"] = program.segment_base;
  object["constants"] = program.constants;
  object["constant_bytes"] = program.constant_bytes;
  object["mutable_bytes"] = program.mutable_bytes;
  object["segments"] = SegmentsJson(program.segments);
  object["named_data"] = Json::array();
  for (const NamedData& entry : program.named_data) {
    object["named_data"].push_back(
        {{"key", entry.key}, {"segment", entry.segment}, {"bytes", program.segments[entry.segment].bytes}});
  }
  const std::vector<std::string> external = ExternalNames(program);
  object["external_data"] = {{"names", external}, {"missing", nullptr}};
  if (data != nullptr) object["external_data"]["missing"] = MissingFrom(*data, external);
  object["methods"] = Json::array();
  for (const Method& method : program.methods) object["methods"].push_back(MethodJson(method, program));
  object["xnnpack_graphs"] = Json::array();
  for (const XnnGraph& graph : program.xnn_graphs) object["xnnpack_graphs"].push_back(XnnGraphJson(graph));
  Write(object, out);
}

void RenderDataFileJson(const DataFile& data, const std::string& file, std::ostream& out) {
  Json object;
  object["schema_version"] = kInspectSchemaVersion;
  object["file"] = file;
  object["version"] = data.version;
  object["file_bytes"] = data.file_bytes;
  object["flatbuffer_bytes"] = data.flatbuffer_bytes;
  object["segments"] = SegmentsJson(data.segments);
  object["data"] = Json::array();
  for (const DataFileEntry& entry : data.entries) {
    Json one = {{"key", entry.key}, {"segment", entry.segment}, {"bytes", data.segments[entry.segment].bytes},
                {"dtype", nullptr}, {"shape", nullptr},         {"dim_order", nullptr}};
    if (entry.layout) {
      one["dtype"] = entry.layout->type.name;
      one["shape"] = entry.layout->shape;
      one["dim_order"] = entry.layout->dim_order;
    }
    object["data"].push_back(std::move(one));
  }
  Write(object, out);
}

}  // namespace etprof
