#pragma once

#include <filesystem>
#include <string>

#include "device/device.h"

namespace etprof {

// A program that counts a runner's instructions if the processor's own counters are not accessible.
struct Instrument {
  // Path of QEMU's plugin, etprof-qemu-counts.so; empty: Valgrind counts.
  std::filesystem::path emulator_plugin = {};
  std::string valgrind = {};           // path of Valgrind
  std::filesystem::path profile = {};  // Callgrind's output; the runner removes all but the last

  // Changes the command of a runner so that its instructions are counted.
  void WrapCommand(Command& command) const;
};

// True if a QEMU emulator loads plugins. Statically linked emulators do not.
bool HasPlugins(const std::string& emulator);

// Finds an instrument for a runner of this machine that `command` starts. `plugin`: QEMU's plugin; `profile`:
// the file for Callgrind's output. Throws Error (kBadInput), with what to install, if there is no instrument.
Instrument FindInstrument(const Command& command, bool emulated, const std::filesystem::path& plugin,
                          const std::filesystem::path& profile);

}  // namespace etprof
