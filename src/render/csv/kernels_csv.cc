#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "render/csv/csv_table.h"
#include "render/csv/table_csv.h"

namespace etprof {

void RenderKernelsCsv(const KernelView& view, std::ostream& out) {
  CsvTable table(out, {"model_id", "kernel_name", "category", "count", "dtype", "xnn_op", "variant",
                       "ukernel_shape", "arch_chain", "has_sme", "has_sme2", "status", "operators",
                       "superseded_by", "activation", "accumulators", "config", "source"});
  std::map<std::string, int> uses;
  for (const xnnpack::OperatorUse& op : view.use.operators) ++uses[op.kernel];
  for (const xnnpack::LoggedKernel& kernel : view.use.kernels) {
    const auto& parsed = kernel.parsed;
    const auto part = [&](const std::string& text) { return parsed ? text : std::string(); };
    const xnnpack::Microkernel none;
    const xnnpack::Microkernel& k = parsed ? *parsed : none;
    table.Row({view.model_id, kernel.name, parsed ? std::string(xnnpack::CategoryName(k.family)) : "OTHER",
               fmt::format("{}", kernel.count), part(k.DataTypes()), parsed ? k.op : kernel.role,
               part(k.variant), part(k.Shape()), part((k.assembly ? "asm_" : "") + k.Isa()),
               k.HasSme() ? "1" : "0", k.HasSme2() ? "1" : "0", std::string(NameOf(kernel.status)),
               fmt::format("{}", uses[kernel.name]), kernel.superseded_by, part(k.activation),
               k.accumulators ? fmt::format("{}", *k.accumulators) : "",
               fmt::format("{}", fmt::join(kernel.configs, ";")),
               kernel.file.empty() ? "" : fmt::format("{}:{}", kernel.file, kernel.line)});
  }
}

}  // namespace etprof
