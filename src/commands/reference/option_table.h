#pragma once

#include <string>
#include <vector>

namespace etprof {

// The commands and options in the CLI11 tree (for `export` and `fleet`: in Python's parser), from which
// completions and the reference are generated.

struct OptionFacts {
  enum class Paths { kNone, kFiles, kFolders };
  std::vector<std::string> names;  // "--out", "-o"; empty for a positional
  std::string positional;          // name of the positional; empty: not a positional
  std::string value;               // name of the value: "DIR", "S"; empty: a flag
  bool value_optional = false;     // a flag that accepts a value after "="
  bool required = false;
  bool repeats = false;
  std::vector<std::string> choices;      // the only accepted values; empty: not restricted
  std::vector<std::string> suggestions;  // values to offer in completions if others are accepted, too
  Paths paths = Paths::kNone;
  std::string help;

  const std::vector<std::string>& ValuesToOffer() const { return choices.empty() ? suggestions : choices; }
};

struct CommandFacts {
  std::string name;  // empty: etprof itself
  std::string summary;
  std::string example;
  std::vector<OptionFacts> options;

  std::vector<std::string> OptionNames() const;
};

// etprof itself, then its commands in the order of the help text, without hidden commands.
std::vector<CommandFacts> CommandsAndOptions();
// The names of the commands, without etprof itself.
std::vector<std::string> CommandNames(const std::vector<CommandFacts>& commands);

}  // namespace etprof
