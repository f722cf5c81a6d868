#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "build/bundle/steps.h"
#include "device/device.h"

namespace etprof {

// A release is a version or the absolute path of a wheel, as in measure/config/release.h.

// The releases that were tested with this etprof's runner, oldest first.
std::vector<std::string> VerifiedReleases();
bool IsVerifiedRelease(const std::string& executorch);  // false for a wheel, which may be any build
// Throws Error (kUsage) unless the release is verified, or late enough to have libraries for C++.
void RequireUsableRelease(const std::string& executorch);

// Throws Error (kUsage, kBadInput) unless `runner` takes the libraries of a release: it is an etprof-runner
// for x86-64 Linux, or of a bundle for aarch64 Linux. `device` is this machine. kInterrupted.
void RequireRunnerForReleases(Device& device, const std::filesystem::path& runner);

// Returns the folder with the libraries of an ExecuTorch release for an etprof-runner on Linux, in etprof's
// cache: `executorch/<ReleaseName>-linux-x86_64`, whose libraries the runner finds by LD_LIBRARY_PATH. For
// the runner of a bundle, the folder is `...-linux-aarch64`, which is a bundle with that runner. A missing
// folder is made from the given wheel, or from the release's wheel, which pip fetches with its configuration.
// Reports slow steps to `progress`.
//
// Wheels since 1.5 have libraries for C++. The wheels of 1.3 and 1.4 have the same functions in one Python
// extension. The libraries in `portable-runtime` next to the runner load that extension without Python and
// PyTorch, and trace it (runner/runtimes/portable_stand_ins.cc, portable_tracer.cc).
//
// `device` is this machine. Throws Error: kUsage as RequireUsableRelease, kBadInput for a folder that was
// changed, and for a wheel that is damaged or for another platform, kDeviceFailed if the wheel cannot
// be fetched, the runner does not answer, or a release that is not verified fails the self-test;
// kInterrupted.
std::filesystem::path PrepareExecutorchRuntime(const std::string& executorch, Device& device,
                                               const std::filesystem::path& runner,
                                               const StepProgress& progress);

}  // namespace etprof
