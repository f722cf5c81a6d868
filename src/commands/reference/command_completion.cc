#include <memory>

#include "commands/commands.h"
#include "commands/reference/option_table.h"
#include "commands/terminal/terminal.h"

namespace etprof {

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
