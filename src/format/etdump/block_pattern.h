#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/units.h"
#include "etdump_schema_flatcc_generated.h"
#include "format/etdump/verified.h"

namespace etprof {

// The bytes that the events of one block have in common with those of later blocks, except for their times. A
// runner usually repeats its events in every block, so a block with the same bytes needs neither verification
// nor a walk: offsets in a FlatBuffer are relative, so equal bytes lead to equal places. Only a table's
// offset to its vtable differs, by the distance of the two blocks, because blocks share vtables.
class BlockPattern {
 public:
  // Makes the pattern of a block that Verify() accepted. Absent if the block contains anything except profile
  // events without metadata, lacks a time, or is not contiguous.
  static std::optional<BlockPattern> FromBlock(const ::etdump::RunData& run, const EtdumpRoot& file);

  // Returns whether `run`, a table whose offsets are not verified, has the same bytes as the pattern except
  // for its times. Then Verify() would accept it, and its events differ from the pattern's only in their
  // times.
  bool Matches(const ::etdump::RunData& run, const EtdumpRoot& file) const;

  // Writes the times (ns) of a matching block to `start` and `end`, and adds the events' lengths to `total`.
  // Returns false if an event needs special handling: it ends before it starts, is longer than `max_length`,
  // or has a time beyond `max_time`.
  bool ReadTimes(const ::etdump::RunData& run, Nanoseconds max_length, Nanoseconds max_time,
                 Nanoseconds* start, Nanoseconds* end, double& total) const;

 private:
  class Builder;
  struct EventTimes {
    std::uint32_t start, end;  // byte offsets from the block's table
  };

  const std::uint8_t* table_ = nullptr;  // the table of the block from which the pattern was made
  // Words of 4 bytes from `table_` on: their values, masks of the bits to compare, and masks of the bits that
  // change with the distance to the pattern's block.
  std::vector<std::uint32_t> expected_words_, compare_masks_, relocation_masks_;
  std::vector<EventTimes> times_;
};

}  // namespace etprof
