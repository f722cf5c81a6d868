#include "timing/layout.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <set>

namespace etprof::runner {
namespace {

// 64 draws from 256 addresses. The probability of fewer than 16 different addresses is below 1e-60.
constexpr int kDraws = 64;
constexpr std::size_t kMinAddresses = 16;

std::uintptr_t program_frame = 0;

int Program(int argc, char** argv) {
  program_frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return argv == nullptr ? argc : -1;
}

TEST(Layout, MovesTheStackWithinItsPage) {
  std::set<std::uintptr_t> addresses;
  for (int i = 0; i < kDraws; ++i) {
    EXPECT_EQ(CallWithShiftedStack(&Program, i, nullptr), i);
    EXPECT_EQ(program_frame % 16, 0);
    addresses.insert(program_frame);
  }
  EXPECT_GE(addresses.size(), kMinAddresses);
  EXPECT_LE(*addresses.rbegin() - *addresses.begin(), 4096);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1  // GCC defines this macro
#endif
#endif
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)  // other allocators place blocks by other rules
// Allocates a block that is too large for the process's free blocks, and too small for a separate mapping.
std::uintptr_t AllocateBlock() { return reinterpret_cast<std::uintptr_t>(std::malloc(100'000)); }

TEST(Layout, MovesAllocationsWithinTheirPage) {
  std::set<std::uintptr_t> steps;
  std::uintptr_t last = AllocateBlock();
  for (int i = 0; i < kDraws; ++i) {
    ShiftHeap();
    const std::uintptr_t address = AllocateBlock();
    steps.insert((address - last) % 4096);
    last = address;
  }
  EXPECT_GE(steps.size(), kMinAddresses);
}
#endif

}  // namespace
}  // namespace etprof::runner
