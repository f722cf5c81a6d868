// A plugin for QEMU's user-mode emulators (7.1 and later, if they are dynamically linked) that counts aarch64
// instructions by kind, and reports the counts to etprof-runner (protocol/emulator_counts.h).
//
// The functions of QEMU are declared here as in QEMU's documentation ("QEMU TCG Plugins", API versions 1 and
// 2), since few distributions have the header.

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
int qemu_plugin_num_vcpus() __attribute__((weak));  // since API version 2

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

// Not atomic: only one thread of the emulated process computes while instructions are counted.
Counts totals = {};
std::deque<Counts> blocks;  // counts of each translated block

Kind ClassifyInstruction(std::uint32_t word) {
  if (isa::IsOuterProduct(word)) return kOuterProduct;
  const isa::DecodedWord decoded = isa::DecodeAarch64(word);
  switch (decoded.level) {
    case isa::CodeLevel::kSme:
    case isa::CodeLevel::kSme2:
      return kSme;
    case isa::CodeLevel::kSve:
    case isa::CodeLevel::kSve2:
      return kSve;
    case isa::CodeLevel::kNeonBf16:
      return kBf16;
    case isa::CodeLevel::kNeonI8mm:
      return kI8mm;
    case isa::CodeLevel::kNeonDotProduct:
      return kDotProduct;
    default:
      return decoded.is_vector ? kNeon : kScalar;
  }
}

void OnBlockExecuted(unsigned, void* block) {
  const Counts& counts = *static_cast<const Counts*>(block);
  for (std::size_t i = 0; i < counts.size(); ++i) totals[i] += counts[i];
}

// Answers a request for the counts. `offset` is the emulator's address minus the emulated process's address.
void OnCountsRequested(unsigned, std::uint32_t, std::uint64_t address, void* offset) {
  const protocol::EmulatorCounts answer{protocol::EmulatorCounts::kAnswer, totals};
  std::memcpy(reinterpret_cast<void*>(address + reinterpret_cast<std::uint64_t>(offset)), &answer,
              sizeof(answer));
}

void OnBlockTranslated(std::uint64_t, qemu_plugin_tb* block) {
  Counts& counts = blocks.emplace_back();
  std::size_t matched = 0;  // words of the request's code that matched so far
  for (std::size_t i = 0; i < qemu_plugin_tb_n_insns(block); ++i) {
    qemu_plugin_insn* const instruction = qemu_plugin_tb_get_insn(block, i);
    const void* const host_address = qemu_plugin_insn_haddr(instruction);
    std::uint32_t word = 0;
    if (host_address != nullptr) std::memcpy(&word, host_address, sizeof(word));
    ++counts[kAll];
    ++counts[ClassifyInstruction(word)];
    if (isa::IsStreamingModeSwitch(word)) ++counts[kModeSwitch];
    matched = word == protocol::kEmulatorRequest[matched] ? matched + 1 : 0;
    if (matched < protocol::kEmulatorRequest.size()) continue;
    matched = 0;
    const std::uint64_t offset =
        reinterpret_cast<std::uint64_t>(host_address) - qemu_plugin_insn_vaddr(instruction);
    qemu_plugin_register_vcpu_mem_cb(instruction, OnCountsRequested, kNoRegisters, kStores,
                                     reinterpret_cast<void*>(offset));
  }
  qemu_plugin_register_vcpu_tb_exec_cb(block, OnBlockExecuted, kNoRegisters, &counts);
}

// QEMU reads the version after it has loaded the plugin, and accepts only versions in its own range.
[[gnu::constructor]] void ChooseVersion() {
  if (qemu_plugin_num_vcpus != nullptr) qemu_plugin_version = 2;
}

}  // namespace

extern "C" ETPROF_EXPORT int qemu_plugin_install(std::uint64_t id, const void*, int, char**) {
  qemu_plugin_register_vcpu_tb_trans_cb(id, OnBlockTranslated);
  return 0;
}
