#include "inference/backends.h"

#include <dlfcn.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/backend/options.h>
#include <executorch/runtime/platform/runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <utility>

#include "core/error.h"
#include "core/file/file.h"
#include "core/text/text.h"
#include "inference/libraries.h"
#include "openvino/openvino.h"
#include "platform.h"
#include "protocol/messages.h"
#include "timing/operator_clock.h"

namespace etprof::runner {
namespace {

#if defined(__APPLE__)
constexpr const char* kXnnpackLibrary = "libexecutorch_backend_xnnpack.dylib";
#else
constexpr const char* kXnnpackLibrary = "libexecutorch_backend_xnnpack.so";
#endif
constexpr const char* kLlmLibrary = "libcustom_ops_aot_lib.so";
constexpr const char* kOpenvinoLibrary = "libexecutorch_backend_openvino.so";

std::string missing_xnnpack_reason, missing_llm_kernels_reason;

std::filesystem::path LibraryFolder(const void* address) {
  Dl_info info{};
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  return std::filesystem::path(info.dli_fname).parent_path();
}

std::filesystem::path ProgramFolder() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path() : program.parent_path();
}

std::filesystem::path ExecutorchFolder() {
  return LibraryFolder(reinterpret_cast<const void*>(&executorch::runtime::runtime_init));
}

// Finds a library of ExecuTorch, which is in `wheel_folder` if the wheel is installed. If there is no such
// library, returns an empty path and sets `missing_reason` to the folders that were searched.
std::filesystem::path FindLibrary(const char* name, const std::filesystem::path& wheel_folder,
                                  std::string& missing_reason) {
  std::vector<std::filesystem::path> folders;
  if (const char* override_folder = std::getenv("ETPROF_BACKEND_DIR");
      override_folder != nullptr && *override_folder != '\0') {
    folders = {override_folder};  // an explicit folder is the only one to search
  } else {
    // ExecuTorch's own folder first: a library next to the program may be of another version.
    folders = {wheel_folder, ProgramFolder()};
  }
  std::string searched_folders;
  for (const auto& folder : folders) {
    const auto candidate = (folder.empty() ? std::filesystem::path(".") : folder) / name;
    if (Exists(candidate)) return candidate;
    searched_folders += (searched_folders.empty() ? "" : ", ") + candidate.parent_path().string();
  }
  missing_reason = fmt::format("{} is not in {}", name, searched_folders);
  return {};
}

}  // namespace

std::string LoadXnnpack(bool exact) {
  const std::filesystem::path library =
      FindLibrary(kXnnpackLibrary, ExecutorchFolder(), missing_xnnpack_reason);
  if (library.empty()) return protocol::kXnnpackClock;
  const CrashContext during("loading " + library.string());
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) {
    missing_xnnpack_reason = LoaderError();
    return protocol::kXnnpackClock;
  }
  // Two libraries get the fast clock: XNNPACK's, and the library that reports the operators' times. The
  // latter is the library whose xnn_invoke_runtime is called: that of runtimes/portable_tracer.cc if this
  // ExecuTorch has no tracer.
  const void* const xnnpack = ::dlsym(handle, kXnnpackFunction);
  const void* const tracer = ::dlsym(RTLD_DEFAULT, "xnn_invoke_runtime");
  return exact && xnnpack != nullptr && UseFastClockIn(xnnpack, tracer) ? protocol::kExactClock
                                                                        : protocol::kXnnpackClock;
}

void SetXnnpackOptions(const std::string& release) {
  namespace runtime = executorch::runtime;
  constexpr const char* kVariable = "ETPROF_XNNPACK_OPTIONS";
  const char* const text = std::getenv(kVariable);
  if (text == nullptr || *text == '\0') return;
  // The layout of BackendOption differs between releases, so the release must be that of the headers.
  auto* const backend = runtime::get_backend_class("XnnpackBackend");
  if (backend == nullptr || release != ETPROF_EXECUTORCH_VERSION) {
    throw Error(ExitCode::kDeviceFailed,
                fmt::format("{} needs XNNPACK of ExecuTorch {}", kVariable, ETPROF_EXECUTORCH_VERSION))
        .Remedy("leave it out");
  }
  for (const std::string_view item : SplitAt(text, ',')) {
    const std::size_t end = std::min(item.find('='), item.size());
    const std::string key(item.substr(0, end));
    const auto value = AsNumber<int>(item.substr(std::min(end + 1, item.size())));
    const bool is_mode = key == "workspace_sharing_mode";
    if ((!is_mode && key != "weight_cache_enabled") || !value || *value < 0 || *value > (is_mode ? 2 : 1)) {
      throw Error(ExitCode::kUsage, fmt::format("{}: \"{}\" is not an option", kVariable, item))
          .Remedy(
              "give workspace_sharing_mode=0, 1, or 2, or weight_cache_enabled=0 or 1, or both with a comma");
    }
    runtime::BackendOption option, read_back;
    std::ranges::copy(key, option.key);
    std::ranges::copy(key, read_back.key);
    option.value = is_mode ? runtime::OptionValue(*value) : runtime::OptionValue(*value != 0);
    read_back.value = is_mode ? runtime::OptionValue(-1) : runtime::OptionValue(*value == 0);
    runtime::BackendOptionContext context;
    runtime::Span<runtime::BackendOption> options_to_set(&option, 1), options_to_get(&read_back, 1);
    if (backend->set_option(context, options_to_set) != runtime::Error::Ok ||
        backend->get_option(context, options_to_get) != runtime::Error::Ok || read_back.value != option.value)
      throw Error(ExitCode::kDeviceFailed, fmt::format("XNNPACK does not take {}", item))
          .Remedy("leave it out");
  }
}

