#include "workflow/runtimes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "bundle/wheel.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/file/sha256.h"
#include "core/json/json_members.h"
#include "device/local/local.h"
#include "workflow/measure/device.h"
#include "workflow/measure/locate.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRuntimeFile = "runtime.json";

struct RuntimeManifest {
  struct File {
    std::string name, sha256;

    static constexpr bool kRequiresAllKeys = true;
    static void Describe(auto& v) {
      v("name", &File::name);
      v("sha256", &File::sha256, {.pattern = kSha256Pattern});
    }
  };
  std::string version;
  std::vector<File> files;

  static constexpr bool kRequiresAllKeys = true;
  static void Describe(auto& v) {
    v("version", &RuntimeManifest::version);
    v("files", &RuntimeManifest::files);
  }
};

struct Release {
  std::string_view version;
  bool has_libraries;  // for C++, which wheels have since 1.5
};
// The releases that were tried with this runner. Before 1.3, Module and Method have another layout than in
// the runner's headers.
constexpr Release kReleases[] = {
    {"1.3.1", false}, {"1.4.0", false}, {"1.4.1", false}, {"1.5.0", true}, {"1.5.1", true}};

// Later releases have libraries for C++, which may work. Whether they do is for RequireSelfTest.
bool MayBeLater(std::string_view version) {
  int major = 0, minor = 0;
  const char* const end = version.data() + version.size();
  const auto [dot, no_major] = std::from_chars(version.data(), end, major);
  if (no_major != std::errc() || dot == end || *dot != '.') return false;
  const auto [rest, no_minor] = std::from_chars(dot + 1, end, minor);
  if (no_minor != std::errc() || std::pair(major, minor) < std::pair(1, 5)) return false;
  return std::all_of(rest, end,
                     [](char c) { return c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); });
}

Release RequireRelease(const std::string& version) {
  const auto release = std::ranges::find(kReleases, version, &Release::version);
  if (release != std::end(kReleases)) return *release;
  if (MayBeLater(version)) return {version, true};
  throw Error(ExitCode::kUsage, fmt::format("ExecuTorch {} was not tried with this runner", version))
      .Remedy(fmt::format(
          "the versions are {}, and later ones; for another one, build etprof with its wheel, and "
          "give that `runner=`",
          fmt::join(VerifiedReleases(), ", ")));
}

void RequireUndamaged(const fs::path& folder, const std::string& version) {
  const auto broken = [&](const std::string& problem) {
    return Error(ExitCode::kBadInput, problem)
        .InFile(folder.string())
        .Remedy("remove the folder: the next measurement makes it again");
  };
  RuntimeManifest manifest;
  try {
    manifest = nlohmann::json::parse(ReadTextFile(folder / kRuntimeFile)).get<RuntimeManifest>();
  } catch (const std::exception&) {
    throw broken(fmt::format("has a {} that etprof did not write", kRuntimeFile));
  }
  if (manifest.version != version) throw broken("holds ExecuTorch " + manifest.version);
  for (const auto& [name, sha256] : manifest.files) {
    if (!Exists(folder / name)) throw broken("lacks " + name);
    if (Sha256HexOfFile(folder / name) != sha256) throw broken(name + " is not as it was fetched");
  }
}

// The library of the runner's own ExecuTorch that has cpuinfo and the thread pool.
fs::path ThreadpoolOf(Device& device, const fs::path& runner) {
  for (const protocol::MappedLibrary& library : AskRunner(device, runner.string(), "").libraries) {
    const fs::path path = library.path;
    if (path.filename() == "libexecutorch_threadpool.so") return path;
  }
  throw Error(ExitCode::kDeviceFailed, "does not say where its libraries are")
      .InFile(runner.string())
      .Remedy("use the etprof-runner that belongs to this etprof");
}

// The libraries of a wheel by the names under which they lie in the runtime's folder.
std::vector<std::pair<std::string, fs::path>> LibrariesOf(const Release& release, const fs::path& wheel,
                                                          Device& device, const fs::path& runner) {
  std::vector<std::pair<std::string, fs::path>> libraries;
  if (release.has_libraries) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(wheel / "lib", none)) {
      if (entry.is_regular_file() && entry.path().filename().string().find(".so") != std::string::npos)
        libraries.emplace_back(entry.path().filename().string(), entry.path());
    }
    if (libraries.empty()) libraries.emplace_back("executorch/lib", wheel / "lib");
    return libraries;
  }
  libraries.emplace_back("libexecutorch_cpuinfo.so", ThreadpoolOf(device, runner));
  for (const char* const file : {"extension/pybindings/_portable_lib.cpython-311-x86_64-linux-gnu.so",
                                 "backends/qualcomm/libqnn_executorch_backend.so"})
    libraries.emplace_back(fs::path(file).filename().string(), wheel / file);
  return libraries;
}

