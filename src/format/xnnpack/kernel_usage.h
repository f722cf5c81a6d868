#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "format/xnnpack/kernel_log.h"
#include "format/xnnpack/microkernel.h"

namespace etprof::xnnpack {

enum class KernelStatus {
  kRegistered,  // registered for operators that may need it; unknown whether an operator ran it
  kSuperseded,  // the same function later registered another kernel in its place
  kUsed,        // proven: an operator ran it
};

// A microkernel in a log.
struct LoggedKernel {
  std::string name;
  std::optional<Microkernel> parsed;  // absent: unknown naming scheme
  std::string role;                   // as in the log's line: "igemm"
  std::vector<std::string> configs;
  std::string file;  // file of the first config: "gemm-config.c"
  int line = 0;
  std::size_t count = 0;
  KernelStatus status = KernelStatus::kRegistered;
  std::string superseded_by;  // name of the later kernel; empty: it is not superseded

  static constexpr const char* kSchemaName = "kernel";
  static void Describe(auto& v) {
    using K = LoggedKernel;
    v("name", &K::name, {.meaning = "as it is in the log"});
    v("role", &K::role, {.meaning = "as its line says: \"igemm\"", .or_null = true});
    v("status", &K::status,
      {.meaning = "`used`: proven, an operator ran it; `registered`: for operators that may need it; "
                  "`superseded`: another took its place"});
    v("superseded_by", &K::superseded_by, {.meaning = "a microkernel; null: none", .or_null = true});
    v("count", &K::count, {.meaning = "lines of the log that register it"});
    v("configs", &K::configs, {.meaning = "who registered it: \"init_f32_igemm_config\""});
    v("file", &K::file, {.meaning = "of the first: \"gemm-config.c\"", .or_null = true});
    v("line", [](const K& kernel) { return kernel.line > 0 ? std::optional(kernel.line) : std::nullopt; },
      {.meaning = "in `file`"});
    v("parts", &K::parsed, {.meaning = "the microkernel's name, taken apart"});
  }
};

// An operator of a runtime, and the microkernel that it ran as far as known.
struct OperatorKernel {
  std::size_t graph = 0;  // index into KernelLog::graphs
  std::uint32_t index = 0;
  std::string name;  // as in an ETDump: "Convolution (NHWC, F32) IGEMM #2"
  std::size_t calls = 0;
  std::optional<Tile> tile;
  std::string kernel;  // the microkernel that is proven to have run; empty: not proven
  std::vector<std::string> candidates;
  std::string reason;  // the reason why no kernel is proven; empty: a kernel is proven

  static constexpr const char* kSchemaName = "operator";
  static void Describe(auto& v) {
    using O = OperatorKernel;
    v("name", &O::name, {.meaning = "\"Convolution (NHWC, F32) IGEMM #2\", as an ETDump has it"});
    v("graph", &O::graph, {.meaning = "index of its runtime, in the order of the log"});
    v("index", &O::index, {.meaning = "in its runtime"});
    v("calls", &O::calls, {.meaning = "of its runtime"});
    v("tile", &O::tile, {.meaning = "of its matrix product; null: none was logged, or not one alone"});
    v("kernel", &O::kernel, {.meaning = "microkernel that it is proven to have run", .or_null = true});
    v("candidates", &O::candidates,
      {.meaning = "at most 64, where several agree with all that the log says"});
    v("reason", &O::reason, {.meaning = "why no microkernel is proven; null: one is", .or_null = true});
  }
};

struct KernelUsage {
  std::vector<LoggedKernel> kernels;      // in the order of the log
  std::vector<OperatorKernel> operators;  // in the order of the log, without skipped operators
};

// Finds the microkernels that the log proves to have run.
// A registration is superseded by a later registration of the same function for the same slot (operation,
// data types, and whatever distinguishes a configuration's slots: rows of a matrix product, taps of a
// convolution). Functions that end with _impl register two kernels, for default and for consistent
// arithmetic. Neither supersedes the other. Nor do kernels for matrix products of the same shape, which are
// for different cores.
//
// A microkernel is used if an operator ran that has its operation (kind GEMM or IGEMM) and data types, and if
// it is the only such microkernel that is not superseded and agrees with the logged tile. XNNPACK clips a
// tile to the operator's size (Tile): min(its mr, m) = mr and min(its nr, n) = nr. The kernel itself must
// have that mr and nr.
KernelUsage FindKernelUsage(const KernelLog& log);

}  // namespace etprof::xnnpack

namespace etprof {

template <>
inline constexpr const char* kNames<xnnpack::KernelStatus>[] = {"registered", "superseded", "used"};

}  // namespace etprof
