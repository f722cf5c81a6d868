#include "report/run/roofline.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "core/units.h"
#include "format/xnnpack/operator_name.h"
#include "measure/store/peaks.h"
#include "profile/analysis/operators.h"
#include "stats/distribution.h"
#include "stats/ratio/launches.h"

namespace etprof {
namespace {

OperatorTime MeasureTime(const Profile& profile, std::size_t op) {
  std::map<int, std::vector<double>> launches;
  for (const std::size_t run : profile.SteadyOrCommonRuns()) {
    const Nanoseconds self = profile.Self(op)[run];
    if (self != Profile::kAbsent)
      launches[profile.runs[run].label.launch].push_back(static_cast<double>(self));
  }
  std::vector<double> logs, all;
  bool resolved = true;  // false: a clock of whole µs reads 0 in some launches, so the others are biased
  for (const auto& [launch, times] : launches) {
    all.insert(all.end(), times.begin(), times.end());
    const double median = stats::Median(times).value_or(0);
    resolved = resolved && median > 0;
    logs.push_back(std::log(median));
  }
  OperatorTime time;
  if (const auto estimate = resolved ? stats::EstimateRatio(logs, 0.95) : std::nullopt) {
    time.ns = estimate->ratio();
    time.low = estimate->low();
    time.high = estimate->high();
  } else {
    time.ns = stats::Median(all).value_or(0);
  }
  return time;
}

// The highest bandwidth of any kind of access to this many bytes. The bandwidth of an operator's mix of reads
// and writes is between these kinds.
std::optional<double> MaxBandwidth(const PeaksEntry& peaks, Bytes bytes) {
  std::optional<double> best;
  for (const char* access : {"read", "write", "copy"}) {
    if (const auto rate = BytesPerSecond(peaks, access, bytes); rate && *rate > best.value_or(0)) best = rate;
  }
  return best;
}

// The compute ceilings of the rows' data types, and all levels of memory with their fastest kind of access.
std::vector<RooflineCeiling> MakeCeilings(const std::vector<RooflineRow>& rows, const PeaksEntry& peaks) {
  std::vector<RooflineCeiling> ceilings;
  std::set<std::string> types;
  for (const RooflineRow& row : rows) {
    if (row.macs > 0) types.insert(row.ceiling_dtype);
  }
  for (const std::string& type : types)
    ceilings.push_back({RooflineCeiling::Kind::kCompute, type, BestMacsPerSecond(peaks, type).value_or(0)});
  // Levels by capacity; the last level has no limit.
  std::map<Bytes, RooflineCeiling> levels;
  for (const protocol::MemoryPeak& peak : peaks.peaks.memory) {
    const bool is_named = peak.level != "sweep";
    const std::string name = is_named ? peak.level : FormatBytes(static_cast<double>(peak.working_set_bytes));
    const Bytes capacity = peak.capacity_bytes.value_or(std::numeric_limits<Bytes>::max());
    RooflineCeiling& ceiling =
        levels.try_emplace(capacity, RooflineCeiling{RooflineCeiling::Kind::kMemory, name, 0}).first->second;
    ceiling.per_second = std::max(ceiling.per_second, peak.bytes.best);
  }
  for (auto& [capacity, ceiling] : levels) ceilings.push_back(std::move(ceiling));
  return ceilings;
}

std::optional<RooflineRow> MakeRow(const Profile& profile, std::size_t op, const PeaksEntry& peaks) {
  const Work& work = profile.program->operators[op].work;
  if (!work.macs || !work.bytes || (*work.macs == 0 && *work.bytes == 0)) return std::nullopt;
  RooflineRow row;
  row.op = op;
  row.macs = *work.macs;
  row.bytes = *work.bytes;
  row.dtype = row.ceiling_dtype = ComputeType(profile.operators[op], profile.program->operators[op].tensors);
  auto rate = BestMacsPerSecond(peaks, row.dtype);
  if (!rate && (row.dtype == "fp16" || row.dtype == "bf16")) {
    row.ceiling_dtype = "fp32";
    rate = BestMacsPerSecond(peaks, row.ceiling_dtype);
  }
  const auto bandwidth = MaxBandwidth(peaks, row.bytes);
  if ((row.macs > 0 && !rate) || (row.bytes > 0 && !bandwidth)) return std::nullopt;
  const double compute = row.macs > 0 ? static_cast<double>(row.macs) / *rate * 1e9 : 0;
  const double memory = row.bytes > 0 ? static_cast<double>(row.bytes) / *bandwidth * 1e9 : 0;
  row.bound = compute >= memory ? RooflineRow::Bound::kCompute : RooflineRow::Bound::kMemory;
  row.ceiling_ns = std::max(compute, memory);
  row.time = MeasureTime(profile, op);
  if (row.time.ns <= 0) return std::nullopt;
  return row;
}

}  // namespace

std::string ComputeType(const Operator& op, const OperatorTensors& tensors) {
  if (const auto name = xnnpack::ParseOperatorName(op.name); name && !name->data_types.empty()) {
    std::string type = name->data_types.front();
    if (type.starts_with("P")) type.erase(0, 1);  // prefix of packed types
    if (type.starts_with("BF16")) return "bf16";
    if (type == "F16") return "fp16";
    return type.starts_with("Q") ? "int8" : "fp32";
  }
  if (tensors.outputs.empty()) return "fp32";
  const std::string& type = tensors.outputs.front().type.name;
  if (type == "float32" || type == "fp32" || type == "pfp32") return "fp32";
  if (type == "float16" || type == "fp16") return "fp16";
  if (type == "bfloat16" || type == "bf16") return "bf16";
  return type.ends_with("int8") ? "int8" : "other";
}

std::optional<Roofline> MakeRoofline(const Profile& profile, const PeaksEntry& peaks) {
  if (!profile.program || !profile.program->problem.empty()) return std::nullopt;
  Roofline roofline;
  const auto runs = static_cast<double>(profile.CommonSet().size());
  for (std::size_t op = 0; op < profile.operators.size(); ++op) {
    if (!IsOperator(profile.operators[op])) continue;
    if (auto row = MakeRow(profile, op, peaks)) {
      roofline.covered_ns += row->time.ns;
      roofline.ceiling_ns += row->ceiling_ns;
      roofline.rows.push_back(std::move(*row));
    } else if (runs > 0) {
      roofline.not_covered_ns += static_cast<double>(profile.statistics[op].total_self) / runs;
    }
  }
  if (roofline.rows.empty()) return std::nullopt;
  roofline.ceilings = MakeCeilings(roofline.rows, peaks);
  std::ranges::stable_sort(roofline.rows, std::ranges::greater(), &RooflineRow::gap_ns);
  return roofline;
}

}  // namespace etprof
