#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "commands/commands.h"
#include "commands/reference/option_table.h"
#include "commands/terminal/terminal.h"
#include "core/text/text.h"

// Scripts that complete etprof's command lines: commands, options, values of options, and paths where they
// are expected. The scripts are self-contained and start no process.
namespace etprof {
namespace {

using Paths = OptionFacts::Paths;

// Puts a text into '...' for a POSIX shell.
std::string Quoted(const std::string& text) { return "'" + ReplaceAll(text, "'", "'\\''") + "'"; }
// Puts a text into '...' for fish.
std::string FishQuoted(const std::string& text) {
  return "'" + ReplaceAll(ReplaceAll(text, "\\", "\\\\"), "'", "\\'") + "'";
}

// Returns the first positional, by which all positionals of a command are completed.
const OptionFacts* FirstPositional(const CommandFacts& command) {
  for (const OptionFacts& option : command.options) {
    if (!option.positional.empty()) return &option;
  }
  return nullptr;
}

// Patterns of a shell's case: `'run --out'|'run -o'`.
std::string CasePatterns(const CommandFacts& command, const OptionFacts& option) {
  std::vector<std::string> patterns;
  for (const std::string& name : option.names) patterns.push_back(Quoted(command.name + " " + name));
  return fmt::format("{}", fmt::join(patterns, "|"));
}

struct ShellSyntax {
  std::string (*choices)(const std::vector<std::string>&);
  std::string files, folders;
};

// The shell code that completes the value of an option or a positional; empty if no values are known.
std::string CompletionAction(const OptionFacts& option, const ShellSyntax& syntax) {
  std::vector<std::string> actions;
  if (!option.ValuesToOffer().empty()) actions.push_back(syntax.choices(option.ValuesToOffer()));
  if (option.paths == Paths::kFiles) actions.push_back(syntax.files);
  if (option.paths == Paths::kFolders) actions.push_back(syntax.folders);
  return fmt::format("{}", fmt::join(actions, "; "));
}

// The arms of `case "$command $previous"` for options that take a value.
std::string ValueArms(const std::vector<CommandFacts>& commands, const ShellSyntax& syntax) {
  std::string text;
  for (const CommandFacts& command : commands) {
    for (const OptionFacts& option : command.options) {
      if (option.names.empty() || option.value.empty()) continue;
      const std::string action = CompletionAction(option, syntax);
      // An optional value can only follow "=".
      const std::string condition = option.value_optional ? "[[ -n $behind ]] && " : "";
      if (option.value_optional && action.empty()) continue;
      text += fmt::format("    {}) {}{{ {}return; }} ;;\n", CasePatterns(command, option), condition,
                          action.empty() ? "" : action + "; ");
    }
  }
  return text;
}

// The arms of `case $command` for positionals.
std::string PositionalArms(const std::vector<CommandFacts>& commands, const ShellSyntax& syntax) {
  std::string text;
  for (const CommandFacts& command : commands) {
    if (command.name.empty()) continue;
    const OptionFacts* positional = FirstPositional(command);
    const std::string action = positional != nullptr ? CompletionAction(*positional, syntax) : "";
    if (!action.empty()) text += fmt::format("    {}) {} ;;\n", command.name, action);
  }
  return text;
}

std::string BashChoices(const std::vector<std::string>& choices) {
  return fmt::format("_etprof_words {}", Quoted(fmt::format("{}", fmt::join(choices, " "))));
}

std::string ZshChoices(const std::vector<std::string>& choices) {
  std::string text = "compadd --";
  for (const std::string& choice : choices) text += " " + Quoted(choice);
  return text;
}

// Makes an entry of _describe's list, in which a colon ends the name.
std::string ZshDescription(const std::string& name, const std::string& help) {
  return Quoted(ReplaceAll(name, ":", "\\:") + ":" + help);
}

std::string FishNames(const OptionFacts& option) {
  std::string text;
  for (const std::string& name : option.names) {
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  return text;
}

std::string FishArguments(const std::vector<std::string>& values) {
  return values.empty() ? "" : " -a " + Quoted(fmt::format("{}", fmt::join(values, " ")));
}

std::string FishLine(const CommandFacts& command, const OptionFacts& option) {
  const std::string condition = command.name.empty()
                                    ? "__fish_use_subcommand"
                                    : fmt::format("__fish_seen_subcommand_from {}", command.name);
  std::string line = fmt::format("complete -c etprof -n {}{}", Quoted(condition), FishNames(option));
  if (!option.value.empty()) {
    if (!option.choices.empty()) {
      line += option.value_optional ? " -f" : " -x";
      line += FishArguments(option.choices);
    } else if (option.paths == Paths::kFolders) {
      line += " -x -a '(__fish_complete_directories)'";
    } else {
      line += option.paths == Paths::kFiles ? " -r -F" : " -x";
      line += FishArguments(option.suggestions);
    }
  }
  return line + " -d " + FishQuoted(option.help) + "\n";
}

std::string BashCompletion(const std::vector<CommandFacts>& commands) {
  const ShellSyntax syntax{BashChoices, "_etprof_paths -f", "_etprof_paths -d"};
  std::string options;
  for (const CommandFacts& command : commands) {
    if (const std::vector<std::string> names = command.OptionNames(); !names.empty())
      options += fmt::format("      {}) {} ;;\n", Quoted(command.name), BashChoices(names));
  }
  return fmt::format(R"sh(# bash completion of etprof, made by `etprof completion bash`.
_etprof_words() {{
  COMPREPLY+=($(compgen -W "$1" -- "$current"))
}}
_etprof_paths() {{
  local IFS=$'\n'
  type compopt >/dev/null 2>&1 && compopt -o filenames 2>/dev/null
  COMPREPLY+=($(compgen "$1" -- "$current"))
}}
_etprof() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} command= behind= i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ ${{COMP_WORDS[i]}} != -* ]] && {{ command=${{COMP_WORDS[i]}}; break; }}
  done
  # bash takes --by=layer apart: --by, =, layer.
  if [[ $current == = ]]; then
    current= behind=1
  elif [[ $previous == = ]] && ((COMP_CWORD > 1)); then
    previous=${{COMP_WORDS[COMP_CWORD - 2]}} behind=1
  fi
  case "$command $previous" in
{0}  esac
  if [[ $current == -* ]]; then
    case "$command" in
{1}    esac
    return
  fi
  case "$command" in
    '') {2} ;;
{3}  esac
}}
complete -F _etprof etprof
)sh",
                     ValueArms(commands, syntax), options, BashChoices(CommandNames(commands)),
                     PositionalArms(commands, syntax));
}

