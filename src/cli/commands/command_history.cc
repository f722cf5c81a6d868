#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "cli/commands.h"
#include "cli/gate_options.h"
#include "cli/show.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/units.h"
#include "show/gates.h"
#include "workflow/analyze/history.h"

namespace etprof {
namespace {

struct HistoryArguments {
  std::string action = "show";
  AddToHistoryOptions add;
  HistoryOptions read;
  View view;
  CheckOutputs files;
  bool require_conclusive = false;
  std::string reason;
  std::string format = "bmf", out = "-";
};

// The options of each action, besides --history.
const std::map<std::string, std::vector<std::string>>& OptionsOfActions() {
  static const std::map<std::string, std::vector<std::string>> kOptions = [] {
    std::map<std::string, std::vector<std::string>> all;
    all["add"] = {"run", "--commit", "--time", "--reference", "--device-name"};
    all["show"] = ViewOptionNames();
    all["show"].insert(all["show"].end(),
                       {"--model", "--device", "--experiment", "--operator", "--last", "--smallest"});
    all["check"] = all["show"];
    all["accept"] = {"--commit", "--reason", "--model", "--device", "--experiment"};
    all["delete"] = {"--commit"};
    all["merge"] = {"run"};
    all["export"] = {"--model", "--device", "--experiment", "--last", "--format", "--out"};
    all["check"].insert(all["check"].end(),
                        {"--since", "--require-conclusive", "--junit", "--github-summary"});
    return all;
  }();
  return kOptions;
}

void RefuseOptionsOfOtherActions(const CLI::App& app, const std::string& action) {
  const std::vector<std::string>& own = OptionsOfActions().at(action);
  for (const CLI::Option* option : app.get_options()) {
    const bool allowed =
        option->check_name("action") || option->check_name("--history") ||
        std::ranges::any_of(own, [&](const std::string& name) { return option->check_name(name); });
    if (allowed || option->count() == 0) continue;
    throw Error(
        ExitCode::kUsage,
        fmt::format("`{}` does not go with `etprof history {}`",
                    option->get_positional() ? option->results().front() : option->get_name(), action))
        .Remedy(option->get_positional() ? "name the history's file with `--history FILE`"
                                         : "see `etprof history --help`");
  }
}

int RunAdd(const HistoryArguments& arguments) {
  const AddedToHistory added = AddToHistory(arguments.add);
  ReportHistoryAdditions(added, [](const std::string& line) { Print("{}\n", line); });
  Print("{}: {}\n", arguments.add.file, CountedText(added.all, "measurement"));
  return 0;
}

int RunHistory(const CLI::App& app, HistoryArguments& arguments) {
  RefuseOptionsOfOtherActions(app, arguments.action);
  arguments.read.file = arguments.add.file;
  if (arguments.action == "add") return RunAdd(arguments);
  const std::string& file = arguments.read.file;
  if (arguments.action == "accept") {
    for (const SeriesKey& key :
         AcceptInHistory(file, arguments.read.filter, arguments.add.commit, arguments.reason))
      Print("{}: accepted\n", GetName(key));
    return 0;
  }
  if (arguments.action == "delete") {
    Print("{}: deleted {}\n", file,
          CountedText(DeleteFromHistory(file, arguments.add.commit), "measurement"));
    return 0;
  }
  if (arguments.action == "merge") {
    const MergedHistory merged = MergeHistories(file, arguments.add.runs);
    Print("{}: {}, {} of them new\n", file, CountedText(merged.all, "measurement"), merged.added);
    return 0;
  }
  if (arguments.action == "export") {
    ExportHistory(arguments.read, arguments.format, arguments.out, WriteOutput);
    return 0;
  }
  if (arguments.action == "show") {
    ShowDocument(show::MakeHistoryDocument(ReadHistory(arguments.read), file), arguments.view, "");
    return 0;
  }
  arguments.read.filter.operators = arguments.read.filter.operator_name.empty();
  const CheckOutputs outputs = arguments.files.Resolved();
  const HistoryReport history = ReadHistory(arguments.read);
  const show::Document document = show::MakeHistoryCheckDocument(history, file, arguments.require_conclusive);
  outputs.Write(show::MakeTestSuite(history, file, arguments.require_conclusive), document);
  ShowDocument(document, arguments.view, history);
  return static_cast<int>(GateExitCode(history.decision, arguments.require_conclusive));
}

}  // namespace

std::function<int()> HistoryCommand(CLI::App& app) {
  const auto arguments = std::make_shared<HistoryArguments>();
  AddToHistoryOptions& add = arguments->add;
  HistoryFilter& filter = arguments->read.filter;
  app.add_option(
         "action", arguments->action,
         "What to do. add: Keep measurements. show (default): Show trends with their noise. check: "
         "Fail if something became slower. accept: Let check pass the changes up to a commit. merge: Add "
         "other histories. delete: Delete the measurements of a commit. export: Write a file for another "
         "tracker")
      ->check(CLI::IsMember({"add", "show", "check", "accept", "merge", "delete", "export"}));
  app.add_option("run", add.runs, "Results directories to add, or histories to merge")->expected(-1);
  AddOption(app, "--history FILE", add.file, fmt::format("File of the history (default: {})", kHistoryFile));
  AddOption(app, "--commit SHA", add.commit,
            "Commit that was measured, or that is accepted or deleted: HEAD, a hash, or any name");
  AddOption(app, "--reason TEXT", arguments->reason, "Why changes are accepted");
  AddOption(app, "--time TIME", add.time,
            "Time of that commit: 2026-01-31T12:00:00Z, or seconds since 1970 (default: its time in git "
            "here, else that of the measurement)");
  AddOption(app, "--reference NAME", add.reference,
            "Experiment that does not change with the commit, to compare the others with");
  AddOption(app, "--device-name NAME", add.device_name,
            "Name of the machine that was measured, where that was local (default: local)");
  AddOption(app, "--model NAME", filter.model, "Only models with this in their names");
  AddOption(app, "--device NAME", filter.device, "Only devices with this in their names");
  AddOption(app, "--experiment NAME", filter.experiment, "Only experiments with this in their names");
  AddOption(app, "--operator NAME", filter.operator_name,
            "Show the self time of operators with this in their names instead of the latency");
  AddOption(app, "--last N", filter.last, "Newest measurements of each series, or 0 for all (default: 200)",
            CLI::Range(0, 1'000'000));
  const auto smallest = [arguments](const std::string& text) {
    arguments->read.trends.smallest = ParsePositivePercentage("--smallest", text);
  };
  app.add_option_function<std::string>(
         "--smallest", smallest,
         "Smallest change that fails, and that a series must be able to detect (default: 1%)")
      ->type_name(kPercent);
  AddOption(app, "--since SHA", arguments->read.trends.since, "Accept changes up to this commit");
  app.add_flag("--require-conclusive", arguments->require_conclusive,
               "Fail if a series cannot detect such a change (exit code 1 instead of 5)");
  app.add_option("--format", arguments->format,
                 "Format to export: bmf (Bencher's, of the newest measurements) or hud (PyTorch HUD's) "
                 "(default: bmf)")
      ->check(CLI::IsMember(HistoryFormatNames()));
  AddOption(app, "--out FILE", arguments->out, "File to write (default: stdout)");
  AddGateFileOptions(app, arguments->files);
  AddDocumentOptions(app, arguments->view, "Show the result as JSON",
                     {show::MakeHistoryDocument({}, ""), show::MakeHistoryCheckDocument({}, "", false)});
  return [&app, arguments] { return RunHistory(app, *arguments); };
}

}  // namespace etprof
