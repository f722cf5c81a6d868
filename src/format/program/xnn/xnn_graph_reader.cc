#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "format/program/read/source.h"
#include "format/program/work.h"
#include "format/program/xnn/xnn_graph.h"
#include "schema_generated.h"

namespace etprof {
namespace {

namespace xnn = fb_xnnpack;

constexpr std::size_t kXnnHeaderBytes = 30;
constexpr std::size_t kMaxXnnDimensions = 16;         // XNNPACK's own limit is 6
constexpr std::uint32_t kNoDebugHandle = 65535;       // xnnpack_preprocess.DEFAULT_DEBUG_HANDLE
constexpr std::uint32_t kNoValue = 0xffffffffU;       // XNN_INVALID_VALUE_ID
constexpr std::uint64_t kByName = ~std::uint64_t{0};  // ConstantDataOffset.offset if there is a named_key

struct Layout {
  ByteView flatbuffer;
  std::uint64_t flatbuffer_offset = 0;  // from the start of the file
  std::uint64_t constants_offset = 0;   // from the start of the file
  std::uint64_t constant_bytes = 0;
  bool has_header = false;
};

Layout ReadLayout(const Source& source, std::uint64_t offset, std::uint64_t length) {
  const ByteView payload = source.Slice(offset, length, "an XNNPACK payload");
  Layout layout;
  if (!HasTextAt(payload, 4, "XH00")) {
    layout.flatbuffer = payload;
    layout.flatbuffer_offset = offset;
    return layout;
  }
  if (length < kXnnHeaderBytes || LittleEndian(payload.subspan(8, 2)) < kXnnHeaderBytes)
    throw source.MakeError("an XNNPACK payload ends within its header", offset);
  const std::uint64_t graph_offset = LittleEndian(payload.subspan(10, 4));
  const std::uint64_t size = LittleEndian(payload.subspan(14, 4));
  const std::uint64_t constants_offset = LittleEndian(payload.subspan(18, 4));
  layout.constant_bytes = LittleEndian(payload.subspan(22, 8));
  if (graph_offset > length || size > length - graph_offset)
    throw source.MakeError(fmt::format("an XNNPACK graph ({} bytes at {}) is not in its payload of {} bytes",
                                       size, graph_offset, length),
                           offset + 10);
  if (constants_offset > length || layout.constant_bytes > length - constants_offset)
    throw source.MakeError(
        fmt::format("XNNPACK constants ({} bytes at {}) are not in their payload of {} bytes",
                    layout.constant_bytes, constants_offset, length),
        offset + 18);
  layout.has_header = true;
  layout.flatbuffer = payload.subspan(static_cast<std::size_t>(graph_offset), static_cast<std::size_t>(size));
  layout.flatbuffer_offset = offset + graph_offset;
  layout.constants_offset = offset + constants_offset;
  return layout;
}

class XnnReader {
 public:
  XnnReader(Source& source, const Layout& layout, const std::map<std::string, Bytes>& named_bytes)
      : source_(source),
        layout_(layout),
        named_bytes_(named_bytes),
        buffer_(source, layout.flatbuffer_offset, layout.flatbuffer) {}

  XnnGraph Read() {
    // XN00 is the older version of the format, in which these fields are the same.
    if (!HasTextAt(layout_.flatbuffer, 4, "XN01") && !HasTextAt(layout_.flatbuffer, 4, "XN00"))
      throw source_.MakeError("an XNNPACK graph has no XN01 identifier: another version of the format",
                              layout_.flatbuffer_offset + 4);
    const auto& graph = buffer_.VerifyRoot<xnn::XNNGraph>(source_, "an XNNPACK graph");
    graph_.version = source_.Text(graph.version());
    graph_.has_header = layout_.has_header;
    graph_.flatbuffer_bytes = static_cast<Bytes>(layout_.flatbuffer.size());
    graph_.constant_bytes = static_cast<Bytes>(layout_.constant_bytes);
    if (graph.constant_data() != nullptr) {
      // The first entry is reserved.
      for (flatbuffers::uoffset_t i = 1; i < graph.constant_data()->size(); ++i)
        ReadConstant(*graph.constant_data()->Get(i));
    }
    if (graph.xvalues() != nullptr) {
      for (const auto* value : *graph.xvalues()) ReadValue(*value);
    }
    graph_.inputs = ReadIds(graph.input_ids());
    graph_.outputs = ReadIds(graph.output_ids());
    if (graph.xnodes() != nullptr) {
      for (const auto* node : *graph.xnodes()) ReadNode(*node);
    }
    for (const XnnNode& node : graph_.nodes) {
      for (const std::uint32_t id : node.inputs) ++graph_.uses[id];
    }
    for (const std::uint32_t id : graph_.outputs) ++graph_.uses[id];
    return std::move(graph_);
  }

