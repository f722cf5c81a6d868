// For LD_PRELOAD: operator FLIP_OPERATOR of XNNPACK's elementwise operators of two inputs, counted from 0 in
// the order of their setup, reads its second input, FLIP_ELEMENTS floats, with one bit of the first float
// flipped.
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

extern "C" int xnn_setup_binary_elementwise_nd(void* op, const void* a, const void* b, void* out) {
  using Setup = int (*)(void*, const void*, const void*, void*);
  static const auto setup = reinterpret_cast<Setup>(::dlsym(RTLD_NEXT, "xnn_setup_binary_elementwise_nd"));
  static std::vector<void*> operators;
  static std::vector<std::uint32_t> flipped_input(std::strtoul(std::getenv("FLIP_ELEMENTS"), nullptr, 10));
  std::size_t index = 0;
  while (index < operators.size() && operators[index] != op) ++index;
  if (index == operators.size()) operators.push_back(op);
  if (index != std::strtoul(std::getenv("FLIP_OPERATOR"), nullptr, 10)) return setup(op, a, b, out);
  std::memcpy(flipped_input.data(), b, 4 * flipped_input.size());
  flipped_input[0] ^= std::uint32_t{1} << 20U;
  return setup(op, a, flipped_input.data(), out);
}
