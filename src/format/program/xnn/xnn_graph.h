#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "core/units.h"
#include "format/program/data_type.h"

// The contents of the payload of an XNNPACK delegate as values: backends/xnnpack/serialization/schema.fbs.
namespace etprof {

// A constant of a graph: weights, biases, scales.
struct XnnConstant {
  Bytes bytes = 0;
  // The location of the data: the payload, named data in the .pte (Program::named_data), or, for a name that
  // the .pte does not have, external, so that the runtime expects it in a .ptd.
  enum class Place { kPayload, kNamed, kExternal } place = Place::kPayload;
  std::string key;  // kNamed, kExternal

  static void Describe(auto& v) {
    v("bytes", &XnnConstant::bytes, {.meaning = "its size"});
    v("place", &XnnConstant::place,
      {.meaning = "in the payload, as named data of the .pte, or external, to be found in a .ptd"});
    v("key", &XnnConstant::key, {.meaning = "of named or external data", .or_null = true});
  }
};
template <>
inline constexpr const char* kNames<XnnConstant::Place>[] = {"payload", "named", "external"};

struct XnnQuantization {
  enum class Scheme {
    kPerTensor,
    kPerChannel,
    kPerChannelGroup,
    kPerTokenDynamic,
    kUnknown
  } scheme = Scheme::kUnknown;
  std::optional<float> scale;                     // kPerTensor
  std::optional<std::int32_t> zero_point;         // kPerTensor
  std::optional<std::int32_t> channel_dimension;  // kPerChannel, kPerChannelGroup
  std::optional<std::int32_t> group_size;         // kPerChannelGroup: number of weights per scale
  std::optional<std::int64_t> scales;             // kPerChannel, kPerChannelGroup: number of scales
  std::optional<std::size_t> scale_constant;  // index into XnnGraph::constants; absent: stored in the graph
  std::optional<std::int32_t> nonbatch_dimensions;  // kPerTokenDynamic

  static constexpr const char* kSchemaName = "quantization";
  static void Describe(auto& v) {
    using Q = XnnQuantization;
    v("scheme", &Q::scheme, {.meaning = "which elements share a scale"});
    v("scale", &Q::scale, {.meaning = "per tensor"});
    v("zero_point", &Q::zero_point, {.meaning = "per tensor", .min = kNoMinimum});
    v("channel_dimension", &Q::channel_dimension,
      {.meaning = "per channel, or per group of channels", .min = kNoMinimum});
    v("group_size", &Q::group_size,
      {.meaning = "per group of channels: weights of a scale", .min = kNoMinimum});
    v("scales", &Q::scales, {.meaning = "per channel, or per group of channels: how many"});
    v("scale_constant", &Q::scale_constant,
      {.meaning = "the scales, in constants; null: in the graph itself"});
    v("nonbatch_dimensions", &Q::nonbatch_dimensions,
      {.meaning = "per token: how many trailing dimensions share a scale", .min = kNoMinimum});
  }
};
template <>
inline constexpr const char* kNames<XnnQuantization::Scheme>[] = {
    "per tensor", "per channel", "per channel group", "per token, dynamic", "unknown"};

struct XnnValue {
  std::uint32_t id = 0;
  DataType type;
  std::vector<std::int64_t> shape;
  std::optional<XnnQuantization> quantization;
  std::optional<std::size_t> constant;       // index into XnnGraph::constants
  std::optional<std::uint32_t> external_id;  // inputs, outputs: index into the delegate call's arguments