// The folder with the libraries that are built with the runner and complete a release without C++ libraries.
fs::path StandInsOf(const fs::path& runner) {
  fs::path stand_ins = fs::canonical(runner).parent_path() / "portable-runtime";
  if (Exists(stand_ins)) return stand_ins;
  throw Error(ExitCode::kBadInput, "has no portable-runtime beside it, which ExecuTorch before 1.5 needs")
      .InFile(runner.string())
      .Remedy("use the etprof-runner that belongs to this etprof, on x86-64 Linux");
}

// Those of another etprof are replaced.
void CopyStandIns(const fs::path& stand_ins, const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(stand_ins)) {
    const fs::path copy = folder / entry.path().filename();
    if (!Exists(copy) || Sha256HexOfFile(copy) != Sha256HexOfFile(entry.path()))
      WriteFileAtomically(copy, ReadTextFile(entry.path()));
  }
}

// Removes the folder and what is in it.
struct PartialFolder {
  fs::path path;
  ~PartialFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

}  // namespace

std::vector<std::string> VerifiedReleases() {
  std::vector<std::string> versions;
  for (const Release& release : kReleases) versions.emplace_back(release.version);
  return versions;
}

bool IsVerifiedRelease(const std::string& version) {
  return std::ranges::find(kReleases, version, &Release::version) != std::end(kReleases);
}

void RequireUsableRelease(const std::string& version) { RequireRelease(version); }

fs::path ExecutorchRuntime(const std::string& version, Device& device, const fs::path& runner,
                           const std::function<void(const std::string&)>& progress) {
  const Release release = RequireRelease(version);
  const fs::path cache = LocalDeviceFolder();
  if (cache.empty()) {
    throw Error(ExitCode::kBadInput, "there is no folder for ExecuTorch's libraries: HOME is not set")
        .Remedy("set HOME or XDG_CACHE_HOME");
  }
  const fs::path stand_ins = release.has_libraries ? fs::path() : StandInsOf(runner);
  const fs::path all = cache / "executorch";
  fs::path folder = all / (version + "-linux-x86_64");
  const PartialFolder partial{all / fmt::format(".{}-{}", version, ::getpid())};
  const fs::path wheel = partial.path / "wheel", libraries = partial.path / "libraries";
  try {
    if (Exists(folder)) {
      RequireUndamaged(folder, version);
      if (!IsVerifiedRelease(version)) RequireSelfTest(folder, version, runner);
      if (!stand_ins.empty()) CopyStandIns(stand_ins, folder);
      return folder;
    }
    fs::remove_all(partial.path);
    fs::create_directories(libraries);
    const std::string requirement = "executorch==" + version;
    progress(fmt::format("fetching {} (18 MB)", requirement));
    // The wheel is for CPython 3.11, whatever Python there is here: it is never started.
    FetchWheel(PythonProgram(CheckoutRoot()), requirement,
               {"--platform", "manylinux_2_28_x86_64", "--python-version", "3.11", "--implementation", "cp",
                "--abi", "cp311"},
               wheel);
    RuntimeManifest manifest{version, {}};
    for (const auto& [name, from] : LibrariesOf(release, wheel / "executorch", device, runner)) {
      if (!Exists(from))
        throw Error(ExitCode::kDeviceFailed, fmt::format("the wheel of {} lacks {}", requirement, name))
            .Remedy("check where pip fetches it from: it is not the release's wheel for x86-64 Linux");
      fs::copy_file(from, libraries / name);
      manifest.files.push_back({name, Sha256HexOfFile(from)});
    }
    std::ranges::sort(manifest.files, {}, &RuntimeManifest::File::name);
    WriteFileAtomically(libraries / kRuntimeFile, nlohmann::json(manifest).dump(1) + "\n");
    if (!stand_ins.empty()) CopyStandIns(stand_ins, libraries);
    std::error_code taken;
    fs::rename(libraries, folder, taken);
    if (taken) RequireUndamaged(folder, version);  // another etprof was quicker
    if (!IsVerifiedRelease(version)) RequireSelfTest(folder, version, runner);
  } catch (const fs::filesystem_error& error) {
    throw Error(ExitCode::kDeviceFailed, fmt::format("cannot be made: {}", error.code().message()))
        .InFile(folder.string())
        .Remedy("free some space, or set XDG_CACHE_HOME");
  }
  return folder;
}

}  // namespace etprof
