#include <map>
#include <optional>
#include <protozero/pbf_writer.hpp>
#include <string>

#include "core/text/escape.h"
#include "show/formats/trace/trace_writer.h"

namespace etprof {
namespace {

using protozero::pbf_writer;

// Field numbers in protos/perfetto/trace.
namespace field {
constexpr std::uint32_t kTracePacket = 1;
namespace packet {
constexpr std::uint32_t kClockSnapshot = 6, kTimestamp = 8, kSequenceId = 10, kTrackEvent = 11,
                        kInternedData = 12, kSequenceFlags = 13, kTimestampClockId = 58,
                        kTrackDescriptor = 60, kTraceAttributes = 126;
}
namespace event {
constexpr std::uint32_t kAnnotations = 4, kType = 9, kNameIid = 10, kTrack = 11, kCategoryIids = 3,
                        kDoubleValue = 44;
}
namespace descriptor {
constexpr std::uint32_t kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5, kCounter = 8;
}
namespace interned {
constexpr std::uint32_t kCategories = 1, kEventNames = 2, kAnnotationNames = 3, kAnnotationTexts = 29;
}
}  // namespace field

constexpr std::uint32_t kSequence = 1;
constexpr std::uint32_t kBegin = 1, kEnd = 2, kCounterValue = 4;
constexpr std::uint32_t kStateCleared = 1, kNeedsState = 2;
constexpr std::int64_t kFirstProcess = 5'000'001;  // Linux assigns no process ids above 4,194,304

// Interns strings: each is written once per packet sequence, and later packets refer to it by number.
class StringInterner {
 public:
  explicit StringInterner(std::uint32_t field_number) : field_(field_number) {}
  // The number of a text. A new text is appended to `data`.
  std::uint64_t Number(const std::string& text, std::string& data) {
    const auto [entry, is_new] = numbers_.try_emplace(text, numbers_.size() + 1);
    if (is_new) {
      pbf_writer writer(data);
      pbf_writer entry_writer(writer, field_);
      entry_writer.add_uint64(1, entry->second);
      entry_writer.add_string(2, EscapeToOneLine(text));
    }
    return entry->second;
  }

 private:
  std::uint32_t field_;
  std::map<std::string, std::uint64_t> numbers_;
};

class PerfettoTrace : public TraceWriter {
 public:
  explicit PerfettoTrace(std::ostream& out) : out_(out) {}

  void Attributes(const std::vector<TraceArgument>& attributes) override {
    std::string list;
    pbf_writer writer(list);
    for (const TraceArgument& argument : attributes) {
      pbf_writer attribute(writer, 1);
      attribute.add_string(1, EscapeToOneLine(argument.name));
      if (const auto* number = std::get_if<std::int64_t>(&argument.value)) {
        attribute.add_int64(2, *number);
      } else {
        attribute.add_string(3, EscapeToOneLine(std::get<std::string>(argument.value)));
      }
    }
    EmitMessage(field::packet::kTraceAttributes, list);
  }

  void AlignClocks(const protocol::Clocks& clocks) override {
    // BuiltinClock: realtime is 1, monotonic 3, and boottime 6, which is the trace's default.
    std::string snapshot;
    pbf_writer writer(snapshot);
    for (const auto& [id, time] : {std::pair{1U, clocks.realtime_ns}, std::pair{3U, clocks.monotonic_ns},
                                   std::pair{6U, clocks.boottime_ns}}) {
      pbf_writer clock(writer, 1);
      clock.add_uint32(1, id);
      clock.add_uint64(2, static_cast<std::uint64_t>(time));
    }
    EmitMessage(field::packet::kClockSnapshot, snapshot);
    clock_ = 3;
  }

  TrackId AddProcess(const std::string& name) override {
    const TrackId track = NewTrack();
    pids_[track] = kFirstProcess + static_cast<std::int64_t>(pids_.size());
    std::string process;
    pbf_writer process_writer(process);
    process_writer.add_int64(1, pids_[track]);
    process_writer.add_string(6, EscapeToOneLine(name));
    return EmitTrack(track, "", std::nullopt, field::descriptor::kProcess, process);
  }

  TrackId AddThread(TrackId process, const std::string& name) override {
    const TrackId track = NewTrack();
    std::string thread;
    pbf_writer thread_writer(thread);
    thread_writer.add_int64(1, pids_.at(process));
    thread_writer.add_int64(2, kFirstProcess + 1'000'000 + static_cast<std::int64_t>(track));
    thread_writer.add_string(5, EscapeToOneLine(name));
    return EmitTrack(track, "", process, field::descriptor::kThread, thread);
  }

  TrackId AddCounter(TrackId process, const std::string& name, const std::string& unit) override {
    std::string counter;
    pbf_writer(counter).add_string(6, unit);
    return EmitTrack(NewTrack(), name, process, field::descriptor::kCounter, counter);
  }

  SliceKindId AddSliceKind(const std::string& name, const std::string& category,
                           std::vector<TraceArgument> arguments) override {
    // The part of the event that all slices of this kind share.
    std::string event;
    pbf_writer writer(event);
    writer.add_uint32(field::event::kType, kBegin);
    writer.add_uint64(field::event::kNameIid, names_.Number(name, new_data_));
    if (!category.empty())
      writer.add_uint64(field::event::kCategoryIids, categories_.Number(category, new_data_));
    AddAnnotations(arguments, writer);
    kinds_.push_back(std::move(event));
    return static_cast<SliceKindId>(kinds_.size() - 1);
  }

