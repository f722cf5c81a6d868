#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "commands/commands.h"
#include "commands/reference/option_table.h"
#include "commands/terminal/options.h"
#include "commands/terminal/terminal.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/process/process_start.h"
#include "core/text/escape.h"
#include "core/text/suggest.h"
#include "core/text/text.h"
#include "format/program/static_facts.h"
#include "history/history_file.h"

namespace etprof {
namespace {

// Makes the error for an option whose value is missing; its hint says what to give. If `problem` does not
// name an option, the last option of the command line lacks its value. Returns nullopt for other problems.
std::optional<Error> MakeMissingValueError(const CLI::App& command, int argc, const char* const* argv,
                                           const std::string& problem) {
  std::string name = problem.substr(0, problem.find(": "));
  for (int i = argc - 1; i > 0 && name.empty(); --i) {
    if (command.get_option_no_throw(argv[i]) != nullptr) name = argv[i];
  }
  const CLI::Option* const option = command.get_option_no_throw(name);
  if (option == nullptr) return std::nullopt;
  std::string value = option->get_type_name(), meaning = option->get_description();
  if (const std::size_t choices = value.find(":{"); choices != std::string::npos)
    meaning += (meaning.empty() ? "" : ": ") + value.substr(choices + 2, value.size() - choices - 3);
  value = value.substr(0, value.find(':'));
  if (value.empty() || value == "TEXT") value = "VALUE";
  if (meaning.size() > 1 && std::islower(static_cast<unsigned char>(meaning[1])) != 0)
    meaning[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(meaning[0])));
  const int count = option->get_items_expected_min();
  return Error(ExitCode::kUsage, count > 1 ? fmt::format("`{}` needs {} values", name, count)
                                           : fmt::format("`{}` needs a value", name))
      .Remedy(fmt::format("give `{} {}`: {}", name, value, meaning));
}

// The parts of `text` before, between, and after the separators, which must occur in this order; empty if a
// separator is missing.
std::vector<std::string> SplitAround(std::string_view text,
                                     std::initializer_list<std::string_view> separators) {
  std::vector<std::string> parts;
  for (const std::string_view separator : separators) {
    const std::size_t position = text.find(separator);
    if (position == std::string_view::npos) return {};
    parts.emplace_back(text.substr(0, position));
    text.remove_prefix(position + separator.size());
  }
  parts.emplace_back(text);
  return parts;
}

// Turns "2.000000" into "2".
std::string DropTrailingZeros(std::string number) {
  if (number.find('.') == std::string::npos) return number;
  number.erase(number.find_last_not_of('0') + 1);
  if (number.ends_with('.')) number.pop_back();
  return number;
}

// Rewrites a message of CLI11: the problem, and what to do besides reading the help ("": nothing).
std::pair<std::string, std::string> RewriteParserMessage(const std::string& message) {
  if (const auto parts = SplitAround(message, {": ", " not in {", "}"}); !parts.empty()) {
    const std::vector<std::string_view> choices = SplitAt(parts[2], ',');
    return {fmt::format("`{}` does not take `{}`", parts[0], parts[1]),
            fmt::format("give {}{}", choices.size() > 1 ? "one of " : "", fmt::join(choices, ", "))};
  }
  if (const auto parts = SplitAround(message, {": Value ", " not in range ", " to "}); !parts.empty()) {
    const std::string max = DropTrailingZeros(parts[3]);
    const std::optional<double> share =
        parts[1].ends_with('%') && max == "1" ? ParsePercent(parts[1]) : std::nullopt;
    return {fmt::format("`{} {}` is not a number from {} to {}", parts[0], parts[1],
                        DropTrailingZeros(parts[2]), max),
            share ? fmt::format("give it as a share: `{} {}`", parts[0], *share) : ""};
  }
  if (const auto parts = SplitAround(message, {": File does not exist: "}); !parts.empty())
    return {fmt::format("the file of `{} {}` does not exist", parts[0], parts[1]), "check the path"};
  if (const auto parts = SplitAround(message, {": File is actually a directory: "}); !parts.empty())
    return {fmt::format("`{} {}` is a folder, not a file", parts[0], parts[1]), "give a file"};
  if (const auto parts = SplitAround(message, {": At Most 1 "}); !parts.empty())
    return {fmt::format("`{}` is given more than once", parts[0]), ""};
  if (const auto parts = SplitAround(message, {": At Most ", " required but received "}); !parts.empty())
    return {fmt::format("`{}` takes at most {} values, and {} are given", parts[0], parts[1], parts[2]), ""};
  if (const auto parts = SplitAround(message, {" not expected: "}); !parts.empty()) {
    // CLI11 lists the unexpected arguments in reverse order: "DIR -o".
    const std::vector<std::string_view> arguments = SplitAt(parts[1], ' ');
    const auto option =
        std::ranges::find_if(arguments, [](std::string_view argument) { return argument.starts_with('-'); });
    if (option != arguments.end()) return {fmt::format("unknown option `{}`", *option), ""};
    return {fmt::format("unexpected argument `{}`", parts[1]), ""};
  }
  if (const auto parts = SplitAround(message, {" excludes "}); !parts.empty())
    return {fmt::format("`{}` and `{}` do not go together", parts[0], parts[1]), "leave out one of them"};
  if (const auto parts = SplitAround(message, {" requires "}); !parts.empty())
    return {fmt::format("`{}` needs `{}`", parts[0], parts[1]), fmt::format("add `{}`", parts[1])};
  if (const auto parts = SplitAround(message, {" is required"}); !parts.empty())
    return {fmt::format("`{}` is missing", parts[0]), ""};
  return {message, ""};
}

// Makes the error for a command line that does not parse: CLI11's `problem` or an unknown command, the likely
// intention, and the help to read.
Error MakeUsageError(const CLI::App& app, int argc, const char* const* argv, const CLI::ParseError& problem) {
  std::string message = problem.what(), current_command, suggestion;
  const std::vector<CommandFacts> facts = CommandsAndOptions();
  std::map<std::string, std::vector<std::string>> known_options;  // keyed by command; "": etprof itself
  for (const CommandFacts& command : facts) known_options[command.name] = command.OptionNames();
  const std::vector<CommandSpec>& commands = AllCommands();
  for (int i = 1; i < argc && suggestion.empty(); ++i) {
    const std::string word = argv[i];
    if (word == "--") break;  // the rest belongs to another program
    if (current_command.empty() && !word.starts_with("-")) {
      if (std::ranges::find(commands, word, &CommandSpec::name) == commands.end()) {
        message = fmt::format("unknown command `{}`", word);
        suggestion = FindClosest(word, CommandNames(facts));
        break;
      }
      current_command = word;
    } else if (word.starts_with("--")) {
      const std::string name = word.substr(0, word.find('='));
      const CLI::App& command = current_command.empty() ? app : *app.get_subcommand(current_command);
      const std::vector<std::string>& option_names = known_options[current_command];
      if (command.get_option_no_throw(name) == nullptr &&
          std::ranges::find(option_names, name) == option_names.end())
        suggestion = FindClosest(name, option_names);
    }
  }
  const bool lacks_values = message.ends_with(" missing") || message.find(": At least ") != std::string::npos;
  if (!current_command.empty() && lacks_values &&
      dynamic_cast<const CLI::ArgumentMismatch*>(&problem) != nullptr) {
    if (const auto missing = MakeMissingValueError(*app.get_subcommand(current_command), argc, argv, message))
      return *missing;
  }
  // CLI11 does not name hidden options.
  for (int i = argc - 1; i > 1 && !current_command.empty() && message.starts_with(": "); --i) {
    const std::string word = argv[i], name = word.substr(0, word.find('='));
    if (app.get_subcommand(current_command)->get_option_no_throw(name) != nullptr) message = name + message;
  }
  auto [text, remedy] = RewriteParserMessage(message);
  if (!suggestion.empty()) remedy = fmt::format("did you mean `{}`?", suggestion);
  if (!remedy.empty() && !remedy.ends_with('?')) remedy += '.';
  return Error(ExitCode::kUsage, text)
      .Remedy(fmt::format("{} `etprof {}--help`", remedy.empty() ? "see" : remedy + " See",
                          current_command.empty() ? "" : current_command + " "));
}

// Options that write files, in addition to the options of document formats.
constexpr std::string_view kOutputOptions[] = {"--out", "--junit", "--github-summary", "--model-explorer"};

// True if both paths name the same file, or would name it once they are written.
bool IsSameFile(const std::string& a, const std::string& b) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::exists(a, ignored) && !fs::is_regular_file(a, ignored)) return false;  // a folder or a device
  return fs::equivalent(a, b, ignored) || (a != "-" && fs::absolute(a, ignored).lexically_normal() ==
                                                           fs::absolute(b, ignored).lexically_normal());
}

