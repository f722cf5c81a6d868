#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "core/json/json_schema_of.h"
#include "core/text/csv_members.h"
#include "show/formats/csv/table_csv.h"

namespace etprof {
namespace {

struct KernelCsvRow {
  const std::string& model_id;
  const xnnpack::LoggedKernel& source;
  int operators;

  static void Describe(auto& v) {
    using Record = const KernelCsvRow&;
    using M = xnnpack::Microkernel;
    // A part of the kernel's name; empty if no known naming scheme fits the name.
    const auto part = [&](const char* column, auto read, std::string_view meaning) {
      v(column,
        [read](Record record) {
          return record.source.parsed ? std::string(read(*record.source.parsed)) : std::string();
        },
        {.meaning = meaning, .or_null = true});
    };
    v("model_id", [](Record record) { return record.model_id; },
      {.meaning = "the model; empty: not known", .or_null = true});
    v("kernel_name", &xnnpack::LoggedKernel::name, {.meaning = "as XNNPACK logs it"});
    v("category",
      [](Record record) {
        return record.source.parsed ? xnnpack::CategoryName(record.source.parsed->family) : "OTHER";
      },
      {.meaning =
           "GEMM, CONV (igemm), CONV_DEPTHWISE, CONV_STANDARD, CONV_POINTWISE (spmm), POOL, RESIZE, "
           "REDUCTION, ACTIVATION, ELEMENTWISE, QUANT (conversions), DATA_MOVEMENT (transposes, copies, "
           "packing), OTHER (unknown)"});
    v("count", &xnnpack::LoggedKernel::count, {.meaning = "how many lines registered it"});
    part("dtype", [](const M& k) { return k.DataTypes(); }, "data types: `f32`, `qs8_qc8w`, `pf32`");
    v("xnn_op",
      [](Record record) { return record.source.parsed ? record.source.parsed->op : record.source.role; },
      {.meaning = "operation: `gemm`, `igemm`, `dwconv`, `vadd`, `transposec`"});
    part(
        "variant", [](const M& k) { return k.variant; },
        "the rest of its name: `broadcast`, `dup_ld64`, `cortex_a55`, `rr2_p5`");
    part(
        "ukernel_shape", [](const M& k) { return k.Shape(); },
        "rows x columns (`7x32`, with `c`: k-blocking, `s`: shuffle), taps and channels (`9p16c`), tile "
        "(`8x8`), or elements at once (`u32`)");
    part(
        "arch_chain", [](const M& k) { return (k.assembly ? "asm_" : "") + k.Isa(); },
        "instruction set: `avx512f`, `aarch64_neonfma`, `neonsme2`; `asm_` before it: written in assembly");
    v("has_sme", [](Record record) { return record.source.parsed && record.source.parsed->HasSme(); },
      {.meaning = "1: it uses SME or SME2"});
    v("has_sme2", [](Record record) { return record.source.parsed && record.source.parsed->HasSme2(); },
      {.meaning = "1: it uses SME2"});
    v("status", &xnnpack::LoggedKernel::status,
      {.meaning = "`used`: proven, an operator ran it; `registered`: for operators that may need it; "
                  "`superseded`: another took its place"});
    v("operators", &KernelCsvRow::operators, {.meaning = "how many are proven to have run it"});
    v("superseded_by", &xnnpack::LoggedKernel::superseded_by,
      {.meaning = "its replacement", .or_null = true});
    part("activation", [](const M& k) { return k.activation; }, "`minmax`, `relu`");
    v("accumulators",
      [](Record record) { return record.source.parsed ? record.source.parsed->accumulators : std::nullopt; },
      {.meaning = "sums that it keeps at once"});
    v("config", [](Record record) { return fmt::format("{}", fmt::join(record.source.configs, ";")); },
      {.meaning = "the functions that registered it", .or_null = true});
    v("source",
      [](Record record) {
        return record.source.file.empty() ? "" : fmt::format("{}:{}", record.source.file, record.source.line);
      },
      {.meaning = "file and line of the first", .or_null = true});
  }
};

}  // namespace

nlohmann::ordered_json KernelsCsvSchema() {
  return MakeSchema<KernelCsvRow>(
      "`<stem>_kernels.csv`",
      "One row per microkernel, in the order of the log. The columns up to `has_sme2` are "
      "the SME2 profiling kit's.");
}

void RenderKernelsCsv(const KernelView& view, std::ostream& out) {
  CsvWriter<KernelCsvRow> rows(out);
  std::map<std::string, int> uses;
  for (const xnnpack::OperatorKernel& op : view.usage.operators) ++uses[op.kernel];
  for (const xnnpack::LoggedKernel& kernel : view.usage.kernels)
    rows.Row({view.model_id, kernel, uses[kernel.name]});
}

}  // namespace etprof
