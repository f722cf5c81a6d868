#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/python.h"

namespace etprof {
namespace {

struct NewModelArguments {
  std::string name, output;
};

}  // namespace

CommandSpec NewModelCommand() {
  return {"new-model", "make a package with a small model that exports, to put your own in its place",
          "etprof new-model my_net", [](CLI::App& app) -> std::function<int()> {
            const auto arguments = std::make_shared<NewModelArguments>();
            app.add_option("name", arguments->name, "what the model is to be called, as a Python module")
                ->required()
                ->type_name("NAME");
            app.add_option("--output", arguments->output,
                           "the folder to make the package in [the current one]")
                ->type_name("DIR");
            return [arguments]() -> int {
              // Where the name begins with a dash it is still a name.
              std::vector<std::string> words;
              if (!arguments->output.empty()) words.push_back("--output=" + arguments->output);
              words.insert(words.end(), {"--", arguments->name});
              // The template of the package is a part of the Python package, where it is tested as any of its
              // files.
              BecomePython("etprof.new_model", words);
            };
          }};
}

}  // namespace etprof
