#include "format/program/data_type.h"

#include <fmt/format.h>

#include "scalar_type_generated.h"
#include "schema_generated.h"

namespace etprof {
namespace {

template <typename Code>
struct TypeRow {
  Code code;
  const char* name;
  int bits;
};

using S = executorch_flatbuffer::ScalarType;
constexpr TypeRow<S> kScalarTypes[] = {{S::BYTE, "uint8", 8},
                                       {S::CHAR, "int8", 8},
                                       {S::SHORT, "int16", 16},
                                       {S::INT, "int32", 32},
                                       {S::LONG, "int64", 64},
                                       {S::HALF, "float16", 16},
                                       {S::FLOAT, "float32", 32},
                                       {S::DOUBLE, "float64", 64},
                                       {S::BOOL, "bool", 8},
                                       {S::QINT8, "qint8", 8},
                                       {S::QUINT8, "quint8", 8},
                                       {S::QINT32, "qint32", 32},
                                       {S::BFLOAT16, "bfloat16", 16},
                                       {S::QUINT4X2, "quint4x2", 8},
                                       {S::QUINT2X4, "quint2x4", 8},
                                       {S::BITS16, "bits16", 16},
                                       {S::FLOAT8E5M2, "float8_e5m2", 8},
                                       {S::FLOAT8E4M3FN, "float8_e4m3fn", 8},
                                       {S::FLOAT8E5M2FNUZ, "float8_e5m2fnuz", 8},
                                       {S::FLOAT8E4M3FNUZ, "float8_e4m3fnuz", 8},
                                       {S::UINT16, "uint16", 16},
                                       {S::UINT32, "uint32", 32},
                                       {S::UINT64, "uint64", 64}};

using X = fb_xnnpack::XNNDatatype;
constexpr TypeRow<X> kXnnTypes[] = {
    {X::xnn_datatype_fp32, "fp32", 32},       {X::xnn_datatype_fp16, "fp16", 16},
    {X::xnn_datatype_qint8, "qint8", 8},      {X::xnn_datatype_quint8, "quint8", 8},
    {X::xnn_datatype_qint32, "qint32", 32},   {X::xnn_datatype_qcint8, "qcint8", 8},
    {X::xnn_datatype_qcint32, "qcint32", 32}, {X::xnn_datatype_qcint4, "qcint4", 4},
    {X::xnn_datatype_qdint8, "qdint8", 8},    {X::xnn_datatype_qbint4, "qbint4", 4},
    {X::xnn_datatype_qpint8, "qpint8", 8},    {X::xnn_datatype_int32, "int32", 32},
    {X::xnn_datatype_pfp32, "pfp32", 32},     {X::xnn_datatype_bf16, "bf16", 16}};

template <typename Table>
DataType FindType(const Table& table, int code) {
  for (const auto& row : table) {
    if (static_cast<int>(row.code) == code) return {row.name, row.bits};
  }
  return {fmt::format("type {}", code), std::nullopt};
}

}  // namespace

DataType ScalarTypeFromCode(int code) { return FindType(kScalarTypes, code); }
DataType XnnDataTypeFromCode(int code) { return FindType(kXnnTypes, code); }

std::optional<std::int64_t> CheckedProduct(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  std::int64_t result = 0;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &result)) return std::nullopt;
  return result;
}

std::optional<std::int64_t> CheckedSum(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  std::int64_t result = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &result)) return std::nullopt;
  return result;
}

std::optional<std::int64_t> ElementCount(const std::vector<std::int64_t>& sizes) {
  std::optional<std::int64_t> count = 1;
  bool is_empty = false;
  for (const std::int64_t size : sizes) {
    if (size < 0) return std::nullopt;
    if (size == 0) is_empty = true;  // such a tensor has no elements, whatever the other sizes are
    count = CheckedProduct(count, size == 0 ? 1 : size);
  }
  return is_empty ? 0 : count;
}

std::optional<std::int64_t> Dim(const std::vector<std::int64_t>& sizes, std::size_t index) {
  return index < sizes.size() ? std::optional(sizes[index]) : std::nullopt;
}

std::optional<Bytes> SizeInBytes(const DataType& type, const std::vector<std::int64_t>& sizes) {
  const std::optional<std::int64_t> count = ElementCount(sizes);
  if (!type.bits || !count) return std::nullopt;
  if (*type.bits < 8) return *count / (8 / *type.bits) + (*count % (8 / *type.bits) == 0 ? 0 : 1);
  return CheckedProduct(count, *type.bits / 8);
}

}  // namespace etprof
