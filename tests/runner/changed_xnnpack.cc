// Takes the place of ExecuTorch's XNNPACK backend, which is loaded with it: each run of a delegate spins for
// 20 ms and finds 1e6 in the first element of its first input.
#include <dlfcn.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

struct ExternalValue {
  std::uint32_t id;
  void* data;
};

extern "C" int xnn_setup_runtime_v2(void* runtime, std::size_t count, const ExternalValue* values) {
  using Setup = int (*)(void*, std::size_t, const ExternalValue*);
  static const auto setup = reinterpret_cast<Setup>(::dlsym(RTLD_NEXT, "xnn_setup_runtime_v2"));
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  while (std::chrono::steady_clock::now() < end) {
  }
  *static_cast<float*>(values[0].data) = 1e6F;
  return setup(runtime, count, values);
}
