#include "commands/commands.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

namespace etprof {

// The commands, each in its own file.
CommandSetup AccuracyCommand, AnalyzeCommand, BisectCommand, BuildCommand, CheckCommand, CompareCommand,
    CompletionCommand, DevicesCommand, DiffCommand, DoctorCommand, ExportCommand, FleetCommand,
    GenerateCommand, HistoryCommand, InspectCommand, IsaCommand, KernelsCommand, NewModelCommand,
    PeaksCommand, ProfileCommand, QuickTestCommand, RecoverCommand, ReferenceCommand, ReportCommand,
    RunCommand, SuiteCommand, TraceCommand, ValidateCommand, VersionsCommand;

const std::vector<CommandSpec>& AllCommands() {
  static const std::vector<CommandSpec> kCommands = {
      {"Measure", "profile", "Measure a model, alone or against variants, and show where its time goes",
       "etprof profile out_mobilenet_v3_small/artifacts/mobilenet_v3_small_xnnpack_fp32.pte --vs isa=-avx2",
       ProfileCommand},
      {"Measure", "run", "Measure the experiments of a configuration file, and write a report",
       "etprof run configs/examples/isa_on_off.json", RunCommand},
      {"Measure", "suite", "Measure models in several data types on several devices, and show one matrix",
       "etprof suite configs/suites/two_devices.json --dry-run", SuiteCommand},
      {"Measure", "isa", "Show this machine's instruction sets, or measure a model with each of them",
       "etprof isa out_mobilenet_v3_small/artifacts/mobilenet_v3_small_xnnpack_fp32.pte --threads 1,2",
       IsaCommand},
      {"Measure", "versions", "Measure a model with several ExecuTorch releases, each against the one before",
       "etprof versions out_mobilenet_v3_small/artifacts/mobilenet_v3_small_xnnpack_fp32.pte",
       VersionsCommand},
      {"Measure", "generate", "Measure a language model: prefill, decoding by position, and the first token",
       "etprof generate decoder.pte -p 128 -n 32 -d 0,64", GenerateCommand},
      {"Measure", "peaks", "Measure this machine's peak compute and memory bandwidth",
       "etprof peaks --threads 2 --isa=-avx2", PeaksCommand},
      {"Analyze", "analyze", "Show where the time goes in an ETDump, or regenerate a run's analysis",
       "etprof analyze out_mobilenet_v3_small/runs/linux-x86_64", AnalyzeCommand},
      {"Analyze", "compare", "Compare two ETDumps, experiments, or results directories, operator by operator",
       "etprof compare sme2_off.etdump sme2_on.etdump --name1 off --name2 on", CompareCommand},
      {"Analyze", "report", "Regenerate a report, or combine several runs into one",
       "etprof report out_toy_cnn/runs/mac --title \"toy_cnn on a laptop\"", ReportCommand},
      {"Analyze", "trace", "Write a run as a trace for Perfetto, speedscope, or chrome://tracing",
       "etprof trace out_mobilenet_v3_small/runs/linux-x86_64", TraceCommand},
      {"Analyze", "kernels", "List the microkernels that ran, from kernel logs or from two variants",
       "etprof kernels out_toy_cnn/runs/mac --out kernels", KernelsCommand},
      {"Analyze", "validate", "Verify the integrity of a results directory",
       "etprof validate out_toy_cnn/runs/linux-x86_64", ValidateCommand},
      {"Analyze", "recover",
       "Merge the partial results of an interrupted measurement in its results directory",
       "etprof recover out_toy_cnn/runs/linux-x86_64", RecoverCommand},
      {"Analyze", "fleet", "Keep the runs of many devices as Parquet, query them, and judge versions",
       "etprof fleet add out_toy_cnn/runs/mac --to fleet --version 1.5 --device mac-07", FleetCommand},
      {"CI", "check", "Fail if a candidate is significantly slower than a baseline",
       "etprof check main.pte change.pte --max-slowdown 2% --junit check.xml", CheckCommand},
      {"CI", "history", "Keep measurements over time in one file, show their trends, and find changes",
       "etprof history add out_toy_cnn/runs/linux-x86_64 --commit HEAD", HistoryCommand},
      {"CI", "bisect",
       "Find the commit that made a model slower: build, measure against the good version, repeat",
       "etprof bisect --good v1.0 --bad HEAD --built-model net.pte -- make net.pte", BisectCommand},
      {"Models", "new-model", "Create a package with a small model that exports, as a template for your own",
       "etprof new-model my_net", NewModelCommand},
      {"Models", "export", "Export a PyTorch model to a .pte with its .etrecord and inputs, and check it",
       "etprof export --model mobilenet_v3_small --dtype fp32 --outdir out_mobilenet_v3_small/artifacts",
       ExportCommand},
      {"Models", "accuracy", "Show which quantized values make the error of a model, and keep them in float",
       "etprof accuracy transformer_layer --target 45dB", AccuracyCommand},
      {"Models", "inspect", "Show what is in a .pte: operators, delegates, sizes, MACs",
       "etprof inspect model.pte", InspectCommand},
      {"Models", "diff", "Show how two programs differ: operators, delegates, weights, memory",
       "etprof diff main.pte change.pte", DiffCommand},
      {"Setup", "build", "Build the runner for a device, or ExecuTorch's own runner in your checkout",
       "etprof build --target linux-aarch64", BuildCommand},
      {"Setup", "devices", "List devices and their state", "etprof devices --device ssh:pi5", DevicesCommand},
      {"Setup", "doctor", "Check that all dependencies are installed", "etprof doctor", DoctorCommand},
      {"Setup", "quick-test", "Run an end-to-end smoke test, from export to report",
       "etprof quick-test --outdir quick_test", QuickTestCommand},
      {"Setup", "completion", "Print a script that completes etprof's command lines in a shell",
       "source <(etprof completion bash)", CompletionCommand},
      // For developers of etprof, not for its users.
      {"", "reference", "Print docs/reference/cli.md", "etprof reference > docs/reference/cli.md",
       ReferenceCommand}};
  return kCommands;
}

namespace {

// Omits the options that an option excludes, the bounds of numbers, and CLI11's types of files, which would
// make the lines long. If options that exclude each other are given, the error says so.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    const std::string name = CLI::Formatter::make_option_name(option, is_positional);
    return name.substr(0, name.find('{'));  // CLI11 adds the value of a flag without one: "--csv{usual}"
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (!option->get_option_text().empty()) return " " + option->get_option_text();
    std::string text;
    if (option->get_type_size() != 0) {
      std::string type = option->get_type_name();
      if (const std::size_t end = type.find(':');
          end != std::string::npos && !type.substr(end).starts_with(":{"))
        type.resize(end);
      if (!type.empty()) text += " " + type;
      if (option->get_expected_max() == CLI::detail::expected_max_vector_size) text += " ...";
      if (option->get_required()) text += " (required)";
    }
    for (const CLI::Option* required : option->get_needs()) text += " (needs " + required->get_name() + ")";
    return text;
  }
};

}  // namespace

void AddCommands(CLI::App& root, std::function<int()>& run_command) {
  root.name("etprof");
  root.description("etprof: a command-line profiler for ExecuTorch");
  root.set_version_flag("--version", ETPROF_VERSION);
  root.require_subcommand(1);
  root.formatter(std::make_shared<HelpFormatter>());  // all subcommands inherit the formatter
  for (const CommandSpec& command : AllCommands()) {
    CLI::App* const subcommand = root.add_subcommand(command.name, command.summary)->group(command.group);
    subcommand->footer("Example:\n  " + command.example);
    subcommand->preparse_callback(
        [&command, &run_command, subcommand](std::size_t) { run_command = command.setup(*subcommand); });
  }
}

}  // namespace etprof
