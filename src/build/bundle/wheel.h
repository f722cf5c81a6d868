#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "build/bundle/steps.h"

namespace etprof {

// Fetches a wheel by pip (as configured) and unpacks it into `folder`, which gets .../executorch.
// `pip_options` are options of `pip download` that choose the platform. Throws Error (kDeviceFailed, or
// kInterrupted as RunStep), whose remedy is `remedy` unless the disk is full.
void FetchWheel(const std::string& python, const std::string& requirement,
                const std::vector<std::string>& pip_options, const std::filesystem::path& folder,
                const std::function<bool()>& interrupted,
                const std::string& remedy = "check pip and the network");

// Unpacks a wheel into `folder`. Throws Error (kDeviceFailed, or kInterrupted as RunStep).
void UnpackWheel(const std::string& python, const std::filesystem::path& wheel,
                 const std::filesystem::path& folder, const std::function<bool()>& interrupted);

// Queries the version of the executorch wheel in the checkout's .venv, such as "1.5.1". Throws Error
// (kDeviceFailed).
std::string QueryExecutorchVersion(const std::filesystem::path& checkout);

// Finds the folder .../executorch of the wheel in the checkout's .venv. Throws Error (kDeviceFailed).
std::filesystem::path FindInstalledWheel(const std::filesystem::path& checkout);

// Finds the folder .../executorch of that version's wheel for aarch64 Linux, below
// build/wheels/linux-aarch64; absent: the folder is missing or incomplete.
std::optional<std::filesystem::path> FindFetchedAarch64Wheel(const std::filesystem::path& checkout,
                                                             const std::string& version);
// Returns FindFetchedAarch64Wheel. If that is absent, first fetches the wheel by pip (as configured) and
// unpacks it. Throws Error (kDeviceFailed).
std::filesystem::path FetchAarch64Wheel(const std::filesystem::path& checkout, const std::string& version,
                                        const StepProgress& progress);

}  // namespace etprof