 private:
  [[noreturn]] void Fail(const std::string& problem, const void* object) const {
    throw source_.MakeError("an XNNPACK graph is malformed: " + problem, buffer_.At(object));
  }

  std::uint32_t CheckId(std::uint32_t id, const void* object) const {
    if (graph_.by_id.count(id) == 0) Fail(fmt::format("there is no value {}", id), object);
    return id;
  }

  std::vector<std::uint32_t> ReadIds(const flatbuffers::Vector<std::uint32_t>* list) const {
    std::vector<std::uint32_t> ids;
    if (list == nullptr) return ids;
    source_.SpendCopyBudget(list->size() * sizeof(std::uint32_t));
    for (const std::uint32_t id : *list) ids.push_back(CheckId(id, list));
    return ids;
  }

  void ReadConstant(const xnn::ConstantDataOffset& entry) {
    source_.SpendCopyBudget(sizeof(XnnConstant));
    XnnConstant constant;
    if (entry.size() > static_cast<std::uint64_t>(std::numeric_limits<Bytes>::max()))
      Fail(fmt::format("a constant of {} bytes", entry.size()), &entry);
    constant.bytes = static_cast<Bytes>(entry.size());
    constant.key = source_.Text(entry.named_key());
    if (!constant.key.empty() || entry.offset() == kByName) {
      const auto found = named_bytes_.find(constant.key);
      constant.place =
          found == named_bytes_.end() ? XnnConstant::Place::kExternal : XnnConstant::Place::kNamed;
      if (found != named_bytes_.end() && constant.bytes > found->second) {
        Fail(fmt::format("a constant has {} bytes, the data of its name {}", constant.bytes, found->second),
             &entry);
      }
    } else if (entry.offset() > layout_.constant_bytes ||
               entry.size() > layout_.constant_bytes - entry.offset()) {
      Fail(fmt::format("a constant ({} bytes at {}) is not in the payload's {} bytes", entry.size(),
                       entry.offset(), layout_.constant_bytes),
           &entry);
    }
    graph_.constants.push_back(std::move(constant));
  }

  // Indices count from 1. In older files without a list of constants, the constants are in the graph.
  std::optional<std::size_t> ConstantIndex(std::uint32_t index, const void* object) const {
    if (index == 0 || graph_.constants.empty()) return std::nullopt;
    if (index > graph_.constants.size())
      Fail(fmt::format("a value is constant {} of {}", index, graph_.constants.size()), object);
    return index - 1;
  }

  template <typename Quantization>
  void ReadScales(const Quantization& from, XnnQuantization& to) const {
    to.channel_dimension = from.channel_dim();
    const bool is_inline = from.scale() != nullptr && from.scale()->size() > 0;
    to.scales = is_inline ? from.scale()->size() : from.num_scales();
    if (!is_inline) to.scale_constant = ConstantIndex(from.scale_buffer_idx(), &from);
  }

  XnnQuantization ReadQuantization(const xnn::XNNQuantizedTensorValue& value) const {
    XnnQuantization result;
    using Scheme = XnnQuantization::Scheme;
    if (const auto* tensor = value.quant_params_as_PerTensorQuant()) {
      result.scheme = Scheme::kPerTensor;
      result.scale = tensor->scale();
      result.zero_point = tensor->zero_point();
    } else if (const auto* channel = value.quant_params_as_PerChannelQuant()) {
      result.scheme = Scheme::kPerChannel;
      ReadScales(*channel, result);
    } else if (const auto* group = value.quant_params_as_PerChannelGroupQuant()) {
      result.scheme = Scheme::kPerChannelGroup;
      result.group_size = group->group_size();
      ReadScales(*group, result);
    } else if (const auto* token = value.quant_params_as_PerTokenDynamicQuant()) {
      result.scheme = Scheme::kPerTokenDynamic;
      result.nonbatch_dimensions = token->num_nonbatch_dims();
    }
    return result;
  }

