#include <fmt/compile.h>
#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/json/json.h"
#include "show/formats/trace/trace_writer.h"

namespace etprof {
namespace {

// The text as a JSON string; bytes that are not UTF-8 become U+FFFD.
std::string QuoteJson(const std::string& text) { return JsonText(nlohmann::json(text)); }

class ChromeWriter : public TraceWriter {
 public:
  explicit ChromeWriter(std::ostream& out) : out_(out) {}

  void Attributes(const std::vector<TraceArgument>& attributes) override { attributes_ = attributes; }
  void AlignClocks(const protocol::Clocks&) override {}

  TrackId AddProcess(const std::string& name) override {
    const TrackId track = NewTrack({++processes_, 0, ""});
    WriteMetadata("process_name", track, name);
    StartEvent();
    Append(FMT_COMPILE(
               R"({{"ph":"M","name":"process_sort_index","pid":{},"tid":0,"args":{{"sort_index":{}}}}})"),
           processes_, processes_);
    return track;
  }

  TrackId AddThread(TrackId process, const std::string& name) override {
    const TrackId track = NewTrack({tracks_[process].process, static_cast<int>(tracks_.size()), ""});
    WriteMetadata("thread_name", track, name);
    return track;
  }

  TrackId AddCounter(TrackId process, const std::string& name, const std::string& unit) override {
    const std::string text = unit.empty() ? name : name + " (" + unit + ")";
    return NewTrack({tracks_[process].process, 0, QuoteJson(text)});
  }

  SliceKindId AddSliceKind(const std::string& name, const std::string& category,
                           std::vector<TraceArgument> arguments) override {
    kinds_.push_back({fmt::format(R"({{"ph":"X","name":{},"cat":{},)", QuoteJson(name), QuoteJson(category)),
                      ArgumentsText(arguments)});
    return static_cast<SliceKindId>(kinds_.size() - 1);
  }

  void Slice(TrackId thread, int, SliceKindId kind_id, Nanoseconds start, Nanoseconds end,
             const std::vector<TraceArgument>& slice_arguments) override {
    const Kind& kind = kinds_[kind_id];
    const std::string slice_text = ArgumentsText(slice_arguments);
    StartEvent();
    Append(FMT_COMPILE(R"({}"pid":{},"tid":{},"ts":)"), kind.head, tracks_[thread].process,
           tracks_[thread].thread);
    AppendMicroseconds(start);
    Append(FMT_COMPILE(R"(,"dur":)"));
    AppendMicroseconds(end - start);
    Append(FMT_COMPILE(R"(,"args":{{{}{}{}}}}})"), kind.arguments,
           kind.arguments.empty() || slice_text.empty() ? "" : ",", slice_text);
  }

  void Value(TrackId counter, Nanoseconds time, double value) override {
    StartEvent();
    Append(FMT_COMPILE(R"({{"ph":"C","name":{},"pid":{},"ts":)"), tracks_[counter].name,
           tracks_[counter].process);
    AppendMicroseconds(time);
    Append(FMT_COMPILE(R"(,"args":{{"value":{}}}}})"), value);
  }

  void Finish() override {
    if (!started_) WriteHeader();
    Append(FMT_COMPILE("\n]}}\n"));
    Flush();
  }

 private:
  struct Track {
    int process = 0;
    int thread = 0;
    std::string name;  // name of a counter, as JSON
  };
  struct Kind {
    std::string head, arguments;
  };

  // `format` is an FMT_COMPILE string, parsed at compile time, since there are millions of events.
  template <typename Format, typename... Arguments>
  void Append(const Format& format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
  }

  TrackId NewTrack(Track track) {
    tracks_.push_back(std::move(track));
    return static_cast<TrackId>(tracks_.size() - 1);
  }

  void WriteMetadata(const char* metadata_name, TrackId track, const std::string& name) {
    StartEvent();
    Append(FMT_COMPILE(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})"), metadata_name,
           tracks_[track].process, tracks_[track].thread, QuoteJson(name));
  }

  static std::string ArgumentsText(const std::vector<TraceArgument>& arguments) {
    std::string text;
    for (const TraceArgument& argument : arguments) {
      if (!text.empty()) text += ',';
      text += QuoteJson(argument.name) + ':';
      if (const auto* number = std::get_if<std::int64_t>(&argument.value)) {
        text += std::to_string(*number);
      } else {
        text += QuoteJson(std::get<std::string>(argument.value));
      }
    }
    return text;
  }

  void AppendMicroseconds(Nanoseconds time) {
    const bool negative = time < 0;
    const std::uint64_t magnitude =
        negative ? 0 - static_cast<std::uint64_t>(time) : static_cast<std::uint64_t>(time);
    Append(FMT_COMPILE("{}{}.{:03}"), negative ? "-" : "", magnitude / 1000, magnitude % 1000);
  }

  void WriteHeader() {
    started_ = true;
    Append(FMT_COMPILE(R"({{"displayTimeUnit":"ns","otherData":{{{}}},"traceEvents":[)"),
           ArgumentsText(attributes_));
  }

  // Starts an event: writes the file's header before the first event, and a comma before all others.
  void StartEvent() {
    if (!started_) {
      WriteHeader();
    } else if (has_events_) {
      text_.push_back(',');
    }
    has_events_ = true;
    text_.push_back('\n');
    if (text_.size() > (std::size_t{1} << 18U)) Flush();
  }

  void Flush() {
    out_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
    text_.clear();
  }

  std::ostream& out_;
  fmt::memory_buffer text_;
  bool started_ = false, has_events_ = false;
  int processes_ = 0;
  std::vector<TraceArgument> attributes_;
  std::vector<Track> tracks_;
  std::vector<Kind> kinds_;
};

}  // namespace

std::unique_ptr<TraceWriter> ChromeTraceWriter(std::ostream& out) {
  return std::make_unique<ChromeWriter>(out);
}

}  // namespace etprof
