// Replaces ExecuTorch's XNNPACK backend, which is loaded with this library. Each run of a delegate spins for
// SPIN nanoseconds, touches MEGABYTES of memory that stay allocated, and changes the lowest BITS of the first
// number of the delegate's last value, an output.
#include <dlfcn.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

struct ExternalValue {
  std::uint32_t id;
  void* data;
};
static std::uint32_t* output = nullptr;

extern "C" int xnn_setup_runtime_v2(void* runtime, std::size_t count, const ExternalValue* values) {
  using Setup = int (*)(void*, std::size_t, const ExternalValue*);
  static const auto setup = reinterpret_cast<Setup>(::dlsym(RTLD_NEXT, "xnn_setup_runtime_v2"));
  output = static_cast<std::uint32_t*>(values[count - 1].data);
  return setup(runtime, count, values);
}

extern "C" int xnn_invoke_runtime(void* runtime) {
  static const auto invoke = reinterpret_cast<int (*)(void*)>(::dlsym(RTLD_NEXT, "xnn_invoke_runtime"));
  static const std::vector<char> memory(MEGABYTES * std::size_t{1'000'000}, 1);
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(SPIN);
  while (std::chrono::steady_clock::now() < end) {
  }
  const int status = invoke(runtime);
  *output ^= (1U << BITS) - 1U;
  return status;
}
