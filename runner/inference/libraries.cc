#include "inference/libraries.h"

#include <dlfcn.h>
#include <executorch/runtime/platform/runtime.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string_view>

#include "core/error.h"
#include "core/file/file.h"
#include "core/json/json.h"
#include "core/text/text.h"

#if defined(__linux__)
#include <elf.h>
#include <link.h>
#endif

namespace etprof::runner {
namespace {

#if defined(__linux__)
// Finds the build ID in the notes of a PT_NOTE segment (elf(5)); names and contents are padded to 4 bytes.
std::string FindBuildId(std::string_view notes) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note{};
    std::memcpy(&note, notes.data(), sizeof(note));
    const auto padded = [](std::size_t size) { return (size + 3) / 4 * 4; };
    const std::size_t name = sizeof(note), contents = name + padded(note.n_namesz);
    const std::size_t end = contents + padded(note.n_descsz);
    if (note.n_namesz > notes.size() || note.n_descsz > notes.size() || end > notes.size()) break;
    if (note.n_type == NT_GNU_BUILD_ID && notes.substr(name, note.n_namesz) == std::string_view("GNU\0", 4))
      return ToHexadecimal(std::as_bytes(std::span(notes.substr(contents, note.n_descsz))));
    notes.remove_prefix(end);
  }
  return "";
}
#endif

// Removes ".." from the loader's path, which the wheel's rpath contains.
std::string NormalPath(const char* path) { return std::filesystem::path(path).lexically_normal().string(); }

#if defined(__linux__)
// Libraries of ExecuTorch's SDK, and the library that contains everything in wheels before 1.5.
bool IsExecutorchLibrary(std::string_view name) {
  return name.starts_with("libexecutorch") || name.starts_with("_portable_lib");
}

// Calls `visit` with this program, whose name is empty, and with every library.
void ForEachMappedLibrary(const auto& visit) {
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        if (info->dlpi_name != nullptr) (*static_cast<decltype(&visit)>(data))(*info);
        return 0;
      },
      const_cast<void*>(static_cast<const void*>(&visit)));
}
#endif

// The version in a wheel's version.py: `__version__ = "1.5.1+cpu"`.
std::string ReadWheelVersion(const std::filesystem::path& version_py) {
  if (!Exists(version_py)) return "";
  const std::string text = ReadTextFile(version_py);
  const std::size_t key = text.find("\n__version__");
  const std::size_t begin = key == std::string::npos ? key : text.find_first_of("'\"", key);
  const std::size_t end = begin == std::string::npos ? begin : text.find(text[begin], begin + 1);
  return end == std::string::npos ? "" : text.substr(begin + 1, end - begin - 1);
}

// Reads the "version" of a folder that etprof made for `executorch=VERSION`
// (commands/measurement/runtimes.h); empty if there is none.
std::string ReadRuntimeVersion(const std::filesystem::path& runtime_json) {
  if (!Exists(runtime_json)) return "";
  const nlohmann::json runtime = ParseJson(ReadTextFile(runtime_json));
  const auto version = runtime.is_object() ? runtime.find("version") : runtime.end();
  return version != runtime.end() && version->is_string() ? version->get<std::string>() : "";
}

}  // namespace

std::vector<protocol::MappedLibrary> MappedExecutorchLibraries() {
  std::vector<protocol::MappedLibrary> libraries;
#if defined(__linux__)
  ForEachMappedLibrary([&](const dl_phdr_info& info) {
    if (!IsExecutorchLibrary(std::filesystem::path(info.dlpi_name).filename().string())) return;
    protocol::MappedLibrary& library = libraries.emplace_back();
    library.path = NormalPath(info.dlpi_name);
    for (const auto& header : std::span(info.dlpi_phdr, info.dlpi_phnum)) {
      if (header.p_type == PT_NOTE && library.build_id.empty())
        library.build_id =
            FindBuildId({reinterpret_cast<const char*>(info.dlpi_addr + header.p_vaddr), header.p_memsz});
    }
  });
  std::ranges::sort(libraries, {}, &protocol::MappedLibrary::path);
#endif
  return libraries;
}

std::string MappedExecutorchVersion(const std::vector<protocol::MappedLibrary>& libraries) {
  constexpr std::string_view kBuildId = ETPROF_EXECUTORCH_BUILD_ID;
  Dl_info runtime{};
  if (libraries.empty() || kBuildId.empty() ||
      ::dladdr(reinterpret_cast<const void*>(&executorch::runtime::runtime_init), &runtime) == 0)
    return ETPROF_EXECUTORCH_VERSION;
  const auto mapped =
      std::ranges::find(libraries, NormalPath(runtime.dli_fname), &protocol::MappedLibrary::path);
  if (mapped == libraries.end()) return "";  // ExecuTorch is in another library, such as a preloaded one
  // Several releases may have the same library, so the folder that holds it decides.
  const std::filesystem::path folder = std::filesystem::path(mapped->path).parent_path();
  std::string version = ReadRuntimeVersion(folder / "runtime.json");
  if (version.empty()) version = ReadWheelVersion(folder / ".." / "version.py");
  return version.empty() && mapped->build_id == kBuildId ? ETPROF_EXECUTORCH_VERSION : version;
}

std::optional<CodeSegment> FindCodeSegment([[maybe_unused]] const void* code) {
  std::optional<CodeSegment> found;
#if defined(__linux__)
  ForEachMappedLibrary([&](const dl_phdr_info& info) {
    for (const auto& header : std::span(info.dlpi_phdr, info.dlpi_phnum)) {
      const std::uintptr_t begin = info.dlpi_addr + header.p_vaddr;
      if (header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0 &&
          reinterpret_cast<std::uintptr_t>(code) - begin < header.p_memsz)
        found = CodeSegment{info.dlpi_name, info.dlpi_addr, begin, header.p_memsz};
    }
  });
#endif
  return found;
}

std::string LoaderError() {
  const char* const reason = ::dlerror();
  return reason != nullptr ? reason : "the loader gave no reason";
}

void RequireOneXnnpack() {
#if defined(__linux__)
  std::set<std::string> xnnpack_libraries;
  std::set<std::string> mapped;
  ForEachMappedLibrary([&](const dl_phdr_info& info) { mapped.insert(info.dlpi_name); });
  mapped.erase("");
  for (const std::string& path : mapped) {
    void* const handle = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    Dl_info definition{};  // the function may be in a dependency of this library
    const void* const function = ::dlsym(handle, kXnnpackFunction);
    if (function != nullptr && ::dladdr(function, &definition) != 0)
      xnnpack_libraries.insert(definition.dli_fname);
    ::dlclose(handle);
  }
  if (xnnpack_libraries.size() < 2) return;
  throw Error(ExitCode::kDeviceFailed,
              fmt::format("{} XNNPACKs are loaded, and operators may run in any of them: {}",
                          xnnpack_libraries.size(), fmt::join(xnnpack_libraries, ", ")))
      .Remedy("load one: check --load, and the folders in LD_LIBRARY_PATH and ETPROF_BACKEND_DIR");
#endif
}

}  // namespace etprof::runner
