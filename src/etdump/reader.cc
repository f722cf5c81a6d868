#include "etdump/reader.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "core/error.h"
#include "etdump/verified.h"

namespace etprof {
namespace {

class Reader {
 public:
  Reader(ByteView bytes, const std::string& file_name, const EtdumpOptions& options)
      : bytes_(bytes), file_name_(file_name), scale_(options.nanoseconds_per_tick) {}

  Trace Read() {
    const ::etdump::ETDump& dump = VerifiedEtdump(bytes_, file_name_);
    if (dump.run_data() == nullptr) return std::move(trace_);
    std::size_t events = 0;
    for (const auto* run : *dump.run_data()) events += run->events() != nullptr ? run->events()->size() : 0;
    if (events > std::numeric_limits<std::uint32_t>::max()) {
      throw Error(ExitCode::kBadInput, fmt::format("holds {} events, more than 2^32", events))
          .InFile(file_name_);
    }
    Reserve(events);
    for (const auto* run : *dump.run_data()) ReadBlock(*run);
    return std::move(trace_);
  }

 private:
  void Reserve(std::size_t events) {
    trace_.name.reserve(events);
    trace_.source.reserve(events);
    trace_.chain.reserve(events);
    trace_.instruction.reserve(events);
    trace_.delegate_id.reserve(events);
    trace_.start.reserve(events);
    trace_.end.reserve(events);
  }

  void ReadBlock(const ::etdump::RunData& run) {
    Trace::Block block;
    if (run.name() != nullptr) block.name = run.name()->str();
    block.first_event = static_cast<std::uint32_t>(trace_.event_count());
    block.bundled_input_index = run.bundled_input_index();
    if (run.events() != nullptr) {
      for (const auto* event : *run.events()) ReadEvent(*event, block);
    }
    block.event_count = static_cast<std::uint32_t>(trace_.event_count()) - block.first_event;
    previous_block_start_ = block.first_event;
    previous_block_count_ = block.event_count;
    trace_.blocks.push_back(std::move(block));
  }

  void ReadEvent(const ::etdump::Event& event, const Trace::Block& block) {
    if (event.profile_event() != nullptr) {
      ReadProfileEvent(*event.profile_event(), block);
    } else if (event.allocation_event() != nullptr) {
      ++trace_.allocation_events;
    } else if (event.debug_event() != nullptr) {
      ++trace_.debug_events;
    } else {
      Note("event_empty", HealthEntry::Severity::kDataLoss,
           "an event that is neither profile, allocation nor debug", event, block, "");
    }
  }

  void ReadProfileEvent(const ::etdump::ProfileEvent& event, const Trace::Block& block) {
    const flatbuffers::String* framework_name = event.name();
    const flatbuffers::String* delegate_name = event.delegate_debug_id_str();
    const int delegate_id = event.delegate_debug_id_int();
    const bool delegated = delegate_name != nullptr || delegate_id != -1;
    trace_.source.push_back(delegated ? Trace::Source::kDelegate : Trace::Source::kFramework);
    const flatbuffers::String* text = delegate_name != nullptr ? delegate_name : framework_name;
    if (text != nullptr) {
      trace_.name.push_back(InternQuickly({text->c_str(), text->size()}, block));
    } else {
      trace_.name.push_back(trace_.names.Intern(std::to_string(delegate_id)));
    }
    trace_.chain.push_back(event.chain_index());
    trace_.instruction.push_back(event.instruction_id());
    trace_.delegate_id.push_back(delegate_id);
    const Nanoseconds start = Time(event.start_time(), event, block);
    const Nanoseconds end = Time(event.end_time(), event, block);
    trace_.start.push_back(start);
    trace_.end.push_back(end);
    if (end < start) {
      Note("event_backwards", HealthEntry::Severity::kError,
           "an event that ends before it starts counts as 0 ns", event, block,
           trace_.names.Text(trace_.name.back()), start - end);
    }
  }

  // Runs repeat the same events, so the name is most often that of the same place in the block before.
  NameId InternQuickly(std::string_view text, const Trace::Block& block) {
    const std::size_t place = trace_.name.size() - block.first_event;
    if (place < previous_block_count_) {
      const NameId id = trace_.name[previous_block_start_ + place];
      if (trace_.names.Text(id) == text) return id;
    }
    return trace_.names.Intern(text);
  }

  Nanoseconds Time(std::uint64_t ticks, const ::etdump::ProfileEvent& event, const Trace::Block& block) {
    // Half the range, so that differences of two times cannot overflow.
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max() / 2;
    const bool fits =
        scale_ == 1.0 ? ticks <= kMost : static_cast<double>(ticks) * scale_ <= static_cast<double>(kMost);
    if (!fits) {
      Note("time_out_of_range", HealthEntry::Severity::kError, "a time beyond 146 years counts as 0", event,
           block, "");
      return 0;
    }
    return scale_ == 1.0 ? static_cast<Nanoseconds>(ticks)
                         : static_cast<Nanoseconds>(std::llround(static_cast<double>(ticks) * scale_));
  }

  template <typename Table>
  void Note(const char* name, HealthEntry::Severity severity, const char* explanation, const Table& where,
            const Trace::Block& block, const std::string& event_name, Nanoseconds amount = 0) {
    HealthEntry entry;
    entry.name = name;
    entry.severity = severity;
    entry.explanation = explanation;
    entry.count = 1;
    entry.amount = amount;
    entry.first_offset =
        static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(&where) - bytes_.data());
    entry.first_place = fmt::format("block {} {}, event {} {}", trace_.blocks.size(), block.name,
                                    trace_.event_count() - block.first_event, event_name);
    trace_.health.Add(std::move(entry));
  }

  ByteView bytes_;
  const std::string& file_name_;
  double scale_;
  Trace trace_;
  std::size_t previous_block_start_ = 0;
  std::size_t previous_block_count_ = 0;
};

}  // namespace

Trace ReadEtdump(ByteView bytes, const std::string& file_name, const EtdumpOptions& options) {
  if (!(options.nanoseconds_per_tick > 0) || !std::isfinite(options.nanoseconds_per_tick)) {
    throw Error(ExitCode::kUsage, "the clock's nanoseconds per tick must be a positive number");
  }
  return Reader(bytes, file_name, options).Read();
}

Trace ReadEtdumpFile(const std::filesystem::path& path, const EtdumpOptions& options) {
  const MappedFile file = MappedFile::Open(path);
  return ReadEtdump(file.bytes(), path.string(), options);
}

}  // namespace etprof
