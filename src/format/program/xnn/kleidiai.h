#pragma once

#include <optional>
#include <string>

#include "format/program/program.h"

namespace etprof {

// The microkernels that XNNPACK uses for a matrix product on an Arm CPU with SME2. XNNPACK does not document
// this: it was measured with the pinned ExecuTorch (tests/devices/test_kleidiai.py compares it with operators
// that run in an emulator).
struct KleidiaiUsage {
  enum class Kernels {
    kSme,       // KleidiAI kernels for SME and SME2: the operator's name has PF32, PF16, PQS8 or QP8
    kKleidiai,  // KleidiAI kernels that other Arm CPUs also support
    kXnnpack,   // XNNPACK's own kernels, with or without SME2
    kPortable,  // a portable kernel: the operator is not delegated
    kUnknown,
  } kernels = Kernels::kUnknown;
  std::string reason;  // the reason why kSme does not apply: one clause; empty for kSme
  std::string change;  // a change of the export with which kSme applies: one clause; "": unknown
  bool operator==(const KleidiaiUsage&) const = default;

  static constexpr const char* kSchemaName = "with_sme2";
  static void Describe(auto& v) {
    v("kernels", &KleidiaiUsage::kernels,
      {.meaning = "`sme`: KleidiAI's for SME and SME2; `kleidiai`: KleidiAI's that other Arm CPUs have, too; "
                  "`xnnpack`: its own; `portable`: none"});
    v("why", &KleidiaiUsage::reason, {.meaning = "of all but `sme`: why not those", .or_null = true});
    v("change", &KleidiaiUsage::change,
      {.meaning = "of the export, so that they run; null: none is known", .or_null = true});
  }
};
template <>
inline constexpr const char* kNames<KleidiaiUsage::Kernels>[] = {"sme", "kleidiai", "xnnpack", "portable",
                                                                 "unknown"};

// Absent for a node that does not multiply matrices. Convolutions of every kind, fully connected layers, and
// batch matrix multiplications do.
std::optional<KleidiaiUsage> FindKleidiaiUsage(const XnnNode& node, const XnnGraph& graph);

// The microkernels for a portable kernel that multiplies matrices; absent for other kernels.
std::optional<KleidiaiUsage> FindKleidiaiUsage(const Instruction& kernel, const Method& method);

}  // namespace etprof
