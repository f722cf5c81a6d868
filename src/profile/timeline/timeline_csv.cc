#include "profile/timeline/timeline_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "core/error.h"
#include "core/file/file.h"
#include "core/file/file_kind.h"
#include "core/text/csv_reader.h"
#include "core/text/text.h"

namespace etprof {
namespace {

// Names of ExecuTorch's own spans and kernels ("native_call_add.out", "llama::custom_sdpa.out"). A row with
// another name and without etprof's node_id is a delegate's operator.
bool IsFrameworkName(std::string_view name) {
  return name == "OPERATOR_CALL" || name == "DELEGATE_CALL" || name.starts_with("native_call_") ||
         (name.find("::") != std::string_view::npos && name.find(' ') == std::string_view::npos);
}

bool IsDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// `text` times 10^decimals, rounded to the nearest integer; absent if the text is not a number in the range
// of times. Plain decimals are exact for any number of digits; numbers with an exponent are read as double.
std::optional<Nanoseconds> ScaledDecimal(std::string_view text, int decimals) {
  const bool negative = text.starts_with('-');
  const std::string_view digits = text.substr(negative ? 1 : 0);
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const std::string_view integer_part = digits.substr(0, point);
  const std::string_view fraction = digits.substr(std::min(point + 1, digits.size()));
  if (!IsDigits(integer_part) || (!fraction.empty() && !IsDigits(fraction))) {
    const auto number = AsNumber<double>(text);
    if (!number) return std::nullopt;
    const double value = *number * std::pow(10, decimals);
    if (!(std::fabs(value) < static_cast<double>(kMaxTime))) return std::nullopt;
    return std::llround(value);
  }
  Nanoseconds value = 0;
  const auto append_digit = [&](char digit) {
    if (value > kMaxTime / 10) return false;
    value = 10 * value + (digit - '0');
    return true;
  };
  for (const char digit : integer_part) {
    if (!append_digit(digit)) return std::nullopt;
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(decimals); ++i) {
    if (!append_digit(i < fraction.size() ? fraction[i] : '0')) return std::nullopt;
  }
  if (fraction.size() > static_cast<std::size_t>(decimals) &&
      fraction[static_cast<std::size_t>(decimals)] >= '5')
    ++value;
  if (value > kMaxTime) return std::nullopt;
  return negative ? -value : value;
}

// The columns that the reader uses (timeline_row.h).
enum Column { kModel, kName, kBackend, kStart, kEnd, kDuration, kNode, kRun, kBlock, kCall, kChain, kPhase };
constexpr std::array<std::string_view, kPhase + 1> kColumns = {
    "model_id",  "name",  "delegate_backend", "start_us", "end_us", "duration_ms", "node_id",
    "run_index", "block", "instruction",      "chain",    "phase"};

// The method and the kind of span in a node id such as "forward/3/backend/2".
struct NodeId {
  std::string_view method;
  std::string_view kind;
};
std::optional<NodeId> ParseNodeId(std::string_view text) {
  for (const std::string_view kind : kNames<SpanKind>) {
    const std::size_t slash = text.find(fmt::format("/{}/", kind));
    if (slash == std::string_view::npos || slash == 0) continue;
    const std::size_t previous_slash = text.rfind('/', slash - 1);
    if (previous_slash == std::string_view::npos) continue;
    std::string_view instruction = text.substr(previous_slash + 1, slash - previous_slash - 1);
    if (instruction.starts_with('-')) instruction.remove_prefix(1);
    if (IsDigits(instruction)) return NodeId{text.substr(0, previous_slash), kind};
  }
  return std::nullopt;
}

// One row of a timeline.
struct TimelineEvent {
  NameId name = 0;
  Trace::Source source = Trace::Source::kFramework;
  std::int32_t chain = 0;
  std::int32_t instruction = -1;
  Nanoseconds start = 0, end = 0;
  std::optional<Phase> phase;
};

// The rows of one run, or of consecutive events outside of runs.
struct TimelineRun {
  std::string block;
  std::vector<TimelineEvent> events;
  std::set<std::pair<Nanoseconds, Nanoseconds>> methods;  // start and end of each Method::execute
};

bool IsMethod(const NameTable& names, const TimelineEvent& event) {
  return event.source == Trace::Source::kFramework && names.Text(event.name) == "Method::execute";
}

bool IsCall(const NameTable& names, const TimelineEvent& event) {
  if (event.source != Trace::Source::kFramework) return false;
  const std::string& name = names.Text(event.name);
  return name == "OPERATOR_CALL" || name == "DELEGATE_CALL";
}

// For two spans with the same times, the span with the higher rank is the outer span.
int NestingRank(const NameTable& names, const TimelineEvent& event) {
  return IsMethod(names, event) ? 2 : IsCall(names, event) ? 1 : 0;
}

// Sorts events: children before their parents, siblings by start.
std::vector<TimelineEvent> SortByTimes(const NameTable& names, const std::vector<TimelineEvent>& events) {
  std::vector<std::size_t> order(events.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t i, std::size_t j) {
    const TimelineEvent& a = events[i];
    const TimelineEvent& b = events[j];
    if (a.start != b.start) return a.start < b.start;
    if (a.end != b.end) return a.end > b.end;
    return NestingRank(names, a) > NestingRank(names, b);
  });
  std::vector<TimelineEvent> sorted;
  std::vector<std::size_t> open;
  for (const std::size_t index : order) {
    const TimelineEvent& event = events[index];
    const auto encloses = [&](const TimelineEvent& outer) {
      // A span of 0 ns at the end of another span is inside of it if their ranks allow that.
      const bool is_at_end = event.start == outer.end && event.end <= outer.end;
      return event.start < outer.end || (is_at_end && NestingRank(names, outer) > NestingRank(names, event));
    };
    while (!open.empty() && !encloses(events[open.back()])) {
      sorted.push_back(events[open.back()]);
      open.pop_back();
    }
    open.push_back(index);
  }
  while (!open.empty()) {
    sorted.push_back(events[open.back()]);
    open.pop_back();
  }
  return sorted;
}

// Sorts the events into an ETDump's order (children before their parents) if necessary, and numbers the calls
// unless the file has instructions. `names` contains the names of the events.
void OrderEvents(const NameTable& names, bool has_instructions, TimelineRun& run) {
  const bool has_method =
      std::ranges::any_of(run.events, [&](const TimelineEvent& event) { return IsMethod(names, event); });
  if (has_method && !IsMethod(names, run.events.back())) run.events = SortByTimes(names, run.events);
  if (has_instructions) return;
  std::int32_t calls = 0;
  std::size_t first_unassigned = 0;  // the first event without a call
  for (std::size_t i = 0; i < run.events.size(); ++i) {
    if (!IsCall(names, run.events[i])) continue;
    for (; first_unassigned <= i; ++first_unassigned) run.events[first_unassigned].instruction = calls;
    ++calls;
  }
}

// Appends the run to the trace as one block.
void AppendRun(const TimelineRun& run, Trace& trace) {
  Trace::Layout layout;
  for (const TimelineEvent& event : run.events) {
    layout.name.push_back(event.name);
    layout.source.push_back(event.source);
    layout.chain.push_back(event.chain);
    layout.instruction.push_back(event.instruction);
    layout.delegate_id.push_back(-1);
  }
  Trace::Block block;
  block.name = run.block;
  block.first_event = trace.event_count();
  block.event_count = static_cast<std::uint32_t>(run.events.size());
  // Most runs have the layout of the previous run, or, if two methods alternate, of the run before that.
  block.layout = static_cast<std::uint32_t>(trace.layouts.size());
  for (std::size_t distance = 1; distance <= std::min<std::size_t>(2, trace.blocks.size()); ++distance) {
    const std::uint32_t earlier_layout = trace.blocks[trace.blocks.size() - distance].layout;
    if (trace.layouts[earlier_layout] == layout) block.layout = earlier_layout;
  }
  if (block.layout == trace.layouts.size()) trace.layouts.push_back(std::move(layout));
  for (const TimelineEvent& event : run.events) {
    trace.start.push_back(event.start);
    trace.end.push_back(event.end);
  }
  trace.blocks.push_back(std::move(block));
}

class TimelineReader {
 public:
  TimelineReader(std::string_view text, const std::string& file_name)
      : text_(text), csv_(text, file_name), file_name_(file_name) {}

