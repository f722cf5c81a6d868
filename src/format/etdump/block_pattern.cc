#include "format/etdump/block_pattern.h"

#include <algorithm>

namespace etprof {
namespace {

using ::etdump::Event;
using ::etdump::ProfileEvent;
using ::etdump::RunData;
using flatbuffers::ReadScalar;

// The largest traces have blocks of 20,000 events. With this limit,
// the sum of the events' durations fits into 64 bits.
constexpr std::size_t kMaxEvents = 1U << 16U;
// A block has about 90 bytes per event. A block that is scattered over the file has no pattern.
constexpr std::size_t kMaxBytesPerEvent = 1024, kMaxOtherBytes = 8192;

constexpr std::size_t kWordsPerStep = 16;  // words that are compared at once

const std::uint8_t* AsBytes(const void* table) { return static_cast<const std::uint8_t*>(table); }

}  // namespace

// Records what each byte of a block is used for. Byte 0 is the first byte of the block's table.
class BlockPattern::Builder {
 public:
  enum Kind : std::uint8_t { kNone, kSame, kVtable, kTime };

  Builder(const RunData& run, const EtdumpRoot& file)
      : begin_(AsBytes(&run)),
        kinds_(std::min(
            static_cast<std::size_t>(file.end() - begin_),
            (run.events() != nullptr ? run.events()->size() : 0) * kMaxBytesPerEvent + kMaxOtherBytes)) {}

  // Returns false if a byte already has another use: if a time were also part of an offset, another time
  // would make the offset point anywhere.
  bool Claim(const void* from, std::size_t size, Kind kind) {
    const std::uint8_t* position = AsBytes(from);
    if (position < begin_ || static_cast<std::size_t>(position - begin_) + size > kinds_.size()) return false;
    const std::size_t first = static_cast<std::size_t>(position - begin_);
    for (std::size_t i = first; i < first + size; ++i) {
      if (kinds_[i] != kNone && (kinds_[i] != kind || kind == kTime)) return false;
      kinds_[i] = kind;
    }
    used_ = std::max(used_, first + size);
    return true;
  }

  // Claims the table's offset to its vtable. The vtable contains the places of the fields.
  bool ClaimStart(const void* table) { return Claim(table, sizeof(flatbuffers::soffset_t), kVtable); }

  // Claims a field of `size` bytes. Only the vtable determines whether a field is absent.
  bool ClaimField(const void* table, flatbuffers::voffset_t field, std::size_t size) {
    const auto offset = static_cast<const flatbuffers::Table*>(table)->GetOptionalFieldOffset(field);
    return offset == 0 || Claim(AsBytes(table) + offset, size, kSame);
  }

  bool ClaimString(const void* table, flatbuffers::voffset_t field, const flatbuffers::String* text) {
    if (text == nullptr) return true;
    return ClaimField(table, field, sizeof(flatbuffers::uoffset_t)) &&
           Claim(text, sizeof(flatbuffers::uoffset_t) + text->size() + 1, kSame);
  }

  bool ClaimTime(const void* table, flatbuffers::voffset_t field, std::uint32_t& byte_offset) {
    const auto offset = static_cast<const flatbuffers::Table*>(table)->GetOptionalFieldOffset(field);
    if (offset == 0) return false;  // the time is 0, for which no bytes are written
    const std::uint8_t* time = AsBytes(table) + offset;
    byte_offset = static_cast<std::uint32_t>(time - begin_);
    return Claim(time, sizeof(std::uint64_t), kTime);
  }

  bool ClaimBlock(const RunData& run, std::vector<EventTimes>& times) {
    const auto* events = run.events();
    if (events == nullptr || events->size() == 0 || events->size() > kMaxEvents ||
        run.allocators() != nullptr)
      return false;
    constexpr std::size_t kOffset = sizeof(flatbuffers::uoffset_t);
    if (!ClaimStart(&run) || !ClaimString(&run, RunData::VT_NAME, run.name()) ||
        !ClaimField(&run, RunData::VT_BUNDLED_INPUT_INDEX, sizeof(std::int32_t)) ||
        !ClaimField(&run, RunData::VT_EVENTS, kOffset) ||
        !Claim(events, kOffset + events->size() * kOffset, kSame))
      return false;
    times.reserve(events->size());
    for (const Event* event : *events) {
      if (event->profile_event() == nullptr || event->allocation_event() != nullptr ||
          event->debug_event() != nullptr || !ClaimStart(event) ||
          !ClaimField(event, Event::VT_PROFILE_EVENT, kOffset) ||
          !ClaimProfileEvent(*event->profile_event(), times.emplace_back()))
        return false;
    }
    return true;
  }

