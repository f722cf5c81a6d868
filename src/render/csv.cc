#include "render/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <numeric>

#include "report/event_operators.h"
#include "stats/distribution.h"

namespace etprof {
namespace {

// Rows go through a large buffer of plain characters: an iostream insertion per cell would cost more than the
// analysis.
class Buffer {
 public:
  explicit Buffer(std::ostream& out) : out_(out) { text_.reserve(kFlushAt + 4096); }
  ~Buffer() { Flush(); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  Buffer& operator<<(std::string_view text) {
    text_ += text;
    return *this;
  }
  Buffer& operator<<(char c) {
    text_ += c;
    return *this;
  }
  void Integer(std::int64_t value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    text_.append(digits, end);
  }
  // value / 10^decimals, exactly and without trailing zeros: the same text as ExactMicroseconds (3),
  // ExactMilliseconds (6).
  void Decimal(Nanoseconds value, int decimals) {
    std::int64_t scale = 1;
    for (int i = 0; i < decimals; ++i) scale *= 10;
    if (value < 0) text_ += '-';
    const std::uint64_t magnitude =
        value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    char digits[24];
    auto end =
        std::to_chars(digits, digits + sizeof digits, magnitude / static_cast<std::uint64_t>(scale)).ptr;
    text_.append(digits, end);
    std::uint64_t fraction = magnitude % static_cast<std::uint64_t>(scale);
    if (fraction == 0) return;
    char places[24];
    for (int i = decimals - 1; i >= 0; --i) {
      places[i] = static_cast<char>('0' + fraction % 10);
      fraction /= 10;
    }
    int length = decimals;
    while (places[length - 1] == '0') --length;
    text_ += '.';
    text_.append(places, static_cast<std::size_t>(length));
  }
  // 100 part / whole with four decimals, rounded to nearest; empty for a whole of 0.
  void Percent(Nanoseconds part, Nanoseconds whole) {
    if (whole <= 0) return;
    const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
    char digits[64];
    const auto end = std::to_chars(digits, digits + sizeof digits, percent, std::chars_format::fixed, 4).ptr;
    text_.append(digits, end);
  }
  void EndRow() {
    text_ += '\n';
    if (text_.size() >= kFlushAt) Flush();
  }

 private:
  static constexpr std::size_t kFlushAt = std::size_t{1} << 18;
  void Flush() {
    out_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
    text_.clear();
  }
  std::ostream& out_;
  std::string text_;
};

// The fields of an operator that are the same in every row.
struct OperatorFields {
  std::string head;  // model_id,name,type,delegate_backend,
  std::string key;
  std::string tail;  // ,category,group
};

OperatorFields FieldsOf(const Profile& profile, const Operator& op) {
  OperatorFields fields;
  fields.head = CsvField(profile.model_id) + ',' + CsvField(op.name) + ',' + CsvField(op.type) + ',' +
                CsvField(op.backend) + ',';
  fields.key = CsvField(KeyText(op.key));
  fields.tail = ',' + CsvField(std::string(op.category.name)) + ',' +
                CsvField(std::string(GroupName(op.category.group)));
  return fields;
}

// Blocks that hold no run are those of loading.
bool IsExecuteBlock(const Trace::Block& block, std::uint32_t index, const Profile& profile) {
  if (block.name == "Execute") return true;
  return std::any_of(profile.runs.begin(), profile.runs.end(),
                     [&](const ProfiledRun& run) { return run.block == index; });
}

}  // namespace

std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

void RenderTimelineCsv(const Trace& trace, const Profile& profile, std::optional<std::size_t> only_run,
                       std::ostream& out) {
  Buffer buffer(out);
  buffer
      << "model_id,name,type,delegate_backend,start_us,end_us,duration_ms,pct_total,node_id,run_index,block,"
         "instruction,chain,self_ms,category,group,phase";
  buffer.EndRow();
  const EventPlaces places = PlaceEvents(trace, profile);
  std::vector<OperatorFields> fields;
  for (const Operator& op : profile.operators) fields.push_back(FieldsOf(profile, op));
  Nanoseconds origin = 0;
  if (!trace.start.empty()) origin = *std::min_element(trace.start.begin(), trace.start.end());
  const std::string model = CsvField(profile.model_id);
  for (std::uint32_t index = 0; index < trace.blocks.size(); ++index) {
    const Trace::Block& block = trace.blocks[index];
    if (!IsExecuteBlock(block, index, profile)) continue;
    const std::string block_name = CsvField(block.name);
    for (std::size_t event = block.first_event; event < std::size_t{block.first_event} + block.event_count;
         ++event) {
      const std::int32_t run = places.run[event];
      if (only_run && (run < 0 || static_cast<std::size_t>(run) != *only_run)) continue;
      const std::int32_t op = places.op[event];
      const Nanoseconds duration = trace.end[event] - trace.start[event];
      if (op >= 0) {
        buffer << fields[static_cast<std::size_t>(op)].head;
      } else {
        const std::string name = CsvField(trace.names.Text(trace.name[event]));
        buffer << model << ',' << name << ',' << name << ",,";
      }
      buffer.Decimal(trace.start[event] - origin, 3);
      buffer << ',';
      buffer.Decimal(trace.end[event] - origin, 3);
      buffer << ',';
      buffer.Decimal(duration, 6);
      buffer << ',';
      if (run >= 0) buffer.Percent(duration, profile.runs[static_cast<std::size_t>(run)].total);
      buffer << ',';
      if (op >= 0) buffer << fields[static_cast<std::size_t>(op)].key;
      buffer << ',';
      if (run >= 0) buffer.Integer(run);
      buffer << ',' << block_name << ',';
      if (trace.instruction[event] >= 0) buffer.Integer(trace.instruction[event]);
      buffer << ',';
      if (trace.chain[event] >= 0) buffer.Integer(trace.chain[event]);
      buffer << ',';
      if (op >= 0)
        buffer.Decimal(profile.Self(static_cast<std::size_t>(op))[static_cast<std::size_t>(run)], 6);
      if (op >= 0) {
        buffer << fields[static_cast<std::size_t>(op)].tail;
      } else {
        buffer << ",,";
      }
      buffer << ',';
      if (run >= 0) buffer << PhaseName(profile.runs[static_cast<std::size_t>(run)].label.phase);
      buffer.EndRow();
    }
  }
}

void RenderOperatorStatisticsCsv(const Profile& profile, std::ostream& out) {
  Buffer buffer(out);
  buffer << "model_id,name,type,delegate_backend,count,total_ms,avg_ms,pct_total,key,category,group,self_"
            "total_ms,"
            "self_avg_ms,self_pct,runs,p50_ms,p90_ms,p95_ms,p99_ms,min_ms,max_ms,sd_ms,cv";
  buffer.EndRow();
  const std::vector<std::size_t> common = profile.CommonSet();
  std::vector<std::size_t> steady = profile.RunsOf(Phase::kSteady);
  if (steady.empty()) steady = common;
  Nanoseconds whole = 0;
  Nanoseconds clipped = 0;
  for (const std::size_t run : common) {
    whole += profile.runs[run].total;
    clipped += profile.runs[run].clipped;
  }
  struct Sums {
    std::int64_t count = 0;
    Nanoseconds duration = 0, self = 0;
  };
  std::vector<Sums> sums(profile.operators.size());
  for (std::size_t op = 0; op < sums.size(); ++op) {
    const auto self = profile.Self(op);
    const auto duration = profile.Duration(op);
    for (const std::size_t run : common) {
      if (self[run] == Profile::kAbsent) continue;
      ++sums[op].count;
      sums[op].duration += duration[run];
      sums[op].self += self[run];
    }
  }
  std::vector<std::size_t> order(sums.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return sums[a].self > sums[b].self; });
  const auto runs = static_cast<Nanoseconds>(common.size());
  // A mean of whole nanoseconds need not be one: to the nearest nanosecond here, exact as total / count.
  const auto mean = [](Nanoseconds total, std::int64_t n) {
    return n > 0 ? (2 * total + (total < 0 ? -n : n)) / (2 * n) : 0;
  };
  const auto optional_ms = [&](const std::optional<double>& ns) {
    if (ns) buffer << fmt::format("{:.6g}", *ns / 1e6);
  };
  for (const std::size_t op : order) {
    const OperatorFields fields = FieldsOf(profile, profile.operators[op]);
    buffer << fields.head;
    buffer.Integer(sums[op].count);
    buffer << ',';
    buffer.Decimal(sums[op].duration, 6);
    buffer << ',';
    if (sums[op].count > 0) buffer.Decimal(mean(sums[op].duration, sums[op].count), 6);
    buffer << ',';
    buffer.Percent(sums[op].duration, whole);
    buffer << ',' << fields.key << fields.tail << ',';
    buffer.Decimal(sums[op].self, 6);
    buffer << ',';
    if (runs > 0) buffer.Decimal(mean(sums[op].self, runs), 6);
    buffer << ',';
    buffer.Percent(sums[op].self, whole);
    buffer << ',';
    buffer.Integer(runs);
    std::vector<double> values;
    const auto self = profile.Self(op);
    for (const std::size_t run : steady) {
      if (self[run] != Profile::kAbsent) values.push_back(static_cast<double>(self[run]));
    }
    const stats::Distribution distribution = stats::Describe(values);
    for (const auto& value : {distribution.p50, distribution.p90, distribution.p95, distribution.p99,
                              distribution.min, distribution.max, distribution.sd}) {
      buffer << ',';
      optional_ms(value);
    }
    buffer << ',';
    if (distribution.cv) buffer << fmt::format("{:.6g}", *distribution.cv);
    buffer.EndRow();
  }
  if (clipped != 0) {
    buffer << CsvField(profile.model_id) << ",Clipped,Clipped,,,,,,clipped,framework,Clipped,";
    buffer.Decimal(clipped, 6);
    buffer << ',';
    if (runs > 0) buffer.Decimal(mean(clipped, runs), 6);
    buffer << ',';
    buffer.Percent(clipped, whole);
    buffer << ',';
    buffer.Integer(runs);
    buffer << ",,,,,,,,";
    buffer.EndRow();
  }
}

}  // namespace etprof
