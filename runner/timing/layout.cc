#include "timing/layout.h"

#include <alloca.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>

namespace etprof::runner {
namespace {

constexpr std::size_t kAlignmentBytes = 16;  // the alignment of malloc and of the stack
constexpr std::size_t kPageBytes = 4096;     // caches and store buffers compare addresses within a page

// Draws a random number without a seed, since the layout must not repeat.
std::uint64_t Draw() {
  std::random_device device;
  return static_cast<std::uint64_t>(device()) << 32 | device();
}

// A random size of at least one step.
std::size_t DrawBytes() {
  return static_cast<std::size_t>(1 + Draw() % (kPageBytes / kAlignmentBytes)) * kAlignmentBytes;
}

// A list of the blocks that AllocateAndLeak has allocated, so that leak checkers see them in use, and the
// compiler cannot drop them.
void* volatile leaked_blocks = nullptr;

void AllocateAndLeak(std::size_t bytes) {
  auto* const block = static_cast<void**>(std::malloc(bytes));
  if (block == nullptr) return;
  *block = leaked_blocks;
  leaked_blocks = static_cast<void*>(block);
}

}  // namespace

int CallWithShiftedStack(int (*program)(int, char**), int argc, char** argv) {
  auto* const shift = static_cast<volatile char*>(::alloca(DrawBytes()));
  shift[0] = 0;
  const int code = program(argc, argv);
  shift[0] = 1;  // prevents a tail call, which would release the stack
  return code;
}

void ShiftHeap() {
  // Leaks a block of each small size with a probability of 1/2: malloc reuses freed blocks by size.
  std::uint64_t random_bits = Draw();
  for (std::size_t size = kAlignmentBytes; size <= 64 * kAlignmentBytes;
       size += kAlignmentBytes, random_bits >>= 1) {
    if ((random_bits & 1) != 0) AllocateAndLeak(size - sizeof(void*));
  }
  AllocateAndLeak(DrawBytes());
}

}  // namespace etprof::runner
