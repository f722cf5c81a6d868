#include "cli/kernel_files.h"

#include "render/kernels.h"

namespace etprof {

std::vector<std::filesystem::path> WriteKernelFiles(const KernelReport& report,
                                                    const std::filesystem::path& folder,
                                                    const std::filesystem::path& tables,
                                                    const FileSink& write_file) {
  std::vector<std::filesystem::path> written;
  for (const KernelView& view : report.views) {
    const std::filesystem::path table = KernelTableOf(view.log);
    written.push_back(tables.empty() ? table : tables / table.filename());
    write_file(written.back(), [&](std::ostream& out) { RenderKernelsCsv(view, out); });
  }
  if (written.empty()) return written;
  written.push_back(folder / "kernel_view.md");
  write_file(written.back(), [&](std::ostream& out) { RenderKernelsMarkdown(report, out); });
  return written;
}

}  // namespace etprof
