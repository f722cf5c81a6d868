#include "show/formats/page/gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <sstream>
#include <streambuf>

namespace etprof {
namespace {

// Decompresses with zlib's own reader of gzip members.
std::string Decompress(const std::string& packed, std::size_t size) {
  std::string text(size + 1, '\0');
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string input = packed;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

TEST(Gzip, RoundTrips) {
  // Sizes around the buffer's size and many times that, with compressible and incompressible data.
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, (std::size_t{1} << 18) - 1,
                                 std::size_t{1} << 18, (std::size_t{1} << 18) + 1, std::size_t{3'000'000}}) {
    std::string text;
    unsigned state = 7;
    for (std::size_t i = 0; i < size; ++i) {
      state = state * 1664525 + 1013904223;
      text += i % 3 == 0 ? static_cast<char>(state >> 24) : 'a';
    }
    std::ostringstream out;
    WriteGzip(out, [&](std::ostream& stream) { stream << text; });
    EXPECT_TRUE(out.good());
    EXPECT_EQ(Decompress(out.str(), size), text) << size;
  }
}

// A stream buffer that accepts a number of bytes and then fails.
class FullDisk : public std::streambuf {
 public:
  explicit FullDisk(std::size_t room) : room_(room) {}

 protected:
  int_type overflow(int_type c) override {
    if (room_ == 0) return traits_type::eof();
    --room_;
    return traits_type::not_eof(c);
  }

 private:
  std::size_t room_;
};

TEST(Gzip, ReportsAFullDisk) {
  for (const std::size_t room : {std::size_t{0}, std::size_t{100}}) {
    FullDisk disk(room);
    std::ostream out(&disk);
    WriteGzip(out, [](std::ostream& stream) {
      unsigned state = 7;
      for (int i = 0; i < 1'000'000; ++i) {
        state = state * 1664525 + 1013904223;
        stream.put(static_cast<char>(state >> 24));
      }
    });
    EXPECT_FALSE(out.good()) << room;
  }
}

}  // namespace
}  // namespace etprof
