#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etprof::xnnpack {

// Reads the log that XNNPACK writes if it was built with EXECUTORCH_XNNPACK_LOG_LEVEL 4 (registered
// microkernels) or 5 (also the operators that run, and the tile sizes of their matrix products).

// "Using igemm microkernel 'xnn_...'. (init_f32_igemm_config, .../gemm-config.c:1469)": logged once per
// process, when the first operator that may need the microkernel is created.
struct Registration {
  std::string kernel;
  std::string role;    // as in the line: "igemm", "reduce_discontiguous"
  std::string config;  // the function that registered the kernel; empty: not in the line
  std::string file;    // without folders: "gemm-config.c"; empty: not in the line
  int line = 0;        // 0: not in the line
  std::size_t count = 0;
};

// "Tile size for GEMM with num_groups=1, m=64, n=768 and mr=7, nr=32 set to [7, 768] (10 tiles)". XNNPACK
// prints min(mr, m) and min(nr, n), where mr and nr are those of the microkernel.
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

// An operator of a runtime when it ran: "running operator 1:0 (Convolution (NHWC, F32) IGEMM)".
struct LoggedOperator {
  std::uint32_t index = 0;   // index of the operator in its runtime
  std::string name;          // "Convolution (NHWC, F32) IGEMM"
  bool skipped = false;      // "skip running operator": there was nothing to do
  std::optional<Tile> tile;  // tile of the last reshape; absent: not logged, or ambiguous
  bool operator==(const LoggedOperator&) const = default;
};

// The operators of one runtime (of a delegate call), in order. Equal calls are counted as one graph.
struct LoggedGraph {
  std::vector<LoggedOperator> operators;
  std::size_t calls = 0;
};

struct KernelLog {
  std::vector<Registration> registrations;  // in the order of their first lines, without duplicates
  // The graphs that ran, in the order of their first runs. Graphs that XNNPACK creates and runs while it
  // loads a quantized model, to fill a lookup table, are left out.
  std::vector<LoggedGraph> graphs;
  std::size_t lines = 0;            // lines of the whole text
  std::size_t xnnpack_lines = 0;    // lines of XNNPACK
  std::size_t truncated_lines = 0;  // lines of XNNPACK that are truncated
};

// Reads a log of any origin: stdout, stderr, both mixed, or logcat's (formats brief, tag, process, time and
// threadtime). Other lines are ignored. Lines end with LF, CR or CR LF. Never throws.
KernelLog ParseKernelLog(std::string_view text);

// Returns whether the text contains XNNPACK's log of level 4 or 5. Errors and warnings do not count, because
// every build prints them.
bool IsTraceEnabled(std::string_view text);

}  // namespace etprof::xnnpack
