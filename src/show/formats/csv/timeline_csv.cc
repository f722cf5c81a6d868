#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <type_traits>

#include "core/text/csv_members.h"
#include "profile/timeline/timeline_row.h"
#include "show/formats/csv/kit_files.h"

namespace etprof {
namespace {

template <typename Member>
struct ClassOfMember;
template <typename Value, typename Class>
struct ClassOfMember<Value Class::*> : std::type_identity<Class> {};
template <typename Member>
constexpr bool kIsTimeColumn = std::is_same_v<typename ClassOfMember<Member>::type, TimelineTimes>;

// The texts of a row that repeat in every run of an event's layout: the text before each column of times.
struct RowTexts {
  std::vector<std::string> before;
  std::int32_t op = -1;  // index into Profile::operators; -1: the event is in no run
};

struct RowTextsBuilder {
  const TimelineEventInfo& place;
  std::vector<std::string>& before;
  std::string text = {};

  template <typename Member>
  void operator()(const char*, Member column, const MemberInfo& = {}) {
    if constexpr (kIsTimeColumn<Member>) {
      before.push_back(std::move(text));
      text = ",";
    } else {
      Add(place.*column);
      text += ',';
    }
  }
  void Add(const std::string& value) { text += CsvField(value); }
  void Add(std::optional<std::int32_t> value) { text += value ? std::to_string(*value) : ""; }
};

struct RowTimesWriter {
  CsvBuffer& out;
  const TimelineTimes& times;
  const std::string* before;

  template <typename Member>
  void operator()(const char*, Member column, const MemberInfo& about = {}) {
    if constexpr (kIsTimeColumn<Member>) {
      out << *before++;
      describe::PutCell<0>(describe::MemberValue(column, times), about, out);
    }
  }
};

class TimelineWriter {
 public:
  TimelineWriter(const Trace& trace, const Profile& profile, std::ostream& out)
      : trace_(trace), profile_(profile), buffer_(out) {
    if (!trace.start.empty()) times_.origin = *std::ranges::min_element(trace.start);
  }

  void Write(std::optional<std::size_t> only_run) {
    buffer_ << fmt::format("{}\n", fmt::join(CsvColumns<TimelineRow>(), ","));
    // Runs are in the order of their blocks, and runs of one block in the order of its events.
    std::size_t run = 0;
    for (std::uint32_t index = 0; index < trace_.blocks.size(); ++index) {
      const Trace::Block& block = trace_.blocks[index];
      bool has_runs = false;
      for (; run < profile_.runs.size() && profile_.runs[run].block == index; ++run) {
        has_runs = true;
        if (!only_run || run == *only_run) WriteRun(run, block);
      }
      if (!only_run && (has_runs || block.name == "Execute")) WriteRest(block);
    }
  }

 private:
  void WriteRun(std::size_t index, const Trace::Block& block) {
    const ProfiledRun& run = profile_.runs[index];
    const std::vector<RowTexts>& rows = CachedRowTexts(run, block);
    const std::size_t first = block.first_event + run.first_event;
    times_.whole = run.total;
    times_.run = index;
    times_.phase = run.label.phase;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      times_.self = profile_.Self(static_cast<std::size_t>(rows[i].op))[index];
      WriteRow(rows[i], first + i);
    }
  }

  // Events after the last run of a block belong to a run that was cut off.
  void WriteRest(const Trace::Block& block) {
    const Trace::Layout& layout = trace_.GetLayout(block);
    std::size_t first = layout.size();
    while (first > 0 && !trace_.IsFramework(layout, first - 1, "Method::execute")) --first;
    times_ = {.origin = times_.origin};
    for (std::size_t i = first; i < layout.size(); ++i) {
      TimelineEventInfo place = PlaceOf(layout, i, block);
      place.type = place.name;
      WriteRow(MakeRowTexts(place), block.first_event + i);
    }
  }

  // Everything is inlined: otherwise, descriptions of columns would be built for every cell.
  [[gnu::flatten]] void WriteRow(const RowTexts& texts, std::size_t event) {
    times_.start = trace_.start[event];
    times_.end = trace_.end[event];
    RowTimesWriter row{buffer_, times_, texts.before.data()};
    TimelineRow::Describe(row);
    buffer_ << '\n';
  }

  TimelineEventInfo PlaceOf(const Trace::Layout& layout, std::size_t event, const Trace::Block& block) const {
    const auto known = [](std::int32_t value) { return value < 0 ? std::nullopt : std::optional(value); };
    TimelineEventInfo place;
    place.model_id = profile_.model_id;
    place.name = trace_.GetName(layout, event);
    place.block = block.name;
    place.instruction = known(layout.instruction[event]);
    place.chain = known(layout.chain[event]);
    return place;
  }

  static RowTexts MakeRowTexts(const TimelineEventInfo& place) {
    RowTexts texts;
    RowTextsBuilder row{place, texts.before};
    TimelineRow::Describe(row);
    return texts;
  }

  const std::vector<RowTexts>& CachedRowTexts(const ProfiledRun& run, const Trace::Block& block) {
    if (last_layout_ == run.layout && last_block_layout_ == block.layout && last_block_name_ == block.name)
      return texts_;
    last_layout_ = run.layout;
    last_block_layout_ = block.layout;
    last_block_name_ = block.name;
    const Trace::Layout& layout = trace_.GetLayout(block);
    const std::vector<std::int32_t>& operators = profile_.layouts[run.layout];
    texts_.clear();
    for (std::size_t i = 0; i < operators.size(); ++i) {
      const Operator& op = profile_.operators[static_cast<std::size_t>(operators[i])];
      TimelineEventInfo place = PlaceOf(layout, run.first_event + i, block);
      place.type = op.type;
      place.backend = op.backend;
      place.key = KeyText(op.key);
      place.category = op.category.name;
      place.group = GroupName(op.category.group);
      texts_.push_back(MakeRowTexts(place));
      texts_.back().op = operators[i];
    }
    return texts_;
  }

  const Trace& trace_;
  const Profile& profile_;
  CsvBuffer buffer_;
  TimelineTimes times_;  // of the row being written
  // The texts of the previous run, which most often equal those of the next run.
  std::vector<RowTexts> texts_;
  std::int64_t last_layout_ = -1, last_block_layout_ = -1;
  std::string last_block_name_;
};

}  // namespace

void RenderTimelineCsv(const Trace& trace, const Profile& profile, std::optional<std::size_t> only_run,
                       std::ostream& out) {
  TimelineWriter(trace, profile, out).Write(only_run);
}

}  // namespace etprof
