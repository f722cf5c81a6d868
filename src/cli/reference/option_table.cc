#include "cli/reference/option_table.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>

#include "cli/commands.h"
#include "core/text/split.h"

namespace etprof {
namespace {

// What CLI::IsMember says of a value that is none of its own: "x not in {a,b}".
std::vector<std::string> ChoicesOf(const CLI::Option& option) {
  auto& changeable = const_cast<CLI::Option&>(option);  // CLI11 gives out validators for change only
  std::vector<std::string> choices;
  for (int i = 0; choices.empty(); ++i) {
    const CLI::Validator* validator = nullptr;
    try {
      validator = changeable.get_validator(i);
    } catch (const CLI::OptionNotFound&) {
      break;
    }
    std::string nonsense = "\x01";
    const std::string said = (*validator)(nonsense);
    constexpr std::string_view kBefore = " not in {";
    const std::size_t start = said.find(kBefore);
    const std::size_t end = said.rfind('}');
    if (start == std::string::npos || end == std::string::npos) continue;
    const std::size_t first = start + kBefore.size();
    const auto words = SplitAt(std::string_view(said).substr(first, end - first), ',');
    choices.assign(words.begin(), words.end());
  }
  return choices;
}

bool Names(const std::string& value, std::initializer_list<const char*> words) {
  return std::ranges::any_of(words, [&](const char* word) { return value.find(word) != std::string::npos; });
}

OptionFacts FactsOf(const CLI::Option& option) {
  OptionFacts facts;
  for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
  if (option.get_positional()) facts.positional = option.get_name(true, false);
  if (option.get_positional() && !facts.names.empty()) facts.positional = option.get_name(true, true);
  facts.positional = facts.positional.substr(0, facts.positional.find(','));
  facts.help = option.get_description();
  facts.required = option.get_required();
  facts.choices = ChoicesOf(option);
  facts.value_optional = option.get_items_expected_min() == 0;
  if (facts.value_optional && facts.choices.empty()) {
    facts.value_optional = false;  // a flag
    return facts;
  }
  facts.repeats = option.get_expected_max() > 1;
  // "DIR:FILE": what it was called, then what its checks say of themselves.
  const std::string type = option.get_type_name();
  facts.value = type.substr(0, type.find(':'));
  if (facts.value.empty() || facts.value == "TEXT" || !facts.choices.empty())
    facts.value = type.find(":FILE") != std::string::npos ? "FILE" : "TEXT";
  if (!facts.choices.empty()) {
    facts.value.clear();
    for (const std::string& choice : facts.choices) facts.value += (facts.value.empty() ? "" : "|") + choice;
  } else if (Names(facts.value, {"DIR"})) {
    facts.paths = OptionFacts::Paths::kFolders;
  } else if ((!facts.positional.empty() && facts.value != "NAME") ||
             Names(facts.value, {"FILE", "PATH", ".pte", "LOG", "RUN"})) {
    facts.paths = OptionFacts::Paths::kFiles;
  }
  return facts;
}

// Generated when etprof is built, from python/etprof/exporting/options.py and python/etprof/fleet/options.py.
std::vector<OptionFacts> PythonOptions(const std::string& command) {
  if (command == "fleet") {
    return {
#include "fleet_options.inc"
    };
  }
  return {
#include "export_options.inc"
  };
}

std::vector<OptionFacts> OptionsOf(const CLI::App& app) {
  if (app.get_prefix_command()) return PythonOptions(app.get_name());  // of those that pass all on
  std::vector<OptionFacts> options;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) options.push_back(FactsOf(*option));
  }
  return options;
}

}  // namespace

std::vector<std::string> CommandFacts::OptionNames() const {
  std::vector<std::string> all;
  for (const OptionFacts& option : options) all.insert(all.end(), option.names.begin(), option.names.end());
  return all;
}

std::vector<std::string> CommandNames(const std::vector<CommandFacts>& commands) {
  std::vector<std::string> names;
  for (const CommandFacts& command : commands) {
    if (!command.name.empty()) names.push_back(command.name);
  }
  return names;
}

std::vector<CommandFacts> CommandsAndOptions() {
  CLI::App root;
  std::function<int()> chosen;
  AddCommands(root, chosen);
  std::vector<CommandFacts> facts = {{"", root.get_description(), "", OptionsOf(root)}};
  for (const CommandSpec& command : AllCommands()) {
    if (command.group.empty()) continue;
    CLI::App& subcommand = *root.get_subcommand(command.name);
    const std::function<int()> run = command.setup(subcommand);  // holds what the options refer to
    facts.push_back({command.name, command.summary, command.example, OptionsOf(subcommand)});
  }
  return facts;
}

}  // namespace etprof
