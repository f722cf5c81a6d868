#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/file/file.h"
#include "etdump/block_pattern.h"
#include "etdump/gather.h"
#include "etdump/trace.h"
#include "etdump/verified.h"
#include "etdump_schema_flatcc_generated.h"

namespace etprof {

// Verifies and reads blocks, one after the other, into the columns of a trace. What it learns of layouts,
// names and oddities is its own, so that several may read parts of one file at once.
class BlockReader {
 public:
  // `bytes` is the whole file, for the offsets in messages.
  BlockReader(const EtdumpRoot& file, ByteView bytes, double nanoseconds_per_tick,
              double delegate_nanoseconds_per_tick)
      : file_(file),
        bytes_(bytes),
        scale_(nanoseconds_per_tick),
        delegate_scale_(delegate_nanoseconds_per_tick) {}

  // Reads the block with index `index`: gives its name, layout and event count. Writes the times of its
  // profile events to `start` and `end`, which have room for all of the block's events. Throws Error
  // (kBadInput) where the block is malformed, and, without the file's name, where an inference's own time is
  // out of range.
  Trace::Block Read(const ::etdump::RunData& run, std::size_t index, Nanoseconds* start, Nanoseconds* end);

  // What has been found so far; of `Trace` only layouts, names, allocations, counts and health are filled.
  Trace& found() { return found_; }
  // The lengths of all events, backwards ones too, added up; ns.
  double total_length() const { return total_length_; }

 private:
  std::optional<Trace::Block> ReadAsBefore(const ::etdump::RunData& run, Nanoseconds* start,
                                           Nanoseconds* end);
  void LearnPattern(const ::etdump::RunData& run, const Trace::Block& block);
  void ReadProfileEvent(const ::etdump::ProfileEvent& event);
  void CountAllocation(const ::etdump::RunData& run, const ::etdump::AllocationEvent& event);
  // Of ticks of `scale` nanoseconds. Absent, and noted, where it is out of range.
  std::optional<Nanoseconds> Time(std::uint64_t ticks, double scale, const ::etdump::ProfileEvent& event);
  [[noreturn]] void RefuseInference(const ::etdump::ProfileEvent& event, const char* what) const;
  std::uint64_t OffsetOf(const void* where) const;
  void AppendRow(std::string_view name, Trace::Source source, std::int32_t chain, std::int32_t instruction,
                 std::int32_t delegate_id);
  void LeaveExpected();
  std::uint32_t FinishLayout();
  void Follow(std::uint32_t layout);
  void Note(const char* name, HealthEntry::Severity severity, const char* explanation, const void* where,
            std::string_view event_name, Nanoseconds amount = 0);

  const EtdumpRoot& file_;
  ByteView bytes_;
  double scale_, delegate_scale_;
  Trace found_;
  double total_length_ = 0;  // a number of nanoseconds that need not fit an integer

  // The block being read.
  std::string_view block_name_;
  std::size_t block_index_ = 0;
  std::uint32_t count_ = 0;  // profile events so far
  Nanoseconds* start_ = nullptr;
  Nanoseconds* end_ = nullptr;
  // The layout that the block is expected to have: as long as its events agree, nothing is stored.
  bool as_expected_ = false;
  std::uint32_t expected_ = 0;
  Trace::Layout scratch_;

  // Which layout came after which the last time: two methods that take turns are both expected.
  std::vector<std::uint32_t> successor_;
  std::uint32_t last_layout_ = 0;
  LayoutIndex layout_index_;

  // The bytes of a block that was read, and that block without its place.
  struct Known {
    std::optional<BlockPattern> pattern;
    Trace::Block block;
    int missed = 0;  // blocks that had other bytes
  };
  // Of a layout, for blocks at places like this one's: their fields are aligned to 8 bytes, they to 4.
  Known& KnownOf(std::uint32_t layout, const ::etdump::RunData& run) {
    return known_[2 * layout + OffsetOf(&run) / 4 % 2];
  }
  std::vector<Known> known_;
  bool noted_ = false;  // something in the block being read
};

}  // namespace etprof