  Timeline Read() {
    ReadHeader();
    while (csv_.Next(fields_)) ReadRow();
    if (num_methods_ == 0) {
      throw Error(ExitCode::kBadInput, num_rows_ == 0 ? "holds no event" : "holds no Method::execute: no run")
          .InFile(file_name_)
          .Remedy("give a timeline with the framework's spans, as etprof writes it");
    }
    if (!Has(kRun) && num_methods_ > 1) {
      throw Error(ExitCode::kBadInput,
                  "holds several Method::execute but no run_index column: the run of a row is not known")
          .InFile(file_name_)
          .Remedy("give a timeline with run_index");
    }
    Finish();
    return std::move(result_);
  }

 private:
  Error MakeError(const std::string& problem,
                  const char* remedy = "give a timeline CSV as etprof writes it") const {
    return Error(ExitCode::kBadInput, problem).InFile(file_name_).AtLine(csv_.line()).Remedy(remedy);
  }

  void ReadHeader() {
    if (!csv_.Next(fields_))
      throw Error(ExitCode::kBadInput, "is empty").InFile(file_name_).Remedy("write it again");
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const auto column_name = std::ranges::find(kColumns, fields_[i]);
      if (column_name == kColumns.end()) continue;
      std::optional<std::size_t>& column_index =
          column_indices_[static_cast<std::size_t>(column_name - kColumns.begin())];
      if (column_index) throw MakeError(fmt::format("the column {} is there twice", fields_[i]));
      column_index = i;
    }
    if (fields_.size() == 1 && fields_[0].find_first_of(";\t") != std::string_view::npos)
      throw MakeError("has no commas between its columns", "save it with commas, and with points in numbers");
    if (!Has(kName) || !(HasTimes() || Has(kDuration))) {
      if (const auto error = OtherFileKind(text_, file_name_, "a timeline")) throw *error;
      throw MakeError("is not a timeline: it has no columns name, start_us, and end_us",
                      "give an ETDump, or a timeline CSV (..._exec_all_runs_timeline.csv)");
    }
  }

