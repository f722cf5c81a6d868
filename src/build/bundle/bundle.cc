#include "build/bundle/bundle.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <sstream>

#include "build/bundle/wheel.h"
#include "core/error.h"
#include "core/file/elf_file.h"
#include "core/file/file.h"
#include "core/file/sha256.h"
#include "core/json/json.h"
#include "core/json/json_members.h"
#include "core/text/text.h"
#include "device/executable.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

#ifdef __APPLE__
constexpr bool kOnMac = true;
constexpr const char* kBackend = "libexecutorch_backend_xnnpack.dylib";
#else
constexpr bool kOnMac = false;
constexpr const char* kBackend = "libexecutorch_backend_xnnpack.so";
#endif
constexpr const char* kLlmKernels = "extension/llm/custom_ops/libcustom_ops_aot_lib.so";

// The compiler tools and the CMake preset for a target.
struct Toolchain {
  std::string preset;
  std::string compiler;
  std::string binutils;  // prefix of "strip"
  std::string remedy;    // shown if the compiler is missing
};

bool IsCrossBuild(BundleTarget target) {
  return target == BundleTarget::kLinuxAarch64 || target == BundleTarget::kAndroid;
}

Toolchain SelectToolchain(BundleTarget target) {
  if (IsCrossBuild(target))
    return {"runner-linux-aarch64", "aarch64-linux-gnu-g++", "aarch64-linux-gnu-",
            "run `apt-get install g++-aarch64-linux-gnu`"};
  return {"runner-native", "c++", "", "run script/bootstrap"};
}

void RequireProgram(const std::string& program, const std::string& remedy) {
  try {
    FindProgram(program);
  } catch (Error& error) {
    throw error.Remedy(remedy);
  }
}

}  // namespace

fs::path RunnerBuildFolder(const fs::path& checkout, BundleTarget target) {
  return checkout / "build" / SelectToolchain(target).preset;
}

std::string ToJsonText(const BundleManifest& manifest) { return JsonText(ToJson(manifest), 2) + "\n"; }

std::vector<BundleManifest::File> ListFiles(const fs::path& folder) {
  std::vector<BundleManifest::File> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name == kBundleManifest) continue;
    const MappedFile file = MappedFile::Open(entry.path());
    files.push_back({name, static_cast<Bytes>(file.bytes().size()), Sha256Hex(file.bytes())});
  }
  std::ranges::sort(files, [](const auto& a, const auto& b) { return a.name < b.name; });
  return files;
}

bool IsUpToDate(const fs::path& folder, const BundleManifest& manifest) {
  std::error_code error;
  if (!fs::is_regular_file(folder / kBundleManifest, error)) return false;
  try {
    BundleManifest actual = manifest;
    actual.files = ListFiles(folder);
    return ToJsonText(actual) == ToJsonText(manifest) &&
           ReadTextFile(folder / kBundleManifest) == ToJsonText(manifest);
  } catch (const Error&) {
    return false;
  }
}

std::map<std::string, fs::path> CollectLibraries(
    const std::vector<fs::path>& roots,
    const std::function<std::vector<std::string>(const fs::path&)>& list_needed,
    const std::function<fs::path(const std::string&)>& find_library) {
  std::map<std::string, fs::path> libraries;
  std::vector<fs::path> pending = roots;
  for (const fs::path& root : roots) libraries[root.filename().string()] = root;
  while (!pending.empty()) {
    const fs::path file = pending.back();
    pending.pop_back();
    for (const std::string& name : list_needed(file)) {
      if (libraries.contains(name)) continue;
      libraries[name] = find_library(name);
      pending.push_back(libraries[name]);
    }
  }
  return libraries;
}

