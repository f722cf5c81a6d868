#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/python.h"

namespace etprof {

std::function<int()> NewModelCommand(CLI::App& app) {
  struct Parsed {
    std::string name, output;
  };
  const auto parsed = std::make_shared<Parsed>();
  AddOption(app, "name NAME", parsed->name, "Name of the model, as a Python module")->required();
  AddOption(app, "--output DIR", parsed->output,
            "Folder to create the package in (default: the current one)");
  return [parsed]() -> int {
    // Where the name begins with a dash it is still a name.
    std::vector<std::string> words;
    if (!parsed->output.empty()) words.push_back("--output=" + parsed->output);
    words.insert(words.end(), {"--", parsed->name});
    // The template of the package is a part of the Python package, where it is tested as any of its files.
    BecomePython("etprof.new_model", words);
  };
}

}  // namespace etprof
