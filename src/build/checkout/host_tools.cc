#include "build/checkout/host_tools.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/file/file.h"
#include "core/text/text.h"
#include "device/executable.h"
#include "device/local/local.h"

namespace etprof {
namespace {

constexpr double kVersionTimeoutSeconds = 60;  // limit for a tool's --version
constexpr double kTerminateGraceSeconds = 5;   // time in which Ninja ends its compilers

// Removes the number at the start of `text`, and a dot after it; returns the number.
int ConsumeVersionPart(std::string_view& text) {
  const int number = ConsumeNumber<int>(text).value_or(0);
  text = text.starts_with('.') ? text.substr(1) : std::string_view();
  return number;
}

std::optional<HostTool> QueryTool(const std::string& program) {
  try {
    const ToolRun run = RunTool({{program, "--version"}, {}, {}}, kVersionTimeoutSeconds, {}, {});
    if (!run.status.Success()) return std::nullopt;
    return HostTool{FindProgram(program), ParseVersion(run.output)};
  } catch (const Error&) {
    return std::nullopt;  // the program does not exist or is not executable
  }
}

}  // namespace

ToolRun RunTool(const Command& command, double silence_seconds,
                const std::function<void(std::string_view)>& on_line,
                const std::function<bool()>& interrupted) {
  // Use the shell to merge the two streams, which keeps their lines in order.
  Command merged = command;
  merged.arguments.at(0) = FindProgram(command.arguments.at(0));
  const std::vector<std::string> prefix = {"/bin/sh", "-c", "exec \"$@\" 2>&1", "sh"};
  merged.arguments.insert(merged.arguments.begin(), prefix.begin(), prefix.end());
  const std::unique_ptr<Process> process = StartLocalProcess(merged, [](std::string_view) {}, interrupted);
  process->CloseInput();
  ToolRun run;
  std::string line;
  while (true) {
    const Process::ReadResult read = process->ReadLine(line, silence_seconds);
    if (read == Process::ReadResult::kLine) {
      if (on_line) on_line(line);
      run.output += line + '\n';
      continue;
    }
    if (read == Process::ReadResult::kEnd) break;
    process->Stop(kTerminateGraceSeconds);
    if (read == Process::ReadResult::kInterrupted) throw Error(ExitCode::kInterrupted, "interrupted");
    throw Error(ExitCode::kDeviceFailed, read == Process::ReadResult::kTimeout
                                             ? fmt::format("said nothing for {:g} s", silence_seconds)
                                             : "printed a line without an end")
        .InFile(command.arguments.at(0))
        .Remedy("try again");
  }
  const std::optional<ExitStatus> status = process->Wait(silence_seconds);
  if (!status) {
    throw Error(ExitCode::kDeviceFailed, "closed its output and did not end")
        .InFile(command.arguments.at(0))
        .Remedy("try again");
  }
  run.status = *status;
  return run;
}

std::optional<HostTool> FindTool(const std::string& name, std::string_view min_version,
                                 const std::filesystem::path& etprof_folder) {
  std::optional<HostTool> on_path = QueryTool(name);
  if (on_path && VersionAtLeast(on_path->version, min_version)) return on_path;
  const std::filesystem::path etprof_path = etprof_folder / name;
  std::optional<HostTool> in_etprof_folder =
      !etprof_folder.empty() && Exists(etprof_path) ? QueryTool(etprof_path.string()) : std::nullopt;
  if (!on_path || (in_etprof_folder && VersionAtLeast(in_etprof_folder->version, on_path->version)))
    return in_etprof_folder;
  return on_path;
}

std::string ParseVersion(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  for (std::size_t start = text.find_first_of(kDigits); start != std::string_view::npos;) {
    std::size_t end = text.find_first_not_of("0123456789.", start);
    std::string_view number = text.substr(start, end == std::string_view::npos ? end : end - start);
    while (number.ends_with('.')) number.remove_suffix(1);
    if (number.find('.') != std::string_view::npos) return std::string(number);
    start = end == std::string_view::npos ? end : text.find_first_of(kDigits, end);
  }
  return {};
}

bool VersionAtLeast(std::string_view version, std::string_view min_version) {
  while (!version.empty() || !min_version.empty()) {
    const int left = ConsumeVersionPart(version);
    const int right = ConsumeVersionPart(min_version);
    if (left != right) return left > right;
  }
  return true;
}

}  // namespace etprof
