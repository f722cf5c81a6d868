#include "render/csv/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/escape.h"
#include "render/csv/csv_buffer.h"
#include "stats/distribution.h"

namespace etprof {
namespace {

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

}  // namespace

void RenderOperatorStatisticsCsv(const Profile& profile, std::ostream& out) {
  CsvBuffer buffer(out);
  buffer << "model_id,name,type,delegate_backend,count,total_ms,avg_ms,pct_total,key,category,group,self_"
            "total_ms,"
            "self_avg_ms,self_pct,runs,p50_ms,p90_ms,p95_ms,p99_ms,min_ms,max_ms,sd_ms,cv";
  buffer.EndRow();
  const std::vector<std::size_t> common = profile.CommonSet();
  Nanoseconds whole = 0;
  Nanoseconds clipped = 0;
  for (const std::size_t run : common) {
    whole += profile.runs[run].total;
    clipped += profile.runs[run].clipped;
  }
  const std::vector<SpanStatistics>& sums = profile.statistics;
  std::vector<std::size_t> order(sums.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return sums[a].total_self > sums[b].total_self; });
  const auto runs = static_cast<Nanoseconds>(common.size());
  // A mean of whole nanoseconds need not be one: to the nearest nanosecond here, exact as total / count.
  const auto mean = [](Nanoseconds total, std::int64_t n) {
    if (n <= 0) return Nanoseconds{0};
    const Nanoseconds rest = total % n;  // of total's sign, and less than n
    const std::int64_t up = (rest < 0 ? -rest : rest) >= n - (rest < 0 ? -rest : rest) ? 1 : 0;
    return total / n + (total < 0 ? -up : up);
  };
  const auto optional_ms = [&](const std::optional<double>& ns) {
    if (ns) buffer << fmt::format("{:.6g}", *ns / 1e6);
  };
  for (const std::size_t op : order) {
    const OperatorFields fields = FieldsOf(profile, profile.operators[op]);
    buffer << fields.head;
    buffer.Integer(sums[op].runs);
    buffer << ',';
    buffer.Decimal<6>(sums[op].total_duration);
    buffer << ',';
    if (sums[op].runs > 0) buffer.Decimal<6>(mean(sums[op].total_duration, sums[op].runs));
    buffer << ',';
    buffer.Percent(sums[op].total_duration, whole);
    buffer << ',' << fields.key << fields.tail << ',';
    buffer.Decimal<6>(sums[op].total_self);
    buffer << ',';
    if (runs > 0) buffer.Decimal<6>(mean(sums[op].total_self, runs));
    buffer << ',';
    buffer.Percent(sums[op].total_self, whole);
    buffer << ',';
    buffer.Integer(runs);
    const stats::Distribution& distribution = sums[op].self;
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
    buffer.Decimal<6>(clipped);
    buffer << ',';
    if (runs > 0) buffer.Decimal<6>(mean(clipped, runs));
    buffer << ',';
    buffer.Percent(clipped, whole);
    buffer << ',';
    buffer.Integer(runs);
    buffer << ",,,,,,,,";
    buffer.EndRow();
  }
}

}  // namespace etprof
