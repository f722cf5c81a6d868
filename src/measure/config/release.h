#pragma once

#include <filesystem>
#include <string>

// The values of `executorch=`: a release ("1.4.1"), or a wheel of another build
// ("/a/executorch-1.6.0-...whl").
namespace etprof {

bool IsWheel(const std::string& executorch);

// A path of a wheel as an absolute one; releases as they are.
std::string AbsoluteRelease(const std::string& executorch);

// What a wheel's file name says (PEP 427). Throws Error (kUsage) if it does not say ExecuTorch.
struct WheelName {
  std::string version;   // "1.6.0.dev20261101+cpu"
  std::string platform;  // "manylinux_2_28_x86_64"
};
WheelName ParseWheelName(const std::filesystem::path& wheel);

// The version that releases are verified by: of a wheel, without its local label ("1.6.0.dev20261101").
std::string PublicRelease(const std::string& executorch);

// What distinguishes it from all others. For a wheel the version and the first digits of the SHA-256, as a
// local label (PEP 440): "1.6.0.dev20261101+cpu.3fa4c1d2". Throws as ParseWheelName and MappedFile::Open.
std::string ReleaseName(const std::string& executorch);

}  // namespace etprof
