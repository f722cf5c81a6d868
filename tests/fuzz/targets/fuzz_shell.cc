// The input is a word of a command line. Requires that real shells return the quoted word unchanged.

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "device/device.h"
#include "fuzz.h"

namespace {

using namespace etprof;

std::string CommandOutput(const std::string& command) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(command.c_str(), "r"), &::pclose);
  std::string output;
  std::array<char, 4096> chunk{};
  while (pipe) {
    const std::size_t count = std::fread(chunk.data(), 1, chunk.size(), pipe.get());
    if (count == 0) break;
    output.append(chunk.data(), count);
  }
  return output;
}

bool HasMksh() {
  static const bool exists = ::access("/bin/mksh", X_OK) == 0 || ::access("/usr/bin/mksh", X_OK) == 0;
  return exists;
}

}  // namespace

ETPROF_FUZZ_TARGET(shell) {
  if (size > 10'000) return 0;
  ::setenv("LC_ALL", "C", 1);
  const std::string word = fuzz::Text(data, size);
  std::string quoted;
  if (!fuzz::Accepts({ExitCode::kBadInput}, [&] { quoted = ShellQuoted(word); })) {
    fuzz::Require(word.find('\0') != std::string::npos, "only a NUL character cannot be quoted");
    return 0;
  }
  // The word is not printf's format, since it may contain "%s".
  fuzz::Require(CommandOutput("printf '%s' " + quoted) == word, "sh gives back the word");
  fuzz::Require(CommandOutput("sh -c " + ShellQuoted("printf '%s' " + quoted)) == word,
                "quoted twice it is the word");
  fuzz::Require(HasMksh() || std::getenv("CI") == nullptr, "CI has mksh, the shell of Android");
  if (HasMksh())
    fuzz::Require(CommandOutput("mksh -c " + ShellQuoted("printf '%s' " + quoted)) == word,
                  "mksh gives back the word");
  fuzz::Require(!IsVariableName(word) || quoted == word, "the name of a variable needs no quotes");
  return 0;
}
