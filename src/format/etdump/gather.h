#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/etdump/trace.h"

namespace etprof {

// Finds a layout among the existing ones, by a hash of its columns.
class LayoutIndex {
 public:
  // The index of an equal layout in `layouts`; adds `layout` if there is none. Every call must pass the same
  // `layouts`, to which nobody else may add.
  std::uint32_t FindOrAdd(std::vector<Trace::Layout>& layouts, Trace::Layout&& layout);

 private:
  std::unordered_multimap<std::size_t, std::uint32_t> by_hash_;
};

// Adds `more` to the entry of its allocator, or adds a new entry. The sum of bytes saturates.
void AddAllocations(std::vector<Trace::Allocations>& all, const Trace::Allocations& more);

// Counts the metadata of an event.
void AddMetadata(Trace& trace, std::int32_t instruction, std::string_view event, const Trace::Metadata& more);

}  // namespace etprof
