#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "build/bundle/steps.h"
#include "device/device.h"

namespace etprof {

// Releases are as in measure/config/release.h: versions, or absolute paths of wheels.

// The releases that were tried with this etprof's runner, oldest first.
std::vector<std::string> VerifiedReleases();
bool IsVerifiedRelease(const std::string& executorch);  // a wheel is none of these: it may be any build
// Throws Error (kUsage) for a release whose version is neither one of these nor later than all without
// libraries for C++.
void RequireUsableRelease(const std::string& executorch);
// Runs a small program with the libraries of the folder, with and without a tracer: `own` starts the runner
// with its own ExecuTorch, `tested` with these. Throws Error (kDeviceFailed) if the program does not run,
// computes something else than with `own`, or is not traced.
void RequireSelfTest(const std::filesystem::path& folder, const std::string& release,
                     const std::vector<std::string>& own, const std::vector<std::string>& tested);

// The folder with the libraries of that ExecuTorch release for an etprof-runner of Linux, below etprof's
// cache: `executorch/<ReleaseName>-linux-x86_64`, whose libraries the runner finds by LD_LIBRARY_PATH, or for
// a runner of a bundle `...-linux-aarch64`, which is a bundle itself, with that runner. If it is absent, it
// is made of the given wheel, or of the release's, which pip fetches as it is configured. `progress` is told
// what takes long.
//
// Wheels since 1.5 have libraries for C++. Those of 1.3 and 1.4 have the same functions in one Python
// extension, which is loaded without Python and PyTorch by the libraries in `portable-runtime` beside the
// runner, and traced by one of them (runner/runtimes/portable_stand_ins.cc, portable_tracer.cc).
//
// `device` is this machine. Throws Error: kUsage as RequireUsableRelease, kBadInput for a folder that is not
// as it was made and for a wheel that is damaged or for another platform, kDeviceFailed if the wheel cannot
// be fetched, the runner does not answer, or a release that was not tried fails RequireSelfTest;
// kInterrupted.
std::filesystem::path ExecutorchRuntime(const std::string& executorch, Device& device,
                                        const std::filesystem::path& runner, const StepProgress& progress);

}  // namespace etprof
