#include "timing/layout.h"

#include <alloca.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>

namespace etprof::runner {
namespace {

constexpr std::size_t kStep = 16;    // the alignment of malloc and of the stack
constexpr std::size_t kPage = 4096;  // caches and store buffers compare the addresses within it

// There is no seed: the layout is not to be repeated.
std::uint64_t Draw() {
  std::random_device device;
  return static_cast<std::uint64_t>(device()) << 32 | device();
}

// At least one step.
std::size_t DrawBytes() { return static_cast<std::size_t>(1 + Draw() % (kPage / kStep)) * kStep; }

// A list of what Keep took: leak checkers see that it is still in use, and the compiler cannot drop it.
void* volatile kept = nullptr;

void Keep(std::size_t bytes) {
  auto* const block = static_cast<void**>(std::malloc(bytes));
  if (block == nullptr) return;
  *block = kept;
  kept = static_cast<void*>(block);
}

}  // namespace

int WithShiftedStack(int (*program)(int, char**), int argc, char** argv) {
  auto* const shift = static_cast<volatile char*>(::alloca(DrawBytes()));
  shift[0] = 0;
  const int code = program(argc, argv);
  shift[0] = 1;  // keeps the call from becoming a jump that gives the stack back
  return code;
}

void ShiftHeap() {
  // One block, or none, of each small size. malloc reuses what was freed by its size.
  std::uint64_t coins = Draw();
  for (std::size_t size = kStep; size <= 64 * kStep; size += kStep, coins >>= 1) {
    if ((coins & 1) != 0) Keep(size - sizeof(void*));
  }
  Keep(DrawBytes());
}

}  // namespace etprof::runner