  void Slice(TrackId thread, int depth, SliceKindId kind_id, Nanoseconds start, Nanoseconds end,
             const std::vector<TraceArgument>& slice_arguments) override {
    CloseSlicesToDepth(thread, depth);
    event_ = kinds_[kind_id];
    pbf_writer event(event_);
    event.add_uint64(field::event::kTrack, thread);
    AddAnnotations(slice_arguments, event);
    EmitEvent(start);
    open_[thread].push_back(end);
  }

  void Value(TrackId counter, Nanoseconds time, double value) override {
    event_.clear();
    pbf_writer event(event_);
    event.add_uint32(field::event::kType, kCounterValue);
    event.add_uint64(field::event::kTrack, counter);
    event.add_double(field::event::kDoubleValue, value);
    EmitEvent(time);
  }

  void Finish() override {
    for (const auto& [thread, ends] : open_) CloseSlicesToDepth(thread, 0);
    Flush();
  }

 private:
  TrackId NewTrack() { return ++tracks_; }

  // Perfetto has no complete events: the end of a slice is a separate event, in the order of the tree.
  void CloseSlicesToDepth(TrackId thread, int depth) {
    std::vector<Nanoseconds>& ends = open_[thread];
    while (static_cast<int>(ends.size()) > depth) {
      event_.clear();
      pbf_writer event(event_);
      event.add_uint32(field::event::kType, kEnd);
      event.add_uint64(field::event::kTrack, thread);
      EmitEvent(ends.back());
      ends.pop_back();
    }
  }

  void AddAnnotations(const std::vector<TraceArgument>& arguments, pbf_writer& event) {
    for (const TraceArgument& argument : arguments) {
      pbf_writer annotation(event, field::event::kAnnotations);
      annotation.add_uint64(1, annotation_names_.Number(argument.name, new_data_));
      if (const auto* number = std::get_if<std::int64_t>(&argument.value)) {
        annotation.add_int64(4, *number);
      } else {
        annotation.add_uint64(17, annotation_texts_.Number(std::get<std::string>(argument.value), new_data_));
      }
    }
  }

  // `kind` is the descriptor's field for `message`. An empty name is left out.
  TrackId EmitTrack(TrackId track, const std::string& name, std::optional<TrackId> parent,
                    protozero::pbf_tag_type kind, const std::string& message) {
    std::string bytes;
    pbf_writer descriptor(bytes);
    descriptor.add_uint64(field::descriptor::kUuid, track);
    if (!name.empty()) descriptor.add_string(field::descriptor::kName, name);
    if (parent) descriptor.add_uint64(field::descriptor::kParent, *parent);
    descriptor.add_message(kind, message);
    EmitMessage(field::packet::kTrackDescriptor, bytes);
    return track;
  }

  void EmitMessage(protozero::pbf_tag_type kind, const std::string& message) {
    pbf_writer packet = BeginPacket();
    packet.add_message(kind, message);
    FinishPacket();
  }

  void EmitEvent(Nanoseconds time) {
    pbf_writer packet = BeginPacket();
    packet.add_uint64(field::packet::kTimestamp, static_cast<std::uint64_t>(time));
    if (clock_ != 0) packet.add_uint32(field::packet::kTimestampClockId, clock_);
    packet.add_message(field::packet::kTrackEvent, event_);
    FinishPacket();
  }

  // Begins a packet of the sequence. The first packet clears the state that earlier sequences may have left.
  pbf_writer BeginPacket() {
    packet_.clear();
    pbf_writer packet(packet_);
    packet.add_uint32(field::packet::kSequenceId, kSequence);
    packet.add_uint32(field::packet::kSequenceFlags, first_ ? kStateCleared : kNeedsState);
    first_ = false;
    if (!new_data_.empty()) {
      packet.add_message(field::packet::kInternedData, new_data_);
      new_data_.clear();
    }
    return packet;
  }

  void FinishPacket() {
    pbf_writer(buffer_).add_message(field::kTracePacket, packet_);
    if (buffer_.size() > (std::size_t{1} << 18U)) Flush();
  }

  void Flush() {
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }

  std::ostream& out_;
  std::string buffer_, packet_, event_;  // event_: the event of the current packet, reused
  std::string new_data_;                 // interned data that no packet has contained yet
  bool first_ = true;
  std::uint32_t clock_ = 0;  // 0: the trace's default clock
  TrackId tracks_ = 0;
  std::map<TrackId, std::int64_t> pids_;
  std::map<TrackId, std::vector<Nanoseconds>> open_;  // the end times of the open slices
  std::vector<std::string> kinds_;
  StringInterner names_{field::interned::kEventNames}, categories_{field::interned::kCategories},
      annotation_names_{field::interned::kAnnotationNames},
      annotation_texts_{field::interned::kAnnotationTexts};
};

}  // namespace

std::unique_ptr<TraceWriter> PerfettoWriter(std::ostream& out) {
  return std::make_unique<PerfettoTrace>(out);
}

}  // namespace etprof
