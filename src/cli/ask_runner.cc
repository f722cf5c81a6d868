#include "cli/ask_runner.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/device_option.h"
#include "core/error.h"
#include "core/json_members.h"
#include "device/shell.h"

namespace etprof {

protocol::IsaState AskRunner(Device& device, const std::string& given_runner,
                             const std::string& exec_wrapper) {
  const std::string runner =
      given_runner.empty() ? RunnerFor(device, device.Properties()).string() : given_runner;
  Command command;
  command.arguments = CommandWords(exec_wrapper);
  for (const std::string& word : device.PutProgram(runner)) command.arguments.push_back(word);
  command.arguments.emplace_back("--isa-info");
  const std::unique_ptr<Process> process = device.Start(command, {});
  process->CloseInput();
  std::string text;
  std::string line;
  while (process->ReadLine(line, 20) == Process::Read::kLine) text += line + '\n';
  const std::optional<ExitStatus> status = process->Wait(20);
  if (!status || !status->Success()) {
    throw Error(ExitCode::kDeviceFailed, "could not say what this CPU has: " + process->LastErrors())
        .InFile(runner);
  }
  try {
    return nlohmann::json::parse(text).at("isa").get<protocol::IsaState>();
  } catch (const nlohmann::json::exception&) {
    throw Error(ExitCode::kBadInput,
                "does not say what the CPU has: it is not an etprof-runner of this version")
        .InFile(runner);
  }
}

}  // namespace etprof