void LoadLibrary(const std::string& path) {
  RequireRegularFile(path);
  const CrashContext during("loading " + path, ExitCode::kBadInput);
  // dlopen would search for a name without a slash in the library path instead of the current folder.
  const std::string exact_path = path.find('/') == std::string::npos ? "./" + path : path;
  if (::dlopen(exact_path.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    throw Error(ExitCode::kBadInput, "cannot be loaded: " + LoaderError())
        .InFile(path)
        .Remedy("--load takes a shared library built for this machine against the same ExecuTorch");
  }
}

void LoadOptionalBackend(const std::string& backend) {
  if (backend != kOpenvinoBackend || executorch::runtime::get_backend_class(kOpenvinoBackend) != nullptr)
    return;
  std::string missing_reason;
  const std::filesystem::path library = FindLibrary(kOpenvinoLibrary, ExecutorchFolder(), missing_reason);
  if (!library.empty()) LoadOpenvino(library);
}

void LoadLlmKernels() {
  static bool tried = false;
  if (std::exchange(tried, true)) return;
  const std::filesystem::path library = FindLibrary(
      kLlmLibrary, ExecutorchFolder() / "../extension/llm/custom_ops", missing_llm_kernels_reason);
  if (library.empty()) return;
  const CrashContext during("loading " + library.string());
  // The kernels' library is linked to PyTorch's libraries. The loader takes libraries of the same names that
  // are already loaded, so load the replacements first (llm/torch_stand_ins.cc). In a bundle the replacements
  // are next to the kernels, where the loader finds them.
  std::error_code ignored;
  for (const auto& replacement :
       std::filesystem::directory_iterator(ProgramFolder() / "torch-stand-ins", ignored))
    ::dlopen(replacement.path().c_str(), RTLD_NOW);
  // Lazy binding, since PyTorch functions that are never called do not exist.
  if (::dlopen(library.c_str(), RTLD_LAZY | RTLD_GLOBAL) == nullptr)
    missing_llm_kernels_reason = "they cannot be loaded: " + LoaderError();
}

std::string MissingLlmKernelsRemedy() {
  if (missing_llm_kernels_reason.empty())
    return fmt::format("ExecuTorch {} has no such kernel for LLMs; give the library that has it {}",
                       ETPROF_EXECUTORCH_VERSION, kLoadLibraryHint);
  return fmt::format("ExecuTorch's wheel for Linux has kernels for LLMs, but {}; give a library with them {}",
                     missing_llm_kernels_reason, kLoadLibraryHint);
}

std::string MissingBackendRemedy(const std::string& backend) {
  static const std::map<std::string, std::string> remedies = {
      {"QnnBackend",
       fmt::format("give libexecutorch_backend_qnn.so {}, with Qualcomm's QNN libraries on LD_LIBRARY_PATH",
                   kLoadLibraryHint)},
      {kOpenvinoBackend,
       "use the etprof-runner of x86-64 Linux: ExecuTorch's wheels have OpenVINO there only"},
      {"CoreMLBackend", "Core ML models run on Apple's systems only"},
      {"VulkanBackend", fmt::format("give a library with ExecuTorch's Vulkan backend {}", kLoadLibraryHint)},
  };
  if (backend == "XnnpackBackend") {
    return fmt::format(
        "{}; put it next to etprof-runner or name its folder in ETPROF_BACKEND_DIR",
        missing_xnnpack_reason.empty() ? "its library did not register it" : missing_xnnpack_reason);
  }
  const auto remedy = remedies.find(backend);
  return remedy != remedies.end() ? remedy->second
                                  : fmt::format("give the library that has it {}", kLoadLibraryHint);
}

std::vector<std::string> RegisteredBackends() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < executorch::runtime::get_num_registered_backends(); ++i) {
    const auto name = executorch::runtime::get_backend_name(i);
    if (name.ok()) names.emplace_back(*name);
  }
  return names;
}

}  // namespace etprof::runner
