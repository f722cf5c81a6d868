#include "core/column.h"

#include <sys/mman.h>

#include <cstdlib>

namespace etprof {

void* AllocateColumn(std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  if (bytes >= 2 * kHugePage) {
    // aligned_alloc takes whole pages only.
    const std::size_t pages = (bytes + kHugePage - 1) / kHugePage;
    void* memory = std::aligned_alloc(kHugePage, pages * kHugePage);
    if (memory == nullptr) throw std::bad_alloc();
    ::madvise(memory, pages * kHugePage, MADV_HUGEPAGE);  // refused: it does without
    return memory;
  }
#endif
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void FreeColumn(void* memory) noexcept { std::free(memory); }

}  // namespace etprof
