#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/column.h"
#include "core/describe.h"
#include "core/units.h"

namespace etprof {

// Something odd in a trace: typed, counted, explained. Never a reason to stop; what cannot go on is an Error.
struct HealthEntry {
  enum class Severity { kInfo, kDataLoss, kError };
  std::string name;  // a stable identifier: "event_backwards", "child_outside_parent", ...
  Severity severity = Severity::kInfo;
  std::string explanation;  // what it means for the numbers
  std::int64_t count = 0;
  Nanoseconds amount = 0;                     // time concerned, where that has a meaning
  std::optional<std::uint64_t> first_offset;  // byte in the file
  std::string first_place;  // e.g. "block 3 Execute, event 17 Convolution (NHWC, F32) IGEMM #1"

  static constexpr const char* kSchemaName = "health";
  static void Describe(auto& v) {
    using H = HealthEntry;
    v("name", &H::name);
    v("severity", &H::severity);
    v("explanation", &H::explanation);
    v("count", &H::count);
    v("amount_ns", &H::amount, {.least = kAnyNumber});
    v("first_offset", &H::first_offset);
    v("first_place", &H::first_place, {.or_null = true});
  }
};
template <>
inline constexpr NamedValue<HealthEntry::Severity> kNames<HealthEntry::Severity>[] = {
    {HealthEntry::Severity::kInfo, "info"},
    {HealthEntry::Severity::kDataLoss, "data_loss"},
    {HealthEntry::Severity::kError, "error"}};

// Health entries by name; adding one that is there adds to its count and amount.
class Health {
 public:
  void Add(HealthEntry entry);  // count and amount are added; the first place is kept
  void AddAll(const Health& other);
  const std::vector<HealthEntry>& entries() const { return entries_; }
  std::int64_t CountOf(std::string_view name) const;  // 0 where there is none

 private:
  std::vector<HealthEntry> entries_;
};

using NameId = std::uint32_t;

// Texts, each stored once.
class NameTable {
 public:
  NameTable() = default;
  NameTable(NameTable&&) = default;
  NameTable& operator=(NameTable&&) = default;
  NameTable(const NameTable&) = delete;  // texts_ points into ids_
  NameTable& operator=(const NameTable&) = delete;
  NameId Intern(std::string_view text);
  const std::string& Text(NameId id) const { return *texts_[id]; }
  std::size_t size() const { return texts_.size(); }

 private:
  std::unordered_map<std::string, NameId> ids_;
  std::vector<const std::string*> texts_;
};

// Wall time of every complete run (Method::execute, one or several in a block), in the file's order.
struct Trace;
std::vector<Nanoseconds> ExecuteTimes(const Trace& trace);

// What an ETDump says, in columns. Runs repeat each other in everything but their times, so what the events
// of a block say beside their times is stored once for all blocks that say the same: their layout. Times are
// nanoseconds of the device's monotonic clock.
struct Trace {
  enum class Source : std::uint8_t {
    kFramework,  // `name` set, no delegate id: Method::execute, OPERATOR_CALL, native_call_...
    kDelegate,   // a delegate's own event, named by delegate_debug_id_str (XNNPACK), or by `name`/an integer
                 // id
  };
  // Row i of every column is event i of a block, in the file's order (children come before their parents).
  struct Layout {
    std::vector<NameId> name;  // for an integer delegate id without a name: its decimal text
    std::vector<Source> source;
    std::vector<std::int32_t> chain;  // as in the file; -1 outside the instruction stream
    std::vector<std::int32_t>
        instruction;  // as in the file; the framework's spans outside the stream have 0 or -1
    std::vector<std::int32_t> delegate_id;  // delegate_debug_id_int; -1 where there is none

    std::size_t size() const { return name.size(); }
    bool operator==(const Layout&) const = default;
  };
  struct Block {
    std::string name;  // "Default", "Execute", ...
    std::size_t first_event = 0;
    std::uint32_t event_count = 0;
    std::uint32_t layout = 0;  // index into `layouts`, whose size is event_count
    std::int32_t bundled_input_index = -1;
  };

  std::vector<Block> blocks;
  std::vector<Layout> layouts;
  NameTable names;
  // By event: event i of block b is `blocks[b].first_event + i`.
  Column<Nanoseconds> start;
  Column<Nanoseconds> end;

  // What ExecuTorch's memory tracing wrote, by the allocator's name, in the order of the file.
  struct Allocations {
    std::string allocator;
    std::int64_t events = 0;
    Bytes bytes = 0;
  };
  std::vector<Allocations> allocations;
  std::int64_t debug_events = 0;     // intermediate outputs
  std::int64_t metadata_events = 0;  // delegate events that carry metadata of their backend
  Health health;

  std::size_t event_count() const { return start.size(); }
  const Layout& LayoutOf(const Block& block) const { return layouts[block.layout]; }
  const std::string& NameOf(const Layout& layout, std::size_t event) const {
    return names.Text(layout.name[event]);
  }
  // Event `event` of the layout is the framework's and of this name.
  bool IsFramework(const Layout& layout, std::size_t event, std::string_view framework_name) const {
    return layout.source[event] == Source::kFramework && NameOf(layout, event) == framework_name;
  }
};

}  // namespace etprof
