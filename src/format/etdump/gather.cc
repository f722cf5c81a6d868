#include "format/etdump/gather.h"

#include <algorithm>
#include <limits>

namespace etprof {
namespace {

template <typename T>
void HashColumn(std::size_t& hash, const std::vector<T>& column) {
  for (const T value : column) {
    hash = (hash ^ static_cast<std::size_t>(static_cast<std::uint32_t>(value))) * 0x100000001b3U;  // FNV-1a
  }
}

std::size_t HashLayout(const Trace::Layout& layout) {
  std::size_t hash = layout.size();
  HashColumn(hash, layout.name);
  HashColumn(hash, layout.source);
  HashColumn(hash, layout.chain);
  HashColumn(hash, layout.instruction);
  HashColumn(hash, layout.delegate_id);
  return hash;
}

}  // namespace

std::uint32_t LayoutIndex::FindOrAdd(std::vector<Trace::Layout>& layouts, Trace::Layout&& layout) {
  const std::size_t hash = HashLayout(layout);
  const auto [first, last] = by_hash_.equal_range(hash);
  const auto existing =
      std::find_if(first, last, [&](const auto& entry) { return layouts[entry.second] == layout; });
  if (existing != last) return existing->second;
  const auto index = static_cast<std::uint32_t>(layouts.size());
  layouts.push_back(std::move(layout));
  by_hash_.emplace(hash, index);
  return index;
}

void AddAllocations(std::vector<Trace::Allocations>& totals, const Trace::Allocations& addition) {
  const auto existing =
      std::ranges::find_if(totals, [&](const auto& entry) { return entry.allocator == addition.allocator; });
  if (existing == totals.end()) {
    totals.push_back(addition);
    return;
  }
  existing->events += addition.events;
  const Bytes max_bytes = std::numeric_limits<Bytes>::max();
  existing->bytes =
      existing->bytes > max_bytes - addition.bytes ? max_bytes : existing->bytes + addition.bytes;
}

void AddMetadata(Trace& trace, std::int32_t instruction, std::string_view event,
                 const Trace::Metadata& addition) {
  const auto [entry, is_new] = trace.metadata.try_emplace({instruction, std::string(event)}, addition);
  if (is_new) return;
  Trace::Metadata& merged = entry->second;
  merged.events += addition.events;
  merged.varies |= addition.varies || merged.size != addition.size || merged.first != addition.first;
}

}  // namespace etprof
