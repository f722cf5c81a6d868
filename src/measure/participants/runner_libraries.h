#pragma once

#include <filesystem>
#include <vector>

namespace etprof {

// The libraries that a runner needs next to it on an Android device because Android does not have them: the
// NDK's libc++_shared.so, if the runner is linked to it. Taken from the runner's folder, else from the
// Android NDK ($ANDROID_NDK). Throws Error (kBadInput) if the library is needed and not found.
std::vector<std::filesystem::path> AndroidRunnerLibraries(const std::filesystem::path& runner);

}  // namespace etprof
