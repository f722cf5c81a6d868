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

void AddAllocations(std::vector<Trace::Allocations>& all, const Trace::Allocations& more) {
  const auto existing =
      std::ranges::find_if(all, [&](const auto& entry) { return entry.allocator == more.allocator; });
  if (existing == all.end()) {
    all.push_back(more);
    return;
  }
  existing->events += more.events;
  const Bytes max_bytes = std::numeric_limits<Bytes>::max();
  existing->bytes = existing->bytes > max_bytes - more.bytes ? max_bytes : existing->bytes + more.bytes;
}

void AddMetadata(Trace& trace, std::int32_t instruction, std::string_view event,
                 const Trace::Metadata& more) {
  const auto [entry, is_new] = trace.metadata.try_emplace({instruction, std::string(event)}, more);
  if (is_new) return;
  Trace::Metadata& sum = entry->second;
  sum.events += more.events;
  sum.varies |= more.varies || sum.size != more.size || sum.first != more.first;
}

}  // namespace etprof