  static void Describe(auto& v) {
    v("value", &XnnValue::id, {.meaning = "its id"});
    v("dtype", [](const XnnValue& value) -> const auto& { return value.type.name; },
      {.meaning = "of its elements"});
    v("shape", &XnnValue::shape, {.meaning = "elements of each dimension"});
    v("external_id", &XnnValue::external_id,
      {.meaning = "place among the arguments of the delegate's call; null: neither input nor output"});
    v("constant", &XnnValue::constant, {.meaning = "index in `constants`; null: it is computed"});
    v("quantization", &XnnValue::quantization, {.meaning = "null: it is not quantized"});
  }
};

inline constexpr std::uint32_t kXnnTransposeWeights = 1;  // bit of the flags (XNN_FLAG_TRANSPOSE_WEIGHTS)

struct XnnConvolution {
  std::int64_t kernel_height = 0, kernel_width = 0, stride_height = 0, stride_width = 0;
  std::int64_t dilation_height = 0, dilation_width = 0, groups = 0;
  std::int64_t group_input_channels = 0, group_output_channels = 0;
  std::int64_t padding_top = 0, padding_right = 0, padding_bottom = 0, padding_left = 0;

  static void Describe(auto& v) {
    using C = XnnConvolution;
    v("kernel", [](const C& c) { return std::array{c.kernel_height, c.kernel_width}; },
      {.meaning = "height, width"});
    v("stride", [](const C& c) { return std::array{c.stride_height, c.stride_width}; },
      {.meaning = "height, width"});
    v("padding",
      [](const C& c) { return std::array{c.padding_top, c.padding_right, c.padding_bottom, c.padding_left}; },
      {.meaning = "top, right, bottom, left"});
    v("dilation", [](const C& c) { return std::array{c.dilation_height, c.dilation_width}; },
      {.meaning = "height, width"});
    v("groups", &C::groups, {.meaning = "into which channels are divided"});
    v("group_input_channels", &C::group_input_channels, {.meaning = "of each group"});
    v("group_output_channels", &C::group_output_channels, {.meaning = "of each group"});
  }
};

// An exported node. At run time XNNPACK may fuse or split nodes, or insert others.
struct XnnNode {
  std::size_t index = 0;  // index into XnnGraph::nodes, its identity
  std::string type;       // "XNNConv2d", as in the schema
  // The node's handle in the edge program; absent: the partitioner inserted the node.
  std::optional<std::uint32_t> debug_handle;
  std::vector<std::uint32_t> inputs, outputs;   // value ids; weights and biases are inputs
  std::uint32_t flags = 0;                      // XNN_FLAG_* of xnnpack.h
  std::optional<float> output_min, output_max;  // bounds of a fused activation; absent: unbounded
  std::optional<XnnConvolution> convolution;    // for XNNConv2d, XNNDepthwiseConv2d, XNNConvTranspose2d
  std::optional<std::int64_t> macs;             // see work.h; absent: unknown
};

struct XnnGraph {
  std::string version;
  bool has_header = false;  // whether there is an "XH00" header: then the constants follow the graph
  Bytes flatbuffer_bytes = 0;
  Bytes constant_bytes = 0;    // bytes of the constants in the payload itself
  std::vector<XnnNode> nodes;  // in execution order
  std::vector<XnnValue> values;
  std::vector<std::uint32_t> inputs, outputs;  // value ids
  std::vector<XnnConstant> constants;          // without the reserved first entry of the file

  // The value with this id; null if there is none.
  const XnnValue* Find(std::uint32_t id) const;
  std::map<std::uint32_t, std::size_t> by_id;  // value id -> index into values
  // Value id -> number of nodes that read it, plus one for an output of the graph.
  std::map<std::uint32_t, std::uint32_t> uses;
};

class Source;  // read/source.h

// Reads the payload of an XNNPACK delegate: a header (4 bytes of zero, "XH00", u16 length of the header, u32
// offset and u32 size of the FlatBuffer, u32 offset and u64 size of the constants; offsets from the payload's
// start), then a FlatBuffer of backends/xnnpack/serialization/schema.fbs, then constants. Older payloads have
// no header: the FlatBuffer begins at the start. (backends/xnnpack/serialization/xnnpack_graph_serialize.py.)
//
// `named_bytes` contains the sizes of the .pte's named data. Throws the Error of Source::MakeError.
XnnGraph ReadXnnGraph(Source& source, std::uint64_t offset, std::uint64_t length,
                      const std::map<std::string, Bytes>& named_bytes);

}  // namespace etprof