namespace {

fs::path BuildRunner(const BundleOptions& options, const Toolchain& toolchain) {
  const fs::path folder = RunnerBuildFolder(options.checkout, options.target);
  const fs::path tools = options.checkout / ".venv" / "bin";
  RequireProgram((tools / "cmake").string(), "run script/bootstrap");
  RequireProgram((tools / "ninja").string(), "run script/bootstrap");
  if (!Exists(folder / "build.ninja")) {
    options.progress.report(fmt::format("configuring (CMake preset {})", toolchain.preset));
    RunStep({(tools / "cmake").string(), "-S", options.checkout.string(), "--preset", toolchain.preset},
            "configure " + toolchain.preset, options.progress.interrupted, folder / "configure.log");
  }
  std::vector<std::string> ninja = {(tools / "ninja").string(), "-C", folder.string()};
  if (options.jobs > 0) ninja.insert(ninja.end(), {"-j", std::to_string(options.jobs)});
  ninja.emplace_back("etprof-runner");
  auto last_report = std::chrono::steady_clock::now() - std::chrono::hours(1);
  RunStep(
      ninja, "build etprof-runner", options.progress.interrupted, folder / "build.log",
      [&](std::string_view line) {
        const auto now = std::chrono::steady_clock::now();
        if (!line.starts_with("[") || now - last_report < std::chrono::seconds(5)) return;
        last_report = now;
        options.progress.report(fmt::format("building etprof-runner {}", line.substr(0, line.find(']') + 1)));
      });
  return folder / "etprof-runner";
}

// The path at which the compiler finds a library of the target's system.
fs::path SystemLibrary(const Toolchain& toolchain, const std::string& name) {
  const std::string path =
      LastLine(RunStep({toolchain.compiler, "-print-file-name=" + name}, "look for " + name).out);
  if (path.find('/') == std::string::npos) {
    throw Error(ExitCode::kDeviceFailed,
                fmt::format("{} knows no {}, which the runner needs", toolchain.compiler, name))
        .Remedy(toolchain.remedy);
  }
  return fs::canonical(path);
}

// The files of a bundle (name in the bundle to source path), and the command that starts the runner.
struct BundleContents {
  std::map<std::string, fs::path> files;
  std::vector<std::string> start;
};

BundleContents CollectElfContents(const Toolchain& toolchain, const fs::path& runner, const fs::path& wheel) {
  const auto program = ElfFile::Open(runner);
  const std::string loader = program ? fs::path(program->Interpreter()).filename().string() : "";
  if (loader.empty())
    throw Error(ExitCode::kDeviceFailed, "does not name a loader")
        .InFile(runner.string())
        .Remedy("build it again");
  BundleContents contents;
  // The runner loads the backend and the kernels for LLMs at run time, after it has masked CPU features, so
  // they are roots, too. Wheels before 1.5 do not have the kernels for LLMs.
  std::vector<fs::path> roots = {runner, wheel / "lib" / kBackend};
  if (Exists(wheel / kLlmKernels)) roots.push_back(wheel / kLlmKernels);
  contents.files = CollectLibraries(
      roots,
      [](const fs::path& file) {
        const auto elf = ElfFile::Open(file);
        if (!elf)
          throw Error(ExitCode::kDeviceFailed, "is not a 64-bit ELF file: it is damaged")
              .InFile(file.string())
              .Remedy("install its package again");
        return elf->DynamicStrings(ElfFile::kNeeded);
      },
      [&](const std::string& name) {
        for (const fs::path& folder : {wheel / "lib", runner.parent_path() / "torch-stand-ins"})
          if (Exists(folder / name)) return folder / name;
        return SystemLibrary(toolchain, name);
      });
  if (!contents.files.contains(loader)) contents.files[loader] = SystemLibrary(toolchain, loader);
  contents.start = {loader, "--library-path", ".", runner.filename().string()};
  return contents;
}

// macOS provides the system libraries, and the wheel's libraries find each other by @loader_path.
BundleContents CollectMachOContents(const fs::path& runner, const fs::path& wheel_libraries) {
  BundleContents contents;
  contents.files = CollectLibraries(
      {runner, wheel_libraries / kBackend},
      [&](const fs::path& file) {
        constexpr std::string_view kRpath = "@rpath/";
        std::istringstream lines(RunStep({"otool", "-L", file.string()}, "read " + file.string()).out);
        std::vector<std::string> names;
        for (std::string line; std::getline(lines, line);) {
          const std::size_t begin = line.find(kRpath);
          if (begin == std::string::npos) continue;
          const std::size_t name_begin = begin + kRpath.size();
          names.push_back(line.substr(name_begin, line.find(' ', name_begin) - name_begin));
        }
        return names;
      },
      [&](const std::string& name) { return wheel_libraries / name; });
  contents.start = {runner.filename().string()};
  return contents;
}

void CopyFiles(const BundleContents& contents, const Toolchain& toolchain, const fs::path& destination) {
  fs::create_directories(destination);
  std::vector<std::string> strip = {toolchain.binutils + "strip", "--strip-unneeded"};
  for (const auto& [name, path] : contents.files) {
    fs::copy_file(path, destination / name);
    fs::permissions(destination / name, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec |
                                            fs::perms::others_read | fs::perms::others_exec);
    strip.push_back((destination / name).string());
  }
  // Stripping on a Mac would invalidate the signatures.
  if (!kOnMac) RunStep(strip, "strip the bundle");
}

// Moves the folder `partial` to the bundle's folder, which it replaces.
void Replace(const fs::path& folder, const fs::path& partial) {
  const fs::path backup = partial.string() + ".old";
  if (Exists(folder)) fs::rename(folder, backup);
  fs::rename(partial, folder);
  fs::remove_all(backup);
}

void RequireBundleFolder(const fs::path& folder) {
  if (!Exists(folder) || Exists(folder / kBundleManifest)) return;
  if (fs::is_directory(folder) && fs::is_empty(folder)) return;
  throw Error(ExitCode::kBadInput, "already exists and is not an etprof bundle")
      .InFile(folder.string())
      .Remedy("choose a new or empty directory, or a bundle");
}

}  // namespace

