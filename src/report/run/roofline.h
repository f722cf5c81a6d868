#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/profile.h"
#include "core/json/describe.h"
#include "measure/store/peaks_value.h"

namespace etprof {

// A time per run of an operator: the geometric mean over launches of each launch's median self time, with
// Student's t interval (stats/ratio/launches.h). Of fewer than two launches the median of the runs, without
// an interval. ns.
struct OperatorTime {
  double ns = 0;
  std::optional<double> low, high;  // at 95 %
};

// How far an operator is from what the machine can do (Williams, Waterman & Patterson, "Roofline", CACM
// 2009).
struct RooflineRow {
  enum class Bound { kCompute, kMemory };
  std::size_t op = 0;  // index into Profile::operators
  OperatorTime time;
  std::string dtype;       // of the operands: "fp32", "fp16", "bf16", "int8", or "other", which has no roof
  std::string roof_dtype;  // of its roof: fp16 against fp32 where the CPU computes no fp16
  std::int64_t macs = 0;   // of a run
  Bytes bytes = 0;         // compulsory traffic of a run
  Bound bound = Bound::kMemory;  // which roof is the lower one for it
  double roof_ns = 0;            // the time that it would take at that roof

  double share() const {
    return roof_ns / time.ns;
  }  // of the roof, 0 to 1; above 1: see docs/guides/bottlenecks.md
  double gap_ns() const { return time.ns - roof_ns; }
  std::int64_t flops() const { return 2 * macs; }
  // FLOPs a byte of compulsory traffic.
  double intensity() const {
    return bytes == 0 ? 0 : static_cast<double>(flops()) / static_cast<double>(bytes);
  }
  double macs_per_s() const { return static_cast<double>(macs) / time.ns * 1e9; }
  double bytes_per_s() const { return static_cast<double>(bytes) / time.ns * 1e9; }
};

template <>
inline constexpr NamedValue<RooflineRow::Bound> kNames<RooflineRow::Bound>[] = {
    {RooflineRow::Bound::kCompute, "compute"}, {RooflineRow::Bound::kMemory, "memory"}};

// What the machine can do at most.
struct Roof {
  enum class Kind { kCompute, kMemory };
  Kind kind = Kind::kMemory;
  // A data type that operators are compared with: "fp32"; or a level: "L1", "DRAM", or where the system does
  // not tell its caches the size that was passed through: "262 kB".
  std::string name;
  double per_second = 0;  // multiply-adds, or bytes

  static void Describe(auto& v) {
    v("kind", &Roof::kind, {.meaning = "what it limits"});
    v("name", &Roof::name, {.meaning = "a data type, or a level of memory"});
    v("per_s", &Roof::per_second, {.meaning = "multiply-adds of compute, bytes of memory"});
  }
};
template <>
inline constexpr NamedValue<Roof::Kind> kNames<Roof::Kind>[] = {{Roof::Kind::kCompute, "compute"},
                                                                {Roof::Kind::kMemory, "memory"}};

struct Roofline {
  std::vector<RooflineRow> rows;  // by falling gap: the first is worth most
  std::vector<Roof> roofs;        // compute by data type, then memory, the innermost level first
  double covered_ns = 0;          // the rows' times, added up
  double roof_ns = 0;             // and at their roofs
  // Operators without a row, as what they do is not known, or nothing that a roof limits (a reshape): their
  // mean self times.
  double not_covered_ns = 0;
};

// Absent without a program that says what operators do, and where nothing of it is known.
std::optional<Roofline> MakeRoofline(const Profile& profile, const PeaksEntry& peaks);

// The data type that an operator multiplies in, by its name: "int8" of "Fully Connected (NC, QD8, F32, QC4W)
// GEMM #1". Where the name has none, as a portable kernel's, that of what it writes; "fp32" where that is not
// known.
std::string ComputeType(const Operator& op, const OperatorTensors& tensors);

}  // namespace etprof
