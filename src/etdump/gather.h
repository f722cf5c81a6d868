#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "etdump/trace.h"

namespace etprof {

// Finds a layout among those that are there, by a hash of its columns.
class LayoutIndex {
 public:
  // The index into `layouts` of one equal to `layout`, which is added where there is none. Always called with
  // the same `layouts`, to which nobody else adds.
  std::uint32_t FindOrAdd(std::vector<Trace::Layout>& layouts, Trace::Layout&& layout);

 private:
  std::unordered_multimap<std::size_t, std::uint32_t> by_hash_;
};

// Adds `more` to the entry of its allocator, or as a new one. A sum of bytes that does not fit stays at the
// most there is.
void AddAllocations(std::vector<Trace::Allocations>& all, const Trace::Allocations& more);

// Counts what an event's metadata is.
void AddMetadata(Trace& trace, std::int32_t instruction, std::string_view event, const Trace::Metadata& more);

}  // namespace etprof