std::string ZshCompletion(const std::vector<CommandFacts>& commands) {
  const ShellSyntax syntax{ZshChoices, "_files", "_path_files -/"};
  std::string options, described;
  for (const CommandFacts& command : commands) {
    if (!command.name.empty()) described += "      " + ZshDescription(command.name, command.summary) + "\n";
    options += fmt::format("      {}) list=(\n", Quoted(command.name));
    for (const OptionFacts& option : command.options) {
      for (const std::string& name : option.names)
        options += "        " + ZshDescription(name, option.help) + "\n";
    }
    options += "      ) ;;\n";
  }
  return fmt::format(R"sh(#compdef etprof
# zsh completion of etprof, made by `etprof completion zsh`.
_etprof() {{
  local current=${{words[CURRENT]}} previous=${{words[CURRENT - 1]}} command= behind= i
  local -a list
  for ((i = 2; i < CURRENT; i++)); do
    [[ ${{words[i]}} != -* ]] && {{ command=${{words[i]}}; break }}
  done
  if [[ $current == --*=* ]]; then
    previous=${{current%%=*}} behind=1
    compset -P '*='
  fi
  case "$command $previous" in
{0}  esac
  if [[ $current == -* ]]; then
    case "$command" in
{1}    esac
    _describe -o option list
    return
  fi
  case "$command" in
    '') list=(
{2}      )
      _describe command list ;;
{3}  esac
}}
if [[ $funcstack[1] == _etprof ]]; then
  _etprof "$@"
else
  compdef _etprof etprof
fi
)sh",
                     ValueArms(commands, syntax), options, described, PositionalArms(commands, syntax));
}

std::string FishCompletion(const std::vector<CommandFacts>& commands) {
  std::string text =
      "# fish completion of etprof, made by `etprof completion fish`.\n"
      "complete -c etprof -f\n";
  for (const CommandFacts& command : commands) {
    if (!command.name.empty()) {
      text += fmt::format("complete -c etprof -n '__fish_use_subcommand' -a {} -d {}\n", command.name,
                          FishQuoted(command.summary));
    }
    for (const OptionFacts& option : command.options) {
      if (!option.names.empty()) text += FishLine(command, option);
    }
    const OptionFacts* positional = FirstPositional(command);
    const std::string condition = fmt::format("__fish_seen_subcommand_from {}", command.name);
    if (positional == nullptr) continue;
    const std::string values = FishArguments(positional->ValuesToOffer());
    const std::string file_option = positional->paths == Paths::kFiles ? " -F" : "";
    if (!values.empty() || !file_option.empty())
      text += fmt::format("complete -c etprof -n {}{}{}\n", Quoted(condition), file_option, values);
  }
  return text;
}

}  // namespace

std::function<int()> CompletionCommand(CLI::App& app) {
  const auto shell = std::make_shared<std::string>();
  app.add_option("shell", *shell, "Shell to complete in: bash, zsh, or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  return [shell] {
    const std::vector<CommandFacts> commands = CommandsAndOptions();
    Print("{}", *shell == "bash"  ? BashCompletion(commands)
                : *shell == "zsh" ? ZshCompletion(commands)
                                  : FishCompletion(commands));
    return 0;
  };
}

}  // namespace etprof
