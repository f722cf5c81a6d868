#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "measure/store/peaks.h"
#include "profile/analysis/profile.h"

namespace etprof {

// An operator's time per run in ns: the geometric mean over launches of each launch's median self time, with
// Student's t interval (stats/ratio/launches.h). For fewer than two launches, the median of the runs without
// an interval.
struct OperatorTime {
  double ns = 0;
  std::optional<double> low, high;  // 95% interval
};

// An operator compared with the limits of the machine (Williams, Waterman & Patterson, "Roofline", CACM
// 2009).
struct RooflineRow {
  enum class Bound { kCompute, kMemory };
  std::size_t op = 0;  // index into Profile::operators
  OperatorTime time;
  std::string dtype;          // type of the operands: "fp32", "fp16", "bf16", "int8"; "other" has no ceiling
  std::string ceiling_dtype;  // fp32 for fp16 operators if the CPU has no fp16 arithmetic
  std::int64_t macs = 0;      // per run
  Bytes bytes = 0;            // compulsory traffic per run
  Bound bound = Bound::kMemory;  // the lower ceiling at this intensity
  double ceiling_ns = 0;         // ns; the time at that ceiling

  // Share of the ceiling, 0 to 1; above 1: see docs/guides/bottlenecks.md.
  double share() const { return ceiling_ns / time.ns; }
  double gap_ns() const { return time.ns - ceiling_ns; }
  std::int64_t flops() const { return 2 * macs; }
  // FLOPs per byte of compulsory traffic.
  double intensity() const {
    return bytes == 0 ? 0 : static_cast<double>(flops()) / static_cast<double>(bytes);
  }
  double macs_per_s() const { return static_cast<double>(macs) / time.ns * 1e9; }
  double bytes_per_s() const { return static_cast<double>(bytes) / time.ns * 1e9; }

  static void Describe(auto& v) {
    using R = RooflineRow;
    constexpr std::string_view kTypes = "fp32|fp16|bf16|int8|other";
    v("key", [](const R& row, const Profile& profile) { return KeyText(profile.operators[row.op].key); },
      {.meaning = "of the operator"});
    v("name", [](const R& row, const Profile& profile) { return profile.operators[row.op].name; },
      {.meaning = "of the operator"});
    v("dtype", &R::dtype, {.meaning = "that it multiplies in", .choices = kTypes});
    v("roof_dtype", &R::ceiling_dtype,
      {.meaning = "of the roof that it is compared with: fp32 where the CPU computes no fp16",
       .choices = kTypes});
    v("time_ms", [](const R& row) { return row.time.ns; }, kMs.WithMeaning("self time of a run"));
    v(
        "time_low_ms", [](const R& row) { return row.time.low; },
        kMs.WithMeaning("of its 95% interval over launches; null: too few launches"));
    v(
        "time_high_ms", [](const R& row) { return row.time.high; },
        kMs.WithMeaning("of its 95% interval over launches; null: too few launches"));
    v("macs", &R::macs, {.meaning = "multiply-accumulates of a run"});
    v("bytes", &R::bytes, {.meaning = "compulsory traffic of a run: each tensor once"});
    v("flops_per_byte",
      [](const R& row) { return row.bytes == 0 ? std::nullopt : std::optional(row.intensity()); },
      {.meaning = "two for each MAC; null: no bytes", .min = 0});
    v("macs_per_s", &R::macs_per_s, {.meaning = "over `time_ms`"});
    v("bytes_per_s", &R::bytes_per_s, {.meaning = "over `time_ms`"});
    v("bound", &R::bound, {.meaning = "which roof is the lower one for it"});
    v("roof_ms", &R::ceiling_ns, kMs.WithMeaning("the time that it would take at that roof"));
    v("share_of_roof", &R::share, {.meaning = "the time at the roof / the time", .min = 0});
    v("would_save_ms", &R::gap_ns, kMs.WithMeaning("`time_ms` less `roof_ms`"));
  }
};

template <>
inline constexpr const char* kNames<RooflineRow::Bound>[] = {"compute", "memory"};

// A limit of the machine: its compute peak for a data type, or the bandwidth of a level of memory.
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
inline constexpr const char* kNames<RooflineCeiling::Kind>[] = {"compute", "memory"};

struct Roofline {
  std::vector<RooflineRow> rows;          // by decreasing gap
  std::vector<RooflineCeiling> ceilings;  // compute by data type, then memory from the innermost level
  double covered_ns = 0;                  // ns; sum of the rows' times
  double ceiling_ns = 0;                  // ns; sum of the rows' times at their ceilings
  // The mean self times (ns) of operators without a row: their work is not known, or no ceiling limits them
  // (a reshape).
  double not_covered_ns = 0;

  static void Describe(auto& v) {
    v("roofs", &Roofline::ceilings,
      {.meaning = "compute by data type, then memory, the innermost level first"});
    v("covered_ms", &Roofline::covered_ns, kNonNegativeMs.WithMeaning("of the rows together"));
    v("roof_ms", &Roofline::ceiling_ns, kNonNegativeMs.WithMeaning("of the rows together, at their roofs"));
    v("not_covered_ms", &Roofline::not_covered_ns,
      kNonNegativeMs.WithMeaning(
          "of operators without a row: what they do is not known, or no roof limits it"));
    v("rows", &Roofline::rows, {.meaning = "operators, by falling `would_save_ms`"});
  }
};

// Absent without a program, or if the work of no operator is known.
std::optional<Roofline> MakeRoofline(const Profile& profile, const PeaksEntry& peaks);

// The data type of an operator's MACs, from its name: "int8" for "Fully Connected (NC, QD8, F32, QC4W) GEMM
// #1". If the name has no type, as for portable kernels, the type of its output; "fp32" if that is not known.
std::string ComputeType(const Operator& op, const OperatorTensors& tensors);

}  // namespace etprof
