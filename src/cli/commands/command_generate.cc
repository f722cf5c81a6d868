#include <memory>

#include "cli/commands.h"
#include "cli/show.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/file/file.h"
#include "show/formats/export/llama_bench.h"
#include "report/generate/generate.h"
#include "show/subjects.h"
#include "workflow/analyze/analyze.h"
#include "workflow/measure/generate.h"

namespace etprof {
namespace {

struct GenerateArguments {
  GenerateOptions options;  // its model may be the results directory of an earlier one
  View view;
  std::string llama_bench;
};

void ShowGenerated(const Report& report, const GenerateArguments& arguments) {
  const std::optional<GenerateReport> generated = MakeGenerateReport(report);
  if (!generated) {
    throw Error(ExitCode::kBadInput, "is not a run of `etprof generate`")
        .InFile(report.run.folder.string())
        .Remedy("run `etprof generate MODEL.pte`, or show any run with `etprof analyze`");
  }
  if (!arguments.llama_bench.empty()) {
    Print("{}", LlamaBenchText(*generated, arguments.llama_bench));
    return;
  }
  ShowDocument(show::MakeGenerateDocument(*generated), arguments.view, GenerateJson{*generated},
               (report.run.folder / "report.html").string());
}

int RunGenerate(const GenerateArguments& arguments) {
  const GenerateOptions& options = arguments.options;
  if (IsFolder(options.model)) {
    ShowGenerated(MakeReport(OpenRunDirectory(options.model)), arguments);
    return 0;
  }
  return MeasureAndShow(MakeJobs(options), options.measure, arguments.view,
                        [&arguments](const Report& report) { ShowGenerated(report, arguments); });
}

}  // namespace

std::function<int()> GenerateCommand(CLI::App& app) {
  const auto arguments = std::make_shared<GenerateArguments>();
  GenerateOptions& options = arguments->options;
  AddOption(app, "model MODEL.pte|RUN", options.model,
            "Language model to measure, or the results directory of an earlier measurement to show")
      ->required();
  AddOption(
      app, "--vs SPEC", options.vs,
      "Variant to compare with: isa=-avx2, threads=2, cpus=0, runner=PATH, model=OTHER.pte, label=NAME, "
      "or several of these, separated by commas. May be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  AddOption(app, "-p,--prompt N,..", options.tests.prompts, kPromptHelp)->delimiter(',');
  AddOption(app, "-n,--generate N", options.tests.generate, kGenerateHelp);
  AddOption(app, "-d,--depth N,..", options.tests.depths, kDepthHelp)->delimiter(',');
  AddDescribedOptions(app, options);
  AddOption(app, "--llama-bench FORMAT", arguments->llama_bench,
            "Print the tests as llama-bench does: json, jsonl, csv, md, or sql",
            CLI::IsMember({"json", "jsonl", "csv", "md", "sql"}));
  SetMeasureTexts({.max_seconds = "60 and 60 for each variant",
                   .threads = "1; several are measured side by side",
                   .output_root = "out_<model>/runs/<platform>-generate"},
                  app);
  AddViewOptions(app, arguments->view, "Show the result as JSON", "tests");
  return [arguments] { return RunGenerate(*arguments); };
}

}  // namespace etprof
