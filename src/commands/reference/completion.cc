#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands/reference/option_table.h"

namespace etprof {
namespace {

using Paths = OptionFacts::Paths;

std::string ReplaceAll(const std::string& text, char what, const std::string& by) {
  std::string out;
  for (const char c : text) out += c == what ? by : std::string(1, c);
  return out;
}

// Quotes for '...' in a POSIX shell.
std::string Quoted(const std::string& text) { return "'" + ReplaceAll(text, '\'', "'\\''") + "'"; }
// Quotes for '...' in fish.
std::string FishQuoted(const std::string& text) {
  return "'" + ReplaceAll(ReplaceAll(text, '\\', "\\\\"), '\'', "\\'") + "'";
}

// The first positional; it decides for all positionals of a command.
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
std::string CompletionAction(const OptionFacts& option, const ShellSyntax& words) {
  std::vector<std::string> actions;
  if (!option.ValuesToOffer().empty()) actions.push_back(words.choices(option.ValuesToOffer()));
  if (option.paths == Paths::kFiles) actions.push_back(words.files);
  if (option.paths == Paths::kFolders) actions.push_back(words.folders);
  return fmt::format("{}", fmt::join(actions, "; "));
}

// The arms of `case "$command $previous"` for options that take a value.
std::string ValueArms(const std::vector<CommandFacts>& commands, const ShellSyntax& words) {
  std::string text;
  for (const CommandFacts& command : commands) {
    for (const OptionFacts& option : command.options) {
      if (option.names.empty() || option.value.empty()) continue;
      const std::string action = CompletionAction(option, words);
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
std::string PositionalArms(const std::vector<CommandFacts>& commands, const ShellSyntax& words) {
  std::string text;
  for (const CommandFacts& command : commands) {
    if (command.name.empty()) continue;
    const OptionFacts* positional = FirstPositional(command);
    const std::string action = positional != nullptr ? CompletionAction(*positional, words) : "";
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

// A colon ends the name in _describe's list.
std::string ZshDescription(const std::string& name, const std::string& help) {
  return Quoted(ReplaceAll(name, ':', "\\:") + ":" + help);
}

std::string FishNames(const OptionFacts& option) {
  std::string text;
  for (const std::string& name : option.names) {
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  return text;
}

std::string FishWords(const std::vector<std::string>& words) {
  return words.empty() ? "" : " -a " + Quoted(fmt::format("{}", fmt::join(words, " ")));
}

std::string FishLine(const CommandFacts& command, const OptionFacts& option) {
  const std::string where = command.name.empty()
                                ? "__fish_use_subcommand"
                                : fmt::format("__fish_seen_subcommand_from {}", command.name);
  std::string line = fmt::format("complete -c etprof -n {}{}", Quoted(where), FishNames(option));
  if (!option.value.empty()) {
    if (!option.choices.empty()) {
      line += option.value_optional ? " -f" : " -x";
      line += FishWords(option.choices);
    } else if (option.paths == Paths::kFolders) {
      line += " -x -a '(__fish_complete_directories)'";
    } else {
      line += option.paths == Paths::kFiles ? " -r -F" : " -x";
      line += FishWords(option.suggestions);
    }
  }
  return line + " -d " + FishQuoted(option.help) + "\n";
}

}  // namespace

std::string BashCompletion(const std::vector<CommandFacts>& commands) {
  const ShellSyntax words{BashChoices, "_etprof_paths -f", "_etprof_paths -d"};
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
                     ValueArms(commands, words), options, BashChoices(CommandNames(commands)),
                     PositionalArms(commands, words));
}

std::string ZshCompletion(const std::vector<CommandFacts>& commands) {
  const ShellSyntax words{ZshChoices, "_files", "_path_files -/"};
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
                     ValueArms(commands, words), options, described, PositionalArms(commands, words));
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
    const std::string seen = fmt::format("__fish_seen_subcommand_from {}", command.name);
    if (positional == nullptr) continue;
    const std::string words = FishWords(positional->ValuesToOffer());
    const std::string files = positional->paths == Paths::kFiles ? " -F" : "";
    if (!words.empty() || !files.empty())
      text += fmt::format("complete -c etprof -n {}{}{}\n", Quoted(seen), files, words);
  }
  return text;
}

}  // namespace etprof
