#include "core/text/display_width.h"

#include <cstdint>

namespace etprof {
namespace {

// Decodes the code point at `position` and advances; an invalid byte is returned as itself.
std::uint32_t NextCodePoint(const std::string& text, std::size_t& position) {
  const auto lead = static_cast<unsigned char>(text[position++]);
  int extra = 0;
  std::uint32_t code = lead;
  if (lead >= 0xf0 && lead < 0xf8) {
    extra = 3;
    code = lead & 0x07;
  } else if (lead >= 0xe0) {
    extra = 2;
    code = lead & 0x0f;
  } else if (lead >= 0xc0) {
    extra = 1;
    code = lead & 0x1f;
  }
  if (lead >= 0xf8) return lead;
  for (int i = 0; i < extra; ++i) {
    if (position >= text.size()) return lead;
    const auto next = static_cast<unsigned char>(text[position]);
    if ((next & 0xc0) != 0x80) return lead;
    code = (code << 6) | (next & 0x3f);
    ++position;
  }
  return code;
}

int CodePointWidth(std::uint32_t code) {
  if (code < 0x20 || code == 0x7f) return 0;
  if (code >= 0x300 && code <= 0x36f) return 0;
  const bool wide = (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
                    (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
                    (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
                    (code >= 0x1f300 && code <= 0x1faff) || (code >= 0x20000 && code <= 0x3fffd);
  return wide ? 2 : 1;
}

}  // namespace

int DisplayWidth(const std::string& text) {
  int width = 0;
  for (std::size_t position = 0; position < text.size();)
    width += CodePointWidth(NextCodePoint(text, position));
  return width;
}

}  // namespace etprof
