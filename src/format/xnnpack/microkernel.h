#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etprof::xnnpack {

// The families of microkernels, by the operation that they compute. A family is a folder of XNNPACK's
// sources, or several similar folders.
enum class Family {
  kGemm,        // matrix product: gemm, gemminc, ppmm; KleidiAI's matmul
  kIgemm,       // matrix product over an indirection buffer: (de)convolutions; KleidiAI's imatmul
  kDwconv,      // depthwise convolution: dwconv, dwconv2d_chw, vmulcaddc
  kConv,        // direct convolution: conv_hwc, conv_hwc2chw
  kSpmm,        // sparse weights times dense activations: 1x1 convolutions
  kPool,        // maxpool, avgpool, pavgpool, gavgpool, argmaxpool, unpool
  kResize,      // ibilinear
  kReduce,      // rsum, rmax, rdsum, ...
  kSoftmax,     // raddstoreexpminusmax and similar, lut32norm
  kActivation,  // vunary: vsigmoid, vgelu, vclamp, vhswish, ...; binary: vprelu
  kUnary,       // other vunary: vneg, vsqrt, vlog, ...
  kBinary,      // vbinary: vadd, vmulc, vcmul, ...
  kConvert,     // vcvt, packq
  kTranspose,   // transposec, transposev
  kMove,        // copy, fill, pad, zip, lut
  kPack,        // packw, packb, packx, pack_lh, zerob; KleidiAI's lhs and rhs packing
};
// The name of a family in files: "gemm", "igemm", "dwconv", ...
std::string_view FamilyName(Family family);
// The profiling kit's category of a family: "GEMM", "CONV", "CONV_DEPTHWISE", "REDUCTION", ...
std::string_view CategoryName(Family family);
// All names of families, and of categories, separated by '|'.
std::string_view FamilyNames();
std::string_view CategoryNames();

// A parsed microkernel name. XNNPACK's names have the form
//   xnn_<types>_<op>[_<activation>][_<requantization>]_ukernel[_<shape>]__[<variant>_]<isa>[_<variant>...]
//   xnn_qs8_qc8w_gemm_minmax_fp32_ukernel_4x16c4__asm_aarch64_neondot_cortex_a55
// KleidiAI's names (its README, "Micro-kernel naming"):
//   kai_<op>_<data types>[_<tile>]_<isa>[_<instruction>...]
//   kai_matmul_clamp_f32_f32p2vlx1_f32p2vlx1b_2vlx2vl_sme2_mopa
struct Microkernel {
  std::string name;
  Family family = Family::kGemm;
  std::vector<std::string> data_types;
  std::string op;
  std::string activation;      // "minmax", "relu"; empty: no activation
  std::string requantization;  // "fp32", "rndnu"; empty: no requantization
  // The elements that a call computes: "4x16c4" (rows x columns c k-blocking s shuffle), "9p16c" (taps p,
  // channels c), "3x3s2p1_2x4", "2x4", "c8". Empty: the name has no shape (elementwise: `elements`).
  std::string shape;
  // The tile of gemm and igemm (spmm: rows and columns). Absent: not in the name.
  std::optional<int> mr, nr, kr, sr;
  bool scalable = false;
  std::optional<int> elements;
  std::vector<std::string> isa;
  bool assembly = false;
  std::string variant;  // "broadcast", "dup_ld64", "cortex_a55", "rr2_p5"; empty: no variant
  std::optional<int> accumulators;

  std::string DataTypes() const;  // "qs8_qc8w"
  std::string Isa() const;        // "aarch64_neonfma"
  std::string Shape() const;      // `shape`, otherwise the elements ("u32", "u8v"), otherwise empty
  bool HasSme() const;            // uses SME or SME2 instructions
  bool HasSme2() const;

  static constexpr const char* kSchemaName = "parts";
  static void Describe(auto& v) {
    using M = Microkernel;
    v("family", [](const M& kernel) { return FamilyName(kernel.family); },
      {.meaning = "what it does", .choices = FamilyNames()});
    v("category", [](const M& kernel) { return CategoryName(kernel.family); },
      {.meaning = "the SME2 profiling kit's name for that", .choices = CategoryNames()});
    v("operation", &M::op, {.meaning = "\"gemm\", \"dwconv2d_chw\", \"vaddc\"; KleidiAI's \"matmul_clamp\""});
    v("data_types", &M::data_types,
      {.meaning = "\"qs8\", \"qc8w\"; KleidiAI's with their packing: \"f32p2vlx1b\""});
    v("activation", &M::activation, {.meaning = "\"minmax\", \"relu\"; null: none", .or_null = true});
    v("requantization", &M::requantization, {.meaning = "\"fp32\", \"rndnu\"; null: none", .or_null = true});
    v("shape", &M::shape,
      {.meaning = "what a call computes, \"4x16c4\": rows x columns c k-blocking; \"9p16c\": taps p, "
                  "channels c; null: the name has none",
       .or_null = true});
    v("mr", &M::mr, {.meaning = "rows of the tile"});
    v("nr", &M::nr, {.meaning = "columns of the tile"});
    v("kr", &M::kr, {.meaning = "of the tile: how many k lie together in packed weights"});
    v("sr", &M::sr, {.meaning = "of the tile: the shuffle of k"});
    v("scalable", &M::scalable,
      {.meaning = "columns or elements are multiples of the vector's length (\"4v\", \"u8v\")"});
    v("elements", &M::elements, {.meaning = "\"u32\": handled at once"});
    v("instruction_set", &M::isa, {.meaning = "\"aarch64\", \"neonfma\"; empty: plain C of KleidiAI"});
    v("assembly", &M::assembly, {.meaning = "it is written in assembly"});
    v("variant", &M::variant,
      {.meaning = "\"broadcast\", \"dup_ld64\", \"cortex_a55\", \"rr2_p5\"; null: none", .or_null = true});
    v("accumulators", &M::accumulators, {.meaning = "\"acc2\""});
    v("sme", &M::HasSme, {.meaning = "SME or SME2 instructions"});
    v("sme2", &M::HasSme2, {.meaning = "SME2 instructions"});
  }
};

// Absent if `name` is not a microkernel's name, or of an unknown family.
std::optional<Microkernel> ParseMicrokernel(std::string_view name);

}  // namespace etprof::xnnpack
