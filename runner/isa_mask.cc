#include "isa_mask.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "cpuinfo_layout.h"
#include "isa/features.h"

#if defined(__linux__)
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace etprof::runner {
namespace {

#if defined(__aarch64__)
constexpr auto& kFields = kArmFields;
constexpr std::size_t kIsaSize = kArmIsaSize;
#else
constexpr auto& kFields = kX86Fields;
constexpr std::size_t kIsaSize = kX86IsaSize;
#endif

// Features that the CPU or the kernel reports, independent of cpuinfo. Contains only features that cpuinfo
// takes from the same source unchanged: not dotprod and fp16 on Arm, which it corrects for some cores.
std::vector<std::pair<std::string_view, bool>> ReadFeaturesWithoutCpuinfo() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return {
      {"sse3", __builtin_cpu_supports("sse3") != 0},
      {"ssse3", __builtin_cpu_supports("ssse3") != 0},
      {"sse4_1", __builtin_cpu_supports("sse4.1") != 0},
      {"sse4_2", __builtin_cpu_supports("sse4.2") != 0},
      {"avx", __builtin_cpu_supports("avx") != 0},
      {"fma3", __builtin_cpu_supports("fma") != 0},
      {"avx2", __builtin_cpu_supports("avx2") != 0},
      {"avx512f", __builtin_cpu_supports("avx512f") != 0},
      {"avx512cd", __builtin_cpu_supports("avx512cd") != 0},
      {"avx512dq", __builtin_cpu_supports("avx512dq") != 0},
      {"avx512bw", __builtin_cpu_supports("avx512bw") != 0},
      {"avx512vl", __builtin_cpu_supports("avx512vl") != 0},
      {"avx512vnni", __builtin_cpu_supports("avx512vnni") != 0},
  };
#elif defined(__aarch64__) && defined(__linux__)
  // Bit numbers of Linux's arch/arm64/include/uapi/asm/hwcap.h, since old C libraries lack the newer names.
  const std::uint64_t hwcap = ::getauxval(AT_HWCAP);
  const std::uint64_t hwcap2 = ::getauxval(AT_HWCAP2);
  const auto bit = [](std::uint64_t word, int n) { return ((word >> n) & 1) != 0; };
  return {
      {"atomics", bit(hwcap, 8)}, {"jscvt", bit(hwcap, 13)}, {"fcma", bit(hwcap, 14)},
      {"sve", bit(hwcap, 22)},    {"sve2", bit(hwcap2, 1)},  {"i8mm", bit(hwcap2, 13)},
      {"bf16", bit(hwcap2, 14)},  {"sme", bit(hwcap2, 23)},  {"sme2", bit(hwcap2, 37)},
  };
#elif defined(__aarch64__) && defined(__APPLE__)
  const auto has = [](const char* name) {
    int value = 0;
    std::size_t size = sizeof(value);
    return ::sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
  };
  return {
      {"i8mm", has("hw.optional.arm.FEAT_I8MM")},   {"bf16", has("hw.optional.arm.FEAT_BF16")},
      {"sme", has("hw.optional.arm.FEAT_SME")},     {"sme2", has("hw.optional.arm.FEAT_SME2")},
      {"jscvt", has("hw.optional.arm.FEAT_JSCVT")}, {"dotprod", has("hw.optional.arm.FEAT_DotProd")},
  };
#else
  return {};
#endif
}

// The size of `cpuinfo_isa` in the library's symbol table; absent for formats without sizes (Mach-O).
std::optional<std::size_t> SymbolSize([[maybe_unused]] const void* address) {
#if defined(__linux__) && defined(__GLIBC__)
  Dl_info info{};
  const ElfW(Sym)* symbol = nullptr;
  if (::dladdr1(address, &info, reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&symbol)), RTLD_DL_SYMENT) !=
          0 &&
      symbol != nullptr) {
    return static_cast<std::size_t>(symbol->st_size);
  }
#endif
  return std::nullopt;
}

