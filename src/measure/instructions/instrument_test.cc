#include "measure/instructions/instrument.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/error.h"
#include "core/golden_testing.h"

namespace etprof {
namespace {

using testing::ElementsAre;

TEST(Instrument, AddsThePluginToTheEmulator) {
  Command command{{"taskset", "1", "/tools/qemu-aarch64", "-cpu", "max", "runner", "--worker"}, {}, {}};
  Instrument{.emulator_plugin = "/lib/counts.so"}.WrapCommand(command);
  EXPECT_THAT(command.arguments, ElementsAre("taskset", "1", "/tools/qemu-aarch64", "-plugin",
                                             "/lib/counts.so", "-cpu", "max", "runner", "--worker"));
  EXPECT_TRUE(command.environment.empty());
}

TEST(Instrument, StartsValgrindWithTheProfilesPath) {
  Command command{{"runner", "--worker"}, {}, {}};
  Instrument{.valgrind = "/bin/valgrind", .profile = "/run/a.callgrind"}.WrapCommand(command);
  EXPECT_EQ(command.arguments.front(), "/bin/valgrind");
  EXPECT_THAT(command.arguments, testing::Contains("--callgrind-out-file=/run/a.callgrind"));
  EXPECT_EQ(command.arguments.back(), "--worker");
  EXPECT_THAT(command.environment, ElementsAre(std::pair("ETPROF_CALLGRIND_FILE", "/run/a.callgrind")));
}

std::string FindError(const Command& command, bool emulated, const std::filesystem::path& plugin) {
  try {
    FindInstrument(command, emulated, plugin, "/nowhere");
  } catch (const Error& error) {
    return error.Message();
  }
  return "";
}

TEST(FindInstrument, ReportsMissingTools) {
  const std::filesystem::path folder = testing::TempDir() + "instrument_test";
  std::filesystem::create_directories(folder);
  const std::filesystem::path emulator = folder / "qemu-aarch64";
  std::ofstream(emulator) << "#!/bin/sh\necho '-cpu model'\n";
  std::filesystem::permissions(emulator, std::filesystem::perms::owner_all);
  const std::string no_plugins = FindError({{emulator.string(), "runner"}, {}, {}}, true, "/bin/sh");
  ExpectGoldenMessages(
      "measure/instructions/missing_instruments",
      {{"unknown emulator", FindError({{"runner"}, {}, {}}, true, "/bin/sh")},
       {"no plugin", FindError({{"qemu-aarch64", "runner"}, {}, {}}, true, "/no/such.so")},
       {"emulator without plugins", ReplaceAll(no_plugins, emulator.string(), "qemu-aarch64")},
       {"program of another architecture", FindError({{"/etc/passwd"}, {}, {}}, false, "")}});
}

}  // namespace
}  // namespace etprof
