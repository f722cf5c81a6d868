#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/file/file.h"

namespace etprof {

// Lower-case hexadecimal SHA-256 (FIPS 180-4).
std::string Sha256Hex(ByteView bytes);
std::string Sha256HexOfText(std::string_view text);
// Throws as MappedFile::Open.
std::string Sha256HexOfFile(const std::filesystem::path& path);

// The same digest without the system's crypto library, for runners of devices that have none of ours
// (ETPROF_HOST=OFF). Several times slower.
std::array<std::uint8_t, 32> PortableSha256(ByteView bytes);

}  // namespace etprof
