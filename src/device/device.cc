#include "device/device.h"

#include <fmt/format.h>

#include <cstring>

#include "device/cpus.h"

namespace etprof {

std::string ShellQuoted(const std::string& text) {
  const char* plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string CommandText(const Command& command) {
  std::string text;
  for (const auto& [name, value] : command.environment)
    text += fmt::format("{}={} ", name, ShellQuoted(value));
  if (!command.cpus.empty()) text += fmt::format("taskset -c {} ", CpusText(command.cpus));
  for (std::size_t i = 0; i < command.arguments.size(); ++i) {
    if (i > 0) text += " ";
    text += ShellQuoted(command.arguments[i]);
  }
  return text;
}

PowerMode Device::SetPowerMode(const std::string& name) {
  FindPowerMode(name);
  throw NoPowerModes(Name());
}

std::string ExitStatus::Text() const {
  if (signal != 0) {
    const char* name = ::strsignal(signal);
    return fmt::format("was killed by signal {} ({})", signal, name == nullptr ? "unknown" : name);
  }
  return fmt::format("exited with {}", code);
}

}  // namespace etprof
