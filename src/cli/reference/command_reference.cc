#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "bundle/bundle.h"
#include "cli/commands.h"
#include "cli/reference/option_table.h"
#include "cli/reference/schema_reference.h"
#include "cli/terminal.h"
#include "core/file/file.h"
#include "core/json/json_schema_of.h"
#include "core/text/escape.h"
#include "measure/config/thresholds.h"
#include "render/csv/table_csv.h"
#include "report/cpu_features.h"
#include "validate/json_schema.h"
#include "workflow/build.h"
#include "workflow/doctor.h"
#include "workflow/measure/device.h"
#include "workflow/measure/devices.h"
#include "workflow/measure/plan.h"
#include "workflow/measure/quicktest.h"
#include "workflow/validate.h"

namespace etprof {
namespace {

std::string NameCell(const OptionFacts& option) {
  std::vector<std::string> names;
  if (!option.positional.empty()) names.push_back(fmt::format("`{}`", option.positional));
  for (const std::string& name : option.names) names.push_back(fmt::format("`{}`", name));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string ValueCell(const OptionFacts& option) {
  if (option.value.empty()) return "";
  std::vector<std::string> values;
  for (const std::string& choice : option.choices) values.push_back(CodeCell(choice));
  if (values.empty()) values.push_back(CodeCell(option.value));
  std::string text = fmt::format("{}", fmt::join(values, ", "));
  if (option.value_optional) text = "`=` " + text + ", or none";
  if (option.repeats) text += ", several";
  return text;
}

std::string OptionTable(const CommandFacts& command) {
  std::string text = "| option | value | meaning |\n| --- | --- | --- |\n";
  const auto add = [&](bool positional) {
    for (const OptionFacts& option : command.options) {
      if (option.positional.empty() == positional) continue;
      text += fmt::format("| {}{} | {} | {} |\n", NameCell(option), option.required ? " (needed)" : "",
                          ValueCell(option), EscapeMarkdown(option.help));
    }
  };
  add(true);
  add(false);
  return text;
}

constexpr std::pair<ExitCode, std::string_view> kExitCodes[] = {
    {ExitCode::kDone, "Done"},
    {ExitCode::kCheckFailed,
     "A check failed: `check`, `suite`, `history check`, a limit of `inspect`, `validate`, `quick-test`, "
     "`fleet verdict`, or the check of `export`; or `bisect` found that the bad version is not slower"},
    {ExitCode::kUsage, "The command line is wrong"},
    {ExitCode::kBadInput, "A file or configuration cannot be used"},
    {ExitCode::kDeviceFailed,
     "A device, a runner, or the system failed (disk full, permissions, limits of the shell), or messages "
     "could not "
     "be written to stderr. A measurement does not stop for the latter"},
    {ExitCode::kInconclusive,
     "`check`, `suite`, `history check`, `inspect`, `bisect`, or the check of `export` could not decide"},
    {ExitCode::kInterrupted, "Interrupted by Ctrl-C. Measured data is kept, and `--resume` continues"},
};

std::string Reference(const std::vector<CommandFacts>& commands) {
  std::string text =
      "# CLI\n\n"
      "Made by `script/reference` from the program's own table of options. stdout is data, stderr is for\n"
      "people. `--json` gives JSON wherever a person would read a table ([keys](json.md)).\n\n"
      "| exit code | meaning |\n| --- | --- |\n";
  for (const auto& [code, meaning] : kExitCodes)
    text += fmt::format("| {} | {} |\n", static_cast<int>(code), meaning);
  for (const CommandFacts& command : commands) {
    if (command.name.empty()) {
      text += "\n" + OptionTable(command);
      continue;
    }
    text += fmt::format("\n## {}\n\n{}\n\n```\n{}\n```\n\n", command.name, EscapeMarkdown(command.summary),
                        command.example);
    text += OptionTable(command);
  }
  return text;
}

}  // namespace

std::function<int()> ReferenceCommand(CLI::App& app) {
  const auto schemas = std::make_shared<std::filesystem::path>();
  app.add_option("--schemas", *schemas,
                 "Write the JSON Schemas that are made of descriptions there, and reference/json.md and "
                 "reference/csv.md next to that folder");
  return [schemas] {
    if (schemas->empty()) {
      Print("{}", Reference(CommandsAndOptions()));
      return 0;
    }
    std::map<std::string, nlohmann::ordered_json> all = DescribedSchemas();
    all["dry_run"] = DryRunSchema();
    all["build"] = SchemaOf<Bundle>("`etprof build --target --json`",
                                    "The bundle that was built (docs/guides/boards.md).");
    all["build_executorch"] =
        SchemaOf<ExecutorchBuilt>("`etprof build --executorch --json`",
                                  "The runners that were built (docs/reference/build-executorch.md).");
    all["devices"] = SchemaOf<DevicesFound>("`etprof devices --json`",
                                            "Devices and what they say (docs/reference/devices.md).");
    all["machine_peaks"] =
        SchemaOf<MeasuredPeaks>("`etprof peaks --json`", "A machine's peaks (docs/guides/bottlenecks.md).");
    all["doctor"] =
        SchemaOf<Examination>("`etprof doctor --json`", "What every command needs, and what is there.");
    all["isa"] =
        SchemaOf<CpuFeatures>("`etprof isa --json`", "The instruction sets of a CPU (docs/guides/isa.md).");
    all["quick_test"] =
        SchemaOf<QuickTestResult>("`etprof quick-test --json`", "How far a small model came.");
    all["validate"] = SchemaOf<Validations>(
        "`etprof validate --json`", "What is wrong with results directories (docs/reference/files.md).");
    all["thresholds"] = ThresholdsSchema();
    for (const auto& [name, schema] : all)
      WriteFileAtomically(*schemas / (name + ".schema.json"), WrappedJson(schema));
    // What people write: docs/reference/config.md and docs/guides/ci.md have the keys.
    all.erase("config");
    all.erase("thresholds");
    const std::filesystem::path pages = schemas->parent_path() / "reference";
    WriteFileAtomically(pages / "json.md", SchemaReference(all));
    WriteFileAtomically(pages / "csv.md", CsvReference(CsvSchemas()));
    return 0;
  };
}

}  // namespace etprof
