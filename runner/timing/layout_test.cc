#include "timing/layout.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <set>

namespace etprof::runner {
namespace {

// 64 draws from 256 places. The probability of fewer than 16 different places is below 1e-60.
constexpr int kDraws = 64;
constexpr std::size_t kMinPlaces = 16;

std::uintptr_t frame_of_program = 0;

int Program(int argc, char** argv) {
  frame_of_program = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return argv == nullptr ? argc : -1;
}

TEST(Layout, MovesTheStackWithinItsPage) {
  std::set<std::uintptr_t> places;
  for (int i = 0; i < kDraws; ++i) {
    EXPECT_EQ(CallWithShiftedStack(&Program, i, nullptr), i);
    EXPECT_EQ(frame_of_program % 16, 0);
    places.insert(frame_of_program);
  }
  EXPECT_GE(places.size(), kMinPlaces);
  EXPECT_LE(*places.rbegin() - *places.begin(), 4096);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1  // as GCC defines it
#endif
#endif
#if defined(__GLIBC__) && \
    !defined(__SANITIZE_ADDRESS__)  // other allocators place blocks by rules of their own
// A size that is too large for the process's free blocks, and too small for a mapping of its own.
std::uintptr_t AddressOfNewBlock() { return reinterpret_cast<std::uintptr_t>(std::malloc(100'000)); }

TEST(Layout, MovesAllocationsWithinTheirPage) {
  std::set<std::uintptr_t> steps;
  std::uintptr_t last = AddressOfNewBlock();
  for (int i = 0; i < kDraws; ++i) {
    ShiftHeap();
    const std::uintptr_t place = AddressOfNewBlock();
    steps.insert((place - last) % 4096);
    last = place;
  }
  EXPECT_GE(steps.size(), kMinPlaces);
}
#endif

}  // namespace
}  // namespace etprof::runner
