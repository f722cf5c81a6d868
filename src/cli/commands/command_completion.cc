#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/say.h"

namespace etprof {

CommandSpec CompletionCommand() {
  return {"completion", "print a script that completes etprof's command lines, for a shell",
          "source <(etprof completion bash)", [](CLI::App& app) -> std::function<int()> {
            const auto shell = std::make_shared<std::string>();
            app.add_option("shell", *shell, "bash, zsh or fish")
                ->required()
                ->check(CLI::IsMember({"bash", "zsh", "fish"}));
            return [shell, &app] {
              const std::vector<CommandFacts> commands = CommandsOf(*app.get_parent());
              Print("{}", *shell == "bash"  ? BashCompletion(commands)
                          : *shell == "zsh" ? ZshCompletion(commands)
                                            : FishCompletion(commands));
              return 0;
            };
          }};
}

}  // namespace etprof
