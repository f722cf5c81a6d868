#include "options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "core/error.h"
#include "core/text/text.h"

namespace etprof::runner {
namespace {

constexpr const char* kFooter = R"(
Examples:
  etprof-runner --model_path model.pte --num_executions 20 --cpu_threads 1 --etdump_path model.etdump
  etprof-runner --model_path model.pte --isa=-avx2 --report report.json
  etprof-runner --isa-info
  etprof-runner --measure-peaks --cpu_threads 2 --isa=-avx2
  etprof-runner --worker --cpu_threads 1 --isa=-sme,-sme2

--isa takes a list, read from left to right: -f hides the feature f and what needs it, +f shows it again with what it
needs, =f is that level and nothing above, `all`, `none`. f is a name as in Linux's /proc/cpuinfo or XNNPACK's kernels, or a
group (avx512, amx). Exit codes: 0 done, 2 usage, 3 bad input, 4 the device or ExecuTorch failed. docs/reference/runner.md has the details.)";

}  // namespace

Options ParseOptions(int argc, char** argv) {
  Options options;
  CLI::App app(
      "etprof-runner: runs an ExecuTorch program and times it. Takes executor_runner's flags; etprof drives "
      "it as a "
      "worker.",
      "etprof-runner");
  app.footer(kFooter);
  app.set_version_flag("--version", ETPROF_VERSION " (ExecuTorch " ETPROF_EXECUTORCH_VERSION ")");

  bool worker = false, isa_info = false, measure_peaks = false;
  std::string inputs, inputs_kind, clock = "exact";
  std::uint64_t seed = 0;
  app.add_flag("--worker", worker, "Answer JSON lines on stdin until it closes (docs/reference/runner.md)");
  app.add_flag("--isa-info", isa_info, "Print this CPU's features and the versions as JSON");
  app.add_flag(
      "--measure-peaks", measure_peaks,
      "Measure peak compute and memory bandwidth, and print them as JSON (docs/guides/bottlenecks.md)");
  app.add_option("--compare-outputs", options.compare, "Compare two files of --save-outputs, and print JSON")
      ->expected(2);

  app.option_defaults()->group("executor_runner's flags");
  app.add_option("--model_path", options.model.model, "Program (.pte) to run");
  app.add_option("--data_path", options.model.data, "External data of the program, a .ptd file");
  app.add_option("--method_name", options.model.method, "Method to run (default: the first one)");
  app.add_option("--inputs", inputs, "Files of raw bytes, one per tensor, separated by commas");
  app.add_option("--num_executions", options.num_executions, "Number of runs (default: 1)")
      ->check(CLI::Range(1, 10'000'000));
  app.add_option("--cpu_threads", options.cpu_threads,
                 "Number of threads, with the calling one (default: -1, the number of fast cores)")
      ->check(CLI::Range(-1, 4096));
  app.add_option("--etdump_path", options.etdump_path, "Trace every execution and write an ETDump here");
  app.add_option("--output_file", options.output_file, "Write output i to <this>-i.bin");
  app.add_option("--print_output", options.print_output,
                 "Print outputs: none, summary, or all (default: summary)")
      ->check(CLI::IsMember({"none", "summary", "all"}));

  app.option_defaults()->group("Options");
  app.add_option("--isa", options.isa, "Disable CPU features, e.g., --isa=-sme,-sme2 or --isa==avx2");
  app.add_option("--operator-clock", clock,
                 "Clock of operator times: exact, in nanoseconds, or xnnpack, in its own microseconds "
                 "(default: exact)")
      ->check(CLI::IsMember({"exact", "xnnpack"}));
  app.add_option("--cpus", options.cpus, "Run on these CPUs only: 0,2-3, or a mask such as 0x80");
  app.add_option("--load", options.load,
                 "Library of custom operators or of another backend. May be repeated");
  app.add_option("--input-kind", inputs_kind,
                 "Inputs: saved, ones, or random (default: <model>.inputs if it exists, else random). With "
                 "saved, --inputs names the file")
      ->check(CLI::IsMember({"saved", "files", "ones", "random"}));
  app.add_option("--seed", seed, "Seed of random inputs (default: 0)");
  app.add_option("--report", options.report, "Write settings and measurements as JSON");
  app.add_option("--save-outputs", options.save_outputs, "Save the last run's outputs as a safetensors file");
  app.add_flag("--verbose", options.verbose, "Show ExecuTorch's own log on stderr");
  // --load and --compare-outputs are lists, but each --load must take only one value.
  app.get_option("--load")->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  options.model.method = "";

  // A mask begins with a sign, so `--isa -avx2` would read as a flag without value and a second flag.
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (arguments[i] != "--isa") continue;
    arguments[i] += "=" + arguments[i + 1];
    arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  std::ranges::reverse(arguments);  // CLI11 takes a vector in reverse order

  try {
    app.parse(arguments);
  } catch (const CLI::Success& exit_request) {  // --help, --version
    std::exit(app.exit(exit_request));
  } catch (const CLI::ParseError& error) {
    throw Error(ExitCode::kUsage, error.what()).Remedy("`etprof-runner --help` lists the flags");
  }

  options.exact_clock = clock == "exact";
  const int modes =
      (worker ? 1 : 0) + (isa_info ? 1 : 0) + (measure_peaks ? 1 : 0) + (options.compare.empty() ? 0 : 1);
  if (modes > 1) {
    throw Error(ExitCode::kUsage,
                "`--worker`, `--isa-info`, `--measure-peaks`, and `--compare-outputs` do not go together")
        .Remedy("give one of them");
  }
  options.mode = worker                     ? Options::Mode::kWorker
                 : isa_info                 ? Options::Mode::kIsaInfo
                 : measure_peaks            ? Options::Mode::kMeasurePeaks
                 : !options.compare.empty() ? Options::Mode::kCompareOutputs
                                            : Options::Mode::kExecutorRunner;
  if (options.mode == Options::Mode::kExecutorRunner && options.model.model.empty()) {
    throw Error(ExitCode::kUsage, "no model is given")
        .Remedy("give a .pte with `--model_path`. `--help` lists the flags");
  }
  protocol::InputSpec spec{.kind = inputs_kind, .paths = {}, .seed = seed};
  if (!inputs.empty()) {
    const std::vector<std::string_view> paths = SplitAt(inputs, ',');
    spec.paths.assign(paths.begin(), paths.end());
  }
  if (spec.kind.empty() && !spec.paths.empty()) spec.kind = "files";
  if (spec.kind.empty() && seed != 0) spec.kind = "random";
  if (spec.kind == "saved" && spec.paths.empty()) spec.paths = {options.model.model + ".inputs"};
  if (!spec.kind.empty()) options.model.inputs = spec;
  return options;
}

}  // namespace etprof::runner
