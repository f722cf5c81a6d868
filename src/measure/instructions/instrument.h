#pragma once

#include <filesystem>
#include <string>

#include "device/device.h"

namespace etprof {

// A program in which a runner's instructions are counted, where the processor's own counters are closed.
struct Instrument {
  // Of QEMU: its plugin, etprof-qemu-counts.so. Else Valgrind is used.
  std::filesystem::path emulator_plugin = {};
  std::string valgrind = {};           // its path
  std::filesystem::path profile = {};  // of Callgrind; removed by the runner but for the last

  // Puts it around what starts a runner.
  void WrapAround(Command& command) const;
};

// Whether an emulator of QEMU loads plugins: not one that is statically linked.
bool HasPlugins(const std::string& emulator);

// For a runner of this machine that `command` starts. `plugin`: of QEMU; `profile`: where Callgrind may
// write. Throws Error (kBadInput) where neither can count it, saying what to install.
Instrument FindInstrument(const Command& command, bool emulated, const std::filesystem::path& plugin,
                          const std::filesystem::path& profile);

}  // namespace etprof
