#include <algorithm>

#include "core/text/escape.h"
#include "render/csv/csv.h"
#include "render/csv/csv_buffer.h"

namespace etprof {
namespace {

// What is the same in the rows of one event of a layout, run after run.
struct RowTexts {
  std::string head;      // model_id,name,type,delegate_backend,
  std::string key;       // ,node_id,
  std::string place;     // ,block,instruction,chain,
  std::string category;  // ,category,group,
  std::int32_t op = -1;  // index into Profile::operators; -1: the event is in no run
};

std::string NumberOrNothing(std::int32_t value) { return value < 0 ? "" : std::to_string(value); }

class TimelineWriter {
 public:
  TimelineWriter(const Trace& trace, const Profile& profile, std::ostream& out)
      : trace_(trace), profile_(profile), buffer_(out), model_(CsvField(profile.model_id)) {
    if (!trace.start.empty()) origin_ = *std::ranges::min_element(trace.start);
  }

  void Write(std::optional<std::size_t> only_run) {
    buffer_ << "model_id,name,type,delegate_backend,start_us,end_us,duration_ms,pct_total,node_id,run_index,"
               "block,instruction,chain,self_ms,category,group,phase\n";
    // Runs stand in the order of their blocks, and those of one block in the order of its events.
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
    const std::vector<RowTexts>& rows = TextsOf(run, block);
    const std::size_t first = block.first_event + run.first_event;
    const std::string run_index = std::to_string(index);
    const std::string_view phase = NameOf(run.label.phase);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const RowTexts& row = rows[i];
      WriteTimes(row, first + i, run.total);
      buffer_ << row.key << run_index << row.place;
      buffer_.Decimal<6>(profile_.Self(static_cast<std::size_t>(row.op))[index])
          << row.category << phase << '\n';
    }
  }

  // What comes after the last run of a block was cut off in the middle of one.
  void WriteRest(const Trace::Block& block) {
    const Trace::Layout& layout = trace_.LayoutOf(block);
    std::size_t first = layout.size();
    while (first > 0 && !trace_.IsFramework(layout, first - 1, "Method::execute")) --first;
    for (std::size_t i = first; i < layout.size(); ++i) {
      const std::string name = CsvField(trace_.NameOf(layout, i));
      RowTexts row;
      row.head = model_ + ',' + name + ',' + name + ",,";
      WriteTimes(row, block.first_event + i, 0);
      buffer_ << ",," << Place(layout, i, block) << ",,,\n";
    }
  }

  void WriteTimes(const RowTexts& row, std::size_t event, Nanoseconds whole) {
    const Nanoseconds start = trace_.start[event];
    const Nanoseconds end = trace_.end[event];
    buffer_ << row.head;
    buffer_.Decimal<3>(start - origin_) << ',';
    buffer_.Decimal<3>(end - origin_) << ',';
    buffer_.Decimal<6>(end - start) << ',';
    buffer_.Percent(end - start, whole);
  }

  std::string Place(const Trace::Layout& layout, std::size_t event, const Trace::Block& block) const {
    return ',' + CsvField(block.name) + ',' + NumberOrNothing(layout.instruction[event]) + ',' +
           NumberOrNothing(layout.chain[event]) + ',';
  }

  const std::vector<RowTexts>& TextsOf(const ProfiledRun& run, const Trace::Block& block) {
    if (last_layout_ == run.layout && last_block_layout_ == block.layout && last_block_name_ == block.name)
      return texts_;
    last_layout_ = run.layout;
    last_block_layout_ = block.layout;
    last_block_name_ = block.name;
    const Trace::Layout& layout = trace_.LayoutOf(block);
    const std::vector<std::int32_t>& operators = profile_.layouts[run.layout];
    texts_.clear();
    for (std::size_t i = 0; i < operators.size(); ++i) {
      const Operator& op = profile_.operators[static_cast<std::size_t>(operators[i])];
      const std::size_t event = run.first_event + i;
      RowTexts row;
      row.op = operators[i];
      row.head = model_ + ',' + CsvField(trace_.NameOf(layout, event)) + ',' + CsvField(op.type) + ',' +
                 CsvField(op.backend) + ',';
      row.key = ',' + CsvField(KeyText(op.key)) + ',';
      row.place = Place(layout, event, block);
      row.category = ',' + CsvField(std::string(op.category.name)) + ',' +
                     CsvField(std::string(GroupName(op.category.group))) + ',';
      texts_.push_back(std::move(row));
    }
    return texts_;
  }

  const Trace& trace_;
  const Profile& profile_;
  CsvBuffer buffer_;
  std::string model_;
  Nanoseconds origin_ = 0;
  // The texts of the run before, which are most often those of the next.
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
