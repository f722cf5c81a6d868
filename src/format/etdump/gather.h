#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/etdump/trace.h"

namespace etprof {

// Finds a layout among the existing layouts, by a hash of its columns.
class LayoutIndex {
 public:
  // Returns the index of an equal layout in `layouts`, and adds `layout` if no layout is equal. Every call
  // must pass the same `layouts`, and only this class may add to it.
  std::uint32_t FindOrAdd(std::vector<Trace::Layout>& layouts, Trace::Layout&& layout);

 private:
  std::unordered_multimap<std::size_t, std::uint32_t> by_hash_;
};

// Adds `addition` to the entry of its allocator, or adds a new entry. The sum of bytes saturates.
void AddAllocations(std::vector<Trace::Allocations>& totals, const Trace::Allocations& addition);

// Counts the metadata of an event, and notes if it differs from the first metadata of that event.
void AddMetadata(Trace& trace, std::int32_t instruction, std::string_view event,
                 const Trace::Metadata& addition);

}  // namespace etprof
