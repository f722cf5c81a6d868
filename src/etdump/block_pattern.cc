#include "etdump/block_pattern.h"

#include <algorithm>

namespace etprof {
namespace {

using ::etdump::Event;
using ::etdump::ProfileEvent;
using ::etdump::RunData;
using flatbuffers::ReadScalar;

// A block of the largest traces has 20,000 events; within this many the sum of their lengths fits 64 bits.
constexpr std::size_t kMostEvents = 1U << 16U;
// A block's own bytes are about 90 an event. One that is strewn over the file has no pattern.
constexpr std::size_t kMostBytesOfAnEvent = 1024, kMostOtherBytes = 8192;

constexpr std::size_t kStep = 16;  // words that are compared at once

const std::uint8_t* BytesOf(const void* table) { return static_cast<const std::uint8_t*>(table); }

}  // namespace

// Notes for each byte from a block's table on what it is to the pattern.
class BlockPattern::Maker {
 public:
  enum Kind : std::uint8_t { kNone, kSame, kVtable, kTime };

  Maker(const RunData& run, const EtdumpRoot& file)
      : begin_(BytesOf(&run)),
        kinds_(std::min(
            static_cast<std::size_t>(file.end() - begin_),
            (run.events() != nullptr ? run.events()->size() : 0) * kMostBytesOfAnEvent + kMostOtherBytes)) {}

  // Every use of a byte says the same of it, or the block has no pattern: a time that is also part of an
  // offset could lead anywhere.
  bool Claim(const void* from, std::size_t size, Kind kind) {
    const std::uint8_t* at = BytesOf(from);
    if (at < begin_ || static_cast<std::size_t>(at - begin_) + size > kinds_.size()) return false;
    const std::size_t first = static_cast<std::size_t>(at - begin_);
    for (std::size_t i = first; i < first + size; ++i) {
      if (kinds_[i] != kNone && (kinds_[i] != kind || kind == kTime)) return false;
      kinds_[i] = kind;
    }
    used_ = std::max(used_, first + size);
    return true;
  }

  // The table's offset to its vtable, which holds the places of its fields.
  bool ClaimStart(const void* table) { return Claim(table, sizeof(flatbuffers::soffset_t), kVtable); }

  // A field of `size` bytes. Where it is absent, its vtable says so.
  bool ClaimField(const void* table, flatbuffers::voffset_t field, std::size_t size) {
    const auto offset = static_cast<const flatbuffers::Table*>(table)->GetOptionalFieldOffset(field);
    return offset == 0 || Claim(BytesOf(table) + offset, size, kSame);
  }

  bool ClaimString(const void* table, flatbuffers::voffset_t field, const flatbuffers::String* text) {
    if (text == nullptr) return true;
    return ClaimField(table, field, sizeof(flatbuffers::uoffset_t)) &&
           Claim(text, sizeof(flatbuffers::uoffset_t) + text->size() + 1, kSame);
  }

  bool ClaimTime(const void* table, flatbuffers::voffset_t field, std::uint32_t& place) {
    const auto offset = static_cast<const flatbuffers::Table*>(table)->GetOptionalFieldOffset(field);
    if (offset == 0) return false;  // it is 0, for which no bytes are written
    const std::uint8_t* at = BytesOf(table) + offset;
    place = static_cast<std::uint32_t>(at - begin_);
    return Claim(at, sizeof(std::uint64_t), kTime);
  }

  bool ClaimBlock(const RunData& run, std::vector<EventTimes>& times) {
    const auto* events = run.events();
    if (events == nullptr || events->size() == 0 || events->size() > kMostEvents ||
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
    pattern.place_ = begin_;
    pattern.times_ = std::move(times);
    // Whole steps of words: bytes of others at the end do not count.
    const std::size_t words = (used_ / 4 / kStep + 1) * kStep;
    // The file's last bytes: another block will do.
    if (words * 4 > static_cast<std::size_t>(file.end() - begin_)) return {};
    kinds_.resize(words * 4);
    for (std::size_t word = 0; word < words; ++word) {
      const auto mask = [&](auto counts) {
        std::uint32_t bits = 0;
        for (std::size_t byte = 0; byte < 4; ++byte)
          bits |= counts(kinds_[word * 4 + byte]) ? 0xffU << (8 * byte) : 0U;
        return bits;
      };
      pattern.words_.push_back(ReadScalar<std::uint32_t>(begin_ + word * 4));
      pattern.counts_.push_back(mask([](Kind kind) { return kind == kSame || kind == kVtable; }));
      pattern.moves_.push_back(mask([](Kind kind) { return kind == kVtable; }));
    }
    return pattern;
  }

 private:
  bool ClaimProfileEvent(const ProfileEvent& event, EventTimes& times) {
    constexpr std::size_t kInt = sizeof(std::int32_t);
    const auto* metadata = event.delegate_debug_metadata();  // runners write it empty
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

std::optional<BlockPattern> BlockPattern::Of(const RunData& run, const EtdumpRoot& file) {
  Maker maker(run, file);
  std::vector<EventTimes> times;
  if (!maker.ClaimBlock(run, times)) return std::nullopt;
  BlockPattern pattern = maker.Finish(std::move(times), file);
  if (pattern.words_.empty()) return std::nullopt;
  return pattern;
}

bool BlockPattern::Matches(const RunData& run, const EtdumpRoot& file) const {
  const std::uint8_t* at = BytesOf(&run);
  const std::ptrdiff_t distance = at - place_;
  // Fields are aligned to at most 8 bytes.
  if (distance % 8 != 0 || at < file.begin() || at > file.end() ||
      static_cast<std::size_t>(file.end() - at) < words_.size() * 4)
    return false;
  const auto moved = static_cast<std::uint32_t>(distance);  // offsets are 32 bits, and files below 2 GiB
  // Runners write from the end of a file to its beginning, merged files run forward.
  const std::uint8_t* const next = distance < 0 ? at - words_.size() * 4 : at + words_.size() * 4;
  std::uint32_t other[kStep] = {};
  for (std::size_t word = 0; word < words_.size(); word += kStep) {
    __builtin_prefetch(next + word * 4);
    for (std::size_t i = 0; i < kStep; ++i) {  // the compiler makes vectors of loops of a fixed length
      const auto has = ReadScalar<std::uint32_t>(at + (word + i) * 4);
      other[i] |= (has - words_[word + i] - (moves_[word + i] & moved)) & counts_[word + i];
    }
  }
  return std::ranges::all_of(other, [](std::uint32_t bits) { return bits == 0; });
}

bool BlockPattern::Times(const RunData& run, Nanoseconds longest, Nanoseconds latest, Nanoseconds* start,
                         Nanoseconds* end, double& total) const {
  const std::uint8_t* at = BytesOf(&run);
  std::uint64_t sum = 0;
  bool odd = false;
  for (std::size_t event = 0; event < times_.size(); ++event) {
    const auto from = ReadScalar<std::uint64_t>(at + times_[event].start);
    const auto to = ReadScalar<std::uint64_t>(at + times_[event].end);
    start[event] = static_cast<Nanoseconds>(from);
    end[event] = static_cast<Nanoseconds>(to);
    // Unsigned: an event that ends before it starts is too long as well.
    const std::uint64_t length = to - from;
    odd |= from > static_cast<std::uint64_t>(latest) || to > static_cast<std::uint64_t>(latest) ||
           length > static_cast<std::uint64_t>(longest);
    sum += length;
  }
  if (!odd) total += static_cast<double>(sum);
  return !odd;
}

}  // namespace etprof
