#pragma once

#include <filesystem>
#include <vector>

namespace etprof {

// The libraries that have to lie beside a runner on an Android device, since no Android has them: the NDK's
// libc++_shared.so, where the runner is linked against it. From beside the runner, else from the Android NDK
// ($ANDROID_NDK). Throws Error (kBadInput) where it is needed and not found.
std::vector<std::filesystem::path> LibrariesForAndroid(const std::filesystem::path& runner);

}  // namespace etprof
