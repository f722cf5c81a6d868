#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/file/file.h"

namespace etprof {

// "0a1f": two lower-case digits a byte.
std::string Hexadecimal(ByteView bytes);
// The bytes of such a text; what is no pair of digits ends it.
std::vector<std::byte> FromHexadecimal(std::string_view text);

}  // namespace etprof