std::string LayoutProblem(const unsigned char* bytes) {
  if (const auto size = SymbolSize(bytes); size && *size != kIsaSize) {
    return fmt::format("cpuinfo_isa has {} bytes where {} are expected: another version of cpuinfo", *size,
                       kIsaSize);
  }
  for (const CpuinfoField& field : kFields) {
    if (bytes[field.offset] > 1) {
      return fmt::format("cpuinfo's field of {} holds {}, which is not a truth value", field.feature,
                         bytes[field.offset]);
    }
  }
  for (const auto& [feature, present] : ReadFeaturesWithoutCpuinfo()) {
    for (const CpuinfoField& field : kFields) {
      if (field.feature == feature && (bytes[field.offset] != 0) != present) {
        return fmt::format("cpuinfo says {} {} where the CPU itself says the contrary",
                           present ? "no" : "yes to", feature);
      }
    }
  }
  return "";
}

bool is_masked = false;

// Keeps the result of etprof_mask_isa, because the features that it hid cannot be detected again. The mask is
// that of the command line.
std::optional<protocol::IsaState> early_state;

// The value of --isa on this process's command line.
std::string ReadIsaOption() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  constexpr std::string_view kOption = "--isa";
  std::string spec;
  bool is_next = false;
  for (std::string argument; std::getline(file, argument, '\0');) {
    if (is_next) spec = argument;
    is_next = argument == kOption;
    if (argument.starts_with(kOption) && argument.size() > kOption.size() && argument[kOption.size()] == '=')
      spec = argument.substr(kOption.size() + 1);
  }
  return spec;
}

}  // namespace

// Masks features before main(), for releases whose XNNPACK reads them while libraries are loaded. Called by
// runtimes/portable_tracer.cc.
extern "C" void etprof_mask_isa() {
  try {
    early_state = ApplyIsaMask(ReadIsaOption());
  } catch (const std::exception&) {
    // main() calls ApplyIsaMask() again and reports the error.
  }
}

bool IsIsaMasked() { return is_masked; }

protocol::IsaState ApplyIsaMask(const std::string& spec) {
  if (early_state) return *early_state;
  protocol::IsaState state;
  // Look the symbols up at run time, since a link-time reference would copy the structure into this
  // executable.
  auto* initialize = reinterpret_cast<bool (*)()>(::dlsym(RTLD_DEFAULT, "cpuinfo_initialize"));
  auto* bytes = static_cast<unsigned char*>(::dlsym(RTLD_DEFAULT, "cpuinfo_isa"));
  if (initialize == nullptr || bytes == nullptr) {
    state.masking_problem = "ExecuTorch's thread-pool library exports no cpuinfo";
  } else if (!initialize()) {
    state.masking_problem = "cpuinfo does not know this CPU";
  } else {
    state.masking_problem = LayoutProblem(bytes);
  }
  state.can_mask = state.masking_problem.empty();

  isa::FeatureSet detected;
  if (state.can_mask) {
    for (const CpuinfoField& field : kFields) {
      if (bytes[field.offset] != 0) detected.emplace(field.feature);
    }
  } else {
    for (const auto& [feature, present] : ReadFeaturesWithoutCpuinfo()) {
      if (present) detected.emplace(feature);
    }
  }
  const isa::Mask mask = isa::ParseMask(isa::HostArchitecture(), detected, spec);
  if (!mask.masked.empty()) {
    is_masked = true;
    if (!state.can_mask) {
      throw Error(ExitCode::kDeviceFailed,
                  "--isa: CPU features cannot be masked here: " + state.masking_problem)
          .Remedy("run without --isa, or with the ExecuTorch that etprof was built for");
    }
    for (const CpuinfoField& field : kFields) {
      if (mask.masked.contains(std::string(field.feature))) bytes[field.offset] = 0;
    }
  }
  state.detected.assign(detected.begin(), detected.end());
  state.masked.assign(mask.masked.begin(), mask.masked.end());
  state.enabled.assign(mask.enabled.begin(), mask.enabled.end());
  return state;
}

}  // namespace etprof::runner
