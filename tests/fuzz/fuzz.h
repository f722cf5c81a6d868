#pragma once

// Common functions of the fuzz targets. Each fuzz_<target>.cc defines a target with ETPROF_FUZZ_TARGET. A
// target that is linked alone with clang's libFuzzer searches for inputs that violate a Require
// (script/fuzz). All targets linked with replay_main.cc replay their corpus as an ordinary test, with any
// compiler.
//
// A reader may refuse an input with etprof::Error and a documented exit code. Any other exception, a crash, a
// sanitizer's report, a hang, or a Require that does not hold is a finding.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/file/file.h"

// Defines the target `name`; its body has `data` and `size`, and returns 0.
#define ETPROF_FUZZ_TARGET(name)                                            \
  static int FuzzTarget_##name(const std::uint8_t* data, std::size_t size); \
  [[maybe_unused]] static const bool fuzz_target_##name =                   \
      etprof::fuzz::RegisterTarget(#name, FuzzTarget_##name);               \
  static int FuzzTarget_##name(const std::uint8_t* data, std::size_t size)

namespace etprof::fuzz {

// Tries one input. Returns 0.
using Target = int (*)(const std::uint8_t* data, std::size_t size);

// Registers a target. Returns true.
bool RegisterTarget(const char* name, Target target);

// The target with this name; null: not in this program.
Target FindTarget(std::string_view name);

// Throws std::logic_error with the text `promise` unless `holds`, in release builds too. A test fails with
// the exception; a fuzzer does not catch it and reports a finding.
void Require(bool holds, const char* promise);

// Calls `read`. Returns false if it throws an Error with one of `codes`, which means that the input was
// refused. Requires that the error's message is one line, and that its exit code is one of `codes`.
bool Accepts(std::initializer_list<ExitCode> codes, const std::function<void()>& read);

// Writes `bytes` to the file `name` in ScratchFolder(), and returns its path. ScratchFolder() is a temporary
// folder of this process (in memory if the system has /dev/shm), which is removed at exit.
std::filesystem::path ScratchFile(std::string_view name, ByteView bytes);
std::filesystem::path ScratchFolder();

inline ByteView Bytes(const std::uint8_t* data, std::size_t size) {
  return std::as_bytes(std::span(data, size));
}
inline std::string Text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace etprof::fuzz
