#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/profile.h"
#include "core/json/describe.h"
#include "measure/store/peaks_value.h"

namespace etprof {

// An operator's time per run in ns: the geometric mean over launches of each launch's median self time, with
// Student's t interval (stats/ratio/launches.h). For fewer than two launches, the median of the runs without
// an interval.
struct OperatorTime {
  double ns = 0;
  std::optional<double> low, high;  // at 95 %
};

// An operator compared with the limits of the machine (Williams, Waterman & Patterson, "Roofline", CACM
// 2009).
struct RooflineRow {
  enum class Bound { kCompute, kMemory };
  std::size_t op = 0;  // index into Profile::operators
  OperatorTime time;
  std::string dtype;  // type of the operands: "fp32", "fp16", "bf16", "int8", or "other", which has no roof
  std::string roof_dtype;  // type of its roof: fp32 for fp16 operators if the CPU has no fp16 arithmetic
  std::int64_t macs = 0;   // per run
  Bytes bytes = 0;         // compulsory traffic per run
  Bound bound = Bound::kMemory;  // the lower roof at this intensity
  double roof_ns = 0;            // ns; the time at that roof

  double share() const {
    return roof_ns / time.ns;
  }  // share of the roof, 0 to 1; above 1: see docs/guides/bottlenecks.md
  double gap_ns() const { return time.ns - roof_ns; }
  std::int64_t flops() const { return 2 * macs; }
  // FLOPs per byte of compulsory traffic.
  double intensity() const {
    return bytes == 0 ? 0 : static_cast<double>(flops()) / static_cast<double>(bytes);
  }
  double macs_per_s() const { return static_cast<double>(macs) / time.ns * 1e9; }
  double bytes_per_s() const { return static_cast<double>(bytes) / time.ns * 1e9; }
};

template <>
inline constexpr NamedValue<RooflineRow::Bound> kNames<RooflineRow::Bound>[] = {
    {RooflineRow::Bound::kCompute, "compute"}, {RooflineRow::Bound::kMemory, "memory"}};

// A limit of the machine.
struct RooflineCeiling {
  enum class Kind { kCompute, kMemory };
  Kind kind = Kind::kMemory;
  // For compute, a data type of operators: "fp32". For memory, a level: "L1", "DRAM", or the size of the
  // accessed data if the system does not report its caches: "262 kB".
  std::string name;
  double per_second = 0;  // MACs per second, or bytes per second

  static void Describe(auto& v) {
    v("kind", &RooflineCeiling::kind, {.meaning = "what it limits"});
    v("name", &RooflineCeiling::name, {.meaning = "a data type, or a level of memory"});
    v("per_s", &RooflineCeiling::per_second, {.meaning = "multiply-adds of compute, bytes of memory"});
  }
};
template <>
inline constexpr NamedValue<RooflineCeiling::Kind> kNames<RooflineCeiling::Kind>[] = {
    {RooflineCeiling::Kind::kCompute, "compute"}, {RooflineCeiling::Kind::kMemory, "memory"}};

struct Roofline {
  std::vector<RooflineRow> rows;       // by decreasing gap
  std::vector<RooflineCeiling> roofs;  // compute by data type, then memory from the innermost level
  double covered_ns = 0;               // ns; sum of the rows' times
  double roof_ns = 0;                  // ns; sum of the rows' times at their roofs
  // The mean self times (ns) of operators without a row: their work is not known, or no roof limits them (a
  // reshape).
  double not_covered_ns = 0;
};

// Absent without a program, or if the work of no operator is known.
std::optional<Roofline> MakeRoofline(const Profile& profile, const PeaksEntry& peaks);

// The data type of an operator's MACs, from its name: "int8" for "Fully Connected (NC, QD8, F32, QC4W) GEMM
// #1". If the name has no type, as for portable kernels, the type of its output; "fp32" if that is not known.
std::string ComputeType(const Operator& op, const OperatorTensors& tensors);

}  // namespace etprof
