#include "format/xnnpack/microkernel.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/text/text.h"
#include "format/xnnpack/operator_name.h"

namespace etprof::xnnpack {
namespace {

using NameParts = std::vector<std::string_view>;

NameParts SplitName(std::string_view text) {
  NameParts words = SplitAt(text, '_');
  std::erase(words, "");
  return words;
}

std::string Join(const auto& words) { return fmt::format("{}", fmt::join(words, "_")); }

// Removes a number from the front. Absent, and nothing is removed, if the text does not begin with a number,
// or if the number is too large for a microkernel.
std::optional<int> ConsumeLeadingNumber(std::string_view& text) {
  std::string_view rest = text;
  const auto number = ConsumeNumber<int>(rest);
  if (!number || text.front() == '-' || *number > 1'000'000) return std::nullopt;
  text = rest;
  return number;
}

// Parses a number after `letters`, such as "u32". An optional "v" after it means a multiple of the vector
// length.
std::optional<int> ParseCounted(std::string_view word, std::string_view letters, bool* scalable = nullptr) {
  if (!word.starts_with(letters)) return std::nullopt;
  word.remove_prefix(letters.size());
  const std::optional<int> number = ConsumeLeadingNumber(word);
  if (!number || (!word.empty() && (word != "v" || scalable == nullptr))) return std::nullopt;
  if (scalable != nullptr && word == "v") *scalable = true;
  return number;
}

// Returns whether the word is a tile: "2x4", or "2x".
bool IsTile(std::string_view word) {
  if (!ConsumeLeadingNumber(word) || !word.starts_with('x')) return false;
  word.remove_prefix(1);
  return word.empty() || (ConsumeLeadingNumber(word) && word.empty());
}

// Returns whether the word names an instruction set of XNNPACK's microkernels.
bool IsIsa(std::string_view word) {
  constexpr std::array<std::string_view, 12> kIsaNames = {"scalar", "aarch32", "aarch64", "armsimd32",
                                                          "vfp",    "f16c",    "fma3",    "fp16arith",
                                                          "hvx",    "hexagon", "lsx",     "lasx"};
  if (std::ranges::find(kIsaNames, word) != kIsaNames.end()) return true;
  constexpr std::array<std::string_view, 10> kIsaPrefixes = {"avx", "sse",  "ssse", "neon", "sve",
                                                             "sme", "wasm", "rvv",  "amx",  "vsx"};
  return std::ranges::any_of(kIsaPrefixes, [&](std::string_view prefix) { return word.starts_with(prefix); });
}

struct FamilyRow {
  Family family;
  std::string_view name, category;
  std::string_view ops;  // separated by blanks
};
constexpr std::array<FamilyRow, 16> kFamilies = {{
    {Family::kGemm, "gemm", "GEMM", "gemm gemminc gemm_goi ppmm matmul_clamp matmul"},
    {Family::kIgemm, "igemm", "CONV", "igemm imatmul_clamp imatmul"},
    {Family::kDwconv, "dwconv", "CONV_DEPTHWISE", "dwconv dwconv2d_chw vmulcaddc dwconv_clamp"},
    {Family::kConv, "conv", "CONV_STANDARD", "conv_hwc conv_hwc2chw"},
    {Family::kSpmm, "spmm", "CONV_POINTWISE", "spmm"},
    {Family::kPool, "pool", "POOL", "maxpool avgpool pavgpool gavgpool gavgpool_cw argmaxpool unpool"},
    {Family::kResize, "resize", "RESIZE", "ibilinear ibilinear_chw"},
    {Family::kReduce, "reduce", "REDUCTION",
     "rsum rsum2 rmax rmin rminmax rdsum rdsum2 rdmax rdmin rdminmax rmean rsqsum"},
    {Family::kSoftmax, "softmax", "ACTIVATION",
     "raddstoreexpminusmax raddexpminusmax raddextexp vscaleexpminusmax vscaleextexp lut32norm"},
    {Family::kActivation, "activation", "ACTIVATION",
     "vclamp velu vgelu vapproxgelu vhswish vlrelu vrelu vsigmoid vtanh vprelu vpreluc vrpreluc prelu"},
    {Family::kUnary, "unary", "ELEMENTWISE",
     "vabs vneg vsqr vsqrt vrsqrt vrndd vrndne vrndu vrndz vexp vlog vcos vsin vsign verf vnot vcbrt vcube "
     "vpopcnt vclz"},
    {Family::kBinary, "binary", "ELEMENTWISE",
     "vadd vaddc vsub vsubc vrsubc vmul vmulc vdiv vdivc vrdivc vmax vmaxc vmin vminc vsqrdiff vsqrdiffc "
     "vcopysign vcopysignc vrcopysignc vcmul vmod vmodc vrmodc vpow vpowc vrpowc vatan2 vatan2c vratan2c "
     "vand vandc vor vorc vxor vxorc vshl vshlc vrshlc vsrl vsrlc vsra vsrac"},
    {Family::kConvert, "convert", "QUANT", "vcvt packq"},
    {Family::kTranspose, "transpose", "DATA_MOVEMENT", "transposec transposev"},
    {Family::kMove, "move", "DATA_MOVEMENT", "copy fill pad zip_x2 zip_x3 zip_x4 zip_xm lut"},
    {Family::kPack, "pack", "DATA_MOVEMENT",
     "packw_gemm_goi packw_gemm_gio packw_gemm_goi_bl packb_gemm packx pack_lh zerob_gemm pack"},
}};

const FamilyRow& GetFamilyRow(Family family) {
  return *std::ranges::find_if(kFamilies, [&](const FamilyRow& row) { return row.family == family; });
}

// The distinct values of a column, in the order of the rows, separated by '|'.
std::string JoinDistinct(std::string_view FamilyRow::*column) {
  std::vector<std::string_view> names;
  for (const FamilyRow& row : kFamilies) {
    if (std::ranges::find(names, row.*column) == names.end()) names.push_back(row.*column);
  }
  return fmt::format("{}", fmt::join(names, "|"));
}

std::optional<Family> FindFamily(std::string_view op) {
  if (op.empty()) return std::nullopt;
  for (const FamilyRow& row : kFamilies) {
    const std::vector<std::string_view> ops = SplitAt(row.ops, ' ');
    if (std::ranges::find(ops, op) != ops.end()) return row.family;
  }
  // Unknown kernels of the two largest families: elementwise kernels begin with v, reductions with r.
  const auto op_contains = [&](std::string_view part) { return op.find(part) != std::string_view::npos; };
  if (op.size() > 2 && op.front() == 'v') return Family::kUnary;
  if (op.front() == 'r' &&
      (op_contains("sum") || op_contains("max") || op_contains("min") || op_contains("mean")))
    return Family::kReduce;
  return std::nullopt;
}

void AddPart(std::string& shape, std::string_view part) {
  if (!shape.empty()) shape += '_';
  shape += part;
}

// Parses the shape of a matrix product: "4x16c4s2", "7x4v", "16x2".
void ParseMatrixShape(std::string_view shape, Microkernel& kernel) {
  kernel.mr = ConsumeLeadingNumber(shape);
  if (shape.starts_with('v')) {
    kernel.scalable = true;
    shape.remove_prefix(1);
  }
  if (!shape.starts_with('x')) return;
  shape.remove_prefix(1);
  kernel.nr = ConsumeLeadingNumber(shape);
  if (shape.starts_with('v')) {
    kernel.scalable = true;
    shape.remove_prefix(1);
  }
  for (const auto& [letter, value] : {std::pair{'c', &kernel.kr}, std::pair{'s', &kernel.sr}}) {
    if (!shape.starts_with(letter)) continue;
    shape.remove_prefix(1);
    *value = ConsumeLeadingNumber(shape);
  }
}

// Parses the words after "__" (for KleidiAI, after the data types): tile, instruction set, variant.
void ParseSuffix(const NameParts& words, Microkernel& kernel) {
  // "p8" means 8 pixels only in ibilinear_chw; in other kernels it is the degree of a polynomial.
  const bool has_pixels = kernel.op == "ibilinear_chw";
  NameParts variant;
  std::size_t i = 0;
  for (; i < words.size() && !IsIsa(words[i]); ++i) {
    if (words[i] == "asm") {
      kernel.assembly = true;
    } else if (IsTile(words[i])) {
      AddPart(kernel.shape, words[i]);
    } else {
      variant.push_back(words[i]);
    }
  }
  for (; i < words.size() && IsIsa(words[i]); ++i) kernel.isa.emplace_back(words[i]);
  for (; i < words.size(); ++i) {
    bool channels_scalable = false;
    if (const auto elements = ParseCounted(words[i], "u", &kernel.scalable)) {
      kernel.elements = elements;
    } else if (const auto accumulators = ParseCounted(words[i], "acc")) {
      kernel.accumulators = accumulators;
    } else if (IsTile(words[i]) || ParseCounted(words[i], "c", &channels_scalable) ||
               (has_pixels && ParseCounted(words[i], "p"))) {
      AddPart(kernel.shape, words[i]);
      kernel.scalable = kernel.scalable || channels_scalable;
    } else {
      variant.push_back(words[i]);
    }
  }
  kernel.variant = Join(variant);
}

std::optional<Microkernel> ParseXnnpack(std::string_view name) {
  constexpr std::string_view kPrefix = "xnn_", kUkernel = "_ukernel";
  const std::size_t middle = name.find(kUkernel);
  if (!name.starts_with(kPrefix) || middle == std::string_view::npos || middle < kPrefix.size())
    return std::nullopt;
  Microkernel kernel;
  kernel.name = name;
  NameParts words = SplitName(name.substr(kPrefix.size(), middle - kPrefix.size()));
  std::size_t i = 0;
  // "qs8_to_qu8_packw" is a packing that converts.
  for (; i < words.size() && (IsDataType(words[i]) || (i > 0 && words[i] == "to")); ++i)
    if (words[i] != "to") kernel.data_types.emplace_back(words[i]);
  NameParts op;
  for (; i < words.size(); ++i) {
    if (words[i] == "minmax" || words[i] == "relu" || words[i] == "linear") {
      kernel.activation = words[i];
    } else if (!kernel.activation.empty()) {
      AddPart(kernel.requantization, words[i]);
    } else if (words[i] == "f32qp8") {  // xnn_x8_packq_f32qp8_ukernel: from f32 to qp8
      kernel.data_types = {"f32", "qp8"};
    } else {
      op.push_back(words[i]);
    }
  }
  kernel.op = Join(op);
  const auto family = FindFamily(kernel.op);
  if (!family || kernel.data_types.empty()) return std::nullopt;
  kernel.family = *family;

  std::string_view rest = name.substr(middle + kUkernel.size());
  const std::size_t tail = rest.find("__");
  if (tail == std::string_view::npos) return std::nullopt;
  if (tail > 0) kernel.shape = rest.substr(1, tail - 1);
  if (rest.front() != '_') return std::nullopt;
  if (*family == Family::kGemm || *family == Family::kIgemm || *family == Family::kSpmm)
    ParseMatrixShape(kernel.shape, kernel);
  ParseSuffix(SplitName(rest.substr(tail + 2)), kernel);
  if (kernel.isa.empty()) return std::nullopt;
  return kernel;
}

// Returns whether the word is a KleidiAI data type: letters, bits, packing ("f32p2vlx1b", "qai8dxp1x8",
// "qsi4c32p4x8", "x16").
bool IsKleidiaiType(std::string_view word) {
  const std::size_t letters = static_cast<std::size_t>(
      std::ranges::find_if(word, [](char c) { return c >= '0' && c <= '9'; }) - word.begin());
  if (letters == 0 || letters == word.size()) return false;
  const std::string_view kind = word.substr(0, letters);
  return kind == "f" || kind == "bf" || kind == "x" || kind == "i" || kind == "u" || kind == "s" ||
         kind.starts_with('q');
}

// Returns whether the word is a KleidiAI tile: "2vlx2vl", "1x16vl", "4x8x32".
bool IsKleidiaiTile(std::string_view word) {
  for (int parts = 0; parts < 4; ++parts) {
    if (!ConsumeLeadingNumber(word)) return false;
    if (word.starts_with("vl")) word.remove_prefix(2);
    if (word.empty()) return parts > 0;
    if (!word.starts_with('x')) return false;
    word.remove_prefix(1);
  }
  return false;
}

std::optional<Microkernel> ParseKleidiai(std::string_view name) {
  constexpr std::string_view kPrefix = "kai_";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  Microkernel kernel;
  kernel.name = name;
  const NameParts words = SplitName(name.substr(kPrefix.size()));
  const auto is_operation = [](std::string_view word) {
    return word == "matmul" || word == "imatmul" || word == "lhs" || word == "rhs" || word == "dwconv";
  };
  // The words before the operation name a function of the kernel: run, kernel, get_mr, ...
  std::size_t i = 0;
  while (i < words.size() && !is_operation(words[i])) ++i;
  // "get_rhs_packed_offset_matmul_clamp_..." is a function of the matmul.
  for (std::size_t later = i + 1; i > 0 && words[0] == "get" && later < words.size(); ++later) {
    if (IsKleidiaiType(words[later])) break;
    if (is_operation(words[later]) && words[later - 1] != "lhs" && words[later - 1] != "rhs") i = later;
  }
  if (i == words.size()) return std::nullopt;
  NameParts op;
  for (; i < words.size() && !IsKleidiaiType(words[i]) && !IsIsa(words[i]); ++i) op.push_back(words[i]);
  kernel.op = Join(op);
  const bool is_packing = std::ranges::find(op, "pack") != op.end();
  const auto family = is_packing ? Family::kPack : FindFamily(kernel.op);
  if (!family) return std::nullopt;
  kernel.family = *family;
  for (; i < words.size() && IsKleidiaiType(words[i]); ++i) kernel.data_types.emplace_back(words[i]);
  if (kernel.data_types.empty()) return std::nullopt;
  if (i < words.size() && IsKleidiaiTile(words[i])) {
    kernel.shape = words[i++];
    kernel.scalable = kernel.shape.find("vl") != std::string::npos;
  }
  NameParts variant;
  for (; i < words.size(); ++i) {
    if (words[i] == "asm") {
      kernel.assembly = true;
    } else if (IsIsa(words[i]) || words[i] == "dotprod" || words[i] == "i8mm") {
      kernel.isa.emplace_back(words[i]);
    } else {
      variant.push_back(words[i]);
    }
  }
  kernel.variant = Join(variant);
  if (kernel.isa.empty() && !is_packing) return std::nullopt;
  return kernel;
}

bool AnyContains(const std::vector<std::string>& isa, std::string_view part) {
  return std::ranges::any_of(isa,
                             [&](const std::string& word) { return word.find(part) != std::string::npos; });
}

}  // namespace

std::string_view FamilyName(Family family) { return GetFamilyRow(family).name; }
std::string_view CategoryName(Family family) { return GetFamilyRow(family).category; }

std::string_view FamilyNames() {
  static const std::string names = JoinDistinct(&FamilyRow::name);
  return names;
}

std::string_view CategoryNames() {
  static const std::string names = JoinDistinct(&FamilyRow::category);
  return names;
}

std::string Microkernel::DataTypes() const { return Join(data_types); }
std::string Microkernel::Isa() const { return Join(isa); }
std::string Microkernel::Shape() const {
  if (!shape.empty() || !elements) return shape;
  return "u" + std::to_string(*elements) + (scalable ? "v" : "");
}
bool Microkernel::HasSme() const { return AnyContains(isa, "sme"); }
bool Microkernel::HasSme2() const { return AnyContains(isa, "sme2"); }

std::optional<Microkernel> ParseMicrokernel(std::string_view name) {
  if (auto kernel = ParseXnnpack(name)) return kernel;
  return ParseKleidiai(name);
}

}  // namespace etprof::xnnpack
