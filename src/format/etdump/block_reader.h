#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/file/file.h"
#include "etdump_schema_flatcc_generated.h"
#include "format/etdump/block_pattern.h"
#include "format/etdump/trace.h"
#include "format/etdump/verified.h"

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

// Verifies and reads blocks, one after the other, into the columns of a trace. It keeps its own layouts,
// names and health entries, so that several readers can read parts of one file at the same time.
class BlockReader {
 public:
  // `bytes` is the whole file, for offsets in messages.
  BlockReader(const EtdumpRoot& file, ByteView bytes, double nanoseconds_per_tick,
              double delegate_nanoseconds_per_tick)
      : file_(file),
        bytes_(bytes),
        scale_(nanoseconds_per_tick),
        delegate_scale_(delegate_nanoseconds_per_tick) {}

  // Reads the block with index `index`: returns its name, layout and event count, and writes the times of its
  // profile events to `start` and `end`, which have room for all of the block's events. Throws Error
  // (kBadInput) if the block is malformed, and, without the file's name, if the time of an inference is out
  // of range.
  Trace::Block Read(const ::etdump::RunData& run, std::size_t index, Nanoseconds* start, Nanoseconds* end);

  // Results so far. Only layouts, names, allocations, counts and health are filled.
  Trace& trace() { return trace_; }
  // Sum of the lengths of all events in ns, including the absolute length of events that end before they
  // start.
  double total_length_ns() const { return total_length_ns_; }

 private:
  std::optional<Trace::Block> ReadByPattern(const ::etdump::RunData& run, Nanoseconds* start,
                                            Nanoseconds* end);
  void LearnPattern(const ::etdump::RunData& run, const Trace::Block& block);
  void ReadProfileEvent(const ::etdump::ProfileEvent& event);
  void CountAllocation(const ::etdump::RunData& run, const ::etdump::AllocationEvent& event);
  // Converts ticks of `scale` nanoseconds. Absent, with a health entry, if the time is out of range.
  std::optional<Nanoseconds> ConvertTime(std::uint64_t ticks, double scale,
                                         const ::etdump::ProfileEvent& event);
  [[noreturn]] void ThrowInvalidInference(const ::etdump::ProfileEvent& event, const char* problem) const;
  std::uint64_t FileOffset(const void* object) const;
  void AppendRow(std::string_view name, Trace::Source source, std::int32_t chain, std::int32_t instruction,
                 std::int32_t delegate_id);
  void CopyExpectedRows();
  std::uint32_t FinishLayout();
  void SetLastLayout(std::uint32_t layout);
  void AddHealthEntry(const char* name, HealthEntry::Severity severity, const char* explanation,
                      const void* object, std::string_view event_name, Nanoseconds amount = 0);

  const EtdumpRoot& file_;
  ByteView bytes_;
  double scale_, delegate_scale_;
  Trace trace_;
  double total_length_ns_ = 0;  // ns; may exceed the range of integers

  // The block being read.
  std::string_view block_name_;
  std::size_t block_index_ = 0;
  std::uint32_t count_ = 0;  // number of profile events so far
  Nanoseconds* start_ = nullptr;
  Nanoseconds* end_ = nullptr;
  // The layout that the block probably has. No new layout is stored as long as the block's events match.
  bool matches_expected_ = false;
  std::uint32_t expected_layout_ = 0;
  Trace::Layout new_layout_;

  // For each layout, the layout that followed it last. So the layouts of two alternating methods are both
  // expected.
  std::vector<std::uint32_t> successor_;
  std::uint32_t last_layout_ = 0;
  LayoutIndex layout_index_;

  // The last block of a layout that was read event by event, without its position, and its byte pattern.
  struct KnownBlock {
    std::optional<BlockPattern> pattern;
    Trace::Block block;
    int misses = 0;  // number of blocks that did not match `pattern`
  };
  // The known block for a layout and an alignment: fields are aligned to 8 bytes, but blocks to 4.
  KnownBlock& GetKnownBlock(std::uint32_t layout, const ::etdump::RunData& run) {
    return known_[2 * layout + FileOffset(&run) / 4 % 2];
  }
  std::vector<KnownBlock> known_;
  bool has_health_entry_ = false;  // whether the block being read has a health entry
};

}  // namespace etprof
