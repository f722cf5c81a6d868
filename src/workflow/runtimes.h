#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "device/device.h"

namespace etprof {

// The releases that this etprof's runner can use, oldest first.
std::vector<std::string> VerifiedReleases();
// Throws Error (kUsage) for any other release.
void RequireVerifiedRelease(const std::string& version);

// The folder with the libraries of that ExecuTorch release, for an etprof-runner of x86-64 Linux, which finds
// them by LD_LIBRARY_PATH: `executorch/<version>-linux-x86_64` below etprof's cache. If it is absent, it is
// made: pip fetches the wheel, as it is configured. `progress` is told what takes long.
//
// Wheels since 1.5 have libraries for C++. Those of 1.3 and 1.4 have the same functions in one Python
// extension, which is loaded without Python and PyTorch by the libraries in `portable-runtime` beside the
// runner, and traced by one of them (runner/runtimes/portable_stand_ins.cc, portable_tracer.cc).
//
// `device` is this machine. Throws Error: kUsage as RequireVerifiedRelease, kBadInput for a folder that is
// not as it was made, kDeviceFailed if the wheel cannot be fetched or the runner does not answer.
std::filesystem::path ExecutorchRuntime(const std::string& version, Device& device,
                                        const std::filesystem::path& runner,
                                        const std::function<void(const std::string&)>& progress);

}  // namespace etprof
