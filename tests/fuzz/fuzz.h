#pragma once

// What the fuzz targets share. Every fuzz_<target>.cc defines one with ETPROF_FUZZ_TARGET. Linked alone with
// clang's libFuzzer it searches for inputs that break a promise (script/fuzz); linked with all others and
// replay_main.cc it replays its corpus as an ordinary test, with any compiler.
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
#define ETPROF_FUZZ_TARGET(name)                                                                        \
  static int FuzzTarget_##name(const std::uint8_t* data, std::size_t size);                             \
  [[maybe_unused]] static const bool fuzz_target_##name = etprof::fuzz::Know(#name, FuzzTarget_##name); \
  static int FuzzTarget_##name(const std::uint8_t* data, std::size_t size)

namespace etprof::fuzz {

// Tries one input. Returns 0.
using Target = int (*)(const std::uint8_t* data, std::size_t size);

// Makes a target known by its name. Returns true.
bool Know(const char* name, Target target);

// The target of that name in this program; nullptr where there is none.
Target Find(std::string_view name);

// Throws std::logic_error unless `promise` is kept, in release builds too: a test fails with it, and nothing
// catches it in a fuzzer, which takes that for a finding.
void Require(bool kept, const char* promise);

// Runs `read`. Returns false when it threw an Error with one of `codes`: the input was refused. Requires that
// the message is one line, and that no other exit code comes.
bool Accepts(std::initializer_list<ExitCode> codes, const std::function<void()>& read);

// The file `name` in a folder of this process (in memory where the system has /dev/shm), holding `bytes`. The
// folder is removed at exit.
std::filesystem::path ScratchFile(std::string_view name, ByteView bytes);
std::filesystem::path ScratchFolder();

inline ByteView Bytes(const std::uint8_t* data, std::size_t size) {
  return std::as_bytes(std::span(data, size));
}
inline std::string Text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace etprof::fuzz
