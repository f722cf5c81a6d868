#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/column.h"
#include "core/json/describe.h"
#include "core/units.h"
#include "delegates/delegate.h"

namespace etprof {

// Something odd in a trace: typed, counted, explained. Never a reason to stop; what cannot go on is an Error.
struct HealthEntry {
  enum class Severity { kInfo, kDataLoss, kError };
  std::string name;
  Severity severity = Severity::kInfo;
  std::string explanation;
  std::int64_t count = 0;
  Nanoseconds amount = 0;
  std::optional<std::uint64_t> first_offset;
  std::string first_place;  // e.g. "block 3 Execute, event 17 Convolution (NHWC, F32) IGEMM #1"

  static constexpr const char* kSchemaName = "health";
  static void Describe(auto& v) {
    using H = HealthEntry;
    v("name", &H::name,
      {.meaning = "a stable identifier: \"event_backwards\", \"child_outside_parent\", ..."});
    v("severity", &H::severity, {.meaning = "`data_loss`: something is not in the numbers"});
    v("explanation", &H::explanation, {.meaning = "what it means for the numbers"});
    v("count", &H::count, {.meaning = "how often it occurs"});
    v("amount_ns", &H::amount, {.meaning = "time concerned, where that has a meaning", .least = kAnyNumber});
    v("first_offset", &H::first_offset, {.meaning = "byte in the file"});
    v("first_place", &H::first_place,
      {.meaning = "e.g. \"block 3 Execute, event 17 Convolution (NHWC, F32) IGEMM #1\"", .or_null = true});
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
  void Add(std::string name, HealthEntry::Severity severity, std::string explanation, std::int64_t count = 1,
           std::string place = "");
  void AddAll(const Health& other);
  const std::vector<HealthEntry>& entries() const { return entries_; }
  std::int64_t CountOf(std::string_view name) const;  // 0 where there is none

 private:
  std::vector<HealthEntry> entries_;
};

using NameId = std::uint32_t;
inline constexpr NameId kNoName = 0xffffffff;

// Texts, each stored once.
class NameTable {
 public:
  NameTable() = default;
  NameTable(NameTable&&) = default;  // and no copies: texts_ points into ids_
  NameTable& operator=(NameTable&&) = default;
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
    // Of a delegate's events and of DELEGATE_CALLs: the backend; "" where it wrote what cannot be read,
    // kNoName where nothing is known. Filled by KeepHostTime (analysis/host_time.h); empty before.
    std::vector<NameId> backend;

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

  // What a delegate writes at one place of the program that is not host time: moved here by KeepHostTime.
  struct Reported {
    std::string backend;  // "": not known
    std::string name;
    ValueKind kind = ValueKind::kUnknown;
    std::string unit;  // "": not known
    std::int32_t chain = 0, instruction = 0;
    std::vector<std::uint32_t> run;   // counted from 0 over the file's complete runs; ascending
    std::vector<std::int64_t> value;  // in the file's unit; as `run`
  };

  std::vector<Block> blocks;
  std::vector<Layout> layouts;
  std::vector<Reported> reported;
  double delegate_nanoseconds_per_tick = 1;  // what the times of delegates' events were multiplied by
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
  std::int64_t debug_events = 0;  // intermediate outputs
  // What a backend adds to its events (delegate_debug_metadata), by instruction and the event's name.
  struct Metadata {
    std::string first;     // of the first event; at most kMost bytes of it
    std::size_t size = 0;  // of the first event's, bytes
    std::int64_t events = 0;
    bool varies = false;       // it is not the same in all of them
    std::string backend = {};  // as Layout::backend; filled by KeepHostTime
    static constexpr std::size_t kMost = 64 * 1024;
  };
  std::map<std::pair<std::int32_t, std::string>, Metadata> metadata;
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
