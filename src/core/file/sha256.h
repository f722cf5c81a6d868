#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/file/file.h"

namespace etprof {

// SHA-256 (FIPS 180-4) as lower-case hexadecimal.
std::string Sha256Hex(ByteView bytes);
std::string Sha256HexOfText(std::string_view text);
// Throws the exceptions of MappedFile::Open.
std::string Sha256HexOfFile(const std::filesystem::path& path);

// The SHA-256 digest without OpenSSL, for runners on devices without that library (ETPROF_HOST=OFF). Several
// times slower.
std::array<std::uint8_t, 32> PortableSha256(ByteView bytes);

}  // namespace etprof
