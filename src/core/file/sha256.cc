#include "core/file/sha256.h"

#ifdef ETPROF_WITH_OPENSSL
#include <openssl/evp.h>
#endif

#include "core/error.h"
#include "core/text/text.h"

namespace etprof {

std::string Sha256Hex(ByteView bytes) {
#ifdef ETPROF_WITH_OPENSSL
  std::array<std::uint8_t, 32> digest{};
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr) != 1) {
    throw Error(ExitCode::kDeviceFailed, "the system's crypto library has no SHA-256");
  }
#else
  const std::array<std::uint8_t, 32> digest = PortableSha256(bytes);
#endif
  return ToHexadecimal(std::as_bytes(std::span(digest)));
}

std::string Sha256HexOfText(std::string_view text) { return Sha256Hex(std::as_bytes(std::span(text))); }

std::string Sha256HexOfFile(const std::filesystem::path& path) {
  return WithFile(path, kMaxProgramBytes, [](ByteView bytes) { return Sha256Hex(bytes); });
}

}  // namespace etprof
