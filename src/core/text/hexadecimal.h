#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/file/file.h"

namespace etprof {

// "0a1f": two lower-case digits per byte.
std::string ToHexadecimal(ByteView bytes);
// Parses hexadecimal text up to the first pair that is not two hexadecimal digits.
std::vector<std::byte> FromHexadecimal(std::string_view text);

}  // namespace etprof
