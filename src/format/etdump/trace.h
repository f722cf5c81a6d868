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
#include "format/delegates/delegate.h"

namespace etprof {

// A problem in a trace: typed, counted, and explained. Reading continues after it; a problem that prevents
// reading is an Error.
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
    v("amount_ns", &H::amount, {.meaning = "time concerned, where that has a meaning", .min = kNoMinimum});
    v("first_offset", &H::first_offset, {.meaning = "byte in the file"});
    v("first_place", &H::first_place,
      {.meaning = "e.g. \"block 3 Execute, event 17 Convolution (NHWC, F32) IGEMM #1\"", .or_null = true});
  }
};
template <>
inline constexpr const char* kNames<HealthEntry::Severity>[] = {"info", "data_loss", "error"};

// Health entries by name. Adding an entry with an existing name increases its count and amount.
class TraceHealth {
 public:
  void Add(HealthEntry entry);  // sums count and amount; the first place is kept
  void Add(std::string name, HealthEntry::Severity severity, std::string explanation, std::int64_t count = 1,
           std::string place = "");
  void AddAll(const TraceHealth& other);
  const std::vector<HealthEntry>& entries() const { return entries_; }
  std::int64_t GetCount(std::string_view name) const;  // 0 if there is no such entry

 private:
  std::vector<HealthEntry> entries_;
};

using NameId = std::uint32_t;
inline constexpr NameId kNoName = 0xffffffff;

// A table of texts that stores each text once.
class NameTable {
 public:
  NameTable() = default;
  NameTable(NameTable&&) = default;  // movable, but not copyable: texts_ points into ids_
  NameTable& operator=(NameTable&&) = default;
  NameId Intern(std::string_view text);
  const std::string& Text(NameId id) const { return *texts_[id]; }
  std::size_t size() const { return texts_.size(); }

 private:
  std::unordered_map<std::string, NameId> ids_;
  std::vector<const std::string*> texts_;
};

struct Trace;
// The wall time of every complete run (Method::execute, one or several per block), in the file's order.
std::vector<Nanoseconds> ExecuteTimes(const Trace& trace);

// The contents of an ETDump, in columns. Runs differ only in their times, so all other data of the events of
// a block are stored once, as a layout, for all blocks with the same data. Times are nanoseconds of the
// device's monotonic clock.
struct Trace {
  enum class Source : std::uint8_t {
    kFramework,  // a name and no delegate id: Method::execute, OPERATOR_CALL, native_call_...
    kDelegate,   // named by delegate_debug_id_str (XNNPACK), by `name`, or by an integer id
  };
  // Row i of every column is event i of a block, in the file's order (children before their parents).
  struct Layout {
    std::vector<NameId> name;  // for an integer delegate id without a name: the number as text
    std::vector<Source> source;
    std::vector<std::int32_t> chain;  // as in the file; -1: outside of the instruction stream
    // As in the file; framework spans outside of the instruction stream have 0 or -1.
    std::vector<std::int32_t> instruction;
    std::vector<std::int32_t> delegate_id;  // delegate_debug_id_int; -1: there is none
    // The backend of delegate events and DELEGATE_CALLs; "": without readable events; kNoName: unknown.
    // Filled by SeparateHostTime (profile/analysis/host_time.h); empty before.
    std::vector<NameId> backend;

    std::size_t size() const { return name.size(); }
    bool operator==(const Layout&) const = default;
  };
  struct Block {
    std::string name;  // "Default", "Execute", ...
    std::size_t first_event = 0;
    std::uint32_t event_count = 0;
    std::uint32_t layout = 0;  // index into `layouts`; the layout has event_count rows
    std::int32_t bundled_input_index = -1;
  };

  // Values other than host time that a delegate reports at one place of the program. SeparateHostTime moves
  // them here.
  struct ReportedValues {
    std::string backend;  // "": unknown
    std::string name;
    ValueKind kind = ValueKind::kUnknown;
    std::string unit;  // "": unknown
    std::int32_t chain = 0, instruction = 0;
    std::vector<std::uint32_t> run;   // index among the file's complete runs; ascending
    std::vector<std::int64_t> value;  // in the file's unit; one per entry of `run`
  };

  std::vector<Block> blocks;
  std::vector<Layout> layouts;
  std::vector<ReportedValues> reported;
  double delegate_nanoseconds_per_tick = 1;  // the factor that the times of delegate events were scaled by
  NameTable names;
  // Times by event: event i of block b has the index `blocks[b].first_event + i`.
  Column<Nanoseconds> start;
  Column<Nanoseconds> end;

  // Allocations recorded by ExecuTorch's memory tracing, by allocator, in the file's order.
  struct Allocations {
    std::string allocator;
    std::int64_t events = 0;
    Bytes bytes = 0;
  };
  std::vector<Allocations> allocations;
  // Metadata that a backend adds to its events (delegate_debug_metadata), by instruction and event name.
  struct Metadata {
    std::string first;     // metadata of the first event, at most kMaxBytes
    std::size_t size = 0;  // bytes of the first event's metadata
    std::int64_t events = 0;
    bool varies = false;       // whether events have different metadata
    std::string backend = {};  // see Layout::backend; filled by SeparateHostTime
    static constexpr std::size_t kMaxBytes = 64 * 1024;
  };
  std::map<std::pair<std::int32_t, std::string>, Metadata> metadata;
  TraceHealth health;

  std::size_t event_count() const { return start.size(); }
  const Layout& GetLayout(const Block& block) const { return layouts[block.layout]; }
  const std::string& GetName(const Layout& layout, std::size_t event) const {
    return names.Text(layout.name[event]);
  }
  // Returns whether event `event` of the layout is a framework event with this name.
  bool IsFramework(const Layout& layout, std::size_t event, std::string_view framework_name) const {
    return layout.source[event] == Source::kFramework && GetName(layout, event) == framework_name;
  }
};

}  // namespace etprof