// Throws Error (kBadInput) if an input is a pipe, a device, or a socket. Throws Error (kUsage) if an option's
// value is empty, as a shell gives for an unset variable (it would mean the current folder, the default, or
// nothing at all), if two options write to the standard output, or if the command would overwrite its own
// inputs or outputs, or measured or exported files.
void CheckOptionValues(const CLI::App& command) {
  std::vector<std::string> used_files = {kHistoryFile};
  std::vector<const CLI::Option*> outputs;
  std::vector<std::string> stdout_options;
  const auto is_stdout = [](const CLI::Option* option) { return IsStdout(option->results().front()); };
  for (const CLI::Option* const option : command.get_options()) {
    const std::string name = option->get_name(), type = option->get_type_name();
    if (name == "command" || option->count() == 0) continue;  // the arguments of another program
    if (name == "--json" || name == "--csv") stdout_options.push_back(name);
    // A flag without a value: its result names no file.
    if (option->get_items_expected_max() == 0 && option->results().front() == "true") continue;
    const bool is_output =
        IsDocumentFile(name) || std::ranges::find(kOutputOptions, name) != std::end(kOutputOptions);
    const bool is_path = option->get_positional() || type == "FILE" || type == "PATH" || type == "DIR" ||
                         type.ends_with(":FILE");  // type of CLI::ExistingFile
    const bool needs_value = is_path || option->get_items_expected_min() > 0;
    if (needs_value && std::ranges::find(option->results(), "") != option->results().end()) {
      throw Error(ExitCode::kUsage, fmt::format("`{}` is empty", name))
          .Remedy(fmt::format("give a {}. Is a variable of the shell not set?", is_path ? "name" : "value"));
    }
    // Check all inputs here, before any work: a command would block on a pipe, perhaps only after a
    // measurement.
    for (const std::string& file : option->results()) {
      if (is_path && !is_output && file != "-" && Exists(file) && !IsFolder(file)) RequireRegularFile(file);
    }
    if (is_output && is_stdout(option)) stdout_options.push_back(name);
    if (is_output) outputs.push_back(option);
    if (!is_output) used_files.insert(used_files.end(), option->results().begin(), option->results().end());
  }
  if (stdout_options.size() > 1 && std::ranges::any_of(outputs, is_stdout)) {
    throw Error(ExitCode::kUsage, fmt::format("only one of `{}` can write to the standard output",
                                              fmt::join(stdout_options, "`, `")))
        .Remedy("name a file for all but one of them");
  }
  for (const CLI::Option* const option : outputs) {
    const std::string file = option->results().front();
    if (std::ranges::any_of(used_files, [&](const auto& used_file) { return IsSameFile(file, used_file); })) {
      throw Error(ExitCode::kUsage, fmt::format("`{}` would write over what the same command reads or writes",
                                                option->get_name()))
          .InFile(file)
          .Remedy("name another file");
    }
    if (option->get_type_name() == "FILE" && IsFolder(file)) throw CannotWrite(file, EISDIR);
    RequireReplaceable(file);
    used_files.push_back(file);
  }
}

