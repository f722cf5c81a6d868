#include "core/column.h"

#include <sys/mman.h>

#include <cstdlib>

namespace etprof {

void* AllocateColumn(std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
  if (bytes >= 2 * kHugePageBytes) {
    // aligned_alloc requires a multiple of the alignment.
    const std::size_t pages = (bytes + kHugePageBytes - 1) / kHugePageBytes;
    void* memory = std::aligned_alloc(kHugePageBytes, pages * kHugePageBytes);
    if (memory == nullptr) throw std::bad_alloc();
    // If the system refuses huge pages, the memory has small pages.
    ::madvise(memory, pages * kHugePageBytes, MADV_HUGEPAGE);
    return memory;
  }
#endif
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void FreeColumn(void* memory) noexcept { std::free(memory); }

}  // namespace etprof
