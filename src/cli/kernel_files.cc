#include "cli/kernel_files.h"

#include "render/document.h"
#include "render/kernels.h"
#include "say/kernels.h"

namespace etprof {

std::vector<std::filesystem::path> WriteKernelFiles(const KernelReport& report,
                                                    const OutputFolders& folders) {
  std::vector<std::filesystem::path> written;
  for (const KernelView& view : report.views) {
    const std::filesystem::path table = KernelTableOf(view.log);
    written.push_back(folders.TablesOf(table) / table.filename());
    folders.write(written.back(), [&](std::ostream& out) { RenderKernelsCsv(view, out); });
  }
  if (written.empty()) return written;
  written.push_back(folders.report / "kernel_view.md");
  folders.write(written.back(),
                [&](std::ostream& out) { RenderDocumentMarkdown(say::SayKernels(report), 1, out); });
  return written;
}

}  // namespace etprof
