#include <memory>

#include "commands/terminal/show.h"

namespace etprof {

std::function<int()> ProfileCommand(CLI::App& app) {
  const auto parsed = std::make_shared<ParsedArguments<ProfileOptions>>();
  auto& [options, view] = *parsed;
  AddOption(app, "model MODEL.pte", options.model, "Program (.pte) to measure")->required();
  AddOption(app, "--vs SPEC", options.vs,
            "Variant to compare with: isa=-avx2, threads=2, cpus=0, period=33ms, runner=PATH, "
            "model=OTHER.pte, executorch=VERSION (or a wheel, FILE.whl), env=NAME=VALUE, label=NAME, or "
            "several of these, separated by commas. May be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  AddDescribedOptions(app, options);
  SetMeasureTexts({.max_seconds = "60 for each pair",
                   .threads = "1; several are measured side by side",
                   .output_root = "out_<model>/runs/<platform>",
                   .several_devices = true},
                  app);
  AddViewOptions(app, view, "Show the analysis as JSON", "operators");
  return [parsed] { return MeasureAndShow(MakeJobs(parsed->options), parsed->options, parsed->view); };
}

}  // namespace etprof
