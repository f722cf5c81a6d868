#include "render/csv/csv.h"

#include <fmt/format.h>

#include "core/text/escape.h"
#include "render/csv/csv_buffer.h"
#include "render/csv/csv_table.h"
#include "stats/distribution.h"

namespace etprof {

void RenderOperatorStatisticsCsv(const Profile& profile, std::ostream& out) {
  CsvBuffer buffer(out);
  buffer << "model_id,name,type,delegate_backend,count,total_ms,avg_ms,pct_total,key,category,group,self_"
            "total_ms,"
            "self_avg_ms,self_pct,runs,p50_ms,p90_ms,p95_ms,p99_ms,min_ms,max_ms,sd_ms,cv\n";
  const std::vector<std::size_t> common = profile.CommonSet();
  Nanoseconds whole = 0;
  Nanoseconds clipped = 0;
  for (const std::size_t run : common) {
    whole += profile.runs[run].total;
    clipped += profile.runs[run].clipped;
  }
  const auto runs = static_cast<Nanoseconds>(common.size());
  // A mean of whole nanoseconds need not be one: to the nearest nanosecond here, exact as total / count.
  // Nothing of no runs.
  const auto add_mean = [&](Nanoseconds total, std::int64_t n) {
    if (n <= 0) return;
    const Nanoseconds rest = total % n;  // of total's sign, and less than n
    const std::int64_t up = (rest < 0 ? -rest : rest) >= n - (rest < 0 ? -rest : rest) ? 1 : 0;
    buffer.Decimal<6>(total / n + (total < 0 ? -up : up));
  };
  // self_total_ms to runs.
  const auto add_self = [&](Nanoseconds total) {
    buffer.Decimal<6>(total) << ',';
    add_mean(total, runs);
    buffer << ',';
    buffer.Percent(total, whole) << ',';
    buffer.Integer(runs);
  };
  for (const std::size_t op : ByFallingTime(profile)) {
    const Operator& own = profile.operators[op];
    const SpanStatistics& sums = profile.statistics[op];
    buffer << CsvField(profile.model_id) << ',' << CsvField(own.name) << ',' << CsvField(own.type) << ','
           << CsvField(own.backend) << ',';
    buffer.Integer(sums.runs) << ',';
    buffer.Decimal<6>(sums.total_duration) << ',';
    add_mean(sums.total_duration, sums.runs);
    buffer << ',';
    buffer.Percent(sums.total_duration, whole)
        << ',' << CsvField(KeyText(own.key)) << ',' << CsvField(std::string(own.category.name)) << ','
        << CsvField(std::string(GroupName(own.category.group))) << ',';
    add_self(sums.total_self);
    const stats::Distribution& self = sums.self;
    for (const auto& value : {self.p50, self.p90, self.p95, self.p99, self.min, self.max, self.sd})
      buffer << ',' << (value ? fmt::format("{:.6g}", *value / 1e6) : "");
    buffer << ',' << (self.cv ? fmt::format("{:.6g}", *self.cv) : "") << '\n';
  }
  if (clipped != 0) {
    buffer << CsvField(profile.model_id) << ",Clipped,Clipped,,,,,,clipped,framework,Clipped,";
    add_self(clipped);
    buffer << ",,,,,,,,\n";
  }
}

}  // namespace etprof
