// A plugin of QEMU's user-mode emulators (7.1 and later, where they are dynamically linked) that counts the
// instructions of aarch64 by kind, and tells the counts to etprof-runner (protocol/emulator_counts.h).
//
// What it uses of QEMU is declared here, as QEMU's documentation has it ("QEMU TCG Plugins", API versions 1
// and 2): few distributions have the header.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>

#include "isa/decoded.h"
#include "protocol/emulator_counts.h"

#define ETPROF_EXPORT __attribute__((visibility("default")))

extern "C" {
struct qemu_plugin_tb;
struct qemu_plugin_insn;
void qemu_plugin_register_vcpu_tb_trans_cb(std::uint64_t id, void (*call)(std::uint64_t id, qemu_plugin_tb*));
void qemu_plugin_register_vcpu_tb_exec_cb(qemu_plugin_tb*, void (*call)(unsigned processor, void* data),
                                          int flags, void* data);
void qemu_plugin_register_vcpu_mem_cb(qemu_plugin_insn*,
                                      void (*call)(unsigned processor, std::uint32_t access,
                                                   std::uint64_t address, void* data),
                                      int flags, int access, void* data);
std::size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb*);
qemu_plugin_insn* qemu_plugin_tb_get_insn(const qemu_plugin_tb*, std::size_t index);
std::uint64_t qemu_plugin_insn_vaddr(const qemu_plugin_insn*);
void* qemu_plugin_insn_haddr(const qemu_plugin_insn*);
int qemu_plugin_num_vcpus() __attribute__((weak));  // since version 2 of the API

ETPROF_EXPORT int qemu_plugin_version = 1;
}

namespace {

using namespace etprof;

constexpr int kNoRegisters = 0;  // QEMU_PLUGIN_CB_NO_REGS
constexpr int kStores = 2;       // QEMU_PLUGIN_MEM_W

using Counts = std::array<std::uint64_t, protocol::kEmulatorCounters.size()>;

// Indices into protocol::kEmulatorCounters.
enum Kind : std::size_t {
  kAll,
  kScalar,
  kNeon,
  kDotProduct,
  kI8mm,
  kBf16,
  kSve,
  kSme,
  kOuterProduct,
  kModeSwitch
};
static_assert(kModeSwitch + 1 == protocol::kEmulatorCounters.size());

// Only one thread of the emulated process computes while it is counted.
Counts totals = {};
std::deque<Counts> blocks;  // of each translated block

Kind KindOf(std::uint32_t word) {
  if (isa::IsOuterProduct(word)) return kOuterProduct;
  const isa::Decoded decoded = isa::DecodeAarch64(word);
  const auto has = [&](const char* feature) {
    return std::ranges::find(decoded.features, feature) != decoded.features.end();
  };
  if (has("sme") || has("sme2")) return kSme;
  if (has("sve") || has("sve2")) return kSve;
  if (has("bf16")) return kBf16;
  if (has("i8mm")) return kI8mm;
  if (has("dotprod")) return kDotProduct;
  return decoded.vector ? kNeon : kScalar;
}

void Executed(unsigned, void* block) {
  const Counts& counts = *static_cast<const Counts*>(block);
  for (std::size_t i = 0; i < counts.size(); ++i) totals[i] += counts[i];
}

// `offset`: from the emulated process' addresses to the emulator's.
void Requested(unsigned, std::uint32_t, std::uint64_t address, void* offset) {
  const protocol::EmulatorCounts answer{protocol::EmulatorCounts::kAnswered, totals};
  std::memcpy(reinterpret_cast<void*>(address + reinterpret_cast<std::uint64_t>(offset)), &answer,
              sizeof(answer));
}

void Translated(std::uint64_t, qemu_plugin_tb* block) {
  Counts& counts = blocks.emplace_back();
  std::size_t matched = 0;  // of the request's words
  for (std::size_t i = 0; i < qemu_plugin_tb_n_insns(block); ++i) {
    qemu_plugin_insn* const instruction = qemu_plugin_tb_get_insn(block, i);
    const void* const at = qemu_plugin_insn_haddr(instruction);
    std::uint32_t word = 0;
    if (at != nullptr) std::memcpy(&word, at, sizeof(word));
    ++counts[kAll];
    ++counts[KindOf(word)];
    if (isa::IsStreamingModeSwitch(word)) ++counts[kModeSwitch];
    matched = word == protocol::kEmulatorRequest[matched] ? matched + 1 : 0;
    if (matched < protocol::kEmulatorRequest.size()) continue;
    matched = 0;
    const std::uint64_t offset = reinterpret_cast<std::uint64_t>(at) - qemu_plugin_insn_vaddr(instruction);
    qemu_plugin_register_vcpu_mem_cb(instruction, Requested, kNoRegisters, kStores,
                                     reinterpret_cast<void*>(offset));
  }
  qemu_plugin_register_vcpu_tb_exec_cb(block, Executed, kNoRegisters, &counts);
}

// QEMU reads the version when it has loaded the plugin, and takes one of its own range only.
[[gnu::constructor]] void ChooseVersion() {
  if (qemu_plugin_num_vcpus != nullptr) qemu_plugin_version = 2;
}

}  // namespace

extern "C" ETPROF_EXPORT int qemu_plugin_install(std::uint64_t id, const void*, int, char**) {
  qemu_plugin_register_vcpu_tb_trans_cb(id, Translated);
  return 0;
}
