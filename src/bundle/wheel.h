#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "bundle/steps.h"

namespace etprof {

// The checkout's Python. Throws Error (kBadInput) where there is none.
std::filesystem::path CheckoutPython(const std::filesystem::path& checkout);

// The version of the executorch wheel in the checkout's .venv, such as "1.5.1". Throws Error (kDeviceFailed).
std::string InstalledExecutorch(const std::filesystem::path& checkout);

// The folder .../executorch of the .venv's own wheel. Throws Error (kDeviceFailed).
std::filesystem::path InstalledWheel(const std::filesystem::path& checkout);

// The folder .../executorch of that version's wheel for aarch64 Linux, below build/wheels/linux-aarch64;
// absent: not there, or not whole.
std::optional<std::filesystem::path> FetchedAarch64Wheel(const std::filesystem::path& checkout,
                                                         const std::string& version);
// The same, fetched by pip as it is configured and unpacked where it is absent. Throws Error (kDeviceFailed).
std::filesystem::path Aarch64Wheel(const std::filesystem::path& checkout, const std::string& version,
                                   const StepProgress& progress);

}  // namespace etprof
