#include "core/text/display_width.h"

#include "core/text/escape.h"

namespace etprof {
namespace {

int CodePointWidth(char32_t code) {
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
  for (std::string_view rest = text; !rest.empty();) {
    const Character first = FirstCharacter(rest);
    width += first.code ? CodePointWidth(*first.code) : 1;
    rest.remove_prefix(first.length);
  }
  return width;
}

}  // namespace etprof
