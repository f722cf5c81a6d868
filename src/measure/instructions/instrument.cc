#include "measure/instructions/instrument.h"

#include <algorithm>

#include "core/error.h"
#include "core/file/file.h"
#include "device/executable.h"
#include "device/tool.h"
#include "measure/participants/emulation.h"
#include "protocol/counters.h"

namespace etprof {
namespace {

// The architecture on which Callgrind counts, since the runner controls it by x86-64 instructions.
constexpr const char* kCallgrindArchitecture = "x86_64";
constexpr double kHelpTimeoutSeconds = 20;  // time limit for the emulator's `-h`

}  // namespace

void Instrument::WrapCommand(Command& command) const {
  std::vector<std::string>& arguments = command.arguments;
  if (!emulator_plugin.empty()) {
    const auto emulator = std::ranges::find_if(arguments, IsEmulator);
    if (emulator != arguments.end()) arguments.insert(emulator + 1, {"-plugin", emulator_plugin.string()});
    return;
  }
  arguments.insert(arguments.begin(), {valgrind, "-q", "--tool=callgrind", "--instr-atstart=no",
                                       "--dump-line=no", "--callgrind-out-file=" + profile.string()});
  command.environment.emplace_back(protocol::kCallgrindFileVariable, profile.string());
}

bool HasPlugins(const std::string& emulator) {
  return RunTool({emulator, "-h"}, {.timeout_seconds = kHelpTimeoutSeconds}).output.find("-plugin") !=
         std::string::npos;
}

Instrument FindInstrument(const Command& command, bool emulated, const std::filesystem::path& plugin,
                          const std::filesystem::path& profile) {
  const auto make_error = [](const std::string& problem) { return Error(ExitCode::kBadInput, problem); };
  if (emulated) {
    const auto emulator = std::ranges::find_if(command.arguments, IsEmulator);
    if (emulator == command.arguments.end())
      throw make_error("the system emulates the runner by itself")
          .Remedy("name the emulator in --exec-wrapper");
    if (!Exists(plugin)) throw make_error("is missing: it belongs next to etprof").InFile(plugin.string());
    if (!HasPlugins(*emulator)) {
      throw make_error(*emulator + " has no plugins (it is statically linked)")
          .Remedy(
              "use the one of `script/fetch-qemu --plugins`, or of a distribution that links it dynamically");
    }
    return {.emulator_plugin = plugin};
  }
  const std::string& runner = command.arguments.front();
  if (ProgramArchitecture(runner) != kCallgrindArchitecture)
    throw make_error("only x86-64's instructions can be counted without the processor's counters")
        .Remedy("count on an x86-64 machine, or in QEMU (docs/guides/instructions.md)");
  try {
    return {.valgrind = FindProgram("valgrind"), .profile = profile};
  } catch (const Error&) {
    throw make_error(
        "the processor's counters are closed here, and Valgrind, which counts instead, is not installed")
        .Remedy("install it (`apt-get install valgrind`)");
  }
}

}  // namespace etprof