  void ReadValue(const xnn::XValue& entry) {
    source_.SpendCopyBudget(sizeof(XnnValue));
    XnnValue value;
    const xnn::XNNTensorValue* tensor = entry.xvalue_union_as_XNNTensorValue();
    if (const auto* quantized = entry.xvalue_union_as_XNNQuantizedTensorValue()) {
      tensor = quantized->tensor_value();
      value.quantization = ReadQuantization(*quantized);
    }
    if (tensor == nullptr) Fail("a value is not a tensor", &entry);
    value.id = tensor->id_out();
    value.type = XnnDataTypeFromCode(static_cast<int>(tensor->datatype()));
    if (const auto* sizes = tensor->dims()) {
      if (sizes->size() > kMaxXnnDimensions)
        Fail(fmt::format("a value has {} dimensions", sizes->size()), tensor);
      value.shape.assign(sizes->begin(), sizes->end());
    }
    if (!ElementCount(value.shape))
      Fail(fmt::format("a value of [{}] elements cannot be", fmt::join(value.shape, ", ")), tensor);
    value.constant = ConstantIndex(tensor->constant_buffer_idx(), tensor);
    if (tensor->external_id() != kNoValue) value.external_id = tensor->external_id();
    if (!graph_.by_id.try_emplace(value.id, graph_.values.size()).second)
      Fail(fmt::format("two values are number {}", value.id), tensor);
    graph_.values.push_back(std::move(value));
  }

  // Sets a node's inputs and outputs from the ids of a table of the schema. A missing optional input has the
  // id kNoValue.
  void Connect(XnnNode& node, const void* table, std::initializer_list<std::uint32_t> inputs,
               std::initializer_list<std::uint32_t> outputs, std::uint32_t flags) const {
    for (const std::uint32_t id : inputs) {
      if (id != kNoValue) node.inputs.push_back(CheckId(id, table));
    }
    for (const std::uint32_t id : outputs) node.outputs.push_back(CheckId(id, table));
    node.flags = flags;
  }

  void Connect(XnnNode& node, const xnn::_XNNNode1x1& t) const {
    Connect(node, &t, {t.input_id()}, {t.output_id()}, t.flags());
  }
  void Connect(XnnNode& node, const xnn::_XNNNode2x1& t) const {
    Connect(node, &t, {t.input1_id(), t.input2_id()}, {t.output_id()}, t.flags());
  }
  void Connect(XnnNode& node, const xnn::XNNFullyConnected& t) const {
    Connect(node, &t, {t.input1_id(), t.filter_id(), t.bias_id()}, {t.output_id()}, t.flags());
  }
  void Connect(XnnNode& node, const xnn::_XNNNodeConv& t) const {
    Connect(node, &t, {t.input1_id(), t.filter_id(), t.bias_id()}, {t.output_id()}, t.flags());
    node.convolution = {t.kernel_height(),
                        t.kernel_width(),
                        t.subsampling_height(),
                        t.subsampling_width(),
                        t.dilation_height(),
                        t.dilation_width(),
                        t.groups(),
                        t.group_input_channels(),
                        t.group_output_channels(),
                        t.padding_top(),
                        t.padding_right(),
                        t.padding_bottom(),
                        t.padding_left()};
  }
  // The number of inputs is in the type's name: XNNConcatenate3.
  void Connect(XnnNode& node, const xnn::_XNNCat& t) const {
    const std::uint32_t ids[] = {t.input1_id(), t.input2_id(), t.input3_id(), t.input4_id(), t.input5_id()};
    for (int i = 0; i < node.type.back() - '0'; ++i) node.inputs.push_back(CheckId(ids[i], &t));
    Connect(node, &t, {}, {t.output_id()}, t.flags());
  }
  void Connect(XnnNode& node, const xnn::XNNScaledDotProductAttention& t) const {
    Connect(node, &t, {t.query_id(), t.key_id(), t.value_id(), t.scale_id(), t.mask_id()}, {t.output_id()},
            t.flags());
  }
  void Connect(XnnNode& node, const xnn::XNNArgMaxPooling2d& t) const {
    Connect(node, &t, {t.input_id()}, {t.output_value_id(), t.output_index_id()}, t.flags());
  }
  // All other types have one input and one output.
  template <typename Table>
  void Connect(XnnNode& node, const Table& t) const {
    Connect(node, &t, {t.input_id()}, {t.output_id()}, t.flags());
  }

  template <typename Table>
  void ConnectTo(XnnNode& node, const xnn::XNode& entry) const {
    if (entry.xnode_union() == nullptr) Fail("a node is empty", &entry);
    Connect(node, *static_cast<const Table*>(entry.xnode_union()));
  }

