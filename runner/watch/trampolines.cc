#include "watch/trampolines.h"

#include <algorithm>
#include <atomic>

namespace etprof::runner {
namespace {

void* functions[kMaxTrampolines];
struct alignas(128) ThreadCalls {
  std::uint32_t calls[kMaxTrampolines];
  std::uint32_t last;
};
ThreadCalls thread_calls[kMaxThreads];

std::atomic<std::size_t> threads_seen{0};
// Without a constructor, since a trampoline may be the first code of this program that a thread runs.
thread_local std::size_t own_thread_number = 0;  // index + 1; 0: not assigned yet

}  // namespace

void SetTrampoline(std::size_t index, void* function) { functions[index] = function; }
std::uint32_t* CallCounts(std::size_t thread) { return thread_calls[thread].calls; }
std::uint32_t& LastCalledTrampoline(std::size_t thread) { return thread_calls[thread].last; }

std::size_t ThreadIndex() {
  if (own_thread_number == 0) own_thread_number = threads_seen.fetch_add(1) + 1;
  return std::min(own_thread_number - 1, kMaxThreads - 1);
}
std::size_t CountedThreads() { return threads_seen.load(); }

}  // namespace etprof::runner

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

static_assert(etprof::runner::kMaxTrampolines == 512, "the assembly below has as many");

// Counts the call, and returns the function to jump to.
extern "C" __attribute__((visibility("hidden"), used)) void* etprof_watch_count(std::uint32_t index) {
  using namespace etprof::runner;
  const std::size_t thread = ThreadIndex();
  ++CallCounts(thread)[index];
  LastCalledTrampoline(thread) = index;
  return functions[index];
}
extern "C" __attribute__((visibility("hidden"))) char etprof_watch_trampolines[];

#if defined(__x86_64__)
// System V ABI, AMD64 supplement, 3.2: arguments are in rdi, rsi, rdx, rcx, r8, r9, and xmm0-7; al has the
// number of vector registers of a variadic call, r10 the static chain; r11 is free. At a function's entry the
// stack pointer is 8 below a multiple of 16.
asm(R"(
  .text
  .balign 16
  .hidden etprof_watch_trampolines
  .globl etprof_watch_trampolines
etprof_watch_trampolines:
  .set etprof_watch_index, 0
  .rept 512
  .balign 16
  endbr64
  movl $etprof_watch_index, %r11d
  jmp etprof_watch_common
  .set etprof_watch_index, etprof_watch_index + 1
  .endr
  .balign 16
etprof_watch_common:
  .cfi_startproc
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  pushq %rax
  pushq %r10
  subq $128, %rsp
  movups %xmm0, 0(%rsp)
  movups %xmm1, 16(%rsp)
  movups %xmm2, 32(%rsp)
  movups %xmm3, 48(%rsp)
  movups %xmm4, 64(%rsp)
  movups %xmm5, 80(%rsp)
  movups %xmm6, 96(%rsp)
  movups %xmm7, 112(%rsp)
  movl %r11d, %edi
  call etprof_watch_count
  movq %rax, %r11
  movups 0(%rsp), %xmm0
  movups 16(%rsp), %xmm1
  movups 32(%rsp), %xmm2
  movups 48(%rsp), %xmm3
  movups 64(%rsp), %xmm4
  movups 80(%rsp), %xmm5
  movups 96(%rsp), %xmm6
  movups 112(%rsp), %xmm7
  addq $128, %rsp
  popq %r10
  popq %rax
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
  popq %rbp
  .cfi_def_cfa %rsp, 8
  jmp *%r11
  .cfi_endproc
)");
#else
// AAPCS64, 6.1 and 6.4: arguments are in x0-x7, v0-v7, and x8 (address of a result); x16 and x17 are free for
// code between a call and its function. hint #34 is `bti c`, a valid target of indirect calls.
asm(R"(
  .text
  .balign 16
  .hidden etprof_watch_trampolines
  .globl etprof_watch_trampolines
etprof_watch_trampolines:
  .set etprof_watch_index, 0
  .rept 512
  .balign 16
  hint #34
  mov w16, #etprof_watch_index
  b etprof_watch_common
  .set etprof_watch_index, etprof_watch_index + 1
  .endr
  .balign 16
etprof_watch_common:
  .cfi_startproc
  stp x29, x30, [sp, #-224]!
  .cfi_def_cfa_offset 224
  .cfi_offset 29, -224
  .cfi_offset 30, -216
  mov x29, sp
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  str x8, [sp, #80]
  stp q0, q1, [sp, #96]
  stp q2, q3, [sp, #128]
  stp q4, q5, [sp, #160]
  stp q6, q7, [sp, #192]
  mov w0, w16
  bl etprof_watch_count
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldp x2, x3, [sp, #32]
  ldp x4, x5, [sp, #48]
  ldp x6, x7, [sp, #64]
  ldr x8, [sp, #80]
  ldp q0, q1, [sp, #96]
  ldp q2, q3, [sp, #128]
  ldp q4, q5, [sp, #160]
  ldp q6, q7, [sp, #192]
  ldp x29, x30, [sp], #224
  .cfi_restore 29
  .cfi_restore 30
  .cfi_def_cfa_offset 0
  br x16
  .cfi_endproc
)");
#endif

namespace etprof::runner {

bool HasTrampolines() { return true; }
void* Trampoline(std::size_t index) { return etprof_watch_trampolines + 16 * index; }

}  // namespace etprof::runner

#else

namespace etprof::runner {

bool HasTrampolines() { return false; }
void* Trampoline(std::size_t) { return nullptr; }

}  // namespace etprof::runner

#endif
