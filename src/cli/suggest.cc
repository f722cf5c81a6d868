#include "cli/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/suggest.h"

namespace etprof {
namespace {

std::vector<std::string> OptionNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

}  // namespace

Error UsageError(const CLI::App& app, int argc, const char* const* argv, const std::string& problem) {
  std::string message = problem;
  std::vector<std::string> commands;
  const CLI::App* current = nullptr;
  std::string suggestion;
  const std::vector<const CLI::App*> subcommands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : subcommands) commands.push_back(command->get_name());
  for (int i = 1; i < argc && suggestion.empty(); ++i) {
    const std::string word = argv[i];
    if (current == nullptr && !word.starts_with("-")) {
      const auto named = std::find(commands.begin(), commands.end(), word);
      if (named == commands.end()) {
        message = fmt::format("unknown command `{}`", word);
        suggestion = Closest(word, commands);
        break;
      }
      current = subcommands[static_cast<std::size_t>(named - commands.begin())];
    } else if (word.starts_with("--")) {
      const std::vector<std::string> known = OptionNames(current == nullptr ? app : *current);
      const std::string name = word.substr(0, word.find('='));
      if (std::find(known.begin(), known.end(), name) == known.end()) suggestion = Closest(name, known);
    }
  }
  const std::string help = current == nullptr ? "etprof --help" : "etprof " + current->get_name() + " --help";
  const std::string meant = suggestion.empty() ? "" : fmt::format("did you mean `{}`? ", suggestion);
  return Error(ExitCode::kUsage, message)
      .Remedy(fmt::format("{}{} `{}`", meant, meant.empty() ? "see" : "See", help));
}

}  // namespace etprof
