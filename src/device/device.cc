#include "device/device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <csignal>
#include <cstring>

#include "core/process/cpus.h"
#include "core/views.h"

namespace etprof {

std::string ShellQuoted(const std::string& text) {
  const char* unquoted_characters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  if (!text.empty() && text.find_first_not_of(unquoted_characters) == std::string::npos) return text;
  if (text.find('\0') != std::string::npos)
    throw Error(ExitCode::kBadInput, fmt::format("a word of a command has a NUL character: {}", text));
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

bool IsVariableName(const std::string& text) {
  const char* first_characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  const char* other_characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  return text.find_first_of(first_characters) == 0 &&
         text.find_first_not_of(other_characters) == std::string::npos;
}

std::string CommandText(const Command& command) {
  std::string text;
  for (const auto& [name, value] : command.environment)
    text += fmt::format("{}={} ", name, ShellQuoted(value));
  if (!command.cpus.empty()) text += fmt::format("taskset -c {} ", CpusText(command.cpus));
  return text + fmt::format("{}", fmt::join(MapEach(command.arguments, ShellQuoted), " "));
}

PowerMode Device::SetPowerMode(const std::string& name) {
  FindPowerMode(name);
  throw PowerModesUnsupported(Name());
}

std::string Device::EndText(const ExitStatus& status, const ResourceLimits& before) {
  try {
    const bool killed = status.PossibleSignal() == SIGKILL;
    const std::string reason = killed ? OutOfMemoryText(before, Limits()) : "";
    if (!reason.empty()) return "was killed: " + reason;
  } catch (const Error&) {
    // Without a connection the reason is not known.
  }
  return status.Text();
}

int ExitStatus::PossibleSignal() const {
  constexpr int kShellOffset = 128, kMaxSignal = 64;
  if (signal != 0) return signal;
  return code > kShellOffset && code <= kShellOffset + kMaxSignal ? code - kShellOffset : 0;
}

std::string ExitStatus::Text() const {
  const int possible_signal = PossibleSignal();
  if (possible_signal == 0) return fmt::format("exited with {}", code);
  const char* const name = ::strsignal(possible_signal);
  const std::string killed =
      fmt::format("killed by signal {} ({})", possible_signal, name == nullptr ? "unknown" : name);
  return signal != 0 ? "was " + killed : fmt::format("exited with {}, a shell's code for: {}", code, killed);
}

}  // namespace etprof