// Throws Error (kUsage) for a list without any item, such as `--versions ,,` or `--inputs []`, for which
// CLI11 took the next argument. The options of a command exist once it is parsed.
void RequireListItems(const CLI::App& app, int argc, const char* const* argv) {
  const std::vector<CLI::App*> commands = app.get_subcommands();
  for (int i = 2; !commands.empty() && i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string word = argv[i];
    const std::size_t equals = word.find('=');
    const CLI::Option* const option = commands.front()->get_option_no_throw(word.substr(0, equals));
    if (option == nullptr || (option->get_delimiter() != ',' && !option->get_allow_extra_args())) continue;
    const std::string value = equals != std::string::npos ? word.substr(equals + 1)
                              : i + 1 < argc              ? argv[i + 1]
                                                          : "";
    if (value.empty() || value.find_first_not_of("[],") != std::string::npos) continue;
    throw Error(ExitCode::kUsage, fmt::format("`{} {}` has no value", option->get_name(), value))
        .Remedy(fmt::format("give one or several. See `etprof {} --help`", commands.front()->get_name()));
  }
}

// Composed at the start, while memory is available.
std::string g_out_of_memory_message;
std::terminate_handler g_default_terminate = nullptr;

// Ends the process with main()'s message if memory ran out in a function that must not throw: nlohmann-json's
// destructor allocates. Other exceptions go to the library's own handler, which reports them.
[[noreturn]] void Terminate() {
  try {
    if (const std::exception_ptr exception = std::current_exception()) std::rethrow_exception(exception);
  } catch (const std::bad_alloc&) {
    WriteToStderr(g_out_of_memory_message);
    std::_Exit(static_cast<int>(ExitCode::kDeviceFailed));
  } catch (...) {
    g_default_terminate();
  }
  std::abort();
}

// Returns the exit code, or throws.
int Main(int argc, char** argv) {
  PrepareProcess();
  EscapeStdout();
  CLI::App app;
  std::function<int()> run_command;
  AddCommands(app, run_command);
  int code = 0;
  try {
    app.parse(argc, argv);
    RequireListItems(app, argc, argv);
    for (const CLI::App* const command : app.get_subcommands()) CheckOptionValues(*command);
    code = run_command();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      RequireListItems(app, argc, argv);
      PrintError(MakeUsageError(app, argc, argv, error));
      return static_cast<int>(ExitCode::kUsage);
    }
    code = app.exit(error);  // --help, --version
  }
  FlushStdout();
  return code;
}

}  // namespace
}  // namespace etprof

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  etprof::g_out_of_memory_message = etprof::ErrorText(etprof::ToError(std::bad_alloc()));
  etprof::g_default_terminate = std::set_terminate(etprof::Terminate);
  int code = 0;
  try {
    code = etprof::Main(argc, argv);
  } catch (const std::exception& exception) {
    const etprof::Error error = etprof::ToError(exception);
    etprof::PrintError(error);
    code = static_cast<int>(error.exit_code());
  }
  if (etprof::MessagesLost() && code == 0) {
    code = static_cast<int>(etprof::ExitCode::kDeviceFailed);
    etprof::PrintMessage(
        "error: Messages could not be written to the standard error\n");  // a full disk may have space again
  }
  return code;
}
