#include "core/text/hexadecimal.h"

#include <charconv>

namespace etprof {

std::string ToHexadecimal(ByteView bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4U];
    text += kDigits[std::to_integer<unsigned>(byte) & 15U];
  }
  return text;
}

std::vector<std::byte> FromHexadecimal(std::string_view text) {
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 2);
  for (; text.size() >= 2; text.remove_prefix(2)) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + 2, value, 16);
    if (error != std::errc() || end != text.data() + 2) break;
    bytes.push_back(static_cast<std::byte>(value));
  }
  return bytes;
}

}  // namespace etprof
