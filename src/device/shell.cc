#include "device/shell.h"

#include <boost/tokenizer.hpp>

#include "device/tool.h"

namespace etprof {

std::string ShellOutput(Device& device, const std::string& script, double timeout_seconds) {
  const std::unique_ptr<Process> process = device.Start({{"sh", "-c", script}, {}, {}}, {});
  process->CloseInput();
  ProcessOutput output = ReadOutput(*process, timeout_seconds);
  if (output.end == Process::Read::kInterrupted) throw Error(ExitCode::kInterrupted, "interrupted");
  if (output.end != Process::Read::kEnd) return "";
  const std::optional<ExitStatus> status = process->Wait(timeout_seconds);
  if (process->Lost()) throw DeviceLost(device.Name(), "the connection was lost");
  return status && status->Success() ? std::move(output.text) : "";
}

std::vector<std::string> SplitCommand(const std::string& text) {
  const boost::tokenizer<boost::escaped_list_separator<char>> tokens(
      text, boost::escaped_list_separator<char>("", " \t\n", "\"'"));
  std::vector<std::string> words(tokens.begin(), tokens.end());
  std::erase(words, "");  // two adjacent blanks make an empty word
  return words;
}

}  // namespace etprof
