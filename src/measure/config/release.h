#pragma once

#include <filesystem>
#include <string>

// The values of `executorch=`: a release ("1.4.1"), or a wheel of another build
// ("/a/executorch-1.6.0-...whl").
namespace etprof {

bool IsWheel(const std::string& executorch);

// Returns the absolute path of a wheel, and releases unchanged.
std::string ResolveWheelPath(const std::string& executorch, const std::filesystem::path& folder = {});

// The parts of a wheel's file name (PEP 427).
struct WheelName {
  std::string version;   // "1.6.0.dev20261101+cpu"
  std::string platform;  // "manylinux_2_28_x86_64"
};
// Throws Error (kUsage) if the file name is not that of an ExecuTorch wheel.
WheelName ParseWheelName(const std::filesystem::path& wheel);

// The public version (PEP 440), which CheckRelease looks up in the table of supported releases. For a wheel,
// this is its version without the local label ("1.6.0.dev20261101").
std::string PublicRelease(const std::string& executorch);

// The SHA-256 of a wheel, in hexadecimal. It is computed once as long as the file is not written again, since
// a wheel has many megabytes and commands need it several times. Throws as MappedFile::Open.
std::string WheelSha256(const std::string& wheel);

// A name that distinguishes a release from all others. For a wheel, this is the version with the first digits
// of the file's SHA-256 as a local label (PEP 440): "1.6.0.dev20261101+cpu.3fa4c1d2". Throws as
// ParseWheelName and MappedFile::Open.
std::string ReleaseName(const std::string& executorch);

}  // namespace etprof