  bool Has(Column column) const { return column_indices_[column].has_value(); }
  bool HasTimes() const { return Has(kStart) && Has(kEnd); }
  std::string_view Field(Column column) const {
    return Has(column) ? fields_[*column_indices_[column]] : std::string_view();
  }

  Nanoseconds Time(Column column, int decimals) const {
    const std::string_view text = Field(column);
    const auto value = ScaledDecimal(text, decimals);
    if (!value) throw MakeError(fmt::format("{} is \"{}\", which is not a time", kColumns[column], text));
    return *value;
  }

  std::optional<std::int32_t> Integer(Column column) const {
    std::string_view text = Field(column);
    if (text.empty()) return std::nullopt;
    if (text.ends_with(".0")) text.remove_suffix(2);  // pandas writes integers this way if a column has gaps
    const auto value = AsNumber<std::int32_t>(text);
    if (!value)
      throw MakeError(fmt::format("{} is \"{}\", which is not an integer", kColumns[column], Field(column)));
    return value;
  }

  void ReadRow() {
    ++num_rows_;
    TimelineEvent event;
    const std::string_view name = Field(kName);
    if (name.empty()) throw MakeError("name is empty");
    event.name = result_.trace.names.Intern(name);
    const std::optional<NodeId> node = ParseNodeId(Field(kNode));
    if (node ? node->kind == "backend" : !IsFrameworkName(name)) event.source = Trace::Source::kDelegate;
    if (node) result_.method = node->method;
    const bool is_method = event.source == Trace::Source::kFramework && name == "Method::execute";
    ReadTimes(is_method, event);
    event.chain = Integer(kChain).value_or(Has(kChain) ? -1 : 0);
    event.instruction = Integer(kCall).value_or(-1);
    ReadPhase(event);
    UpdateModel(Field(kModel));
    if (const std::string_view backend = Field(kBackend); !backend.empty()) backends_.emplace(backend);
    if (is_method) ++num_methods_;
    TimelineRun& run = FindRun();
    if (is_method && HasTimes() && !run.methods.emplace(event.start, event.end).second) {
      throw MakeError("this run is there twice: another Method::execute has its run_index and its times",
                      "remove the copies of its rows");
    }
    run.events.push_back(event);
  }

  void ReadTimes(bool is_method, TimelineEvent& event) {
    if (!HasTimes()) {
      if (!is_method) {
        throw MakeError("without start_us and end_us the nesting of the spans is not known",
                        "give a timeline with these columns, or one of Method::execute alone");
      }
      event.start = clock_;
      event.end = clock_ + std::max<Nanoseconds>(0, Time(kDuration, 6));
      AddTime(event);
      clock_ = event.end;
      return;
    }
    event.start = Time(kStart, 3);
    event.end = Time(kEnd, 3);
    AddTime(event);
    if (event.end < event.start) {
      HealthEntry entry;
      entry.name = "event_backwards";
      entry.severity = HealthEntry::Severity::kError;
      entry.explanation = "an event that ends before it starts counts as 0 ns";
      entry.count = 1;
      entry.amount = event.start - event.end;
      entry.first_place = fmt::format("line {} {}", csv_.line(), Field(kName));
      result_.trace.health.Add(std::move(entry));
      return;
    }
    if (Field(kDuration).empty()) return;
    // Times in another unit than the header says would make all results wrong.
    const auto stated_duration = static_cast<double>(Time(kDuration, 6));
    const auto measured_duration = static_cast<double>(event.end - event.start);
    constexpr double kRounding = 2000;  // ns, the largest difference from rounding two times
    if (std::fabs(stated_duration - measured_duration) >
        kRounding + 0.001 * std::max(stated_duration, measured_duration)) {
      throw MakeError(fmt::format("duration_ms is {}, but end_us - start_us is {} ms", Field(kDuration),
                                  ExactMilliseconds(event.end - event.start)),
                      "check the units of the columns");
    }
  }

