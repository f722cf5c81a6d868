#pragma once

#include <optional>
#include <string>

#include "program/program.h"

namespace etprof {

// Which microkernels XNNPACK has for an operation that multiplies matrices, on an Arm CPU with SME2. Not
// documented by XNNPACK: measured with the ExecuTorch that is pinned (tests/devices/test_kleidiai.py holds it
// against operators that run under an emulator).
struct KleidiaiUse {
  enum class Kernels {
    kSme,       // KleidiAI's for SME and SME2. The operator's name has PF32, PF16, or PQS8; QP8, which is
                // dynamically quantized, is its name on CPUs without SME, too
    kKleidiai,  // KleidiAI's that other Arm CPUs have, too
    kOwn,       // XNNPACK's own, with SME2 as without
    kPortable,  // none: it is not delegated
    kUnknown,
  } kernels = Kernels::kUnknown;
  std::string why;     // of all but kSme: one clause
  std::string change;  // at export, so that kSme's run: one clause; "": none is known
  bool operator==(const KleidiaiUse&) const = default;

  static constexpr const char* kSchemaName = "with_sme2";
  static void Describe(auto& v) {
    v("kernels", &KleidiaiUse::kernels,
      {.meaning = "`sme`: KleidiAI's for SME and SME2; `kleidiai`: KleidiAI's that other Arm CPUs have, too; "
                  "`xnnpack`: its own; `portable`: none"});
    v("why", &KleidiaiUse::why, {.meaning = "of all but `sme`: why not those", .or_null = true});
    v("change", &KleidiaiUse::change,
      {.meaning = "of the export, so that they run; null: none is known", .or_null = true});
  }
};
template <>
inline constexpr NamedValue<KleidiaiUse::Kernels> kNames<KleidiaiUse::Kernels>[] = {
    {KleidiaiUse::Kernels::kSme, "sme"},
    {KleidiaiUse::Kernels::kKleidiai, "kleidiai"},
    {KleidiaiUse::Kernels::kOwn, "xnnpack"},
    {KleidiaiUse::Kernels::kPortable, "portable"},
    {KleidiaiUse::Kernels::kUnknown, "unknown"}};

// Absent for a node that multiplies no matrices: convolutions of every kind, fully connected, batch matrix
// multiplication do.
std::optional<KleidiaiUse> KleidiaiOf(const XnnNode& node, const XnnGraph& graph);

// Of a portable kernel likewise.
std::optional<KleidiaiUse> KleidiaiOf(const Instruction& kernel, const Method& method);

}  // namespace etprof
