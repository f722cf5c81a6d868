#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "core/error.h"
#include "core/file/file.h"
#include "show/subjects.h"
#include "workflow/analyze/kernels.h"

namespace etprof {
namespace {

struct KernelsArguments {
  KernelsOptions options;
  std::string on, off;
  View view;
};

int RunKernels(KernelsArguments& arguments) {
  auto& [options, on, off, view] = arguments;
  if (!on.empty() || !off.empty()) {
    if (!options.compare.empty() || on.empty() || off.empty())
      throw Error(ExitCode::kUsage, "`--sme2-on` and `--sme2-off` go together, and replace `--compare`")
          .Remedy("give `--compare LOG_ON LOG_OFF`");
    options.compare = {on, off};
  }
  if (options.paths.empty() && options.compare.empty())
    throw Error(ExitCode::kUsage, "no log is given")
        .Remedy("give a log, a results directory, or --compare LOG_ON LOG_OFF");
  if (!options.paths.empty() && !options.compare.empty())
    throw Error(ExitCode::kUsage, "`--compare` takes the two logs itself")
        .Remedy("leave out the other paths");
  const auto [report, written] = ReadAndWriteKernels(options);
  view.quiet = view.quiet || IsStdout(options.output);
  const std::string more =
      written.empty() ? "--out DIR writes a table of every microkernel and kernel_view.md" : written.string();
  ShowDocument(show::MakeKernelsDocument(report), view, more,
               [&report = report](std::ostream& out) { WriteJson(report, 1, out); });
  return 0;
}

}  // namespace

std::function<int()> KernelsCommand(CLI::App& app) {
  const auto arguments = std::make_shared<KernelsArguments>();
  auto& [options, on, off, view] = *arguments;
  options.write = WriteOutput;
  AddAlias(app, "--xnntrace,--run-dir",
           app.add_option("path", options.paths,
                          "Logs of kernel-log runs (executor_runner's output, or logcat's), or results "
                          "directories"));
  AddOption(app, "--compare LOG_ON LOG_OFF", options.compare, "Compare two logs, the one with SME2 first")
      ->expected(2);
  app.add_option("--sme2-on", on)->group("");  // the SME2 profiling kit's options instead of --compare
  app.add_option("--sme2-off", off)->group("");
  AddOption(app, "--etdump FILE", options.etdump,
            "Check the log's operators against this ETDump of the same run");
  AddOption(app, "--out DIR", options.output, "Write <log>_kernels.csv and kernel_view.md into this folder");
  app.add_option("--model-id", options.model_id, "Name of the model");
  app.add_option("--filter-op", options.filter, "Show only this operation, such as GEMM, igemm, or vadd");
  app.add_option("--title", options.title, "Title of kernel_view.md");
  AddDocumentOptions(app, view, "Show everything as JSON");
  app.add_flag("-q,--quiet", view.quiet, "Write the files without showing anything");
  return [arguments] { return RunKernels(*arguments); };
}

}  // namespace etprof