  BlockPattern Finish(std::vector<EventTimes> times, const EtdumpRoot& file) {
    BlockPattern pattern;
    pattern.table_ = begin_;
    pattern.times_ = std::move(times);
    // Round up to whole steps. Trailing bytes of other tables are not compared.
    const std::size_t words = (used_ / 4 / kWordsPerStep + 1) * kWordsPerStep;
    // If the last step would reach beyond the end of the file, another block must provide the pattern.
    if (words * 4 > static_cast<std::size_t>(file.end() - begin_)) return {};
    kinds_.resize(words * 4);
    for (std::size_t word = 0; word < words; ++word) {
      const auto mask = [&](auto is_included) {
        std::uint32_t bits = 0;
        for (std::size_t byte = 0; byte < 4; ++byte)
          bits |= is_included(kinds_[word * 4 + byte]) ? 0xffU << (8 * byte) : 0U;
        return bits;
      };
      pattern.expected_words_.push_back(ReadScalar<std::uint32_t>(begin_ + word * 4));
      pattern.compare_masks_.push_back(mask([](Kind kind) { return kind == kSame || kind == kVtable; }));
      pattern.relocation_masks_.push_back(mask([](Kind kind) { return kind == kVtable; }));
    }
    return pattern;
  }

 private:
  bool ClaimProfileEvent(const ProfileEvent& event, EventTimes& times) {
    constexpr std::size_t kInt = sizeof(std::int32_t);
    const auto* metadata = event.delegate_debug_metadata();  // runners write an empty vector
    if (metadata != nullptr &&
        (metadata->size() != 0 || !Claim(metadata, sizeof(flatbuffers::uoffset_t), kSame) ||
         !ClaimField(&event, ProfileEvent::VT_DELEGATE_DEBUG_METADATA, sizeof(flatbuffers::uoffset_t))))
      return false;
    return ClaimStart(&event) && ClaimString(&event, ProfileEvent::VT_NAME, event.name()) &&
           ClaimString(&event, ProfileEvent::VT_DELEGATE_DEBUG_ID_STR, event.delegate_debug_id_str()) &&
           ClaimField(&event, ProfileEvent::VT_CHAIN_INDEX, kInt) &&
           ClaimField(&event, ProfileEvent::VT_INSTRUCTION_ID, kInt) &&
           ClaimField(&event, ProfileEvent::VT_DELEGATE_DEBUG_ID_INT, kInt) &&
           ClaimTime(&event, ProfileEvent::VT_START_TIME, times.start) &&
           ClaimTime(&event, ProfileEvent::VT_END_TIME, times.end);
  }

  const std::uint8_t* begin_;
  std::vector<Kind> kinds_;
  std::size_t used_ = 0;
};

std::optional<BlockPattern> BlockPattern::FromBlock(const RunData& run, const EtdumpRoot& file) {
  Builder builder(run, file);
  std::vector<EventTimes> times;
  if (!builder.ClaimBlock(run, times)) return std::nullopt;
  BlockPattern pattern = builder.Finish(std::move(times), file);
  if (pattern.expected_words_.empty()) return std::nullopt;
  return pattern;
}

bool BlockPattern::Matches(const RunData& run, const EtdumpRoot& file) const {
  const std::uint8_t* block = AsBytes(&run);
  const std::ptrdiff_t distance = block - table_;
  // Fields are aligned to at most 8 bytes.
  if (distance % 8 != 0 || block < file.begin() || block > file.end() ||
      static_cast<std::size_t>(file.end() - block) < expected_words_.size() * 4)
    return false;
  // Offsets have 32 bits, and files are below 2 GiB.
  const auto relocation = static_cast<std::uint32_t>(distance);
  // Prefetch the next block: runners write a file from its end to its beginning, merging writes forward.
  const std::uint8_t* const next =
      distance < 0 ? block - expected_words_.size() * 4 : block + expected_words_.size() * 4;
  std::uint32_t differences[kWordsPerStep] = {};
  for (std::size_t word = 0; word < expected_words_.size(); word += kWordsPerStep) {
    __builtin_prefetch(next + word * 4);
    for (std::size_t i = 0; i < kWordsPerStep; ++i) {  // compilers vectorize loops of a fixed length
      const auto value = ReadScalar<std::uint32_t>(block + (word + i) * 4);
      differences[i] |= (value - expected_words_[word + i] - (relocation_masks_[word + i] & relocation)) &
                        compare_masks_[word + i];
    }
  }
  return std::ranges::all_of(differences, [](std::uint32_t bits) { return bits == 0; });
}

bool BlockPattern::ReadTimes(const RunData& run, Nanoseconds max_length, Nanoseconds max_time,
                             Nanoseconds* start, Nanoseconds* end, double& total) const {
  const std::uint8_t* block = AsBytes(&run);
  std::uint64_t sum = 0;
  bool needs_handling = false;
  for (std::size_t event = 0; event < times_.size(); ++event) {
    const auto from = ReadScalar<std::uint64_t>(block + times_[event].start);
    const auto to = ReadScalar<std::uint64_t>(block + times_[event].end);
    start[event] = static_cast<Nanoseconds>(from);
    end[event] = static_cast<Nanoseconds>(to);
    // The length is unsigned, so an event that ends before it starts is also too long.
    const std::uint64_t length = to - from;
    needs_handling |= from > static_cast<std::uint64_t>(max_time) ||
                      to > static_cast<std::uint64_t>(max_time) ||
                      length > static_cast<std::uint64_t>(max_length);
    sum += length;
  }
  if (!needs_handling) total += static_cast<double>(sum);
  return !needs_handling;
}

}  // namespace etprof
