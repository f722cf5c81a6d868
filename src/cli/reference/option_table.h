#pragma once

#include <string>
#include <vector>

namespace etprof {

// The commands and options as the CLI11 tree has them (those of `export` and `fleet`, as Python has them),
// for what is made of them: completions, the reference.

struct OptionFacts {
  enum class Paths { kNone, kFiles, kFolders };
  std::vector<std::string> names;  // "--out", "-o"; of a positional none
  std::string positional;          // its name; empty: it has none
  std::string value;               // what is to be given: "DIR", "S"; empty: a flag
  bool value_optional = false;     // a flag that takes one behind "="
  bool required = false;
  bool repeats = false;
  std::vector<std::string> choices;      // the values that it takes; empty: others
  std::vector<std::string> suggestions;  // values worth offering, of more that it takes
  Paths paths = Paths::kNone;
  std::string help;

  // What is offered where a value is to be given.
  const std::vector<std::string>& Offered() const { return choices.empty() ? suggestions : choices; }
};

struct CommandFacts {
  std::string name;  // empty: etprof itself
  std::string summary;
  std::string example;
  std::vector<OptionFacts> options;

  std::vector<std::string> OptionNames() const;
};

// etprof itself first, then its commands in the order of the help text; none that is hidden.
std::vector<CommandFacts> CommandsAndOptions();
// Without etprof itself.
std::vector<std::string> CommandNames(const std::vector<CommandFacts>& commands);

// Scripts that complete etprof's command lines: commands, options, the values that an option takes, files and
// folders where they are expected. They hold all of it and start nothing.
std::string BashCompletion(const std::vector<CommandFacts>& commands);
std::string ZshCompletion(const std::vector<CommandFacts>& commands);
std::string FishCompletion(const std::vector<CommandFacts>& commands);

}  // namespace etprof
