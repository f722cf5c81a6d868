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

// The texts of a row that are the same in every run with this layout: the prefix before each column of times.
struct RowTexts {
  std::vector<std::string> prefixes;
  std::int32_t op = -1;  // index into Profile::operators; -1: the event is in no run
};

struct RowTextsBuilder {
  const TimelineEventInfo& info;
  std::vector<std::string>& prefixes;
  std::string text = {};

  template <typename Member>
  void operator()(const char*, Member column, const MemberInfo& = {}) {
    if constexpr (kIsTimeColumn<Member>) {
      prefixes.push_back(std::move(text));
      text = ",";
    } else {
      Add(info.*column);
      text += ',';
    }
  }
  void Add(const std::string& value) { text += CsvField(value); }
  void Add(std::optional<std::int32_t> value) { text += value ? std::to_string(*value) : ""; }
};

struct RowTimesWriter {
  CsvBuffer& out;
  const TimelineTimes& times;
  const std::string* prefixes;

  template <typename Member>
  void operator()(const char*, Member column, const MemberInfo& member_info = {}) {
    if constexpr (kIsTimeColumn<Member>) {
      out << *prefixes++;
      describe::PutCell<0>(describe::MemberValue(column, times), member_info, out);
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
      if (!only_run && (has_runs || block.name == "Execute")) WriteIncompleteRun(block);
    }
  }

 private:
  void WriteRun(std::size_t index, const Trace::Block& block) {
    const ProfiledRun& run = profile_.runs[index];
    const std::vector<RowTexts>& rows = CachedRowTexts(run, block);
    const std::size_t first = block.first_event + run.first_event;
    times_.execute_time = run.total;
    times_.run = index;
    times_.phase = run.label.phase;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      times_.self = profile_.Self(static_cast<std::size_t>(rows[i].op))[index];
      WriteRow(rows[i], first + i);
    }
  }

  // Events after the last run of a block belong to a run that was cut off.
  void WriteIncompleteRun(const Trace::Block& block) {
    const Trace::Layout& layout = trace_.GetLayout(block);
    std::size_t first = layout.size();
    while (first > 0 && !trace_.IsFramework(layout, first - 1, "Method::execute")) --first;
    times_ = {.origin = times_.origin};
    for (std::size_t i = first; i < layout.size(); ++i) {
      TimelineEventInfo info = MakeEventInfo(layout, i, block);
      info.type = info.name;
      WriteRow(MakeRowTexts(info), block.first_event + i);
    }
  }

  // Everything is inlined: otherwise, descriptions of columns would be built for every cell.
  [[gnu::flatten]] void WriteRow(const RowTexts& texts, std::size_t event) {
    times_.start = trace_.start[event];
    times_.end = trace_.end[event];
    RowTimesWriter row{buffer_, times_, texts.prefixes.data()};
    TimelineRow::Describe(row);
    buffer_ << '\n';
  }

  TimelineEventInfo MakeEventInfo(const Trace::Layout& layout, std::size_t event,
                                  const Trace::Block& block) const {
    const auto unless_negative = [](std::int32_t value) {
      return value < 0 ? std::nullopt : std::optional(value);
    };
    TimelineEventInfo info;
    info.model_id = profile_.model_id;
    info.name = trace_.GetName(layout, event);
    info.block = block.name;
    info.instruction = unless_negative(layout.instruction[event]);
    info.chain = unless_negative(layout.chain[event]);
    return info;
  }

  static RowTexts MakeRowTexts(const TimelineEventInfo& info) {
    RowTexts texts;
    RowTextsBuilder row{info, texts.prefixes};
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
      TimelineEventInfo info = MakeEventInfo(layout, run.first_event + i, block);
      info.type = op.type;
      info.backend = op.backend;
      info.key = KeyText(op.key);
      info.category = op.category.name;
      info.group = OperatorGroupName(op.category.group);
      texts_.push_back(MakeRowTexts(info));
      texts_.back().op = operators[i];
    }
    return texts_;
  }

  const Trace& trace_;
  const Profile& profile_;
  CsvBuffer buffer_;
  TimelineTimes times_;  // the times of the row that is written
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