  // Throws if the event, or all events together, take longer than the limits for sums of times.
  void AddTime(const TimelineEvent& event) {
    constexpr const char* kCheckUnits = "check the units of the columns";
    const Nanoseconds length = event.end < event.start ? event.start - event.end : event.end - event.start;
    if (length > kMaxEventTime) throw MakeError("an event takes more than 4.8 hours", kCheckUnits);
    total_time_ += length;
    if (total_time_ > kMaxTotalTime) throw MakeError("events take more than 13 days together", kCheckUnits);
  }

  void ReadPhase(TimelineEvent& event) const {
    const std::string_view text = Field(kPhase);
    if (text.empty()) return;
    event.phase = ParseEnum<Phase>(text);
    if (!event.phase)
      throw MakeError(fmt::format("phase is \"{}\", not first, warmup, steady or disturbed", text));
  }

  void UpdateModel(std::string_view model) {
    if (num_rows_ == 1) result_.model_id = model;
    if (result_.model_id != model) result_.model_id.clear();
  }

  // Rows with the same run_index and block belong to one run. Rows without a run_index belong together as
  // long as they are consecutive.
  TimelineRun& FindRun() {
    const std::optional<std::int32_t> index = Has(kRun) ? Integer(kRun) : std::optional<std::int32_t>(0);
    const std::string_view block = Has(kBlock) ? Field(kBlock) : std::string_view("Execute");
    if (!runs_.empty() && index == last_index_ && runs_[last_run_].block == block) return runs_[last_run_];
    last_index_ = index;
    if (index) {
      const auto [entry, is_new] = runs_by_index_.try_emplace({std::string(block), *index}, runs_.size());
      last_run_ = entry->second;
      if (!is_new) return runs_[last_run_];
    } else {
      last_run_ = runs_.size();
    }
    runs_.push_back({std::string(block), {}, {}});
    return runs_.back();
  }

  void Finish() {
    std::vector<RunLabel> labels;
    bool all_phases = true;
    for (TimelineRun& run : runs_) {
      OrderEvents(result_.trace.names, Has(kCall), run);
      for (const TimelineEvent& event : run.events) {
        if (!IsMethod(result_.trace.names, event)) continue;
        all_phases = all_phases && event.phase;
        labels.push_back({0, -1, event.phase.value_or(Phase::kSteady)});
      }
      AppendRun(run, result_.trace);
      run.events = {};
    }
    if (all_phases) result_.labels = std::move(labels);
    result_.backends.assign(backends_.begin(), backends_.end());
  }

  std::string_view text_;
  CsvReader csv_;
  const std::string& file_name_;
  std::vector<std::string_view> fields_;
  std::array<std::optional<std::size_t>, kColumns.size()> column_indices_;  // positions in the file
  Timeline result_;
  std::vector<TimelineRun> runs_;
  std::map<std::pair<std::string, std::int32_t>, std::size_t> runs_by_index_;
  std::optional<std::int32_t> last_index_;
  std::size_t last_run_ = 0;
  std::set<std::string> backends_;
  std::int64_t num_rows_ = 0, num_methods_ = 0;
  Nanoseconds clock_ = 0;       // end of the last run, for files without start_us and end_us
  Nanoseconds total_time_ = 0;  // sum over all events
};

}  // namespace

Timeline ReadTimelineCsv(std::string_view text, const std::string& file_name) {
  return TimelineReader(text, file_name).Read();
}

Timeline ReadTimelineCsvFile(const std::filesystem::path& path) {
  return WithFile(path, kMaxTableBytes, [&](ByteView bytes) {
    return ReadTimelineCsv({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
  });
}

bool IsTimelineCsv(const std::filesystem::path& path) { return path.extension() == ".csv"; }

std::string TimelineStem(const std::filesystem::path& path) {
  const std::string stem = path.stem().string();
  for (const std::string_view end : {"_exec_all_runs_timeline", "_all_runs_timeline", "_timeline"}) {
    if (stem.ends_with(end) && stem.size() > end.size()) return stem.substr(0, stem.size() - end.size());
  }
  return stem;
}

}  // namespace etprof
