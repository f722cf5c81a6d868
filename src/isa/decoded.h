#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

// A decoded instruction, with the properties that the class of a function depends on. Internal to code_class.
namespace etprof::isa {

struct Decoded {
  std::size_t length = 0;  // bytes to the next instruction, at least 1
  bool known = false;
  bool vector = false;
  bool padding = false;
  std::array<std::string_view, 2> features{};  // names as in Features(); empty: none
};

// Calls `each` for every instruction of `code`, in order.
void DecodeX86(std::span<const std::byte> code, const std::function<void(const Decoded&)>& each);

Decoded DecodeAarch64(std::uint32_t word);
// FMOPA, BFMOPA, SMOPA, UMOPA, and similar, with their subtracting forms, including those that SME2 added.
bool IsOuterProduct(std::uint32_t word);
// SMSTART and SMSTOP.
bool IsStreamingModeSwitch(std::uint32_t word);

}  // namespace etprof::isa
