#include "build/bundle/steps.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <sstream>

#include "core/file/file.h"
#include "core/text/text.h"
#include "device/device.h"
#include "device/local/local.h"

namespace etprof {
namespace {

// A compiler or a download on a slow machine may print nothing for a long time.
constexpr double kMaxSilenceSeconds = 1800;
constexpr double kStopGraceSeconds = 5;  // time in which Ninja ends its compilers

}  // namespace

std::string FindErrorLine(const std::string& text) {
  std::istringstream lines(text);
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    line = LastLine(line);  // removes trailing blanks
    if (line.empty()) continue;
    const std::string lower = Lower(line);
    // Matches "error:" of compilers and pip, and "CMake Error at", but not "-Werror" of a command line.
    if (lower.find("error:") != std::string::npos || lower.find("cmake error") != std::string::npos)
      return line;
    last = line;
  }
  return last.empty() ? "it does not say why" : last;
}

Error& SetStepRemedy(Error& error, const std::string& remedy) {
  const auto has_reason = [&](int reason) {
    return error.problem().find(std::strerror(reason)) != std::string::npos;
  };
  return error.Remedy(has_reason(ENOSPC) || has_reason(EDQUOT)
                          ? "free some space, also in the folder for temporary files"
                          : remedy);
}

StepOutput RunStep(const std::vector<std::string>& command, const std::string& action,
                   const std::function<bool()>& interrupted, const std::filesystem::path& log,
                   const std::function<void(std::string_view)>& on_line) {
  StepOutput output;
  const std::unique_ptr<Process> process = StartLocalProcess(
      {command, {}, {}}, [&](std::string_view text) { output.errors += text; }, interrupted);
  process->CloseInput();
  std::string line;
  Process::ReadResult read = Process::ReadResult::kLine;
  while ((read = process->ReadLine(line, kMaxSilenceSeconds)) == Process::ReadResult::kLine) {
    output.out += line + '\n';
    if (on_line) on_line(line);
  }
  if (read == Process::ReadResult::kInterrupted) {
    process->Stop(kStopGraceSeconds);
    throw Error(ExitCode::kInterrupted, "interrupted");
  }
  const std::optional<ExitStatus> status = process->Wait(read == Process::ReadResult::kEnd ? 60 : 0);
  if (!log.empty())
    WriteFileAtomically(log, CommandText({command, {}, {}}) + "\n" + output.out + output.errors);
  if (status && status->Success()) return output;
  const std::string program = std::filesystem::path(command[0]).filename().string();
  const std::string reason =
      status ? FindErrorLine(output.out + output.errors) : "it does not come to an end";
  Error error(ExitCode::kDeviceFailed, fmt::format("{} could not {}: {}", program, action, reason));
  if (!log.empty()) error.Remedy(fmt::format("see {}", log.string()));
  throw error;
}

}  // namespace etprof
