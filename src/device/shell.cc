#include "device/shell.h"

#include <boost/tokenizer.hpp>

namespace etprof {

std::string ShellOutput(Device& device, const std::string& script, double timeout_seconds) {
  const std::unique_ptr<Process> process = device.Start({{"sh", "-c", script}, {}, {}}, {});
  process->CloseInput();
  std::string text;
  std::string line;
  Process::Read read = Process::Read::kEnd;
  while ((read = process->ReadLine(line, timeout_seconds)) == Process::Read::kLine) text += line + '\n';
  if (read == Process::Read::kInterrupted) throw Error(ExitCode::kInterrupted, "interrupted");
  const std::optional<ExitStatus> status = process->Wait(timeout_seconds);
  if (process->Lost()) throw DeviceLost(device.Name(), "the connection was lost");
  return status && status->Success() ? text : "";
}

std::vector<std::string> CommandWords(const std::string& text) {
  const boost::tokenizer<boost::escaped_list_separator<char>> tokens(
      text, boost::escaped_list_separator<char>("", " \t\n", "\"'"));
  std::vector<std::string> words(tokens.begin(), tokens.end());
  std::erase(words, "");  // between two spaces
  return words;
}

}  // namespace etprof
