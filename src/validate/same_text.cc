#include "validate/same_text.h"

#include <algorithm>
#include <streambuf>
#include <string_view>

#include "core/file.h"

namespace etprof {
namespace {

// Takes what is written and compares it with the expected bytes.
class Comparing : public std::streambuf {
 public:
  explicit Comparing(ByteView expected)
      : expected_(reinterpret_cast<const char*>(expected.data()), expected.size()) {}

  bool same() const { return !different_ && at_ == expected_.size(); }
  std::uint64_t line() const {
    return 1 + static_cast<std::uint64_t>(
                   std::count(expected_.begin(), expected_.begin() + static_cast<std::ptrdiff_t>(at_), '\n'));
  }

 protected:
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    if (different_) return count;
    const std::string_view written(text, static_cast<std::size_t>(count));
    const std::string_view rest = expected_.substr(at_);
    const auto [end, other] = std::mismatch(written.begin(), written.end(), rest.begin(), rest.end());
    at_ += static_cast<std::size_t>(end - written.begin());
    different_ = end != written.end();
    return count;
  }
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return 0;
    const char one = traits_type::to_char_type(c);
    xsputn(&one, 1);
    return c;
  }

 private:
  std::string_view expected_;
  std::size_t at_ = 0;  // up to here they are the same
  bool different_ = false;
};

}  // namespace

std::optional<std::uint64_t> FirstDifferentLine(const std::filesystem::path& file,
                                                const std::function<void(std::ostream&)>& render) {
  const MappedFile mapped = MappedFile::Open(file, kMostTable);
  Comparing buffer(mapped.bytes());
  std::ostream out(&buffer);
  render(out);
  if (buffer.same()) return std::nullopt;
  return buffer.line();
}

}  // namespace etprof
