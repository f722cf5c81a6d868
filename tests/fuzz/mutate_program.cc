#include "mutate_program.h"

#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "program_generated.h"
#include "schema_generated.h"

namespace etprof::fuzz {
namespace {

namespace pte = executorch_flatbuffer;
namespace xnn = fb_xnnpack;

using Octets = std::vector<std::uint8_t>;

// The extended header of a .pte, after the root's offset and the identifier.
constexpr std::size_t kHeaderOffset = 8, kHeaderBytes = 32;
constexpr std::size_t kXnnHeaderBytes = 30;
constexpr std::size_t kMaxSegmentBytes = 1 << 14;  // no payloads are appended to larger segments

// Operators for which etprof has rules.
constexpr std::array kOperators = {"aten::mean",
                                   "aten::convolution",
                                   "aten::addmm",
                                   "aten::mm",
                                   "aten::bmm",
                                   "aten::baddbmm",
                                   "aten::linear",
                                   "aten::avg_pool2d",
                                   "aten::max",
                                   "aten::prelu",
                                   "aten::slice_copy",
                                   "aten::max_pool2d_with_indices",
                                   "aten::_softmax",
                                   "aten::unsqueeze_copy",
                                   "aten::cat",
                                   "dim_order_ops::_to_dim_order_copy",
                                   "aten::pow",
                                   "aten::constant_pad_nd",
                                   "aten::view_copy",
                                   "aten::upsample_bilinear2d",
                                   "aten::add",
                                   "aten::div",
                                   "aten::clamp",
                                   "aten::gelu",
                                   "aten::t_copy",
                                   "aten::permute_copy",
                                   "aten::clone",
                                   "dim_order_ops::_clone_dim_order",
                                   "executorch_prim::et_view",
                                   "quantized_decomposed::dequantize_per_tensor"};
constexpr std::array kOverloads = {"out", "dim_max", "Scalar_out", "out_mode", "Tensor_out", ""};

template <typename T>
T* Read(const std::uint8_t* data, std::size_t size) {
  flatbuffers::Verifier verifier(data, size, 64, static_cast<flatbuffers::uoffset_t>(size / 4 + 1));
  if (size < 8 || !verifier.VerifyBuffer<T>(nullptr)) return nullptr;
  return const_cast<T*>(flatbuffers::GetRoot<T>(data));
}

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  std::optional<Octets> Run(ByteView bytes) {
    const Octets copy = AlignedCopy(bytes);
    const std::uint8_t* const data = copy.data();
    std::size_t size = copy.size(), base = 0;
    if (size < kHeaderOffset || std::memcmp(data + 4, pte::ProgramIdentifier(), 4) != 0) return std::nullopt;
    const bool has_header =
        size >= kHeaderOffset + kHeaderBytes && std::memcmp(data + kHeaderOffset, "eh00", 4) == 0;
    if (has_header) {
      const auto flatbuffer = Load<std::uint64_t>(copy, kHeaderOffset + 8);
      base = static_cast<std::size_t>(Load<std::uint64_t>(copy, kHeaderOffset + 16));
      if (flatbuffer > size || base > size) return std::nullopt;
      size = static_cast<std::size_t>(flatbuffer);
    }
    const pte::Program* const root = Read<pte::Program>(data, size);
    if (root == nullptr) return std::nullopt;
    const std::unique_ptr<pte::ProgramT> program(root->UnPack());
    if (base > 0) segments_.assign(copy.begin() + static_cast<std::ptrdiff_t>(base), copy.end());
    for (std::size_t changes = 1 + Below(5); changes > 0; --changes) Change(*program);
    return Pack(*program, has_header);
  }

 private:
  static Octets AlignedCopy(ByteView bytes) {
    const auto* const begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
    return {begin, begin + bytes.size()};  // memory of the heap is aligned to 16 bytes
  }
  template <typename T>
  static T Load(const Octets& bytes, std::size_t at) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  }
  template <typename T>
  static void Store(Octets& bytes, std::size_t at, T value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }

