#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/units.h"
#include "etdump/verified.h"
#include "etdump_schema_flatcc_generated.h"

namespace etprof {

// Events that an ETDump of one runner repeats in every block but for their times, which is why a block need
// not be walked where its bytes are those of one that was: offsets in a FlatBuffer are relative, so equal
// bytes lead to equal places. Only a table's offset to its vtable, which blocks share, differs, by the
// distance of the two blocks.
class BlockPattern {
 public:
  // Of a block that Verify() said yes to. Nullopt where it holds anything beside profile events without
  // metadata, lacks a time, or is not in one piece.
  static std::optional<BlockPattern> Of(const ::etdump::RunData& run, const EtdumpRoot& file);

  // True when `run`, a table whose offsets are not verified, has the pattern's bytes everywhere but in its
  // times: Verify() would say yes to it, and its events differ from the pattern's in their times alone.
  bool Matches(const ::etdump::RunData& run, const EtdumpRoot& file) const;

  // Writes the times (ns) of a block that matches. False where one of them needs more than to be written: an
  // event that ends before it starts, is longer than `longest`, or at a time beyond `latest`.
  // Adds the events' lengths to `total`.
  bool Times(const ::etdump::RunData& run, Nanoseconds longest, Nanoseconds latest, Nanoseconds* start,
             Nanoseconds* end, double& total) const;

  std::uint32_t event_count() const { return static_cast<std::uint32_t>(times_.size()); }

 private:
  class Maker;
  struct EventTimes {
    std::uint32_t start, end;  // bytes from the block's table
  };

  const std::uint8_t* place_ = nullptr;  // of the pattern's own table
  // Words of 4 bytes from there on: what is expected, which bits of it count, and where the distance to the
  // pattern is part of it.
  std::vector<std::uint32_t> words_, counts_, moves_;
  std::vector<EventTimes> times_;
};

}  // namespace etprof
