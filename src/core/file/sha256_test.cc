#include "core/file/sha256.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace etprof {
namespace {

ByteView Bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

TEST(Sha256, MatchesFips180) {
  EXPECT_EQ(Sha256Hex(Bytes("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, PortableSha256AgreesWithOpenSslForAllPaddings) {
  std::string text;
  for (int length = 0; length <= 260; ++length) {
    EXPECT_EQ(fmt::format("{:02x}", fmt::join(PortableSha256(Bytes(text)), "")), Sha256Hex(Bytes(text)))
        << length;
    text += static_cast<char>(length * 7 + 1);
  }
  const std::string large(1'000'003, '\xa5');
  EXPECT_EQ(fmt::format("{:02x}", fmt::join(PortableSha256(Bytes(large)), "")), Sha256Hex(Bytes(large)));
}

}  // namespace
}  // namespace etprof
