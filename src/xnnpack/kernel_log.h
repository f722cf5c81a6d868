#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etprof::xnnpack {

// What XNNPACK says of its microkernels when it was built with EXECUTORCH_XNNPACK_LOG_LEVEL 4 (what it
// registers) or 5 (what its operators are and how large the tiles of their matrix products are, too).

// "Using igemm microkernel 'xnn_...'. (init_f32_igemm_config, .../gemm-config.c:1469)": once a process, when
// the first operator that may need it is created.
struct Registration {
  std::string kernel;
  std::string role;    // "igemm", "reduce_discontiguous": what the line calls it
  std::string config;  // the function that registered it; empty: the line does not say
  std::string file;    // without folders: "gemm-config.c"; empty: not said
  int line = 0;        // 0: not said
  std::size_t count = 0;
};

// "Tile size for GEMM with num_groups=1, m=64, n=768 and mr=7, nr=32 set to [7, 768] (10 tiles)". XNNPACK
// prints min(mr, m) and min(nr, n) of its microkernel's mr and nr.
struct Tile {
  std::uint64_t m = 0, n = 0, mr = 0, nr = 0;
  auto operator<=>(const Tile&) const = default;

  static constexpr const char* kSchemaName = "tile";
  static void Describe(auto& v) {
    v("m", &Tile::m, {.meaning = "rows of the product"});
    v("n", &Tile::n, {.meaning = "columns of the product"});
    v("mr", &Tile::mr, {.meaning = "the microkernel's rows, `m` at most"});
    v("nr", &Tile::nr, {.meaning = "the microkernel's columns, `n` at most"});
  }
};

// An operator of a runtime as it ran: "running operator 1:0 (Convolution (NHWC, F32) IGEMM)".
struct LoggedOperator {
  std::uint32_t index = 0;   // in its runtime
  std::string name;          // "Convolution (NHWC, F32) IGEMM"
  bool skipped = false;      // "skip running operator": it had nothing to do
  std::optional<Tile> tile;  // of its last reshaping; absent: none was logged, or not one alone
  bool operator==(const LoggedOperator&) const = default;
};

// The operators of one runtime (of a delegate's call), in their order. Calls that are alike are one.
struct LoggedGraph {
  std::vector<LoggedOperator> operators;
  std::size_t calls = 0;
};

struct KernelLog {
  std::vector<Registration> registrations;  // in the order of their first lines; alike ones are one
  // In the order in which they first ran. Without those that XNNPACK makes and runs by itself while it loads
  // a quantized model, to fill a table of what operators yield.
  std::vector<LoggedGraph> graphs;
  std::size_t lines = 0;          // all of the text
  std::size_t xnnpack_lines = 0;  // those of XNNPACK
  std::size_t cut_lines = 0;      // those of XNNPACK that end before they should
};

// Reads a log of any origin: stdout, stderr, both mixed, or logcat's (formats brief, tag, process, time and
// threadtime). Lines of others are passed over; lines end with LF, CR or CR LF. Never throws.
KernelLog ParseKernelLog(std::string_view text);

// Whether the text comes from a kernel-log runner: it has a line of XNNPACK's log at level 4 or 5. Errors
// and warnings, which every build prints, do not count.
bool IsTraceEnabled(std::string_view text);

}  // namespace etprof::xnnpack