Bundle BuildBundle(const BundleOptions& options) {
  const BundleTarget target = options.target;
  const bool is_cross_build = IsCrossBuild(target);
  if (target == BundleTarget::kMacosArm64 && !kOnMac) {
    throw Error(ExitCode::kBadInput, "a macos-arm64 bundle can be built only on a Mac with Apple silicon")
        .Remedy("run `etprof build --target macos-arm64` there");
  }
  if (is_cross_build && kOnMac) {
    throw Error(ExitCode::kBadInput, fmt::format("a bundle for {} can be built only on Linux", Name(target)))
        .Remedy("run etprof build on Linux, or in a container, and copy the folder");
  }
  const Toolchain toolchain = SelectToolchain(target);
  RequireProgram(toolchain.compiler, toolchain.remedy);

  Bundle bundle;
  bundle.folder =
      options.output.empty() ? options.checkout / "build" / "bundles" / Name(target) : options.output;
  bundle.folder = fs::absolute(bundle.folder).lexically_normal();
  // Remove a '/' at the end of the path.
  if (bundle.folder.filename().empty()) bundle.folder = bundle.folder.parent_path();
  RequireBundleFolder(bundle.folder);
  bundle.manifest.target = Name(target);
  bundle.manifest.executorch = QueryExecutorchVersion(options.checkout);
  const std::string& version = bundle.manifest.executorch;
  const fs::path wheel = is_cross_build ? FetchAarch64Wheel(options.checkout, version, options.progress)
                                        : FindInstalledWheel(options.checkout);
  const fs::path runner = BuildRunner(options, toolchain);
  const BundleContents contents =
      kOnMac ? CollectMachOContents(runner, wheel / "lib") : CollectElfContents(toolchain, runner, wheel);

  const fs::path partial = fmt::format("{}.{}.partial", bundle.folder.string(), ::getpid());
  fs::remove_all(partial);
  try {
    CopyFiles(contents, toolchain, partial);
    bundle.manifest.start = contents.start;
    bundle.manifest.files = ListFiles(partial);
    WriteFileAtomically(partial / kBundleManifest, ToJsonText(bundle.manifest));
    bundle.changed = !IsUpToDate(bundle.folder, bundle.manifest);
    if (bundle.changed) Replace(bundle.folder, partial);
    fs::remove_all(partial);
  } catch (const fs::filesystem_error& error) {
    std::error_code ignored;
    fs::remove_all(partial, ignored);
    throw Error(ExitCode::kDeviceFailed, "could not be written: " + error.code().message())
        .InFile(bundle.folder.string())
        .Remedy("free some space, or choose another folder with --output");
  } catch (const Error&) {
    std::error_code ignored;
    fs::remove_all(partial, ignored);
    throw;
  }
  for (const BundleManifest::File& file : bundle.manifest.files) bundle.bytes += file.bytes;
  return bundle;
}

}  // namespace etprof
