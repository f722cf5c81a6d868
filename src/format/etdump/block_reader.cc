#include "format/etdump/block_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace etprof {
namespace {

// No runner writes names longer than this. If all events of a file shared a huge name, comparing it would
// take forever.
constexpr std::size_t kMaxNameBytes = 4096;

// A layout gets no pattern any more after this many blocks whose bytes differ from its pattern.
constexpr int kMaxPatternMisses = 16;
constexpr const char* kOutOfRange =
    "a time beyond 146 years, or an event of more than 4.8 hours, counts as 0";

// ExecuTorch's Python serializer writes an absent text as an empty one, and its Inspector treats both alike.
const flatbuffers::String* TextOrNull(const flatbuffers::String* text) {
  return text == nullptr || text->size() == 0 ? nullptr : text;
}

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

Trace::Block BlockReader::Read(const ::etdump::RunData& run, std::size_t index, Nanoseconds* start,
                               Nanoseconds* end) {
  if (auto block = ReadByPattern(run, start, end)) return *std::move(block);
  if (!file_.Verify(run)) throw file_.MalformedError();
  block_name_ = run.name() != nullptr ? std::string_view(run.name()->c_str(), run.name()->size()) : "";
  block_name_ = block_name_.substr(0, kMaxNameBytes);
  block_index_ = index;
  has_health_entry_ = false;
  count_ = 0;
  start_ = start;
  end_ = end;
  matches_expected_ = !trace_.layouts.empty();
  expected_layout_ = matches_expected_ ? successor_[last_layout_] : 0;
  new_layout_ = {};
  if (run.events() != nullptr) {
    for (const auto* event : *run.events()) {
      if (event->profile_event() != nullptr) {
        ReadProfileEvent(*event->profile_event());
      } else if (event->allocation_event() != nullptr) {
        CountAllocation(run, *event->allocation_event());
      } else if (event->debug_event() == nullptr) {
        AddHealthEntry("event_empty", HealthEntry::Severity::kDataLoss,
                       "an event that is neither profile, allocation nor debug", event, "");
      }
    }
  }
  Trace::Block block;
  block.name = std::string(block_name_);
  block.event_count = count_;
  block.layout = FinishLayout();
  block.bundled_input_index = run.bundled_input_index();
  LearnPattern(run, block);
  return block;
}

// Reads a block that matches the pattern of the expected block, without verification or a walk. Absent if the
// block does not match, or if an event needs a health entry.
std::optional<Trace::Block> BlockReader::ReadByPattern(const ::etdump::RunData& run, Nanoseconds* start,
                                                       Nanoseconds* end) {
  if (known_.empty()) return std::nullopt;
  KnownBlock& known = GetKnownBlock(successor_[last_layout_], run);
  if (!known.pattern) return std::nullopt;
  if (!known.pattern->Matches(run, file_)) {
    ++known.misses;
    return std::nullopt;
  }
  if (!known.pattern->ReadTimes(run, kMaxEventTime, kMaxTime, start, end, total_length_ns_))
    return std::nullopt;
  SetLastLayout(known.block.layout);
  return known.block;
}

void BlockReader::LearnPattern(const ::etdump::RunData& run, const Trace::Block& block) {
  known_.resize(2 * trace_.layouts.size());
  KnownBlock& known = GetKnownBlock(block.layout, run);
  if (known.misses > kMaxPatternMisses) {
    known.pattern.reset();  // comparing takes longer than walking the block
    return;
  }
  // Times in ticks must be converted, and health entries must be counted for each event.
  if (scale_ != 1.0 || delegate_scale_ != 1.0 || has_health_entry_) return;
  known.pattern = BlockPattern::FromBlock(run, file_);
  known.block = block;
  if (!known.pattern) ++known.misses;
}

void BlockReader::ReadProfileEvent(const ::etdump::ProfileEvent& event) {
  const flatbuffers::String* framework_name = TextOrNull(event.name());
  const flatbuffers::String* delegate_name = TextOrNull(event.delegate_debug_id_str());
  const std::int32_t delegate_id = event.delegate_debug_id_int();
  const bool delegated = delegate_name != nullptr || delegate_id != -1;
  const auto source = delegated ? Trace::Source::kDelegate : Trace::Source::kFramework;
  const flatbuffers::String* text = delegate_name != nullptr ? delegate_name : framework_name;
  std::string integer_name;
  std::string_view name;
  if (text != nullptr) {
    name = {text->c_str(), std::min<std::size_t>(text->size(), kMaxNameBytes)};
    if (text->size() > kMaxNameBytes) {
      AddHealthEntry("name_cut", HealthEntry::Severity::kError, "a name of more than 4096 bytes is cut",
                     &event, name.substr(0, 40));
    }
  } else {
    integer_name = std::to_string(delegate_id);
    name = integer_name;
  }
  AppendRow(name, source, event.chain_index(), event.instruction_id(), delegate_id);
  if (const auto* metadata = event.delegate_debug_metadata(); metadata != nullptr && metadata->size() > 0) {
    const std::string_view bytes(reinterpret_cast<const char*>(metadata->data()), metadata->size());
    AddMetadata(trace_, event.instruction_id(), name,
                {std::string(bytes.substr(0, Trace::Metadata::kMaxBytes)), bytes.size(), 1});
  }

  const bool is_inference = !delegated && name == "Method::execute";
  const double scale = delegated ? delegate_scale_ : scale_;
  const auto start_time = ConvertTime(event.start_time(), scale, event);
  const auto end_time = ConvertTime(event.end_time(), scale, event);
  if (is_inference && (!start_time || !end_time)) ThrowInvalidInference(event, "at a time beyond 146 years");
  const Nanoseconds start = start_time.value_or(0);
  const Nanoseconds end = end_time.value_or(0);
  start_[count_] = start;
  end_[count_] = end;
  const Nanoseconds length = end < start ? start - end : end - start;
  if (length > kMaxEventTime) {
    if (is_inference) ThrowInvalidInference(event, "of more than 4.8 hours");
    end_[count_] = start;
    AddHealthEntry("time_out_of_range", HealthEntry::Severity::kError, kOutOfRange, &event, name);
    ++count_;
    return;
  }
  total_length_ns_ += static_cast<double>(length);
  if (end < start) {
    AddHealthEntry("event_backwards", HealthEntry::Severity::kError,
                   "an event that ends before it starts counts as 0 ns", &event, name, start - end);
  }
  ++count_;
}

void BlockReader::AppendRow(std::string_view name, Trace::Source source, std::int32_t chain,
                            std::int32_t instruction, std::int32_t delegate_id) {
  if (matches_expected_) {
    const Trace::Layout& expected = trace_.layouts[expected_layout_];
    if (count_ < expected.size() && expected.instruction[count_] == instruction &&
        expected.chain[count_] == chain && expected.source[count_] == source &&
        expected.delegate_id[count_] == delegate_id && trace_.GetName(expected, count_) == name) {
      return;
    }
    CopyExpectedRows();
  }
  new_layout_.name.push_back(trace_.names.Intern(name));
  new_layout_.source.push_back(source);
  new_layout_.chain.push_back(chain);
  new_layout_.instruction.push_back(instruction);
  new_layout_.delegate_id.push_back(delegate_id);
}

// The block differs from the expected layout from the current event on, so copy the rows before it.
void BlockReader::CopyExpectedRows() {
  matches_expected_ = false;
  const Trace::Layout& expected = trace_.layouts[expected_layout_];
  const auto copy_rows = [&](auto& column, const auto& source_column) {
    column.assign(source_column.begin(), source_column.begin() + count_);
  };
  copy_rows(new_layout_.name, expected.name);
  copy_rows(new_layout_.source, expected.source);
  copy_rows(new_layout_.chain, expected.chain);
  copy_rows(new_layout_.instruction, expected.instruction);
  copy_rows(new_layout_.delegate_id, expected.delegate_id);
}

std::uint32_t BlockReader::FinishLayout() {
  if (matches_expected_ && count_ < trace_.layouts[expected_layout_].size()) CopyExpectedRows();
  std::uint32_t layout = expected_layout_;
  if (!matches_expected_) {
    layout = layout_index_.FindOrAdd(trace_.layouts, std::move(new_layout_));
    if (layout == successor_.size()) successor_.push_back(layout);
  }
  SetLastLayout(layout);
  return layout;
}

void BlockReader::SetLastLayout(std::uint32_t layout) {
  if (!successor_.empty()) successor_[last_layout_] = layout;
  last_layout_ = layout;
}

void BlockReader::CountAllocation(const ::etdump::RunData& run, const ::etdump::AllocationEvent& event) {
  // Allocators are numbered from 1 in the block's list (EventTracer::track_allocator).
  std::string_view name;
  const auto* allocators = run.allocators();
  const auto id = static_cast<std::int64_t>(event.allocator_id());
  if (allocators != nullptr && id >= 1 && id <= static_cast<std::int64_t>(allocators->size())) {
    const auto* allocator = allocators->Get(static_cast<flatbuffers::uoffset_t>(id - 1));
    if (allocator->name() != nullptr) name = {allocator->name()->c_str(), allocator->name()->size()};
  }
  name = name.substr(0, kMaxNameBytes);
  // A size in a foreign file may exceed the range of Bytes.
  const auto size =
      std::min(event.allocation_size(), static_cast<std::uint64_t>(std::numeric_limits<Bytes>::max()));
  AddAllocations(trace_.allocations, {std::string(name), 1, static_cast<Bytes>(size)});
}

// An operator's time that is out of range counts as 0 with a health entry, but an inference of 0 would make
// all results meaningless.
void BlockReader::ThrowInvalidInference(const ::etdump::ProfileEvent& event, const char* problem) const {
  throw Error(ExitCode::kBadInput, fmt::format("holds a Method::execute {} (block {} {}, event {})", problem,
                                               block_index_, block_name_, count_))
      .AtOffset(FileOffset(&event))
      .Remedy("state the file's clock with `--time-scale`. ExecuTorch's runners count ns");
}

std::uint64_t BlockReader::FileOffset(const void* object) const {
  return static_cast<std::uint64_t>(static_cast<const std::byte*>(object) - bytes_.data());
}

std::optional<Nanoseconds> BlockReader::ConvertTime(std::uint64_t ticks, double scale,
                                                    const ::etdump::ProfileEvent& event) {
  const bool fits = scale == 1.0 ? ticks <= static_cast<std::uint64_t>(kMaxTime)
                                 : static_cast<double>(ticks) * scale <= static_cast<double>(kMaxTime);
  if (!fits) {
    AddHealthEntry("time_out_of_range", HealthEntry::Severity::kError, kOutOfRange, &event, "");
    return std::nullopt;
  }
  return scale == 1.0 ? static_cast<Nanoseconds>(ticks)
                      : static_cast<Nanoseconds>(std::llround(static_cast<double>(ticks) * scale));
}

void BlockReader::AddHealthEntry(const char* name, HealthEntry::Severity severity, const char* explanation,
                                 const void* object, std::string_view event_name, Nanoseconds amount) {
  has_health_entry_ = true;
  HealthEntry entry{name, severity, explanation, 1, amount, {}, {}};
  if (trace_.health.GetCount(name) == 0) {
    entry.first_offset = FileOffset(object);
    entry.first_place =
        fmt::format("block {} {}, event {} {}", block_index_, block_name_, count_, event_name);
  }
  trace_.health.Add(std::move(entry));
}

}  // namespace etprof