  void ConnectByType(XnnNode& node, const xnn::XNode& entry) const {
    using T = xnn::XNodeUnion;
    switch (entry.xnode_union_type()) {
      case T::NONE:
        Fail("a node is empty", &entry);
      case T::XNNAdd:
      case T::XNNDiv:
      case T::XNNMinimum:
      case T::XNNMultiply:
      case T::XNNSubtract:
      case T::XNNMaximum:
      case T::XNNPReLU:
      case T::XNNBatchMatrixMultiply:
        return ConnectTo<xnn::_XNNNode2x1>(node, entry);
      case T::XNNSoftmax:
      case T::XNNSigmoid:
      case T::XNNClamp:
      case T::XNNFloor:
      case T::XNNConvert:
      case T::XNNGlobalAvgPooling2d:
      case T::XNNSquareRoot:
      case T::XNNCeiling:
      case T::XNNHardswish:
      case T::XNNNegate:
      case T::XNNSquare:
      case T::XNNAbs:
      case T::XNNReciprocalSquareRoot:
      case T::XNNLog:
      case T::XNNGelu:
      case T::XNNTanh:
      case T::XNNExp:
      case T::XNNSin:
      case T::XNNCopy:
      case T::XNNCos:
        return ConnectTo<xnn::_XNNNode1x1>(node, entry);
      case T::XNNConv2d:
      case T::XNNDepthwiseConv2d:
      case T::XNNConvTranspose2d:
        return ConnectTo<xnn::_XNNNodeConv>(node, entry);
      case T::XNNAvgPooling2d:
      case T::XNNMaxPooling2d:
        return ConnectTo<xnn::_XNNPooling2D>(node, entry);
      case T::XNNConcatenate2:
      case T::XNNConcatenate3:
      case T::XNNConcatenate4:
      case T::XNNConcatenate5:
        return ConnectTo<xnn::_XNNCat>(node, entry);
      case T::XNNFullyConnected:
        return ConnectTo<xnn::XNNFullyConnected>(node, entry);
      case T::XNNStaticTranspose:
        return ConnectTo<xnn::XNNStaticTranspose>(node, entry);
      case T::XNNStaticResizeBilinear2D:
        return ConnectTo<xnn::XNNStaticResizeBilinear2D>(node, entry);
      case T::XNNStaticConstantPad:
        return ConnectTo<xnn::XNNStaticConstantPad>(node, entry);
      case T::XNNStaticReshape:
        return ConnectTo<xnn::XNNStaticReshape>(node, entry);
      case T::XNNArgMaxPooling2d:
        return ConnectTo<xnn::XNNArgMaxPooling2d>(node, entry);
      case T::XNNLeakyReLU:
        return ConnectTo<xnn::XNNLeakyReLU>(node, entry);
      case T::XNNELU:
        return ConnectTo<xnn::XNNELU>(node, entry);
      case T::XNNStaticSlice:
        return ConnectTo<xnn::XNNStaticSlice>(node, entry);
      case T::XNNScaledDotProductAttention:
        return ConnectTo<xnn::XNNScaledDotProductAttention>(node, entry);
    }
    node.type = fmt::format("XNode {}", static_cast<int>(entry.xnode_union_type()));  // from a newer schema
  }

  void ReadNode(const xnn::XNode& entry) {
    source_.SpendCopyBudget(sizeof(XnnNode));
    XnnNode node;
    node.index = graph_.nodes.size();
    node.type = xnn::EnumNameXNodeUnion(entry.xnode_union_type());
    if (entry.debug_handle() != kNoDebugHandle) node.debug_handle = entry.debug_handle();
    ConnectByType(node, entry);
    if (const auto* range = entry.output_min_max()) {
      if (std::isfinite(range->output_min())) node.output_min = range->output_min();
      if (std::isfinite(range->output_max())) node.output_max = range->output_max();
    }
    node.macs = CountMacs(node, graph_);
    graph_.nodes.push_back(std::move(node));
  }

  Source& source_;
  const Layout& layout_;
  const std::map<std::string, Bytes>& named_bytes_;
  Buffer buffer_;
  XnnGraph graph_;
};

}  // namespace

XnnGraph ReadXnnGraph(Source& source, std::uint64_t offset, std::uint64_t length,
                      const std::map<std::string, Bytes>& named_bytes) {
  const Layout layout = ReadLayout(source, offset, length);
  return XnnReader(source, layout, named_bytes).Read();
}

}  // namespace etprof