  std::size_t Below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }
  bool OneIn(std::size_t n) { return Below(n) == 0; }
  template <typename List>
  auto& Pick(List& list) {
    return list[Below(list.size())];
  }
  template <typename T>
  T RandomNumber() {
    static constexpr std::array<std::int64_t, 12> kNumbers = {
        0, 1, 2, 3, 4, 7, 16, -1, 0x7fffffff, 0x7fffffffffffffff, -0x7fffffffffffffff - 1, 65535};
    return static_cast<T>(OneIn(4) ? static_cast<std::int64_t>(random_()) : Pick(kNumbers));
  }
  // An index below `count`, or rarely any number.
  template <typename T>
  T RandomIndex(std::size_t count) {
    return OneIn(40) ? RandomNumber<T>() : static_cast<T>(Below(count));
  }
  template <typename E>
  void SetEnum(E& value, int last) {
    value = static_cast<E>(Below(static_cast<std::size_t>(last) + 2));
  }

  template <typename T, typename Make>
  void ChangeList(std::vector<T>& list, const Make& make) {
    switch (Below(6)) {
      case 0:
        list.push_back(make());
        break;
      case 1:
        if (!list.empty()) list.pop_back();
        break;
      case 2:
        list.clear();
        break;
      case 3:
        if (!list.empty()) list.erase(list.begin() + static_cast<std::ptrdiff_t>(Below(list.size())));
        break;
      case 4:
        if (!list.empty()) std::swap(Pick(list), Pick(list));
        break;
      default:
        if (!list.empty()) Pick(list) = make();
    }
    if (list.size() > 64) list.resize(64);
  }

  void Change(pte::ProgramT& program) {
    if (program.execution_plan.empty()) return;
    if (OneIn(40)) return ChangeFile(program);
    pte::ExecutionPlanT& plan = *Pick(program.execution_plan);
    const auto value = [&] { return RandomIndex<std::int32_t>(plan.values.size()); };
    switch (Below(12)) {
      case 0:
      case 1:
      case 2:
        if (!plan.values.empty()) ChangeValue(*Pick(plan.values), plan);
        break;
      case 3:
      case 4:
        if (!plan.chains.empty()) ChangeChain(*Pick(plan.chains), plan);
        break;
      case 5:
      case 6:
        if (plan.operators.empty() || OneIn(8)) plan.operators.push_back(std::make_unique<pte::OperatorT>());
        Pick(plan.operators)->name = Pick(kOperators);
        Pick(plan.operators)->overload = Pick(kOverloads);
        break;
      case 7:
        if (OneIn(2)) {
          ChangeList(plan.inputs, value);
        } else {
          ChangeList(plan.outputs, value);
        }
        break;
      case 8:
        ChangeList(plan.non_const_buffer_sizes, [&] { return RandomNumber<std::int64_t>(); });
        break;
      default:
        if (!plan.delegates.empty()) ChangeDelegate(*Pick(plan.delegates), program);
    }
  }

  void ChangeFile(pte::ProgramT& program) {
    switch (Below(4)) {
      case 0:
        if (!program.segments.empty()) Pick(program.segments)->size = Below(segments_.size() + 2);
        break;
      case 1:
        if (program.constant_segment)
          ChangeList(program.constant_segment->offsets, [&] { return Below(256); });
        break;
      case 2:
        if (!program.named_data.empty())
          Pick(program.named_data)->segment_index = RandomIndex<std::uint32_t>(program.segments.size());
        break;
      default:
        program.execution_plan.push_back(
            std::make_unique<pte::ExecutionPlanT>(*Pick(program.execution_plan)));
        if (program.execution_plan.size() > 4) program.execution_plan.resize(2);
    }
  }

  void ChangeValue(pte::EValueT& value, const pte::ExecutionPlanT& plan) {
    if (pte::TensorT* const tensor = value.val.AsTensor(); tensor != nullptr && !OneIn(8))
      return ChangeTensor(*tensor);
    const auto items = [&](auto list) {
      for (std::size_t count = Below(5); count > 0; --count)
        list.items.push_back(RandomIndex<typename decltype(list.items)::value_type>(plan.values.size()));
      return list;
    };
    switch (Below(9)) {
      case 0:
        value.val.Set(pte::NullT());
        break;
      case 1: {
        pte::IntT integer;
        integer.int_val = RandomNumber<std::int64_t>();
        value.val.Set(std::move(integer));
        break;
      }
      case 2: {
        pte::BoolT boolean;
        boolean.bool_val = OneIn(2);
        value.val.Set(std::move(boolean));
        break;
      }
      case 3: {
        pte::DoubleT number;
        number.double_val = OneIn(3) ? 1e308 * 10 : RandomNumber<std::int32_t>();
        value.val.Set(std::move(number));
        break;
      }
      case 4:
        value.val.Set(items(pte::IntListT()));
        break;
      case 5:
        value.val.Set(items(pte::TensorListT()));
        break;
      case 6:
        value.val.Set(items(pte::OptionalTensorListT()));
        break;
      case 7:
        value.val.Set(pte::StringT());
        break;
      default:
        value.val = Pick(plan.values)->val;
    }
  }

  void ChangeTensor(pte::TensorT& tensor) {
    switch (Below(8)) {
      case 0:
      case 1:
      case 2:
        ChangeList(tensor.sizes, [&] { return RandomNumber<std::int32_t>(); });
        break;
      case 3:
        ChangeList(tensor.dim_order, [&] { return RandomNumber<std::uint8_t>(); });
        break;
      case 4:
        SetEnum(tensor.scalar_type, static_cast<int>(pte::ScalarType::MAX));
        break;
      case 5:
        SetEnum(tensor.shape_dynamism, static_cast<int>(pte::TensorShapeDynamism::MAX));
        break;
      case 6:
        tensor.data_buffer_idx = RandomIndex<std::uint32_t>(3);
        break;
      default:
        if (!tensor.allocation_info) tensor.allocation_info = std::make_unique<pte::AllocationDetailsT>();
        tensor.allocation_info->memory_id = RandomIndex<std::uint32_t>(3);
        tensor.allocation_info->memory_offset_low = RandomNumber<std::uint32_t>();
        tensor.allocation_info->memory_offset_high = OneIn(4) ? RandomNumber<std::uint32_t>() : 0;
        if (OneIn(4)) tensor.allocation_info.reset();
    }
  }

  void ChangeChain(pte::ChainT& chain, const pte::ExecutionPlanT& plan) {
    if (chain.instructions.empty() || OneIn(8)) {
      chain.instructions.push_back(chain.instructions.empty()
                                       ? std::make_unique<pte::InstructionT>()
                                       : std::make_unique<pte::InstructionT>(*Pick(chain.instructions)));
      if (chain.instructions.size() > 48) chain.instructions.resize(4);
    }
    auto& arguments = Pick(chain.instructions)->instr_args;
    const auto value = [&] { return RandomIndex<std::int32_t>(plan.values.size()); };
    pte::KernelCallT* const kernel = arguments.AsKernelCall();
    pte::DelegateCallT* const delegate = arguments.AsDelegateCall();
    if (kernel != nullptr && !OneIn(6)) {
      if (OneIn(2)) {
        kernel->op_index = RandomIndex<std::int32_t>(plan.operators.size());
      } else {
        ChangeList(kernel->args, value);
      }
      return;
    }
    if (delegate != nullptr && !OneIn(6)) return ChangeList(delegate->args, value);
    switch (Below(5)) {
      case 0: {
        pte::KernelCallT call;
        call.op_index = RandomIndex<std::int32_t>(plan.operators.size());
        for (std::size_t count = Below(11); count > 0; --count) call.args.push_back(value());
        arguments.Set(std::move(call));
        break;
      }
      case 1: {
        pte::DelegateCallT call;
        call.delegate_index = RandomIndex<std::int32_t>(plan.delegates.size());
        for (std::size_t count = Below(4); count > 0; --count) call.args.push_back(value());
        arguments.Set(std::move(call));
        break;
      }
      case 2: {
        pte::MoveCallT move;
        move.move_from = value();
        move.move_to = value();
        arguments.Set(std::move(move));
        break;
      }
      case 3:
        arguments.Set(pte::JumpFalseCallT());
        break;
      default:
        arguments.Set(pte::FreeCallT());
    }
  }

  void ChangeDelegate(pte::BackendDelegateT& delegate, pte::ProgramT& program) {
    if (OneIn(40)) delegate.id = OneIn(2) ? "XnnpackBackend" : "CoreMLBackend";
    if (!delegate.processed) return;
    pte::BackendDelegateDataReferenceT& place = *delegate.processed;
    if (place.location == pte::DataLocation::SEGMENT) {
      if (place.index >= program.segments.size()) return;
      pte::DataSegmentT& segment = *program.segments[place.index];
      if (segment.offset > segments_.size() || segment.size > segments_.size() - segment.offset) return;
      const auto begin = segments_.begin() + static_cast<std::ptrdiff_t>(segment.offset);
      Octets payload(begin, begin + static_cast<std::ptrdiff_t>(segment.size));
      ChangePayload(payload);
      if (payload.size() > segment.size) {
        if (segments_.size() > kMaxSegmentBytes) return;
        segments_.resize((segments_.size() + 15) / 16 * 16);
        segment.offset = segments_.size();
        segments_.resize(segments_.size() + payload.size());
      }
      segment.size = payload.size();
      std::ranges::copy(payload, segments_.begin() + static_cast<std::ptrdiff_t>(segment.offset));
    } else if (place.index < program.backend_delegate_data.size()) {
      ChangePayload(program.backend_delegate_data[place.index]->data);
    }
  }

  void ChangePayload(Octets& payload) {
    const bool has_header =
        payload.size() >= kXnnHeaderBytes && std::memcmp(payload.data() + 4, "XH00", 4) == 0;
    std::size_t at = 0, size = payload.size();
    Octets constants;
    if (has_header) {
      at = Load<std::uint32_t>(payload, 10);
      size = Load<std::uint32_t>(payload, 14);
      const std::size_t constants_offset = Load<std::uint32_t>(payload, 18);
      const auto constant_bytes = Load<std::uint64_t>(payload, 22);
      if (at > payload.size() || size > payload.size() - at || constants_offset > payload.size() ||
          constant_bytes > payload.size() - constants_offset)
        return;
      const auto begin = payload.begin() + static_cast<std::ptrdiff_t>(constants_offset);
      constants.assign(begin, begin + static_cast<std::ptrdiff_t>(constant_bytes));
    }
    const Octets graph_bytes(payload.begin() + static_cast<std::ptrdiff_t>(at),
                             payload.begin() + static_cast<std::ptrdiff_t>(at + size));
    const xnn::XNNGraph* const root = Read<xnn::XNNGraph>(graph_bytes.data(), graph_bytes.size());
    if (root == nullptr) return;
    const std::unique_ptr<xnn::XNNGraphT> graph(root->UnPack());
    for (std::size_t changes = 1 + Below(4); changes > 0; --changes) ChangeGraph(*graph);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(xnn::XNNGraph::Pack(builder, graph.get()), "XN01");
    payload.assign(has_header ? 32 : 0, 0);
    payload.insert(payload.end(), builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
    if (!has_header) return;
    payload.resize((payload.size() + 15) / 16 * 16);
    std::memcpy(payload.data() + 4, "XH00", 4);
    Store<std::uint16_t>(payload, 8, kXnnHeaderBytes);
    Store<std::uint32_t>(payload, 10, 32);
    Store<std::uint32_t>(payload, 14, builder.GetSize());
    Store<std::uint32_t>(payload, 18, static_cast<std::uint32_t>(payload.size()));
    Store<std::uint64_t>(payload, 22, constants.size());
    payload.insert(payload.end(), constants.begin(), constants.end());
  }

  xnn::XNNTensorValueT* FindTensor(xnn::XValueT& value) {
    if (auto* const tensor = value.xvalue_union.AsXNNTensorValue()) return tensor;
    auto* const quantized = value.xvalue_union.AsXNNQuantizedTensorValue();
    return quantized == nullptr ? nullptr : quantized->tensor_value.get();
  }
  // The id of a value of the graph, or rarely any number.
  std::uint32_t RandomId(xnn::XNNGraphT& graph) {
    if (graph.xvalues.empty() || OneIn(40)) return RandomNumber<std::uint32_t>();
    const xnn::XNNTensorValueT* const tensor = FindTensor(*Pick(graph.xvalues));
    return tensor == nullptr ? 0 : tensor->id_out;
  }

  void ChangeGraph(xnn::XNNGraphT& graph) {
    const auto id = [&] { return RandomId(graph); };
    switch (Below(8)) {
      case 0:
      case 1:
      case 2:
        if (!graph.xvalues.empty()) ChangeXnnValue(*Pick(graph.xvalues), graph);
        break;
      case 3:
      case 4:
      case 5:
        ChangeNodes(graph);
        break;
      case 6:
        if (OneIn(2)) {
          ChangeList(graph.input_ids, id);
        } else {
          ChangeList(graph.output_ids, id);
        }
        break;
      default:
        if (graph.constant_data.empty()) break;
        Pick(graph.constant_data)->size = RandomNumber<std::uint64_t>();
        if (OneIn(3)) Pick(graph.constant_data)->offset = RandomNumber<std::uint64_t>();
        if (OneIn(3)) Pick(graph.constant_data)->named_key = OneIn(2) ? "key" : "";
    }
  }

  void ChangeXnnValue(xnn::XValueT& value, xnn::XNNGraphT& graph) {
    if (auto* const quantized = value.xvalue_union.AsXNNQuantizedTensorValue();
        quantized != nullptr && OneIn(3)) {
      if (OneIn(2)) {
        xnn::PerChannelGroupQuantT group;
        group.channel_dim = RandomNumber<std::int32_t>();
        group.group_size = RandomNumber<std::int32_t>();
        group.scale_buffer_idx = RandomIndex<std::uint32_t>(graph.constant_data.size() + 1);
        group.num_scales = RandomNumber<std::uint32_t>();
        quantized->quant_params.Set(std::move(group));
      } else {
        xnn::PerTokenDynamicQuantT token;
        token.num_nonbatch_dims = RandomNumber<std::int32_t>();
        quantized->quant_params.Set(std::move(token));
      }
      return;
    }
    xnn::XNNTensorValueT* const tensor = FindTensor(value);
    if (tensor == nullptr) return;
    switch (Below(6)) {
      case 0:
      case 1:
        ChangeList(tensor->dims, [&] { return RandomNumber<std::uint32_t>(); });
        break;
      case 2:
        SetEnum(tensor->datatype, static_cast<int>(xnn::XNNDatatype::MAX));
        break;
      case 3:
        tensor->external_id = RandomIndex<std::uint32_t>(4);
        break;
      case 4:
        tensor->constant_buffer_idx = RandomIndex<std::uint32_t>(graph.constant_data.size() + 1);
        break;
      default:
        tensor->id_out = RandomNumber<std::uint32_t>();
    }
  }

  template <typename T>
  void SetNode(xnn::XNodeT& node, std::initializer_list<xnn::XNodeUnion> types, const T& table) {
    node.xnode_union.Reset();
    node.xnode_union.type = types.begin()[Below(types.size())];
    node.xnode_union.value = new T(table);
  }

  void ChangeNodes(xnn::XNNGraphT& graph) {
    using T = xnn::XNodeUnion;
    if (graph.xnodes.empty() || OneIn(6)) {
      graph.xnodes.push_back(graph.xnodes.empty() ? std::make_unique<xnn::XNodeT>()
                                                  : std::make_unique<xnn::XNodeT>(*Pick(graph.xnodes)));
      if (graph.xnodes.size() > 48) graph.xnodes.resize(4);
    } else if (OneIn(6)) {
      std::swap(Pick(graph.xnodes), Pick(graph.xnodes));
    }
    xnn::XNodeT& node = *Pick(graph.xnodes);
    if (OneIn(6)) node.debug_handle = RandomNumber<std::uint32_t>();
    const auto id = [&] { return RandomId(graph); };
    const std::uint32_t flags = RandomNumber<std::uint32_t>();
    switch (Below(8)) {
      case 0: {
        xnn::_XNNNode1x1T node_1x1;
        node_1x1.input_id = id(), node_1x1.output_id = id(), node_1x1.flags = flags;
        return SetNode(node,
                       {T::XNNSoftmax, T::XNNClamp, T::XNNConvert, T::XNNGlobalAvgPooling2d, T::XNNCopy},
                       node_1x1);
      }
      case 1: {
        xnn::_XNNNode2x1T node_2x1;
        node_2x1.input1_id = id(), node_2x1.input2_id = id(), node_2x1.output_id = id(),
        node_2x1.flags = flags;
        return SetNode(node, {T::XNNAdd, T::XNNMultiply, T::XNNPReLU, T::XNNBatchMatrixMultiply}, node_2x1);
      }
      case 2: {
        xnn::XNNFullyConnectedT layer;
        layer.input1_id = id(), layer.filter_id = id(), layer.bias_id = id(), layer.output_id = id();
        layer.flags = flags;
        return SetNode(node, {T::XNNFullyConnected}, layer);
      }
      case 3: {
        xnn::_XNNNodeConvT of;
        of.input1_id = id(), of.filter_id = id(), of.bias_id = id(), of.output_id = id();
        for (std::uint32_t* const field :
             {&of.padding_top, &of.padding_left, &of.kernel_height, &of.kernel_width, &of.subsampling_height,
              &of.dilation_width, &of.group_input_channels, &of.group_output_channels, &of.groups})
          *field = RandomNumber<std::uint32_t>();
        return SetNode(node, {T::XNNConv2d, T::XNNDepthwiseConv2d, T::XNNConvTranspose2d}, of);
      }
      case 4: {
        xnn::_XNNCatT of;
        of.input1_id = id(), of.input2_id = id(), of.input3_id = id(), of.output_id = id();
        return SetNode(node, {T::XNNConcatenate2, T::XNNConcatenate3}, of);
      }
      case 5: {
        xnn::XNNScaledDotProductAttentionT of;
        of.query_id = id(), of.key_id = id(), of.value_id = id(), of.scale_id = id(), of.mask_id = id();
        of.output_id = id();
        return SetNode(node, {T::XNNScaledDotProductAttention}, of);
      }
      case 6: {
        xnn::XNNStaticReshapeT of;
        of.new_shape = {RandomNumber<std::uint32_t>()};
        of.input_id = id(), of.output_id = id();
        return SetNode(node, {T::XNNStaticReshape}, of);
      }
      default:
        node.output_min_max = std::make_unique<xnn::OutputMinMaxT>();
        node.output_min_max->output_min = OneIn(2) ? 0 : RandomNumber<std::int16_t>();
        node.output_min_max->output_max = OneIn(2) ? 6 : RandomNumber<std::int16_t>();
    }
  }

  Octets Pack(const pte::ProgramT& program, bool has_header) const {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(pte::Program::Pack(builder, &program), pte::ProgramIdentifier());
    Octets bytes(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
    if (!has_header) return bytes;
    // Inserts the header before the tables, which increases the root's offset.
    bytes.insert(bytes.begin() + kHeaderOffset, kHeaderBytes, 0);
    Store(bytes, 0, static_cast<std::uint32_t>(Load<std::uint32_t>(bytes, 0) + kHeaderBytes));
    std::memcpy(bytes.data() + kHeaderOffset, "eh00", 4);
    Store<std::uint32_t>(bytes, kHeaderOffset + 4, kHeaderBytes);
    Store<std::uint64_t>(bytes, kHeaderOffset + 8, bytes.size());
    bytes.resize((bytes.size() + 15) / 16 * 16);
    Store<std::uint64_t>(bytes, kHeaderOffset + 16, segments_.empty() ? 0 : bytes.size());
    Store<std::uint64_t>(bytes, kHeaderOffset + 24, segments_.size());
    bytes.insert(bytes.end(), segments_.begin(), segments_.end());
    return bytes;
  }

  std::minstd_rand random_;
  Octets segments_;
};

}  // namespace

std::optional<std::vector<std::uint8_t>> MutateProgram(ByteView bytes, unsigned seed) {
  return Mutator(seed).Run(bytes);
}

}  // namespace etprof::fuzz
